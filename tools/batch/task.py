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

    name: of the folder of its results, relative to the batch's, with slashes; kind: of `OPTIONS`; words: the command, in which
    {in0}, {in1} stand for the inputs and {out} for the folder; inputs: absolute paths of files and folders that it reads; unread:
    ends of names in these folders that it does not read; recording: what shows the take, a file of the results (.mcap) or {inN}.
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
        """Return the words with inputs and folder put in."""
        return [self._word(word, inputs, out) for word in self.words]

    def _word(self, word: str, inputs: tuple[str, ...], out: Path) -> str:
        """Return one word with inputs and folder put in."""
        if word.startswith(OUT):
            return str(out) + word.removeprefix(OUT)
        number = word.removeprefix("{in").removesuffix("}")
        return inputs[int(number)] if word == f"{{in{number}}}" and number.isdigit() else word


class Value(Enum):
    """What a key of a job file takes: text or a number; several texts; true or false; a file that is read."""

    ONE = auto()
    MANY = auto()
    FLAG = auto()
    FILE = auto()


COMMON: Final = {"set": Value.MANY, "config": Value.FILE}
REPLAY: Final = {
    "rig": Value.FILE,
    "subject": Value.FILE,
    "database": Value.FILE,
    "timestamps": Value.FILE,
    "style": Value.FILE,
    "fps": Value.ONE,
    "background": Value.ONE,
    "camera": Value.ONE,
    "cameras": Value.ONE,
    "smooth": Value.ONE,
    "model": Value.ONE,
    "mass": Value.ONE,
    "hide": Value.MANY,
    "video": Value.FLAG,
    "verify": Value.FLAG,
    "no_style": Value.FLAG,
    "physics": Value.FLAG,
    "as_live": Value.FLAG,
}
EXPORT: Final = {
    "from": Value.ONE,
    "to": Value.ONE,
    "smooth": Value.ONE,
    "fps": Value.ONE,
    "in_place": Value.FLAG,
}
CLEAN: Final = {
    "mass": Value.ONE,
    "table": Value.ONE,
    "friction": Value.ONE,
    "segment": Value.MANY,
    "subject": Value.FILE,
    "contacts": Value.FILE,
}
PROTOCOL: Final = {"motion": Value.FILE, "database": Value.FILE, "clip": Value.MANY}
ANYBODY: Final = PROTOCOL | {"clips": Value.MANY, "skeleton": Value.FILE, "seed": Value.ONE}
CASES: Final = ANYBODY | {"markers": Value.MANY, "case": Value.MANY, "seconds": Value.ONE}
ONE_SET: Final = {"markers": Value.ONE, "seconds": Value.ONE}
EVALUATE: Final = {  # by the name of the table
    "synthesis": ANYBODY | ONE_SET | {"variant": Value.MANY, "method": Value.MANY, "c3d": Value.FILE},
    "search": PROTOCOL | {"sizes": Value.FLAG},
    "dimensionality": PROTOCOL | {"quick": Value.FLAG},
    "end-to-end": ANYBODY
    | ONE_SET
    | {"cameras": Value.ONE, "occlude": Value.MANY, "occlude_each": Value.FLAG, "true_subject": Value.FLAG},
    "filtering": PROTOCOL | ONE_SET | {"recording": Value.FILE, "seed": Value.ONE},
    "feet": ANYBODY | ONE_SET,
    "acquisition": ANYBODY | {"markers": Value.MANY, "trials": Value.ONE, "quick": Value.FLAG},
    "posing": {"motion": Value.FILE, "behaviour": Value.MANY, "poses": Value.ONE},
    "poses": {"motion": Value.FILE} | dict.fromkeys(("tables", "subjects", "models", "poses", "seeds", "tuning"), Value.ONE),
    "missing": CASES | {"method": Value.MANY, "style": Value.MANY, "dictionary": Value.FILE, "exact": Value.FLAG},
    "labels": CASES | {"cameras": Value.ONE},
    "forces": {"plates": Value.FILE, "mass": Value.ONE},
}
ALONE: Final = ("search", "forces")  # tables that one process measures
DATABASE: Final = {
    "fps": Value.ONE,
    "thin": Value.ONE,
    "parts": Value.ONE,
    "leave_out": Value.MANY,
    "skip_bad": Value.FLAG,
    "no_graph": Value.FLAG,
    "mirrored": Value.FLAG,
}
OPTIONS: Final = {
    kind: COMMON | own
    for kind, own in {
        "replay": REPLAY,
        "export": EXPORT,
        "clean": CLEAN,
        "evaluate": {key: value for table in EVALUATE.values() for key, value in table.items()},
        "database": DATABASE,
    }.items()
}
FIRST: Final = "database"  # its results may be inputs of the others
