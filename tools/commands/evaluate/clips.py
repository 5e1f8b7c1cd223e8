"""Which clips a command of `duocap evaluate` measures, in parts of which each has tables of its own."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from config.errors import DatabaseError

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


def asked_parts(
    motion: Path | None,
    database: Path | None,
    names: Sequence[str] | None,
    sets: Sequence[str] | None,
    skeleton: Path | None,
) -> list[ClipPart]:
    """Find the parts that are asked for.

    Args:
        motion: folder of the CMU motions; None: all clips are files.
        database: database to measure with; None for one without the clips, or for the default of all commands where there is no
            folder.
        names: clips by name or file; none: those of the protocol.
        sets: names of sets of clips, instead.
        skeleton: skeleton of files that are .amc.

    Raises DuocapError: both are given, an unknown name, or a clip whose folder is missing.
    """
    from tools.evaluate.protocol import named_clip, protocol_database, set_clip
    from tools.evaluate.sets import stems_of

    if names and sets:
        raise DatabaseError("--clip and --clips exclude each other; give one of them")
    found = {title: tuple(set_clip(stem) for stem in stems) for title, stems in stems_of(sets or ()).items()}
    found = found or {"": tuple(named_clip(name, skeleton) for name in names or ())}
    for clips in found.values():
        if motion is None and not (clips and all(clip.file for clip in clips)):
            what = next((f"clip {clip.stem} is no file" for clip in clips if not clip.file), "no clip is named")
            raise DatabaseError(f"{what}; give a motion by --clip FILE, or the folder of the unpacked CMU motions by --motion")
    return [ClipPart(title, clips, protocol_database(motion, database, clips)) for title, clips in found.items()]


def measure_parts(parts: Iterable[ClipPart], measure: Callable[[ClipPart], tuple[Iterable[str], object]]) -> object:
    """Measure part by part, printing the lines of each; return the figures, by title where parts have one."""
    figures: dict[str, object] = {}
    for part in parts:
        lines, figures[part.title] = measure(part)
        for line in (*part.heading, *lines):
            print(line)
    return figures[""] if list(figures) == [""] else figures


def write_asked(file: Path | None, figures: object) -> None:
    """Write figures where a file is wanted."""
    if file is not None:
        from tools.evaluate.figures import write_figures

        write_figures(file, figures)
