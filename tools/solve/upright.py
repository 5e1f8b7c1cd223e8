"""Which axis of a marker file is up."""

from dataclasses import replace

import numpy as np

from config.arrays import Bools, Floats
from config.joints import JOINT_INDEX
from tools.solve.read import LabelledTake, OpticalPoints

LOW = [JOINT_INDEX[f"{side}{name}"] for side in ("left", "right") for name in ("LowerLeg", "Foot", "Toes")]
HIGH = [JOINT_INDEX[name] for name in ("chest", "upperChest", "leftShoulder", "rightShoulder", "head")]


def turn_upright(take: LabelledTake) -> LabelledTake:
    """Return a take with y up: the axis along which shoulders are above feet; without labels, the longest of the body.

    Axes turn into each other in a circle, so that no motion is mirrored.
    """
    points = take.points
    rise_m = _measure_rise(take) if take.has_labels else _measure_height(points)
    up = int(np.argmax(np.abs(rise_m)))
    order = [(up + 2) % 3, up, (up + 1) % 3]
    turned = points.point_m[:, :, order] * (np.array([1.0, -1.0, -1.0]) if rise_m[up] < 0.0 else 1.0)
    return replace(take, points=replace(points, point_m=np.ascontiguousarray(turned)))


def _measure_rise(take: LabelledTake) -> Floats:
    """Return by how much shoulders are above feet, median over the frames, by axis, (3,) [m]."""
    known = np.flatnonzero(take.marker >= 0)
    joint = take.worn.joint[take.marker[known]]
    low, high = known[np.isin(joint, LOW)], known[np.isin(joint, HIGH)]
    if not len(low) or not len(high):
        return _measure_height(take.points)
    both = take.points.valid[:, low].any(axis=1) & take.points.valid[:, high].any(axis=1)
    rise = _find_center(take.points, high) - _find_center(take.points, low)
    return np.asarray(np.median(rise[both] if both.any() else rise, axis=0))


def _measure_height(points: OpticalPoints) -> Floats:
    """Return the extent of the points by axis, (3,) [m], negative where what is low stays less level than what is high."""
    shown: Bools = points.valid.sum(axis=1) >= 0.5 * points.valid.sum(axis=1).max()
    at = np.where(points.valid[shown, :, None], points.point_m[shown], np.nan)
    low, high = np.nanmin(at, axis=1), np.nanmax(at, axis=1)
    extent = np.median(high - low, axis=0)
    return np.asarray(np.where(np.ptp(low, axis=0) <= np.ptp(high, axis=0), extent, -extent))


def _find_center(points: OpticalPoints, columns: np.ndarray) -> Floats:
    """Return the mean of some points in every frame, (N, 3) [m], zero where none is seen."""
    valid = points.valid[:, columns, None]
    return np.asarray((points.point_m[:, columns] * valid).sum(axis=1) / np.maximum(valid.sum(axis=1), 1))
