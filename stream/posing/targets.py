"""What is asked of a model: the held handles of a document as constraints; and which of them a pose misses."""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import PARENT_ARRAY, REFERENCE, Skeleton
from reconstruct.constraints import Constraints, Handles, Orientations, RootConstraint
from reconstruct.models.style.synthesis.synthesizer import Synthesis
from reconstruct.observations import Observations
from reconstruct.posing.fit import PoseResult, PoseStart, build_pose_gaussian, fit_pose
from reconstruct.posing.protocol import FoundPose
from stream.posing.document import Document, ImagePoint, StoredPose
from stream.posing.picture import find_picture_camera, project_to_picture

POINT_SIGMA_M = 0.002
IMAGE_SIGMA = 0.0025  # of clicks, of the picture's longer side: more exact, poses that no model knows would follow each click
TURN_SIGMA_RAD = 0.02
ROOT_SIGMA_M, ROOT_SIGMA_RAD = 0.3, 0.5  # who is held nowhere stays about where they are
MET_M, MET = 0.02, 0.008  # from its target a handle counts as there; in a picture, of its longer side
HELD_RAD = 0.1  # deviation of the joints of a pose that is brought to handles: as far as models disagree of one
STAY, STAY_M = 0.5, (0.005, 0.5)  # deviation of what nobody drags, of the way of what is dragged, within bounds [m]


@dataclass(frozen=True, slots=True)
class Unmet:
    """How far a joint is from where it is held: from a place [m], or from a point of the picture [px]; the other is 0."""

    error_m: float = 0.0
    error_px: float = 0.0


def find_unmet_handles(document: Document, joint_m: Floats) -> dict[str, Unmet]:
    """Return the held joints that miss their targets. joint_m: (J, 3) [m]."""
    found: dict[str, Unmet] = {}
    for name, at in document.pins.items():
        error_m = float(np.linalg.norm(joint_m[JOINT_INDEX[name]] - at))
        if error_m > MET_M:
            found[name] = Unmet(error_m=error_m)
    if document.picture is not None:
        for name, image_px in document.image_points.items():
            seen = project_to_picture(document.picture, joint_m[JOINT_INDEX[name]])
            error_px = np.inf if seen is None else float(np.linalg.norm(seen - image_px))
            if error_px > MET * max(document.picture.size):
                found[name] = Unmet(error_px=error_px)
    return found


def find_held_joints(document: Document) -> tuple[str, ...]:
    """Return the joints that are held, in the skeleton's order."""
    return tuple(name for name in JOINTS if name in document.pins or name in document.image_points)


@dataclass(frozen=True, slots=True)
class KeptPlaces:
    """Where a body was when a drag began, which what is not dragged stays near.

    Attributes:
        handles: joints and ends of bones, (P,).
        at_m: their places, (P, 3) world [m].
    """

    handles: Handles
    at_m: Floats


def collect_kept_places(skeleton: Skeleton, pose: StoredPose) -> KeptPlaces:
    """Return the places of all joints of a pose, and of the ends of the bones that have none beyond them.

    Args:
        skeleton: the body.
        pose: its pose.
    """
    rotation, joint_m = compute_forward_kinematics(skeleton, pose.rotvec, pose.root_m)
    ends = np.array(sorted(set(range(len(JOINTS))) - set(PARENT_ARRAY.tolist())), np.int64)
    joint = np.concatenate([np.arange(len(JOINTS)), ends])
    offset_m = np.concatenate([np.zeros((len(JOINTS), 3)), skeleton.tails_m[ends]])
    return KeptPlaces(Handles(joint, offset_m), joint_m[joint] + np.einsum("pij,pj->pi", rotation[joint], offset_m))


def build_pose_constraints(document: Document, kept: KeptPlaces | None = None, dragged: str = "") -> Constraints:
    """Return the constraints for the model: the handles, and the root about where it is.

    Args:
        document: what is held, and the pose before.
        kept: what the body stays near, as loosely as the dragged joint has gone from there; None: near nothing.
        dragged: joint that is dragged, one that is held.
    """
    held = find_held_joints(document)
    joint = np.array([JOINT_INDEX[name] for name in held], np.int64)
    in_picture = bool(document.image_points)
    rotation = np.ascontiguousarray(REFERENCE[0] @ matrix_from_rotvec(document.pose.rotvec[0]))
    sigma_m, sigma_rad = (np.inf, np.inf) if in_picture else (ROOT_SIGMA_M, ROOT_SIGMA_RAD)
    root = RootConstraint(rotation, document.pose.root_m.copy(), sigma_rad, sigma_m)
    turned = Orientations(
        np.array([JOINT_INDEX[name] for name in document.turns], np.int64),
        matrix_from_rotvec(np.array(list(document.turns.values())).reshape(-1, 3)),
        np.full(len(document.turns), TURN_SIGMA_RAD),
    )
    handles = Handles(joint, np.zeros((len(held), 3)))
    asked = Constraints(handles, _build_observations(document, held), turned, root=root)
    if kept is None:
        return asked
    return _add_kept_places(asked, kept, float(np.clip(STAY * _measure_way_m(document, kept, dragged), *STAY_M)))


def bring_to_handles(skeleton: Skeleton, document: Document, start: FoundPose) -> FoundPose:
    """Return a pose brought to what is held by the smallest changes of the joints, without asking its model again.

    Args:
        skeleton: the body.
        document: what is held.
        start: the pose, as its model found it, which keeps all else that it says, such as a style's latent point.
    """
    if not document.held or not isinstance(start, Synthesis):
        return start
    found = bring_to_constraints(skeleton, StoredPose(start.rotvec, start.root_m), build_pose_constraints(document))
    return replace(
        start,
        rotvec=found.rotvec,
        root_m=found.root_m,
        error_m=found.error_m,
        error_px=found.error_px,
        reached=found.reached,
    )


def bring_to_constraints(skeleton: Skeleton, pose: StoredPose, constraints: Constraints) -> PoseResult:
    """Return a pose brought to constraints by the smallest changes of its joints.

    Args:
        skeleton: the body.
        pose: the pose.
        constraints: what it is to meet.
    """
    model = build_pose_gaussian(pose.rotvec, HELD_RAD**2 * np.eye(3 * (len(JOINTS) - 1)))
    rotation = np.ascontiguousarray(REFERENCE[0] @ matrix_from_rotvec(pose.rotvec[0]))
    return fit_pose(skeleton, model, None, constraints, PoseStart(model.mean.copy(), rotation, np.array(pose.root_m)))


def _add_kept_places(asked: Constraints, kept: KeptPlaces, sigma_m: float) -> Constraints:
    """Return constraints that also keep the joints that nothing holds where they were.

    Args:
        asked: the constraints.
        kept: where the body was.
        sigma_m: standard deviation of what is kept [m].
    """
    free = ~np.isin(kept.handles.joint, asked.handles.joint)
    n, seen = int(free.sum()), asked.observations
    handles = Handles(
        np.concatenate([asked.handles.joint, kept.handles.joint[free]]),
        np.concatenate([asked.handles.offset_m, kept.handles.offset_m[free]]),
    )
    observations = replace(
        seen,
        point_m=np.concatenate([seen.point_m, kept.at_m[free]]),
        root_info=np.concatenate([seen.root_info, np.broadcast_to(np.eye(3) / sigma_m, (n, 3, 3))]),
        ideal=np.concatenate([seen.ideal, np.zeros((2, n, 2))], axis=1),
        weight_px=np.concatenate([seen.weight_px, np.zeros((2, n))], axis=1),
    )
    return replace(asked, handles=handles, observations=observations, n_kept=n)


def _measure_way_m(document: Document, kept: KeptPlaces, dragged: str) -> float:
    """Return how far a joint is dragged from where it was [m]; in a picture, at the depth where it was.

    Args:
        document: where the joint is held.
        kept: where it was.
        dragged: its name.
    """
    was_m = kept.at_m[JOINT_INDEX[dragged]]
    if dragged in document.pins:
        return float(np.linalg.norm(was_m - document.pins[dragged]))
    if document.picture is None or dragged not in document.image_points:
        return 0.0
    camera, seen = find_picture_camera(document.picture), project_to_picture(document.picture, was_m)
    if seen is None:
        return np.inf
    off_px = float(np.linalg.norm(seen - document.image_points[dragged]))
    return off_px * float(camera.to_camera(was_m[None])[0, 2]) / camera.focal_px


def _build_observations(document: Document, held: tuple[str, ...]) -> Observations:
    """Return the targets in space and in the picture, whose camera is the first of two."""
    n = len(held)
    point_m, info = np.zeros((n, 3)), np.zeros((n, 3, 3))
    ideal, weight_px = np.zeros((2, n, 2)), np.zeros((2, n))
    rotation, translation, focal = np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)), np.ones(2)
    image: list[tuple[int, ImagePoint]] = []
    for row, name in enumerate(held):
        if name in document.pins:
            point_m[row], info[row] = document.pins[name], np.eye(3) / POINT_SIGMA_M
        else:
            image.append((row, document.image_points[name]))
    if image and document.picture is not None:
        camera = find_picture_camera(document.picture)
        rotation[:], translation[:], focal[:] = camera.rotation, camera.translation, camera.focal_px
        for row, at in image:
            ideal[0, row] = camera.undistort(np.array([at], np.float64))[0]
            weight_px[0, row] = (IMAGE_SIGMA * max(document.picture.size)) ** -2.0
    return Observations(point_m, info, ideal, weight_px, rotation, translation, focal)
