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
AHEAD_S = 0.75  # from the middle of a block to the middle of the time an estimate from it is in use
MIN_ROWS = 12
IRLS_STEPS = 8
CAUCHY = 2.0  # residuals beyond so many standard deviations pull less
LEAST_REAL = 0.7  # share of the squared speeds of half a second that is no noise, or nothing is learned from it
CORRELATED = 2.0  # rows of one block are not independent: so many count as one
NONLINEAR = 0.08  # share of delta by which a straight line through fast motion may be off
PRIOR_S, PRIOR_DRIFT = 0.03, 50e-6
WALK_S, WALK_DRIFT = 3e-5, 1e-6  # random walk in a second
MAX_ASTRAY = 4  # blocks in a row beyond GATE: the offset itself has jumped
TRUST_S = 0.001  # standard deviation at which an estimate is put to use
GATE = 4.0  # sigmas of an innovation, beyond which it does not count
NIS_FORGET = 0.8
TRUST_SIGMAS = 3.0  # the estimate is applied where it differs by so many from what is in use
LEAST_STEP_S = 0.0003  # and by this much


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
        error, slope, noise = signed_errors(self._F, look.ideal_px[:, good], velocity)
        error, slope, spread = self._centred(good, len(look.valid), error, slope)
        sigma, applied = look.sigma_px[good] * np.sqrt(1.0 + spread), np.full(len(good), look.applied_s)
        self._rows.append(np.stack([slope, error, sigma, noise, applied], axis=1)[spread > 0.0])

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
        rows = np.concatenate(self._rows) if self._rows else np.zeros((0, 5))
        middle_s, self._block_s, self._rows = 0.5 * (self._block_s + t_s), t_s, []
        if len(rows) < MIN_ROWS:
            return
        slope, error, sigma, noise, applied = rows.T
        # e = s (applied - offset) of every row, so its correction is what is sought.
        found = robust_slope(slope, error, sigma, noise)
        if found is None:
            return
        offset_s = float(np.median(applied)) - found[0]
        self._update(middle_s, offset_s, CORRELATED * found[1] + (NONLINEAR * found[0]) ** 2)

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
        if squared > GATE**2:
            # Blocks led astray by wrong labels are rare; several in a row mean that the offset itself has jumped.
            self._astray += 1
            if self._astray >= MAX_ASTRAY:
                self._astray, self._P = 0, np.diag([PRIOR_S**2, self._P[1, 1]])
            return
        self._astray = 0
        self._nis = max((NIS_FORGET + (1.0 - NIS_FORGET) * squared) * self._nis, 1.0)
        gain = self._P[:, 0] / S
        self._state = self._state + gain * innovation
        self._P = self._P - np.outer(gain, self._P[0])
        self._apply()

    def _apply(self) -> None:
        """Put the estimate to use where it is sure and differs from the one in use."""
        sigma = float(np.sqrt(self._P[0, 0]))
        if sigma > TRUST_S:
            return
        ahead_s = float(self._state[0] + AHEAD_S * self._state[1])
        if abs(ahead_s - self._applied_s) > max(LEAST_STEP_S, TRUST_SIGMAS * sigma):
            self._applied_s = ahead_s
        self._sure = True


def signed_errors(F: Floats, ideal_px: Floats, velocity_px_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Give signed Sampson distances [px], how they grow with the right view's delay, and the noise of that [px/s], (M,) each.

    ideal_px, velocity_px_s: undistorted, (2, M, 2). As the distance of one moving point stays 0, moving the right view on is
    moving the left one back: either view's velocity tells the growth, their mean is given, half their difference is its noise.
    """
    left, right = (np.concatenate([px, np.ones((len(px), 1))], axis=1) for px in ideal_px)
    to_right, to_left = left @ F.T, right @ F
    norm = np.sqrt((to_right[:, :2] ** 2).sum(axis=1) + (to_left[:, :2] ** 2).sum(axis=1))
    norm = np.maximum(norm, 1e-300)
    error = np.einsum("mi,mi->m", right, to_right) / norm
    by_right = np.einsum("mi,mi->m", velocity_px_s[1], to_right[:, :2]) / norm
    by_left = -np.einsum("mi,mi->m", velocity_px_s[0], to_left[:, :2]) / norm
    return error, 0.5 * (by_right + by_left), 0.5 * (by_right - by_left)


def robust_slope(x: Floats, y: Floats, sigma: Floats, x_noise: Floats) -> tuple[float, float] | None:
    """Give k of y = k x + noise by iteratively reweighted least squares (Cauchy), and its variance; None where x is mostly noise.

    sigma: of every row up to one common scale, which comes from the residuals but is never taken to be below a tenth; x_noise: a
    draw of the noise in x: its squares are taken from those of x, which would else make k too small.
    """
    k, weight0, least = 0.0, 1.0 / sigma**2, 1e-300
    weight, scale = weight0, 1.0
    for _ in range(IRLS_STEPS):
        k = float((weight * x * y).sum() / max((weight * x * x).sum(), least))
        z = (y - k * x) / sigma
        scale = max(1.4826 * float(np.median(np.abs(z))), 0.1)
        weight = weight0 / (1.0 + (z / (CAUCHY * scale)) ** 2)
    whole = float((weight * x * x).sum())
    real = whole - float((weight * x_noise * x_noise).sum())
    if real < LEAST_REAL * whole or whole <= least:
        return None
    return k * whole / real, scale**2 * whole / real**2


def centred(track: Floats, error: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """Take from every row the running means of its track's rows before it; rows in order of time, (K,)."""
    means: dict[float, tuple[float, float, float]] = {}
    out = np.zeros((2, len(track)))
    for k in range(len(track)):
        count, mean_error, mean_slope = means.get(track[k], (0.0, error[k], slope[k]))
        out[0, k], out[1, k] = error[k] - mean_error, slope[k] - mean_slope
        count = min(count + 1.0, MEAN_FRAMES)
        means[track[k]] = count, mean_error + out[0, k] / count, mean_slope + out[1, k] / count
    return out[0], out[1]
