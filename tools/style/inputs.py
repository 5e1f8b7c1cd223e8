"""What `style pose` and `sparse complete` are given: constraints, cameras, a motion to follow, a performer."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from calibration.camera import Rig
from calibration.formats.rig_file import read_cameras
from calibration.subject.subject import Subject
from calibration.world import place_rig_in_world
from config.errors import DuocapError
from tools.arguments import check_folders
from tools.style.entries import BodyMarkers
from tools.style.file import add_motion_curves, read_request
from tools.style.request import PoseAsked, PoseRequest

MOST_FPS = 240.0
UNKNOWN_FLOOR = "the rig's floor is not known; up is taken from the pictures, as if the cameras stood level"


@dataclass(frozen=True, slots=True)
class PoseInputs:
    """Files of constraints, of cameras, of a motion and which of its joints to follow, and the rate of what is written."""

    constraints: Path | None = None
    rig: Path | None = None
    trajectory: Path | None = None
    joints: str | None = None
    fps: float = 30.0


def check_pose_inputs(inputs: PoseInputs, out: Sequence[Path]) -> None:
    """Raise DuocapError for impossible inputs, before the work starts."""
    check_folders(*out)
    read = [file.resolve() for file in (inputs.constraints, inputs.trajectory) if file is not None]
    if any(file.resolve() in read for file in out):
        raise DuocapError("--out would replace a file that is read here; choose another name with --out")
    if inputs.constraints is None and inputs.trajectory is None:
        raise DuocapError(
            "nothing is asked of the pose; give --constraints FILE.toml (docs/style-pose.md), or --trajectory FILE.bvh"
        )
    if (inputs.trajectory is None) != (inputs.joints is None):
        given = "--joints is for --trajectory" if inputs.trajectory is None else "--trajectory needs --joints"
        raise DuocapError(f"{given}; give both, such as --trajectory walk.bvh --joints leftFoot,rightFoot,leftHand")
    if not 1.0 <= inputs.fps <= MOST_FPS:
        raise DuocapError(f"--fps {inputs.fps:g}: must be from 1 to {MOST_FPS:g}")


def read_pose_inputs(inputs: PoseInputs, n_styles: int, subject: Subject | None) -> tuple[PoseRequest, Rig | None]:
    """Return all that is asked, of the file and along a motion, and the cameras in the world.

    Args:
        inputs: files of constraints.
        n_styles: number of styles, of which shares are given.
        subject: subject whose body is posed; None for that of the style.
    Raises: DuocapError.
    """
    worn = None if subject is None else BodyMarkers(subject.markers.names, subject.joint, subject.offset_m)
    request, cameras = PoseRequest((PoseAsked(),)), None
    if inputs.constraints is not None:
        request, cameras = read_request(inputs.constraints, n_styles, inputs.rig, worn)
    elif inputs.rig is not None:
        cameras = read_cameras(inputs.rig)
    if inputs.trajectory is not None and inputs.joints is not None:
        request = add_motion_curves(request, inputs.trajectory, inputs.joints)
    for number, asked in enumerate(request.poses, 1):
        if asked.is_empty and not request.curves:
            which = f"pose {number}" if len(request.poses) > 1 else "a pose"
            what = "add a [[point]], [[image_point]], [[orientation]] or [[fixed]]"
            raise DuocapError(f"{inputs.constraints}: nothing is asked of {which}; {what}")
    if cameras is not None:
        cameras = place_rig_in_world(cameras, None if subject is None else subject.world)
    return request, cameras
