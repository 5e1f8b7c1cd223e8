"""`duocap export`: a recording or motion in, files for other programs out."""

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from config.words import format_count
from tools.arguments import check_folders, check_time_span
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.options import ImportOptions, Retarget, TakeFile
from tools.export import FORMATS, ExportFile, plan_export_files, write_takes
from tools.progress import open_progress_bar

if TYPE_CHECKING:
    from stream.take.from_recording import RecordedMotion
    from stream.take.take import Take

logger = logging.getLogger(__name__)

MAX_FPS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Options of `duocap export`."""

    recording: TakeFile
    out: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write this file, its format by its name; repeatable."),
    ] = None
    format_: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            help="Format of the file, or of one beside the recording; markers: CSV of measured markers; repeatable.",
        ),
        InProject("formats", unless=("out",)),
    ] = None
    from_s: Annotated[float, typer.Option("--from", metavar="SECONDS", help="Leave out what was before.")] = 0.0
    to_s: Annotated[float | None, typer.Option("--to", metavar="SECONDS", help="Leave out what comes after.")] = None
    smooth: Annotated[float, typer.Option(metavar="SECONDS", help="Smooth over a window of this width, such as 0.2; 0: not.")] = (
        0.0
    )
    fps: Annotated[float | None, typer.Option(help="Resample to so many frames a second.")] = None
    in_place: Annotated[bool, typer.Option("--in-place", help="Keep the hips above one point.")] = False
    engine: Annotated[
        bool, typer.Option("--engine", help="For game engines: begin at the origin facing +Z, after one frame of the T-pose.")
    ] = False
    retarget: Retarget = None
    imported: ImportOptions


@add_settings_options
def export(settings: Settings, options: ExportOptions) -> None:
    """Turn a recording, or a motion file, into files for other programs: BVH, TRC, C3D, CSV, GLB, FBX or VRM animation."""
    from database.files.avatar import read_avatar
    from stream.take.read import find_own_recording, is_motion_file

    is_motion = is_motion_file(options.recording)
    recording = options.recording if is_motion else find_own_recording(options.recording)
    files = plan_export_files(recording, options.out or (), options.format_ or ())
    _check(files, options)
    avatar = None if options.retarget is None else read_avatar(options.retarget)
    take = _part(_imported(options) if is_motion else _smoothed(_motion(recording), options.smooth), options)
    write_takes(files, take, avatar)
    for wanted in files:
        typer.echo(f"{wanted.file}: {format_count(len(take), 'frame')}, {take.seconds[-1]:.2f} s ({wanted.format})")


def _check(files: list[ExportFile], options: ExportOptions) -> None:
    """Raise DuocapError for what cannot be done: better now than after the work."""
    from stream.export.fbx import find_blender
    from tools.replay.replay import check_smoothing_window

    check_folders(*(wanted.file for wanted in files))
    if any(wanted.format == "fbx" for wanted in files):
        find_blender()
    check_smoothing_window(options.smooth)
    if options.fps is not None and not 0.0 < options.fps <= MAX_FPS:
        raise DuocapError(f"--fps {options.fps:g}: must be above 0 and at most {MAX_FPS:g}")
    check_time_span(options.from_s, options.to_s)


def _motion(file: Path) -> "RecordedMotion":
    """Read a recording; what is missing of it is told."""
    from stream.recording.recording import open_recording
    from stream.take.from_recording import read_longest_motion

    recording = open_recording(file)
    with open_progress_bar("read") as progress:
        motion = read_longest_motion(recording, progress)
    for note in (*recording.notes, motion.note):
        if note:
            logger.warning("%s: %s", file, note)
    return motion


def _imported(options: ExportOptions) -> "Take":
    """Read a motion of another program; to smooth it, it becomes a recording."""
    from stream.take.read import find_recording, read_take

    hints = options.imported.read_hints()
    if options.smooth == 0.0:
        with open_progress_bar("read") as progress:
            return read_take(options.recording, hints, typer.echo, progress)
    with tempfile.TemporaryDirectory(prefix="duocap-export-") as folder:
        return _smoothed(_motion(find_recording(options.recording, Path(folder), hints, typer.echo)), options.smooth)


def _smoothed(motion: "RecordedMotion", window_s: float) -> "Take":
    """Return the take, smoothed if so wanted."""
    from reconstruct.finish.take_smoother import smooth_poses

    return motion.take() if window_s == 0.0 else motion.take(smooth_poses(motion.poses, motion.subject, window_s))


def _part(take: "Take", options: ExportOptions) -> "Take":
    """Return the part of a take that is wanted, at the rate that is wanted."""
    from stream.take.resampling import resample_evenly
    from stream.take.take import cut_take, prepare_for_engine, remove_root_motion

    part = cut_take(take, options.from_s, check_time_span(options.from_s, options.to_s))
    part = part if options.fps is None else resample_evenly(part, options.fps)
    part = remove_root_motion(part) if options.in_place else part
    return prepare_for_engine(part) if options.engine else part
