"""Which clips a command of `duocap evaluate` measures, in parts of which each has tables of its own."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from config.errors import DatabaseError
from tools.arguments import check_folders
from tools.commands.evaluate.options import ClipOptions

if TYPE_CHECKING:
    from tools.evaluate.protocol import ProtocolClip


@dataclass(frozen=True, slots=True)
class ClipPart:
    """Clips that are measured together, with the database to measure with; no title and no clips: the command's own."""

    title: str
    clips: tuple["ProtocolClip", ...]
    database: Path

    @property
    def heading(self) -> list[str]:
        """Lines above the part's tables."""
        return [f"\n#### set: {self.title}, {len(self.clips)} clips; database {self.database.name} ####"] if self.title else []


def find_parts(asked: ClipOptions) -> list[ClipPart]:
    """Find the parts that are asked for; of clips that are not named: those of the protocol.

    Raises DuocapError: both clips and sets are given, an unknown name, or a clip whose folder is missing.
    """
    from tools.evaluate.clip_sets import stems_of
    from tools.evaluate.protocol import named_clip, protocol_database, set_clip

    if asked.clip and asked.sets:
        raise DatabaseError("--clip and --clips exclude each other; give one of them")
    found = {title: tuple(set_clip(stem) for stem in stems) for title, stems in stems_of(asked.sets or ()).items()}
    found = found or {"": tuple(named_clip(name, asked.skeleton) for name in asked.clip or ())}
    for clips in found.values():
        if asked.motion is None and not (clips and all(clip.file for clip in clips)):
            what = next((f"clip {clip.stem} is no file" for clip in clips if not clip.file), "no clip is named")
            raise DatabaseError(f"{what}; give a motion by --clip FILE, or the folder of the unpacked CMU motions by --motion")
    return [ClipPart(title, clips, protocol_database(asked.motion, asked.database, clips)) for title, clips in found.items()]


def measure_clips(asked: ClipOptions, measure: Callable[[ClipPart], tuple[Iterable[str], object]]) -> None:
    """Measure the clips part by part and print the lines of each; write the figures where a file is wanted."""
    from tools.evaluate.figures import write_figures

    check_folders(asked.json)
    figures: dict[str, object] = {}
    parts = find_parts(asked)  # first: a database that is built for them is read again
    for part in parts:  # which may cache files, such as databases without a person, that are read at once
        lines, figures[part.title] = measure(part)
        for line in (*part.heading, *lines):
            print(line)
    if asked.json is not None:
        write_figures(asked.json, figures[""] if list(figures) == [""] else figures)
