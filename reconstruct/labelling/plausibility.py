"""Plausibility of solved poses: wrong labels are followed too, but residuals and the root's speed show it.

Averages over half a second count. One camera: the energy per marker; and once the root has moved faster than anyone runs, the
pose is given up, for with few rays a wrong label sends it away in depth. Two cameras: the median distance of markers from their
points, as the energy is high as well where the performer does what the database lacks.
"""

import math
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from calibration.camera import Rig
from capture.packets import MarkerFrame
from config.arrays import Floats
from reconstruct.estimator import Estimate
from reconstruct.observations import monocular_rays, nearest_on_rays

POOR_ENERGY = 1.4  # energy per marker that right labels seldom leave in one camera
USUAL_M = 0.07  # median distance of markers from their points, as bad as an energy of 1
SAME_M = 0.03  # distance within which two labellings put a marker at one position
AVERAGE_S, MAX_MISFIT = 0.5, 4.0  # time constant of the average, and as how much a worse fit counts
DOUBT, TRUST = 1.6, 1.25  # averages above which a pose is implausible, and below which it is plausible again
MAX_SPEED_M_S, SPEED_S = 7.0, 0.1  # a root seen by one camera moves no faster, over this time
MAX_SPEED_GAP_S = 0.3  # frames farther apart tell no speed


@dataclass
class Plausibility:
    """Judges solved poses in turn. misfit: the average; astray: the root went too fast to be followed."""

    misfit: float = field(default=0.0, init=False)
    doubted: bool = field(default=False, init=False)
    astray: bool = field(default=False, init=False)
    _roots: list[tuple[int, Floats]] = field(default_factory=list, init=False)

    def forget(self) -> None:
        """Forget all frames."""
        self.misfit, self.doubted, self.astray, self._roots = 0.0, False, False, []

    def step(self, frame: MarkerFrame, estimate: Estimate, acquired: bool) -> bool:
        """Add the next solved frame and return whether its pose is plausible; acquired: not labelled by the pose before."""
        monocular, t_ns = not frame.any_valid, frame.t_capture_ns
        if acquired:
            # A new labelling is trusted at once, but for less long if it fits badly.
            self.misfit, self.doubted, self.astray, self._roots = min(self.misfit, 0.8 * TRUST), False, False, []
        passed_s = min((t_ns - self._roots[-1][0]) * 1e-9, AVERAGE_S) if self._roots else 0.0
        gain = 1.0 - math.exp(-passed_s / AVERAGE_S)
        self.misfit += gain * (min(misfit(frame, estimate), MAX_MISFIT) - self.misfit)
        self.doubted = self.misfit > (TRUST if self.doubted else DOUBT)
        self._roots = [(t, x) for t, x in self._roots if (t_ns - t) * 1e-9 <= MAX_SPEED_GAP_S]
        self._roots.append((t_ns, estimate.state.position_m))
        self.astray = self.astray or (monocular and self._speed_m_s() > MAX_SPEED_M_S)
        return not (self.doubted or self.astray)

    def _speed_m_s(self) -> float:
        """Return the speed of the root over the last tenth of a second or a little longer, 0 where the frames do not tell."""
        t_ns, now_m = self._roots[-1]
        earlier = [(t, x) for t, x in self._roots if (t_ns - t) * 1e-9 >= SPEED_S - 1e-6]
        if not earlier:
            return 0.0
        t, then_m = earlier[-1]
        return float(np.linalg.norm(now_m - then_m)) / ((t_ns - t) * 1e-9)


def misfit(frame: MarkerFrame, estimate: Estimate) -> float:
    """Return how badly a pose fits: 1 is rare for right labels."""
    if not frame.any_valid:
        return estimate.energy / max(int(frame.seen.sum()), 1)
    return float(median(np.sqrt(((estimate.marker_m - frame.point_m) ** 2).sum(axis=1))[frame.valid].tolist())) / USUAL_M


def same_labels(new: MarkerFrame, old: MarkerFrame) -> bool:
    """Return whether new labels agree with the old ones: no more markers, and those at the same positions."""
    both = new.valid & old.valid
    distance_m = np.linalg.norm(new.point_m - old.point_m, axis=1)[both]
    return bool(new.valid.sum() <= both.sum() and (distance_m < SAME_M).all())


def residuals_m(frame: MarkerFrame, marker_m: Floats, rig: Rig) -> Floats:
    """Return the distances of a pose's markers, (M, 3) [m], from their points; from their rays where there are no points."""
    if frame.any_valid:
        return np.asarray(np.sqrt(((marker_m - frame.point_m) ** 2).sum(axis=1))[frame.valid])
    rays = monocular_rays(frame, rig)
    return np.asarray(np.linalg.norm(nearest_on_rays(rays, marker_m) - marker_m, axis=1)[rays.monocular])


def fits_poorly(estimate: Estimate, frame: MarkerFrame) -> bool:
    """Return whether rays fit the pose so badly that some of their labels are probably wrong."""
    return estimate.energy > POOR_ENERGY * float(frame.seen.sum())
