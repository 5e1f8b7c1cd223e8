"""`duocap sparse complete`: whole poses from a few points."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import add_settings_options
from tools.commands.options import Fps, Joints, RigFile, TakeFiles, TrajectoryFile
from tools.progress import open_progress_bar

DictionaryFile = Annotated[
    Path, typer.Argument(metavar="FILE.sparse", help="A dictionary (duocap sparse train).", show_default=False)
]
ConstraintsFile = Annotated[
    Path | None,
    typer.Option("--constraints", metavar="FILE", help="What is asked: a TOML as in docs/style-pose.md.", show_default=False),
]
SkeletonFile = Annotated[
    Path | None,
    typer.Option("--skeleton", metavar="FILE", help="Pose this body instead: subject.toml.", show_default=False),
]


@add_settings_options
def complete(
    settings: Settings,
    dictionary: DictionaryFile,
    out: TakeFiles,
    constraints: ConstraintsFile = None,
    rig: RigFile = None,
    skeleton: SkeletonFile = None,
    trajectory: TrajectoryFile = None,
    joints: Joints = None,
    fps: Fps = 30.0,
) -> None:
    """Complete poses of which a few points are known, in space or in pictures, or move along curves."""
    from tools.export import plan_export_files, write_takes
    from tools.sparse.complete import CompletionTask, complete_poses
    from tools.style.inputs import PoseInputs, check_pose_inputs

    inputs = PoseInputs(constraints, rig, trajectory, joints, fps)
    files = plan_export_files(dictionary, out, ())
    check_pose_inputs(inputs, out)
    with open_progress_bar("pose") as progress:
        result = complete_poses(CompletionTask(dictionary, inputs, skeleton), progress)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    write_takes(files, result.take)
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(result.take)} pose{'s' if len(result.take) > 1 else ''} ({wanted.format})")
