"""Takes as files of any format: by name or by the end of the file's name."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from config.errors import DuocapError
from config.files import write_together
from config.words import format_count
from tools.progress import print_warnings

if TYPE_CHECKING:
    from database.files.avatar import Avatar
    from stream.take.take import Take


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One kind of file: the ending of its name, and the writer."""

    suffix: str
    module: str
    writer: str


# Of two endings that a name has, the first here is meant.
AVATAR_FORMATS = ("glb", "fbx")  # that can hold a user's own avatar
FORMATS = {
    "bvh": ExportFormat(".bvh", "stream.export.bvh", "write_bvh"),
    "opensim-trc": ExportFormat(".opensim.trc", "stream.export.trc", "write_opensim_trc"),
    "trc": ExportFormat(".trc", "stream.export.trc", "write_trc"),
    "c3d": ExportFormat(".c3d", "stream.export.c3d", "write_c3d"),
    "glb": ExportFormat(".glb", "stream.export.glb", "write_glb"),
    "fbx": ExportFormat(".fbx", "stream.export.fbx", "write_fbx"),
    "vrma": ExportFormat(".vrma", "stream.export.vrma", "write_vrma"),
    "markers": ExportFormat(".markers.csv", "stream.export.csv", "write_markers_csv"),
    "angles": ExportFormat(".angles.csv", "stream.export.angles", "write_angles_csv"),
    "gait2392": ExportFormat(".gait2392.mot", "stream.export.angles", "write_gait2392_mot"),
    "mot": ExportFormat(".mot", "stream.export.angles", "write_mot"),
    "csv": ExportFormat(".csv", "stream.export.csv", "write_csv"),
    "mcap": ExportFormat(".mcap", "stream.take.recorded", "write_recording"),
}


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file to be written."""

    file: Path
    format: str


@dataclass(frozen=True, slots=True)
class TakeResult:
    """A take that a job made or changed, lines of text on it, and warnings."""

    take: "Take"
    lines: tuple[str, ...]
    warnings: tuple[str, ...]

    def print_lines(self) -> None:
        """Print the lines, and the warnings on standard error."""
        for line in self.lines:
            typer.echo(line)
        print_warnings(self.warnings)


def finish_take(files: Sequence[ExportFile], result: TakeResult, unit: str = "frame") -> None:
    """Print what is told of a take, write it, and print what was written; unit: what its frames are called."""
    result.print_lines()
    write_takes(files, result.take)
    print_written(files, len(result.take), unit)


def print_written(files: Sequence[ExportFile], n_frames: int, unit: str = "frame") -> None:
    """Print which files were written, a line each."""
    for wanted in files:
        typer.echo(f"{wanted.file}: {n_frames} {unit}{'s' * (n_frames != 1)} ({wanted.format})")


def plan_export_files(recording: Path, out: Sequence[Path], formats: Sequence[str]) -> list[ExportFile]:
    """Return what is to be written: each file in the format named for it, or told by its name; without files beside the
    recording.

    Args:
        recording: recording that gives its name to files without one.
        out: files to write.
        formats: names of formats.
    Raises: DuocapError: neither file nor format, an unknown one, or several of both that do not match in number; the recording
        itself, or a file twice.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise DuocapError(f"--format {unknown[0]}: unknown; expected one of {', '.join(FORMATS)}")
    if not out and not formats:
        example = f"duocap export {recording} --out {recording.stem}.bvh"
        raise DuocapError(f"no file was named to write; expected --out FILE or --format {'|'.join(FORMATS)}, such as `{example}`")
    if out and formats and len(formats) != len(out):
        raise DuocapError(
            f"{format_count(len(formats), 'format')} for {format_count(len(out), 'file')}; give one --format for each --out, "
            "or none"
        )
    if not out:
        files = [ExportFile(recording.with_suffix(FORMATS[name].suffix), name) for name in formats]
    elif not formats:
        files = [ExportFile(file, find_export_format(file, "; or name it with --format")) for file in out]
    else:
        files = [ExportFile(file, name) for file, name in zip(out, formats, strict=True)]
    check_apart(files, [recording])
    return files


def check_apart(files: Sequence[ExportFile], recordings: Sequence[Path]) -> None:
    """Raise DuocapError unless each file is written once and none is one of the recordings, and no recording is replaced."""
    sources = {recording.resolve() for recording in recordings}
    seen: set[Path] = set()
    for wanted in files:
        place = wanted.file.resolve()
        if place in sources | seen:
            what = "is the recording itself" if place in sources else "would be written twice"
            raise DuocapError(f"{wanted.file}: {what}; choose another name with --out")
        if wanted.format == "mcap" and wanted.file.exists():
            raise DuocapError(f"{wanted.file}: exists already, and a recording never replaces anything; choose another name")
        seen.add(place)


def find_export_format(file: Path, otherwise: str = "") -> str:
    """Return the format of a file by the ending of its name; otherwise: other choices to mention. Raises DuocapError: none."""
    for name, kind in FORMATS.items():
        if f".{file.name.lower()}".endswith(kind.suffix):
            return name
    known = ", ".join(kind.suffix for kind in FORMATS.values())
    raise DuocapError(f"{file}: its format is not told by its name, which should end with one of {known}{otherwise}")


def write_takes(files: Sequence[ExportFile], take: "Take", avatar: "Avatar | None" = None) -> None:
    """Write a take in several formats, all of them or none; on an avatar, of which formats without a mesh hold the bones alone.

    Args:
        files: files to write.
        take: the motion.
        avatar: body that it moves, None for the performer's.
    """
    with write_together():
        for wanted in files:
            if avatar is None:
                write_take(wanted, take)
            else:
                _write_on_avatar(wanted, take, avatar)


def _write_on_avatar(wanted: ExportFile, take: "Take", avatar: "Avatar") -> None:
    """Write a take on an avatar."""
    from stream.export.avatar import write_avatar
    from stream.export.fbx import write_fbx
    from stream.take.retarget import retarget_take

    if wanted.format in AVATAR_FORMATS:
        (write_avatar if wanted.format == "glb" else write_fbx)(wanted.file, take, avatar)
    else:
        write_take(wanted, retarget_take(take, avatar.skeleton))


def export_take(take: "Take", *files: Path | str) -> None:
    """Write a take to files, all of them or none; the end of each name tells its format. Raises DuocapError."""
    wanted = [ExportFile(Path(file), find_export_format(Path(file))) for file in files]
    check_apart(wanted, ())
    write_takes(wanted, take)


def write_take(wanted: ExportFile, take: "Take") -> None:
    """Write a take in one format."""
    kind = FORMATS[wanted.format]
    writer: Callable[[Path, Any], None] = getattr(importlib.import_module(kind.module), kind.writer)
    writer(wanted.file, take)
