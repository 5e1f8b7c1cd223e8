"""Curves of keys for points of the body to follow (Grochow et al. 2004, section 7.2); motion at other rates."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.spatial.transform import Rotation, RotationSpline

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.models.style.features import RATE_HZ
from reconstruct.models.style.model import StyleError

INTERPOLATIONS = ("monotone", "smooth", "linear")
EDGE_S = 1e-9  # times of frames are rounded


@dataclass(frozen=True, slots=True)
class KeyedCurve:
    """Keys of a point: times, (K,) [s], rising, two or more, and positions, (K, 3) [m].

    way: of interpolation: `monotone` (Fritsch & Carlson 1980: never beyond the keys: a foot stands between two equal ones),
    `smooth` (a natural cubic spline: continuous acceleration, but it overshoots) or `linear`.
    """

    time_s: Floats
    position_m: Floats
    way: str = "monotone"

    def __post_init__(self) -> None:
        if len(self.time_s) < 2:
            raise StyleError(
                f"a curve needs two keys or more, this has {len(self.time_s)}; a single place is asked of a pose: [[point]]"
            )
        if self.position_m.shape != (len(self.time_s), 3):
            raise StyleError(f"{len(self.time_s)} times and {len(self.position_m)} places; a curve needs a place at every time")
        if not (np.isfinite(self.time_s).all() and np.isfinite(self.position_m).all()):
            raise StyleError("a time or place that is not finite")
        if not np.all(np.diff(self.time_s) > 0.0):
            raise StyleError("the times do not rise from key to key")

    def at(self, seconds: Floats) -> Floats:
        """Return the positions at times, (T,) [s] -> (T, 3) [m]; NaN before the first key and after the last."""
        inside = (seconds >= self.time_s[0] - EDGE_S) & (seconds <= self.time_s[-1] + EDGE_S)
        t = np.clip(seconds, self.time_s[0], self.time_s[-1])
        if self.way == "linear" or len(self.time_s) == 2:
            positions = np.stack([np.interp(t, self.time_s, column) for column in self.position_m.T], axis=-1)
        elif self.way == "smooth":
            positions = np.asarray(CubicSpline(self.time_s, self.position_m, bc_type="natural")(t))
        else:
            positions = np.asarray(PchipInterpolator(self.time_s, self.position_m)(t))
        return np.where(inside[:, None], positions, np.nan)


def find_span_s(curves: list[KeyedCurve]) -> tuple[float, float]:
    """Return the first and the last time of all curves [s]."""
    return min(float(c.time_s[0]) for c in curves), max(float(c.time_s[-1]) for c in curves)


def resample_motion(rotvec: Floats, root_m: Floats, fps: float) -> tuple[Floats, Floats]:
    """Return poses at another rate over the same time.

    Joints and position follow cubic splines, the root's orientation one of rotations: velocity and acceleration are continuous.

    Args:
        rotvec: rotation vectors at RATE_HZ, (N, J, 3) [rad].
        root_m: positions of the root at RATE_HZ, (N, 3) [m].
        fps: frames a second.
    """
    count = int((len(rotvec) - 1) * fps / RATE_HZ + 1e-6) + 1
    if len(rotvec) < 2 or fps == RATE_HZ:
        return rotvec, root_m
    own_s, new_s = np.arange(len(rotvec)) / RATE_HZ, np.arange(count) / fps
    new_s = np.minimum(new_s, own_s[-1])
    joints = np.array(CubicSpline(own_s, rotvec)(new_s))
    rotations = RotationSpline(own_s, Rotation.from_matrix(matrix_from_rotvec(rotvec[:, 0])))(new_s)
    joints[:, 0] = rotvec_from_matrix(rotations.as_matrix())
    return np.ascontiguousarray(joints), np.ascontiguousarray(CubicSpline(own_s, root_m)(new_s))
