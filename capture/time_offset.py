"""The time offset between two cameras, and its drift, from the epipolar error of moving markers.

A marker that crosses its epipolar line at s px/s and is seen delta later by the right camera lies s delta beside the line:

    e_m = s_m delta + b_m + noise

with e the signed epipolar (Sampson) distance and b_m what the calibration is off by where that marker is. Bias and a slowly
changing speed go with a running mean of either side. The rows of half a second give one robust least-squares delta with its
variance, and a Kalman filter over (offset, drift) takes it, with the variance its own innovations show to be true.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from calibration.epipolar import fundamental_matrix, ideal_pixels
from capture.packets import Bools, Floats, MarkerFrame

MAX_SPAN_S = 0.15  # three frames further apart than this tell no speed
MEAN_FRAMES = 30  # of the running means
BLOCK_S = 0.5
MIN_ROWS = 12
IRLS_STEPS = 8
CAUCHY = 2.0  # residuals beyond so many standard deviations pull less
LEAST_SCALE_PX = 0.05
CORRELATED = 2.0  # rows of one block are not independent: so many count as one
NONLINEAR = 0.08  # share of delta by which a straight line through fast motion may be off
PRIOR_S, PRIOR_DRIFT = 0.03, 50e-6
WALK_S, WALK_DRIFT = 3e-5, 1e-6  # random walk in a second
GATE = 4.0  # sigmas of an innovation, beyond which it is held back
MAX_ASTRAY = 4  # blocks in a row beyond it: the offset itself has jumped
NIS_FORGET = 0.8
TRUST_S, TRUST_SIGMAS = 0.001, 3.0  # the estimate is applied once it is this sure
LEAST_STEP_S = 0.0003  # and again whenever it has moved by this much


@dataclass(frozen=True, slots=True)
class OffsetEstimate:
    """How late the right camera's stamps are [ms]: what is applied, and what is known of it.

    offset_ms: applied, beyond the setting; estimate_ms: found; sigma_ms: its standard deviation; drift_ppm: how fast it grows;
    sure: whether anything was ever found that is sure enough to be applied.
    """

    offset_ms: float
    estimate_ms: float
    sigma_ms: float
    drift_ppm: float
    sure: bool


@dataclass(frozen=True, slots=True)
class _Look:
    """What one frame tells: time [s], correction it was made with [s], ideal pixels (2, M, 2), seen by both (M,), sigma (M,)."""

    t_s: float
    applied_s: float
    ideal_px: Floats
    valid: Bools
    sigma_px: Floats


class TimeOffset:
    """Follows how late the right camera's stamps are; deterministic given the frames."""

    def __init__(self) -> None:
        self._rig: Rig | None = None
        self._F = np.zeros((3, 3))
        self.forget()

    def forget(self) -> None:
        """Start anew: nothing is known."""
        self._state, self._P = np.zeros(2), np.diag([PRIOR_S**2, PRIOR_DRIFT**2])
        self._applied_s, self._sure = 0.0, False
        self._nis, self._astray = 1.0, 0
        self.interrupt()

    def interrupt(self) -> None:
        """Note that a camera was away: what was found still counts, but may be off by anything."""
        self._P = np.diag([PRIOR_S**2, self._P[1, 1]])
        self._looks: deque[_Look] = deque(maxlen=3)
        self._means: tuple[Floats, Floats, Floats] | None = None
        self._rows: list[Floats] = []
        self._block_s: float | None = None
        self._t_s: float | None = None

    def set(self, offset_s: float, sigma_s: float) -> None:
        """Take an offset found by other means, such as a flash."""
        self.interrupt()
        self._state[0], self._applied_s, self._sure = offset_s, offset_s, True
        self._P[0, 0] = sigma_s**2

    @property
    def applied_s(self) -> float:
        """How late the right camera's stamps are taken to be [s]."""
        return self._applied_s

    @property
    def estimate(self) -> OffsetEstimate:
        """What is known."""
        return OffsetEstimate(
            1e3 * self._applied_s,
            1e3 * float(self._state[0]),
            1e3 * float(np.sqrt(self._P[0, 0])),
            1e6 * float(self._state[1]),
            self._sure,
        )

    def add(self, frame: MarkerFrame, rig: Rig, applied_s: float) -> None:
        """Take the labelled markers of one frame, brought to one moment with a correction of `applied_s`."""
        if rig is not self._rig:
            self._rig, self._F = rig, fundamental_matrix(rig)
        ideal = np.stack([ideal_pixels(camera, px)[:, :2] for camera, px in zip(rig.cameras, frame.image_px, strict=True)])
        sigma = np.sqrt(0.5 * (frame.sigma_px**2).sum(axis=0))
        look = _Look(frame.t_capture_ns * 1e-9, applied_s, ideal, frame.valid, np.maximum(sigma, 1e-3))
        if self._looks and not (look.t_s > self._looks[-1].t_s and len(look.valid) == len(self._looks[-1].valid)):
            self._looks.clear()
        self._looks.append(look)
        if len(self._looks) == 3:
            self._add_middle(*self._looks)
        self._end_block(look.t_s)

    def _add_middle(self, before: _Look, look: _Look, after: _Look) -> None:
        """Add what the middle one of three frames tells: its speeds owe nothing to the noise of its own places."""
        span_s = after.t_s - before.t_s
        if span_s > MAX_SPAN_S or not before.applied_s == look.applied_s == after.applied_s:
            return
        good = np.flatnonzero(before.valid & look.valid & after.valid)
        if not len(good):
            return
        velocity = (after.ideal_px[:, good] - before.ideal_px[:, good]) / span_s
        error, slope = signed_errors(self._F, look.ideal_px[:, good], velocity)
        error, slope, spread = self._centred(good, len(look.valid), error, slope)
        known = spread > 0.0
        rows = np.stack([slope, error, look.sigma_px[good] * np.sqrt(1.0 + spread)], axis=1)[known]
        if len(rows):
            self._rows.append(np.column_stack([rows, np.full(len(rows), look.applied_s)]))

    def _centred(self, which: NDArray[np.int64], n: int, error: Floats, slope: Floats) -> tuple[Floats, Floats, Floats]:
        """Take each marker's running means away; give also 1 / the number of frames in them, 0 for none."""
        if self._means is None or len(self._means[0]) != n:
            self._means = np.zeros(n), np.zeros(n), np.zeros(n)
        count, mean_error, mean_slope = self._means
        away = np.ones(n, bool)
        away[which] = False
        count[away] = 0.0
        spread = np.where(count[which] > 0, 1.0 / np.maximum(count[which], 1.0), 0.0)
        centred = error - mean_error[which], slope - mean_slope[which]
        count[which] = np.minimum(count[which] + 1.0, MEAN_FRAMES)
        mean_error[which] += centred[0] / count[which]
        mean_slope[which] += centred[1] / count[which]
        return centred[0], centred[1], spread

    def _end_block(self, t_s: float) -> None:
        """Give the filter what half a second says, once it is over."""
        if self._block_s is None or not 0.0 <= t_s - self._block_s < 10.0 * BLOCK_S:
            self._block_s, self._rows = t_s, []
        if t_s - self._block_s < BLOCK_S:
            return
        rows = np.concatenate(self._rows) if self._rows else np.zeros((0, 4))
        middle_s, self._block_s, self._rows = 0.5 * (self._block_s + t_s), t_s, []
        if len(rows) < MIN_ROWS:
            return
        # Of every row the offset itself: e = s (applied - offset), so s applied - e = s offset.
        offset_s, variance = robust_slope(rows[:, 0], rows[:, 0] * rows[:, 3] - rows[:, 1], rows[:, 2], self._state[0])
        off_s = offset_s - float(np.median(rows[:, 3]))
        self._update(middle_s, offset_s, CORRELATED * variance + (NONLINEAR * off_s) ** 2)

    def _update(self, t_s: float, offset_s: float, variance: float) -> None:
        """Predict to the middle of a block, then correct."""
        gone_s = 0.0 if self._t_s is None else max(t_s - self._t_s, 0.0)
        self._t_s = t_s
        A = np.array([[1.0, gone_s], [0.0, 1.0]])
        self._state = A @ self._state
        self._P = A @ self._P @ A.T + np.diag([WALK_S**2, WALK_DRIFT**2]) * gone_s
        innovation = offset_s - self._state[0]
        S = self._P[0, 0] + self._nis * variance
        squared = innovation**2 / S
        self._astray = self._astray + 1 if squared > GATE**2 else 0
        if self._astray >= MAX_ASTRAY:
            self._P[0, 0] += innovation**2
            self._astray = 0
            S = self._P[0, 0] + self._nis * variance
        elif squared > GATE**2:
            S *= squared / GATE**2  # held back as if it were that unsure
        self._nis = max(NIS_FORGET * self._nis + (1.0 - NIS_FORGET) * min(squared, GATE**2) * self._nis, 1.0)
        gain = self._P[:, 0] / S
        self._state = self._state + gain * innovation
        self._P = self._P - np.outer(gain, self._P[0])
        self._apply()

    def _apply(self) -> None:
        """Put the estimate to use where it is sure and differs from the one in use."""
        sigma = float(np.sqrt(self._P[0, 0]))
        if sigma > TRUST_S:
            return
        if abs(self._state[0] - self._applied_s) > max(LEAST_STEP_S, TRUST_SIGMAS * sigma):
            self._applied_s = float(self._state[0])
        self._sure = True


def signed_errors(F: Floats, ideal_px: Floats, velocity_px_s: Floats) -> tuple[Floats, Floats]:
    """Give signed Sampson distances [px] and how they grow with the delay of the right view [px/s], (M,) each.

    ideal_px, velocity_px_s: undistorted, (2, M, 2). The growth is the mean of what either view's own velocity tells: as the
    distance of one moving point stays 0, moving the right view on is moving the left one back.
    """
    left, right = (np.concatenate([px, np.ones((len(px), 1))], axis=1) for px in ideal_px)
    to_right, to_left = left @ F.T, right @ F
    norm = np.sqrt((to_right[:, :2] ** 2).sum(axis=1) + (to_left[:, :2] ** 2).sum(axis=1))
    norm = np.maximum(norm, 1e-300)
    error = np.einsum("mi,mi->m", right, to_right) / norm
    slope = np.einsum("mi,mi->m", velocity_px_s[1], to_right[:, :2]) - np.einsum("mi,mi->m", velocity_px_s[0], to_left[:, :2])
    return error, 0.5 * slope / norm


def robust_slope(x: Floats, y: Floats, sigma: Floats, start: float) -> tuple[float, float]:
    """Give k of y = k x + noise by iteratively reweighted least squares (Cauchy), and its variance.

    sigma: of every row up to one common scale, which comes from the residuals but is never taken to be below a tenth.
    """
    weight0 = 1.0 / sigma**2
    k, weight, scale = start, weight0, 1.0
    for _ in range(IRLS_STEPS):
        k = float((weight * x * y).sum() / max((weight * x * x).sum(), 1e-300))
        z = (y - k * x) / sigma
        scale = max(1.4826 * float(np.median(np.abs(z))), 0.1)
        weight = weight0 / (1.0 + (z / (CAUCHY * scale)) ** 2)
    return k, scale**2 / max(float((weight * x * x).sum()), 1e-300)
