"""From what a file asks for to the constraints of a pose."""

import numpy as np

from calibration.camera import Rig
from config.arrays import Floats
from database.geometry.kinematics import charted_from_local
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.constraints import Constraints, FixedJoints, Handles, Orientations, RootConstraint
from reconstruct.models.style.features import N_ANGLES, choose_nearest_rotvec
from reconstruct.models.style.model import Style
from reconstruct.observations import Observations
from tools.style.request import BodyPoint, CurveAsked, FixedAsked, PointAsked, PoseAsked
from tools.style.values import PoseFileError


def build_constraints(
    asked: PoseAsked, skeleton: Skeleton, style: Style | None, rig: Rig | None = None, points: tuple[PointAsked, ...] = ()
) -> Constraints:
    """Return the constraints of one pose. A point at NaN is asked for nothing, but is a handle.

    Args:
        asked: what the pose is to meet.
        skeleton: skeleton of the body.
        style: style whose poses fixed joints may keep to; None for none.
        rig: the cameras that image points are in.
        points: asked for as well.
    Raises: PoseFileError.
    """
    points = asked.points + points
    handles = [point.handle for point in points] + [point.handle for point in asked.image_points]
    return Constraints(
        Handles(
            np.array([handle.joint for handle in handles], np.int64),
            np.array([find_handle_offset(handle, skeleton) for handle in handles]).reshape(-1, 3),
        ),
        _build_observations(points, asked, rig),
        Orientations(
            np.array([each.joint for each in asked.orientations], np.int64),
            np.array([each.rotation for each in asked.orientations]).reshape(-1, 3, 3),
            np.array([each.sigma_rad for each in asked.orientations], np.float64),
        ),
        FixedJoints(
            np.array([each.joint for each in asked.fixed], np.int64),
            np.array([_find_fixed_rotvec(each, style) for each in asked.fixed]).reshape(-1, 3),
            np.array([each.sigma_rad for each in asked.fixed], np.float64),
        ),
        RootConstraint() if asked.root is None else asked.root,
    )


def find_handle_offset(handle: BodyPoint, skeleton: Skeleton) -> Floats:
    """Return where a handle is in its joint's frame, (3,) [m]."""
    return skeleton.tails_m[handle.joint] if handle.offset_m is None else handle.offset_m


def build_curve_points(curves: tuple[CurveAsked, ...], seconds: Floats) -> list[tuple[PointAsked, ...]]:
    """Return the points that curves ask for at every time."""
    places = [curve.curve.at(seconds) for curve in curves]
    return [
        tuple(PointAsked(curve.handle, place[n], curve.sigma_m) for curve, place in zip(curves, places, strict=True))
        for n in range(len(seconds))
    ]


def _build_observations(points: tuple[PointAsked, ...], asked: PoseAsked, rig: Rig | None) -> Observations:
    """Return points in space, then points in pictures, as the solver of live capture has them."""
    n = len(points) + len(asked.image_points)
    place, info = np.zeros((n, 3)), np.zeros((n, 3, 3))
    ideal, weight = np.zeros((2, n, 2)), np.zeros((2, n))
    for row, point in enumerate(points):
        if np.isfinite(point.position_m).all():
            place[row], info[row] = point.position_m, np.eye(3) / point.sigma_m
    for row, image in enumerate(asked.image_points, len(points)):
        assert rig is not None
        ideal[image.camera, row] = rig.cameras[image.camera].undistort(image.px)
        weight[image.camera, row] = 1.0 / image.sigma_px**2
    if rig is None:
        return Observations(place, info, ideal, weight, np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)), np.ones(2))
    rotation = np.array([camera.rotation for camera in rig.cameras])
    translation = np.array([camera.translation for camera in rig.cameras])
    return Observations(place, info, ideal, weight, rotation, translation, np.array([c.focal_px for c in rig.cameras]))


def _find_fixed_rotvec(asked: FixedAsked, style: Style | None) -> Floats:
    """Return the charted rotation vector of a held joint, (3,)."""
    if style is None and asked.rotation is None:
        raise PoseFileError("fixed: give the joint's rotation; there is no style whose pose it could keep to")
    mean = np.zeros(3) if style is None else style.mean[:N_ANGLES].reshape(-1, 3)[asked.joint - 1]
    if asked.rotation is not None:
        local = np.array(REFERENCE)
        local[asked.joint] = asked.rotation
        return choose_nearest_rotvec(charted_from_local(local)[asked.joint], mean)
    assert style is not None
    if asked.pose is None:
        return np.asarray(mean)
    if asked.pose >= len(style.rotvec):
        raise PoseFileError(f"fixed as = {asked.pose}: the style {style.name!r} has training poses 0 to {len(style.rotvec) - 1}")
    return np.asarray(style.rotvec[asked.pose, asked.joint])
