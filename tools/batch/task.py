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


COMMON: Final = {"set": OptionType.MANY, "config": OptionType.FILE}
REPLAY: Final = {
    "rig": OptionType.FILE,
    "subject": OptionType.FILE,
    "database": OptionType.FILE,
    "timestamps": OptionType.FILE,
    "style": OptionType.FILE,
    "fps": OptionType.ONE,
    "background": OptionType.ONE,
    "camera": OptionType.ONE,
    "cameras": OptionType.ONE,
    "smooth": OptionType.ONE,
    "model": OptionType.ONE,
    "mass": OptionType.ONE,
    "hide": OptionType.MANY,
    "video": OptionType.FLAG,
    "verify": OptionType.FLAG,
    "no_style": OptionType.FLAG,
    "physics": OptionType.FLAG,
    "as_live": OptionType.FLAG,
}
SOLVE: Final = {"markers": OptionType.ONE, "database": OptionType.FILE}
EXPORT: Final = {
    "from": OptionType.ONE,
    "to": OptionType.ONE,
    "smooth": OptionType.ONE,
    "fps": OptionType.ONE,
    "in_place": OptionType.FLAG,
}
CLEAN: Final = {
    "mass": OptionType.ONE,
    "table": OptionType.ONE,
    "friction": OptionType.ONE,
    "segment": OptionType.MANY,
    "subject": OptionType.FILE,
    "contacts": OptionType.FILE,
}
ANYBODY: Final = {
    "motion": OptionType.FILE,
    "database": OptionType.FILE,
    "clip": OptionType.MANY,
    "clips": OptionType.MANY,
    "skeleton": OptionType.FILE,
    "seed": OptionType.ONE,
}
CASES: Final = ANYBODY | {"markers": OptionType.MANY, "case": OptionType.MANY, "seconds": OptionType.ONE}
ONE_SET: Final = {"markers": OptionType.ONE, "seconds": OptionType.ONE}
EVALUATE: Final = {  # by the name of the table
    "synthesis": ANYBODY | ONE_SET | {"variant": OptionType.MANY, "method": OptionType.MANY, "c3d": OptionType.FILE},
    "end-to-end": ANYBODY
    | ONE_SET
    | {"cameras": OptionType.ONE, "occlude": OptionType.MANY, "occlude_each": OptionType.FLAG, "true_subject": OptionType.FLAG},
    "missing": CASES
    | {"method": OptionType.MANY, "style": OptionType.MANY, "dictionary": OptionType.FILE, "exact": OptionType.FLAG},
    "labels": CASES | {"cameras": OptionType.ONE, "style": OptionType.MANY},
    "forces": {"plates": OptionType.FILE, "mass": OptionType.ONE},
}
ALONE: Final = ("forces",)  # tables that one process measures
DATABASE: Final = {
    "fps": OptionType.ONE,
    "thin": OptionType.ONE,
    "parts": OptionType.ONE,
    "leave_out": OptionType.MANY,
    "skip_bad": OptionType.FLAG,
    "no_graph": OptionType.FLAG,
    "mirrored": OptionType.FLAG,
}
OPTIONS: Final = {
    kind: COMMON | own
    for kind, own in {
        "replay": REPLAY,
        "solve": SOLVE,
        "export": EXPORT,
        "clean": CLEAN,
        "evaluate": {key: value for table in EVALUATE.values() for key, value in table.items()},
        "database": DATABASE,
    }.items()
}
FIRST: Final = "database"  # its results may be inputs of the others
