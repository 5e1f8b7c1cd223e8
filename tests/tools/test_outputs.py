"""`--vmc` on the command line: alone, with a value, before other arguments, and more than once."""

import pickle
from collections.abc import Iterator

import pytest
import typer

from stream.vmc.output import VmcOutput
from stream.vmc.sender import VmcError, VmcTarget
from tools.arguments import create_vmc_outputs
from tools.cli import join_vmc_values
from tools.commands.options import Vmc


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        (["demo", "--vmc"], ["demo", "--vmc="]),
        (["demo", "--vmc", "--headless"], ["demo", "--vmc=", "--headless"]),
        (["demo", "--vmc", "vseeface", "--headless"], ["demo", "--vmc=vseeface", "--headless"]),
        (["replay", "--vmc", "left.avi", "right.avi"], ["replay", "--vmc=", "left.avi", "right.avi"]),
        (["replay", "--vmc", "10.0.0.2:39539", "0", "1"], ["replay", "--vmc=10.0.0.2:39539", "0", "1"]),
        (["replay", "--vmc", "0", "1"], ["replay", "--vmc=", "0", "1"]),
        (["demo", "--vmc=warudo", "--vmc", "godot@[::1]:5"], ["demo", "--vmc=warudo", "--vmc=godot@[::1]:5"]),
        (["replay", "--", "--vmc", "godot"], ["replay", "--", "--vmc", "godot"]),
        (["demo", "--seconds", "5"], ["demo", "--seconds", "5"]),
    ],
)
def test_a_bare_option_gets_an_empty_value(words: list[str], joined: list[str]) -> None:
    assert join_vmc_values(words) == joined


def test_the_parser_takes_it_from_there() -> None:
    seen: list[list[str] | None] = []
    app = typer.Typer()

    @app.command()
    def probe(word: str, vmc: Vmc = None) -> None:
        seen.append(vmc)

    for words in (["--vmc", "left.avi"], ["left.avi", "--vmc"], ["--vmc", "godot", "left.avi", "--vmc", ":5"], ["left.avi"]):
        app(join_vmc_values(words), standalone_mode=False)
    assert seen == [[""], [""], ["godot", ":5"], None]


@pytest.fixture
def made() -> Iterator[list[VmcOutput]]:
    outputs: list[VmcOutput] = []
    yield outputs
    for output in outputs:
        output.close()


def test_factories_travel_to_another_process(made: list[VmcOutput]) -> None:
    assert create_vmc_outputs(None) == ()
    factories = pickle.loads(pickle.dumps(create_vmc_outputs(["", "vmc4ue@:5"])))
    made += [factory() for factory in factories]
    assert [output.target for output in made] == [VmcTarget(), VmcTarget(port=5, upper_chest=False)]


def test_what_cannot_be_found_is_said_before_anything_starts() -> None:
    with pytest.raises(VmcError, match="cannot be found"):
        create_vmc_outputs(["no-such-host.invalid:5"])
