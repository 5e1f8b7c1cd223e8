"""`duocap sparse complete`: whole poses from a few points."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options
from tools.commands.options import PoseAtoms, PoseInputOptions, TakeFiles
from tools.progress import open_progress_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseCompleteOptions:
    """Options of `duocap sparse complete`."""

    dictionary: Annotated[Path, typer.Argument(metavar="FILE.sparse", help="A dictionary (duocap sparse train).")]
    out: TakeFiles
    points: PoseInputOptions
    atoms: PoseAtoms = None


@add_settings_options
def complete(settings: Settings, options: SparseCompleteOptions) -> None:
    """Complete poses of which a few points are known, in space or in pictures, or move along curves."""
    from tools.export import plan_export_files, write_takes
    from tools.sparse.complete import CompletionTask, complete_poses
    from tools.style.inputs import PoseInputs, check_pose_inputs

    points = options.points
    inputs = PoseInputs(points.constraints, points.rig, points.trajectory, points.joints, points.fps)
    files = plan_export_files(options.dictionary, options.out, ())
    check_pose_inputs(inputs, options.out)
    with open_progress_bar("pose") as progress:
        result = complete_poses(CompletionTask(options.dictionary, inputs, points.skeleton, options.atoms), progress)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    write_takes(files, result.take)
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(result.take)} pose{'s' if len(result.take) > 1 else ''} ({wanted.format})")
