"""Features of poses as they are solved, at RATE_HZ whatever the rate they come at; what was badly seen leaves a gap."""

from dataclasses import dataclass

import numpy as np

from config.joints import N_JOINTS
from database.rotations import Floats
from reconstruct.pose import Pose, State
from reconstruct.style.features import NEAR_PI_RAD, STEP_S, nearest_rotvec, static_features, with_differences

STEP_NS = round(STEP_S * 1e9)
EARLY_NS = STEP_NS // 5  # frames of 30 Hz come a little early or late
GAP_NS = 75_000_000  # one lost frame of a 30 Hz camera is bridged, two are a gap
SEEN_SHARE = 0.75  # of the markers: what a style is learned of was measured, not made up by the model or by the last style
JUMP_RAD = 1.2  # of a joint within a step: 36 rad/s is a pose found elsewhere, not a motion


@dataclass(frozen=True, slots=True)
class Sample:
    """Features of one moment, (F,), its pose, (J, 3) [rad], and when it was: stretch without a gap, and time in it [s]."""

    features: Floats
    rotvec: Floats
    stretch: int
    seconds: float


class Recent:
    """The last well-seen poses. up: of the world, (3,)."""

    def __init__(self, up: Floats) -> None:
        self._up = np.asarray(up, np.float64)
        self._stretch = self._begun_ns = self._due_ns = 0
        self._past: list[tuple[int, Floats, Floats]] = []  # time [ns], rotation vectors, static features

    def add(self, pose: Pose) -> Sample | None:
        """Take a pose; give the features of its moment if a step is over and the two steps before it were seen as well."""
        if not well_seen(pose):
            self._past.clear()
            return None
        t_ns, rotvec = pose.t_capture_ns, pose.rotvec
        if self._past:
            before_ns, before, _ = self._past[-1]
            if t_ns == before_ns:
                return None
            far = 1 + np.flatnonzero(_length2(rotvec[1:]) > NEAR_PI_RAD**2)
            if len(far):
                rotvec = rotvec.copy()
                rotvec[far] = nearest_rotvec(rotvec[far], before[far])
            if not 0 < t_ns - before_ns <= GAP_NS or _length2(rotvec[1:] - before[1:]).max() > JUMP_RAD**2:
                self._past.clear()
        if not self._past:
            self._stretch, self._begun_ns, rotvec = self._stretch + 1, t_ns, pose.rotvec
        self._past.append((t_ns, rotvec, static_features(rotvec, self._up)))
        while len(self._past) > 2 and self._past[1][0] <= t_ns - 2 * STEP_NS:
            del self._past[0]
        if 0 < self._due_ns - t_ns < STEP_NS or self._past[0][0] > t_ns - 2 * STEP_NS:
            return None
        self._due_ns = t_ns + STEP_NS - EARLY_NS
        features = with_differences(self._past[-1][2], self._at(t_ns - STEP_NS), self._at(t_ns - 2 * STEP_NS))
        return Sample(features, rotvec.copy(), self._stretch, 1e-9 * (t_ns - self._begun_ns))

    def _at(self, t_ns: int) -> Floats:
        """Give static features of a moment between two poses."""
        later = next(n for n, (at_ns, _, _) in enumerate(self._past) if at_ns >= t_ns)
        if later == 0:
            return self._past[0][2]
        (from_ns, _, before), (to_ns, _, after) = self._past[later - 1], self._past[later]
        return np.asarray(before + (t_ns - from_ns) / (to_ns - from_ns) * (after - before))


def well_seen(pose: Pose) -> bool:
    """Tell whether a pose says how the performer moves: tracked, most markers seen, finite."""
    if pose.state is not State.TRACKING or pose.rotvec.shape != (N_JOINTS, 3) or pose.seen.shape[1] == 0:
        return False
    return bool(pose.seen.any(axis=0).mean() >= SEEN_SHARE and np.isfinite(pose.rotvec).all())


def _length2(vectors: Floats) -> Floats:
    """Give the squared lengths of vectors, (J, 3)."""
    return np.asarray(np.einsum("jk,jk->j", vectors, vectors))
