"""Whether a pose that follows its markers may be believed: wrong labels are followed too, but the fit and the root's speed tell.

Averages over half a second count. One camera: the energy a marker; and once the root has moved faster than anyone runs, the pose
is given up, for with few lines of sight a wrong label sends it away in depth. Two cameras: the median distance of markers from
their points, as energy is high as well where the performer does what the database lacks.
"""

from dataclasses import dataclass, field

import numpy as np

from calibration.camera import Rig
from capture.packets import MarkerFrame
from database.rotations import Floats
from reconstruct.estimator import Estimate
from reconstruct.sight import lines_of_sight, nearest_on_line

STRAINED = 1.4  # energy a marker that right labels seldom leave in one camera
ALIKE_M = 0.03  # markers are nowhere else than before
OVER_S, MOST = 0.5, 4.0  # time of the average, and as how much a worse fit counts
DOUBT, CALM = 1.6, 1.25  # averages from which on a pose is doubted, and below which no more: energy a marker of one camera
USUAL_M = 0.07  # median distance of markers from their points, as bad as an energy of 1
FASTEST_M_S, SPEED_S = 7.0, 0.1  # a root seen by one camera moves no faster than this, over this time
LONGEST_S = 0.3  # frames farther apart tell no speed


@dataclass
class Belief:
    """Judges solved poses in turn. strain: average misfit; astray: the root went too fast to be followed."""

    strain: float = field(default=0.0, init=False)
    doubted: bool = field(default=False, init=False)
    astray: bool = field(default=False, init=False)
    _been: list[tuple[int, Floats]] = field(default_factory=list, init=False)

    def forget(self) -> None:
        """Start anew."""
        self.strain, self.doubted, self.astray, self._been = 0.0, False, False, []

    def step(self, frame: MarkerFrame, estimate: Estimate, found: bool) -> bool:
        """Take the next solved frame and tell whether its pose may be believed. found: by acquisition."""
        lone, t_ns = not frame.valid.any(), frame.t_capture_ns
        if found:
            # What was found anew is believed at once, but for less long if it fits badly.
            self.strain, self.doubted, self.astray, self._been = min(self.strain, 0.8 * CALM), False, False, []
        passed_s = min((t_ns - self._been[-1][0]) * 1e-9, OVER_S) if self._been else 0.0
        gain = 1.0 - np.exp(-passed_s / OVER_S)
        self.strain += float(gain) * (min(misfit(frame, estimate), MOST) - self.strain)
        self.doubted = self.strain > (CALM if self.doubted else DOUBT)
        self._been = [(t, x) for t, x in self._been if (t_ns - t) * 1e-9 <= LONGEST_S]
        self._been.append((t_ns, estimate.moment.position_m))
        self.astray = self.astray or (lone and self._speed_m_s() > FASTEST_M_S)
        return not (self.doubted or self.astray)

    def _speed_m_s(self) -> float:
        """Give the speed of the root over the last tenth of a second or a little longer, 0 where the frames do not tell."""
        t_ns, now_m = self._been[-1]
        earlier = [(t, x) for t, x in self._been if (t_ns - t) * 1e-9 >= SPEED_S - 1e-6]
        if not earlier:
            return 0.0
        t, then_m = earlier[-1]
        return float(np.linalg.norm(now_m - then_m)) / ((t_ns - t) * 1e-9)


def misfit(frame: MarkerFrame, estimate: Estimate) -> float:
    """Give how badly a pose fits: 1 is rare for right labels."""
    if not frame.valid.any():
        return estimate.energy / max(int(frame.seen.sum()), 1)
    return float(np.median(np.linalg.norm(estimate.marker_m - frame.point_m, axis=1)[frame.valid])) / USUAL_M


def alike(anew: MarkerFrame, frame: MarkerFrame) -> bool:
    """Tell whether new labels say nothing but what the old ones do: no more markers, and those in the same places."""
    both = anew.valid & frame.valid
    apart_m = np.linalg.norm(anew.point_m - frame.point_m, axis=1)[both]
    return bool(anew.valid.sum() <= both.sum() and (apart_m < ALIKE_M).all())


def residuals_m(frame: MarkerFrame, marker_m: Floats, rig: Rig) -> Floats:
    """Give how far markers of a pose, (M, 3) [m], are from their points; from their lines of sight where there are no points."""
    if frame.valid.any():
        return np.asarray(np.linalg.norm(marker_m - frame.point_m, axis=1)[frame.valid])
    sight = lines_of_sight(frame, rig)
    return np.asarray(np.linalg.norm(nearest_on_line(sight, marker_m) - marker_m, axis=1)[sight.alone])


def strained(estimate: Estimate, frame: MarkerFrame) -> bool:
    """Tell whether lines of sight fit the pose so badly that some of their labels are rather wrong."""
    return estimate.energy > STRAINED * float(frame.seen.sum())
