"""How well a pose fits what the cameras see, over what its own calibration and its own session say is usual.

A pose may be followed with wrong labels that half a body explains: its markers are then several pixels from their blobs, where
the rig is known to a third of a pixel and the markers to some millimetres. What is usual is learned from frames that fit.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from calibration.triangulate import packed_cameras, project_point
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, read_only
from config.jit import kernel

LEAST_M = 0.005  # as which a smaller residual of the subject's calibration counts: markers move on skin
MOST_M = 0.015  # and a larger one: the noise of triangulation is in it
MOST_RATIO = 10.0  # as which a worse marker counts
LEAST_USUAL, MOST_USUAL = 0.6, 1.5  # between which the usual error over the expected one is learned
LEARNED = 2.0  # times the usual, up to which a frame tells what is usual: a limb led astray for a second must not
LEARN_S, AVERAGE_S = 5.0, 0.2  # time constants of what is usual, and of the average that is judged
DOUBT, TRUST = 3.0, 2.25  # times the usual, above which a pose is doubted, and below which it is trusted again
MAX_STEP_S, SEEK_S = 0.25, 0.25


@dataclass
class Fit:
    """Judges how poses of one subject fit; error: the average, over the expected one; doubted: whether it is far from usual."""

    rig: Rig
    subject: Subject
    usual: float = field(default=1.0, init=False)
    error: float = field(default=1.0, init=False)
    doubted: bool = field(default=False, init=False)
    _last_ns: int | None = field(default=None, init=False)
    _sought_ns: int = field(default=-(10**18), init=False)

    def forget(self) -> None:
        """Forget all frames."""
        self.usual, self.error, self.doubted, self._last_ns = 1.0, 1.0, False, None

    def seeks(self, t_ns: int) -> bool:
        """Return whether to look for other labels in a frame: now and then while the pose is doubted."""
        if not self.doubted or t_ns - self._sought_ns < SEEK_S * 1e9:
            return False
        self._sought_ns = t_ns
        return True

    def step(self, frame: MarkerFrame, marker_m: Floats, acquired: bool = False) -> bool:
        """Add the next frame and the markers of its pose, (M, 3) [m]; return whether the pose fits about as usual.

        acquired: not labelled by the pose before: trusted at once, but for less long if it fits badly.
        """
        if not frame.any_valid:
            return True
        if acquired:
            self.error, self.doubted = min(self.error, 0.8 * TRUST * self.usual), False
        now = error_ratio(frame, marker_m, self.rig, self.subject)
        passed_s = MAX_STEP_S if self._last_ns is None else min((frame.t_capture_ns - self._last_ns) * 1e-9, MAX_STEP_S)
        self._last_ns = frame.t_capture_ns
        self.error += (1.0 - math.exp(-passed_s / AVERAGE_S)) * (now - self.error)
        times = self.error / self.usual
        self.doubted = times > (TRUST if self.doubted else DOUBT)
        if not self.doubted and now < LEARNED * self.usual:
            share = 1.0 - math.exp(-passed_s / LEARN_S)
            self.usual = min(max(self.usual + share * (now - self.usual), LEAST_USUAL), MOST_USUAL)
        return not self.doubted


def error_ratio(frame: MarkerFrame, marker_m: Floats, rig: Rig, subject: Subject) -> float:
    """Return the RMS over all views of a pose's reprojection errors, each over the one that the calibration says."""
    residual_m = np.minimum(np.maximum(1e-3 * subject.residual_mm, LEAST_M), MOST_M)
    seen = ValidViews(frame.image_px, frame.sigma_px, frame.seen, frame.valid)
    return _error_ratio(seen, packed_cameras(rig), read_only(marker_m), residual_m)


class ValidViews(NamedTuple):
    """What the cameras see, for the kernel; fields as in `MarkerFrame`."""

    image_px: Floats
    sigma_px: Floats
    seen: Bools
    valid: Bools


@kernel
def _error_ratio(views: ValidViews, cameras: Floats, marker_m: Floats, residual_m: Floats) -> float:
    """Return `error_ratio` of markers (M, 3) with residuals (M,) of the calibration; one behind a camera counts as the worst."""
    total, count, uv, J = 0.0, 0, np.empty(2), np.empty((2, 3))
    for c in range(len(cameras)):
        camera = cameras[c]
        focal_px = 0.5 * (camera[0] + camera[1])
        for m in range(marker_m.shape[0]):
            if not (views.seen[c, m] and views.valid[m]):
                continue
            count += 1
            p, ratio2 = marker_m[m], MOST_RATIO**2
            if project_point(camera, p, uv, J):
                depth_m = camera[15] * p[0] + camera[16] * p[1] + camera[17] * p[2] + camera[20]
                expected2 = views.sigma_px[c, m] ** 2 + (focal_px * residual_m[m] / max(depth_m, 0.3)) ** 2
                off2 = (uv[0] - views.image_px[c, m, 0]) ** 2 + (uv[1] - views.image_px[c, m, 1]) ** 2
                ratio2 = min(off2 / expected2, ratio2)
            total += ratio2
    return math.sqrt(total / count)
