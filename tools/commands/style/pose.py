"""`duocap style pose`: poses and motions in a style from a few points."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options
from tools.commands.options import PoseInputOptions, TakeFiles
from tools.progress import open_progress_bar

if TYPE_CHECKING:
    from calibration.subject.subject import Subject
    from reconstruct.models.style.model import Style
    from reconstruct.models.style.synthesis.synthesizer import Synthesizer


@dataclass(frozen=True, slots=True, kw_only=True)
class StylePoseOptions:
    """Options of `duocap style pose`."""

    styles: Annotated[list[Path], typer.Argument(metavar="FILE.style...", help="One style, or several to pose between.")]
    out: TakeFiles
    points: PoseInputOptions


@add_settings_options
def pose(settings: Settings, options: StylePoseOptions) -> None:
    """Pose a body in a style by a few points, or move it along curves."""
    from calibration.subject.subject import read_subject
    from tools.export import plan_export_files, write_takes
    from tools.kernels import compile_kernels
    from tools.style.inputs import UNKNOWN_FLOOR, PoseInputs, check_pose_inputs, read_pose_inputs
    from tools.style.pose import solve_request

    points = options.points
    inputs = PoseInputs(points.constraints, points.rig, points.trajectory, points.joints, points.fps)
    files = plan_export_files(options.styles[0], options.out, ())
    check_pose_inputs(inputs, options.out)
    subject = None if points.skeleton is None else read_subject(points.skeleton)
    read = _styles(options.styles)
    request, cameras = read_pose_inputs(inputs, len(read), subject)
    if cameras is not None and not cameras.floor_known:
        typer.echo(f"duocap: warning: {UNKNOWN_FLOOR}", err=True)
    compile_kernels("style pose")
    with open_progress_bar("pose") as progress:
        result = solve_request(_synthesizer(read, subject), request, cameras, points.fps, progress)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    write_takes(files, result.take)
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(result.take)} frame{'s' if len(result.take) > 1 else ''} ({wanted.format})")


def _styles(files: list[Path]) -> "list[Style]":
    """Read the styles."""
    from reconstruct.models.style.file import read_style

    return [read_style(file) for file in files]


def _synthesizer(styles: "list[Style]", subject: "Subject | None") -> "Synthesizer":
    """Return what finds poses, all styles with equal shares."""
    from reconstruct.models.style.synthesis.synthesizer import Synthesizer

    return Synthesizer(styles, [1.0 / len(styles)] * len(styles), None if subject is None else subject.skeleton)
