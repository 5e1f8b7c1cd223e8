"""`duocap style pose`: poses and motions in a style from a few points."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders, with_settings
from tools.progress import progress_bar

if TYPE_CHECKING:
    from calibration.camera import Rig
    from calibration.subject.subject import Subject
    from config.arrays import Floats
    from reconstruct.models.style.model import Style
    from reconstruct.models.style.synthesis.synthesizer import Synthesizer
    from tools.style.request import PoseRequest

MOST_FPS = 240.0

Styles = Annotated[
    list[Path], typer.Argument(metavar="FILE.style...", help="One style, or several to pose between.", show_default=False)
]
ConstraintsFile = Annotated[
    Path | None,
    typer.Option(
        "--constraints", metavar="FILE", help="What is asked of the pose: a TOML as in docs/style.md.", show_default=False
    ),
]
Out = Annotated[
    list[Path],
    typer.Option("--out", metavar="FILE", help="Write .bvh, .csv, .glb, .vrma or .trc; repeatable.", show_default=False),
]
RigFile = Annotated[
    Path | None, typer.Option("--rig", metavar="FILE", help="The cameras that image points are in: rig.toml.", show_default=False)
]
SkeletonFile = Annotated[
    Path | None,
    typer.Option("--skeleton", metavar="FILE", help="Pose this body instead of the style's: subject.toml.", show_default=False),
]
TrajectoryFile = Annotated[
    Path | None,
    typer.Option("--trajectory", metavar="FILE", help="Follow joints of a motion: BVH, or AMC with its ASF.", show_default=False),
]
Joints = Annotated[
    str | None,
    typer.Option("--joints", metavar="A,B", help="Which joints of it, such as leftHand,leftFoot,rightFoot.", show_default=False),
]
Fps = Annotated[float, typer.Option("--fps", help="Frames a second of what is written.")]


@with_settings
def pose(
    settings: Settings,
    styles: Styles,
    out: Out,
    constraints: ConstraintsFile = None,
    rig: RigFile = None,
    skeleton: SkeletonFile = None,
    trajectory: TrajectoryFile = None,
    joints: Joints = None,
    fps: Fps = 30.0,
) -> None:
    """Pose a body in a style by a few points, or move it along curves."""
    from tools.export import wanted_files, write_take
    from tools.style.pose import posed

    files = wanted_files(styles[0], out, ())
    _check(constraints, trajectory, joints, fps, out)
    subject = _subject(skeleton)
    read = _styles(styles)
    request, cameras = _request(constraints, len(read), rig, subject, trajectory, joints)
    up = _up(cameras, subject)
    with progress_bar("pose") as progress:
        result = posed(_synthesizer(read, subject, up), request, cameras, fps, progress)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    for wanted in files:
        write_take(wanted, result.take, up)
        typer.echo(f"{wanted.file}: {len(result.take)} frame{'s' if len(result.take) > 1 else ''} ({wanted.format})")


def _check(constraints: Path | None, trajectory: Path | None, joints: str | None, fps: float, out: list[Path]) -> None:
    """Raise DuocapError for what cannot be done: better now than after the work."""
    check_folders(*out)
    inputs = [file.resolve() for file in (constraints, trajectory) if file is not None]
    if any(file.resolve() in inputs for file in out):
        raise DuocapError("--out would replace a file that is read here; choose another name with --out")
    if constraints is None and trajectory is None:
        raise DuocapError("nothing is asked of the pose; give --constraints FILE.toml (docs/style.md), or --trajectory FILE.bvh")
    if (trajectory is None) != (joints is None):
        given = "--joints is for --trajectory" if trajectory is None else "--trajectory needs --joints"
        raise DuocapError(f"{given}; give both, such as --trajectory walk.bvh --joints leftFoot,rightFoot,leftHand")
    if not 1.0 <= fps <= MOST_FPS:
        raise DuocapError(f"--fps {fps:g}: must be from 1 to {MOST_FPS:g}")


def _subject(file: Path | None) -> "Subject | None":
    """Read the performer to be posed."""
    from calibration.subject.subject import read_subject

    return None if file is None else read_subject(file)


def _styles(files: list[Path]) -> "list[Style]":
    """Read the styles."""
    from reconstruct.models.style.file import read_style

    return [read_style(file) for file in files]


def _request(
    constraints: Path | None,
    n_styles: int,
    rig: Path | None,
    subject: "Subject | None",
    trajectory: Path | None,
    joints: str | None,
) -> "tuple[PoseRequest, Rig | None]":
    """Return all that is asked, of the file and along a motion."""
    from calibration.formats.rig_file import read_cameras
    from tools.style.entries import NamedMarkers
    from tools.style.file import read_request, with_motion
    from tools.style.request import PoseAsked, PoseRequest

    worn = None if subject is None else NamedMarkers(subject.markers.names, subject.joint, subject.offset_m)
    request, cameras = PoseRequest((PoseAsked(),)), None
    if constraints is not None:
        request, cameras = read_request(constraints, n_styles, rig, worn)
    elif rig is not None:
        cameras = read_cameras(rig)
    if trajectory is not None and joints is not None:
        request = with_motion(request, trajectory, joints)
    if not request.curves and any(asked.is_empty for asked in request.poses):
        raise DuocapError(
            f"{constraints}: nothing is asked of a pose; add a [[point]], [[image_point]], [[orientation]] or [[fixed]]"
        )
    return request, cameras


def _up(rig: "Rig | None", subject: "Subject | None") -> "Floats":
    """Return the world's up: Y, or in the frame of a rig without a floor what the T-pose said, else that of the left camera."""
    import numpy as np

    if rig is None or rig.floor_known:
        return np.array([0.0, 1.0, 0.0])
    if subject is not None:
        return np.array(subject.up, np.float64)
    typer.echo("duocap: warning: the rig's floor is not known; up is taken from the left camera, as if it stood level", err=True)
    return np.ascontiguousarray(-rig.left.rotation[1])


def _synthesizer(styles: "list[Style]", subject: "Subject | None", up: "Floats") -> "Synthesizer":
    """Return what finds poses, all styles with equal shares."""
    from reconstruct.models.style.synthesis.synthesizer import Synthesizer

    return Synthesizer(styles, [1.0 / len(styles)] * len(styles), None if subject is None else subject.skeleton, up)
