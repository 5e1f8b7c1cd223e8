"""What one task of a batch is: the words of a command, with its inputs and the folder of its results left open."""

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

OUT: Final = "{out}"
REPORT: Final = "report.json"
VIDEOS: Final = (".avi", ".mp4", ".mkv", ".mov")


@dataclass(frozen=True, slots=True)
class BatchTask:
    """One command to run.

    Attributes:
        name: name of the folder of its results, relative to the batch's, with slashes.
        kind: kind of command, a key of `OPTIONS`.
        words: the command, in which {in0}, {in1} stand for the inputs and {out} for the folder.
        inputs: absolute paths of files and folders that it reads.
        unread: ends of names in these folders that it does not read.
        recording: file that shows the take: a file of the results (.mcap) or {inN}.
    """

    name: str
    kind: str
    words: tuple[str, ...]
    inputs: tuple[str, ...]
    unread: tuple[str, ...] = ()
    recording: str = ""

    @property
    def leaf(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]

    def command(self, inputs: tuple[str, ...], out: Path) -> list[str]:
        """Return the command's arguments with the paths of inputs and folder filled in."""
        return [self._word(word, inputs, out) for word in self.words]

    def _word(self, word: str, inputs: tuple[str, ...], out: Path) -> str:
        """Return one word with inputs and folder put in."""
        if word.startswith(OUT):
            return str(out) + word.removeprefix(OUT)
        number = word.removeprefix("{in").removesuffix("}")
        return inputs[int(number)] if word == f"{{in{number}}}" and number.isdigit() else word


class OptionType(Enum):
    """Type of a job file's key: text or a number; several texts; true or false; a file that is read."""

    ONE = auto()
    MANY = auto()
    FLAG = auto()
    FILE = auto()


def _name_keys(one: str = "", many: str = "", flag: str = "", file: str = "") -> dict[str, OptionType]:
    """Return the type of each key, of words by their type."""
    types = {OptionType.ONE: one, OptionType.MANY: many, OptionType.FLAG: flag, OptionType.FILE: file}
    return {key: kind for kind, words in types.items() for key in words.split()}


COMMON: Final = _name_keys(many="set", file="config")
ANYBODY: Final = _name_keys("seed", many="clip clips", file="motion database skeleton")
CASES: Final = ANYBODY | _name_keys("seconds", many="markers case")
ONE_SET: Final = ANYBODY | _name_keys("markers seconds")
EVALUATE: Final = {  # by the name of the table
    "synthesis": ONE_SET | _name_keys(many="variant method", file="c3d"),
    "end-to-end": ONE_SET | _name_keys("cameras", many="occlude", flag="occlude_each true_subject"),
    "missing": CASES | _name_keys(many="method style", flag="exact", file="dictionary"),
    "labels": CASES | _name_keys("cameras", many="style"),
    "forces": _name_keys("mass", file="plates"),
}
ALONE: Final = ("forces",)  # tables that one process measures
OPTIONS: Final = {
    kind: COMMON | own
    for kind, own in {
        "replay": _name_keys(
            "fps background camera cameras smooth model mass",
            many="hide",
            flag="video verify no_style physics as_live",
            file="rig subject database timestamps style",
        ),
        "solve": _name_keys("markers", file="database"),
        "export": _name_keys("from to smooth fps", flag="in_place"),
        "clean": _name_keys("mass table friction", many="segment", file="subject contacts"),
        "evaluate": {key: value for table in EVALUATE.values() for key, value in table.items()},
        "database": _name_keys("fps thin parts", many="leave_out", flag="skip_bad no_graph mirrored"),
    }.items()
}
FIRST: Final = "database"  # its results may be inputs of the others
