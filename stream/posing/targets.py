"""What is asked of a model: the held handles of a document as constraints; and which of them a pose misses."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import REFERENCE
from reconstruct.constraints import Constraints, FixedJoints, Handles, RootConstraint
from reconstruct.observations import Observations
from stream.posing.document import Document, ImagePoint
from stream.posing.picture import find_picture_camera, project_to_picture

POINT_SIGMA_M = 0.005
IMAGE_SIGMA = 0.0025  # of clicks, of the picture's longer side: more exact, poses that no model knows would follow each click
ROOT_SIGMA_M, ROOT_SIGMA_RAD = 0.3, 0.5  # who is held nowhere stays about where they are
MET_M, MET = 0.02, 0.008  # from its target a handle counts as there; in a picture, of its longer side
STAY_SIGMA_RAD = 0.5  # of a pose that no model has found, such as one of a file: the next one is near it


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


def build_pose_constraints(document: Document, stay: bool = False) -> Constraints:
    """Return the constraints for the model: the handles, the root about where it is, and with `stay` the joints, too."""
    held = find_held_joints(document)
    joint = np.array([JOINT_INDEX[name] for name in held], np.int64)
    in_picture = bool(document.image_points)
    rotation = np.ascontiguousarray(REFERENCE[0] @ matrix_from_rotvec(document.pose.rotvec[0]))
    sigma_m, sigma_rad = (np.inf, np.inf) if in_picture else (ROOT_SIGMA_M, ROOT_SIGMA_RAD)
    root = RootConstraint(rotation, document.pose.root_m.copy(), sigma_rad, sigma_m)
    every = np.arange(1, len(JOINTS), dtype=np.int64)
    stays = FixedJoints(every, document.pose.rotvec[1:].copy(), np.full(len(every), STAY_SIGMA_RAD))
    fixed = stays if stay and not in_picture else FixedJoints()
    handles = Handles(joint, np.zeros((len(held), 3)))
    return Constraints(handles, _build_observations(document, held), fixed=fixed, root=root)


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
