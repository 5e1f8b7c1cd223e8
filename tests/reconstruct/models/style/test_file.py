"""The file of a style: what goes in comes out; what is damaged, foreign or made to do harm is refused in a line."""

import json
import struct
import zlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from database.container import ALIGNMENT, open_container, write_container
from reconstruct.models.style.features import N_FEATURES, PoseTimes
from reconstruct.models.style.file import KIND, StyleOrigin, collect_style_arrays, read_style, read_style_and_origin, write_style
from reconstruct.models.style.model import Hyperparameters, Style, StyleError
from tests.support.style_posers import style_of

N, Q, M = 25, 2, 8
ORIGIN = StyleOrigin(("walk (built in)",), {"latent": 2, "method": "direct", "noise": 0.05}, "1.2")


@cache
def style() -> Style:
    """Return a style whose every array is told apart by its values."""
    made, random = style_of("walk", Q, N), np.random.default_rng(1)
    return replace(
        made,
        name="Gehen, schräg",
        scale=random.uniform(0.5, 3.0, len(made.scale)),
        active=np.arange(0, 3 * M, 3),
        learned=Hyperparameters(0.1 + 0.2, 97.3, 1.0 / 3.0),
        annealed=Hyperparameters(0.3, 20.0, 0.2),
        objective=np.array([3.0, -1.0, -17.5]),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a style."""
    file = tmp_path / "walk.style"
    write_style(file, style(), ORIGIN)
    return file


def told(path: Path) -> str:
    """Return the one line with which a file is refused."""
    with pytest.raises(StyleError) as caught:
        read_style(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def same(first: Style, second: Style) -> bool:
    """Return whether styles agree to the last bit."""
    arrays = all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(*map(_lists, (first, second)), strict=True))
    names = (first.name, first.skeleton.name, first.learned, first.annealed)
    return arrays and names == (second.name, second.skeleton.name, second.learned, second.annealed)


def _lists(of: Style) -> list[Any]:
    return list(collect_style_arrays(of).values())


def test_what_goes_in_comes_out_to_the_last_bit(path: Path) -> None:
    found, origin = read_style_and_origin(path)
    assert same(found, style()) and origin == ORIGIN
    for array in (found.features, found.latent, found.scale, found.active):
        assert array.flags.c_contiguous and array.flags.owndata and array.flags.writeable


def test_a_style_without_times_and_origin(tmp_path: Path) -> None:
    write_style(tmp_path / "a.style", replace(style(), times=PoseTimes()))
    found, origin = read_style_and_origin(tmp_path / "a.style")
    assert len(found.times.stretch) == 0 and origin == StyleOrigin()


def test_the_same_style_makes_the_same_file(path: Path, tmp_path: Path) -> None:
    write_style(tmp_path / "b.style", read_style(path), ORIGIN)
    assert (tmp_path / "b.style").read_bytes() == path.read_bytes()


def test_a_file_may_be_replaced_and_removed_while_its_style_is_in_use(path: Path) -> None:
    found = read_style(path)
    write_style(path, replace(found, name="other"))
    path.unlink()
    assert same(found, style())


def test_a_style_that_is_not_sound_is_not_written_and_the_old_one_stays(path: Path) -> None:
    before = path.read_bytes()
    spoilt = style().features.copy()
    spoilt[3, 4] = np.nan
    with pytest.raises(StyleError, match="features has values that are no numbers"):
        write_style(path, replace(style(), features=spoilt))
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


def test_other_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.style"
    assert "no such file" in told(file) and "duocap style train" in told(file)
    assert told(tmp_path)
    for content, words in ((b"", "empty"), (b"HIERARCHY\nROOT hips", "not a style"), (KIND.magic + b"abc", "cut short")):
        file.write_bytes(content)
        assert words in told(file) and "duocap style train" in told(file)
    with write_container(file) as writer:
        writer.add("rotvec", np.zeros(3))
    assert "not a style" in told(file)


def rewritten(path: Path, fields: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Change fields and arrays of a file, all checksums right; None takes one out."""
    old = open_container(path, KIND)
    with write_container(path, KIND) as writer:
        writer.fields = {name: value for name, value in {**old.fields, **fields}.items() if value is not None}
        for name, array in {**old.arrays, **arrays}.items():
            if array is not None:
                writer.add(name, array)


def changed(name: str, value: float) -> Any:
    array = np.array(collect_style_arrays(style())[name], float)
    array.flat[len(array.flat) // 2] = value
    return array


NAMES = sorted(collect_style_arrays(style()))
OTHER_FEATURES = {"features_of": ["knee.x", "knee.y"]}


@pytest.mark.parametrize(
    ("fields", "arrays", "words"),
    [
        ({"joints": ["hips", "tail"]}, {}, "other joints or features"),
        (OTHER_FEATURES, {}, "other joints or features"),
        ({"rate_hz": 60.0}, {}, "at 60.0 Hz, expected 30"),
        ({"reference": np.zeros((23, 3, 3)).tolist()}, {}, "other joint charts"),
        ({"learned": None}, {}, "do not fit together"),
        ({"learned": [1.0, "x", 2.0]}, {}, "do not fit together"),
        ({"learned": [1.0, 2.0]}, {}, "do not fit together"),
        ({"learned": [-1.0, 2.0, 1.0]}, {}, "positive"),
        ({"annealed": [1.0, 1e300, 0.0]}, {}, "positive"),
        ({"learned": [1e200, 1e300, 1e-300]}, {}, "inverted"),
        ({"name": 7}, {}, "do not fit together"),
        ({"origin": []}, {}, "do not fit together"),
        ({}, {"features": changed("features", np.nan)}, "features has values that are no numbers"),
        ({}, {"latent": changed("latent", np.inf)}, "latent has values"),
        ({}, {"rotvec": changed("rotvec", 1e300)}, "rotvec has values"),
        ({}, {"offsets_m": changed("offsets_m", np.nan)}, "offsets_m has values"),
        ({}, {"scale": changed("scale", -1.0)}, "scales are not positive"),
        ({}, {"active": np.array([0, 1, 1])}, "active set"),
        ({}, {"active": np.array([0, N])}, "active set"),
        ({}, {"active": np.array([-1, 2])}, "active set"),
        ({}, {"active": np.zeros(0, np.int64)}, "active set"),
        ({}, {"active": np.arange(3.0)}, "do not fit together"),
        ({}, {"latent": np.zeros((N, 0))}, "arrays do not fit"),
        ({}, {"latent": np.zeros(N)}, "arrays do not fit"),
        ({}, {"features": np.zeros((0, N_FEATURES))}, "arrays do not fit"),
        ({}, {"modelled": np.zeros(N_FEATURES, bool)}, "arrays do not fit"),
        ({}, {"seconds": np.zeros(3)}, "times do not fit"),
        ({}, {"tails_m": np.zeros((4, 3))}, "do not fit together"),
        *[({}, {name: None}, "do not fit together") for name in NAMES],
    ],
)
def test_files_whose_contents_cannot_be_right(path: Path, fields: dict[str, Any], arrays: dict[str, Any], words: str) -> None:
    rewritten(path, fields, arrays)
    assert words in told(path)


@cache
def content(folder: Path) -> bytes:
    """Return the bytes of a good file."""
    write_style(folder / "good.style", style(), ORIGIN)
    return (folder / "good.style").read_bytes()


def refused_or_same(file: Path, data: bytes) -> None:
    """Read a file that was tampered with: the style is as it was, or there is one line that says what is wrong."""
    file.write_bytes(data)
    try:
        found = read_style(file)
    except StyleError as error:
        assert "\n" not in str(error)
    else:
        assert same(found, style())


@given(st.data())
def test_bytes_changed_cut_and_added(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp()
    whole = bytearray(content(folder))
    ends = st.one_of(st.integers(0, len(whole) - 1), st.integers(0, 80), st.integers(len(whole) - 3000, len(whole) - 1))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(ends)
        what = data.draw(st.sampled_from(["byte", "cut", "insert"]))
        if what == "byte":
            whole[at % len(whole)] = data.draw(st.integers(0, 255))
        elif what == "cut":
            del whole[at : at + data.draw(st.integers(1, 5000))]
        else:
            whole[at:at] = data.draw(st.binary(min_size=1, max_size=9))
        if not whole:
            break
    refused_or_same(folder / "mutated.style", bytes(whole))


def sealed(body: bytes, header: bytes) -> bytes:
    """Put a file together whose checksums are right whatever its header says."""
    preamble = struct.pack("<16sIIQQ", KIND.magic, 1, zlib.crc32(header), ALIGNMENT + len(body), len(header))
    return (preamble + struct.pack("<I", zlib.crc32(preamble))).ljust(ALIGNMENT, b"\0") + body + header


WORDS = ["", "x", "<f8", "|O", "V8", "f4,f4", "(2,3)f8", "<f3"]
ODD = st.sampled_from([None, True, -1, 0, 1 << 40, 1 << 61, 1 << 70, 1.5, *WORDS, [], [1 << 40], [[1]], {}])


@given(st.data())
def test_headers_made_to_do_harm(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp()
    whole = content(folder)
    start, length = struct.unpack_from("<QQ", whole, 24)
    header = json.loads(whole[start : start + length])
    target = header["arrays"][data.draw(st.integers(0, len(header["arrays"]) - 1))]
    place = data.draw(st.sampled_from(["entry", "field", "arrays", "fields", "header"]))
    if place == "entry":
        target[data.draw(st.sampled_from(sorted(target)))] = data.draw(ODD)
    elif place == "field":
        header["fields"][data.draw(st.sampled_from(sorted(header["fields"])))] = data.draw(ODD)
    elif place == "header":
        header = data.draw(ODD)
    else:
        header[place] = data.draw(ODD)
    file = folder / "hostile.style"
    file.write_bytes(sealed(whole[ALIGNMENT:start], json.dumps(header).encode()))
    try:
        found = read_style(file)
    except StyleError as error:
        assert "\n" not in str(error)
    else:  # a name, and nothing else, may be odd
        assert same(replace(found, name=style().name, skeleton=style().skeleton), style())


@pytest.mark.parametrize("header", [b"[" * 100_000, b"\xff\xfe", b"nan", b'{"fields": {}, "arrays": [7]}', b'{"fields": {}}'])
def test_headers_that_are_none(path: Path, header: bytes) -> None:
    path.write_bytes(sealed(b"", header))
    assert "makes no sense" in told(path)
