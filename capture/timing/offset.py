"""The time offset between two cameras, and its drift, from the epipolar error of moving markers.

A marker that crosses its epipolar line at s px/s and is seen delta later by the second camera lies s delta off the line:

    e_m = s_m delta + b_m + noise

with e the signed epipolar (Sampson) distance and b_m the error of the calibration at that marker. Bias and a slowly changing
speed are removed by running means of either side. The rows of half a second give one robust least-squares delta with its
variance; a Kalman filter over (offset, drift) takes it, with the variance that its own innovations show.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibration.camera import Rig
from calibration.epipolar import compute_fundamental_matrix, undistort_to_pixels
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats

MAX_SPAN_S = 0.15  # three frames further apart than this give no speed
MEAN_FRAMES = 30  # of the running means
BLOCK_S = 0.5
AHEAD_S = 0.75  # from the middle of a block to the middle of the use of its estimate
MIN_ROWS = 12
IRLS_STEPS = 8
CAUCHY = 2.0  # scale of the robust weights, in standard deviations
MIN_SIGNAL = 0.7  # least share of the squared speeds of half a second that is no noise
CORRELATED = 2.0  # rows of one block are not independent: two count as one
NONLINEAR = 0.08  # share of delta by which a line through fast motion may be wrong
PRIOR_S, PRIOR_DRIFT = 0.03, 50e-6
WALK_S, WALK_DRIFT = 3e-5, 1e-6  # random walk in a second
MAX_OUTLIERS = 4  # blocks in a row beyond GATE: the offset has jumped
TRUST_S = 0.001  # standard deviation at which an estimate is used
GATE = 4.0  # sigmas of an innovation, beyond which it is an outlier
NIS_FORGET = 0.8
TRUST_SIGMAS = 3.0  # the estimate is applied where it differs by so many from the one in use
MIN_STEP_S = 0.0003  # and by this much


@dataclass(frozen=True, slots=True)
class OffsetEstimate:
    """How late a camera's timestamps are.

    Attributes:
        offset_ms: offset that is applied at present, in addition to the one in the settings [ms].
        estimate_ms: estimated offset [ms].
        sigma_ms: standard deviation of the estimate [ms].
        drift_ppm: estimated rate at which the offset changes [ppm].
    """

    offset_ms: float
    estimate_ms: float
    sigma_ms: float
    drift_ppm: float


class _TimedMarkers(NamedTuple):
    """One frame: time and applied correction [s], raw pixels (2, M, 2), seen by both (M,), sigma (2, M) [px]."""

    t_s: float
    applied_s: float
    image_px: Floats
    valid: Bools
    sigma_px: Floats


class TimeOffsetEstimator:
    """Estimates how late a camera's timestamps are, beside those of the first; deterministic given the frames.

    Learned from the markers that it and one other camera see: the first where it sees any, else the lowest that does.
    """

    def __init__(self, camera: int = 1) -> None:
        self._camera, self._partner = camera, 0
        self._rig: Rig | None = None
        self._F = np.zeros((3, 3))
        self.forget()

    def forget(self) -> None:
        """Restart: nothing is known."""
        self._state, self._P = np.zeros(2), np.diag([PRIOR_S**2, PRIOR_DRIFT**2])
        self._applied_s = 0.0
        self._nis, self._n_outliers = 1.0, 0
        self.interrupt()

    def interrupt(self) -> None:
        """Note that a camera was silent: keep the estimate, with the variance of the prior."""
        self._P = np.diag([PRIOR_S**2, self._P[1, 1]])
        self._frames: list[_TimedMarkers] = []
        self._means: tuple[Floats, Floats] | None = None  # frames in each marker's means, (M,); of error and slope, (2, M)
        self._rows: list[Floats] = []
        self._block_s: float | None = None
        self._t_s: float | None = None

    def set(self, offset_s: float, sigma_s: float) -> None:
        """Use an offset found by other means, such as a flash."""
        self.interrupt()
        self._state[0] = self._applied_s = offset_s
        self._P[0, 0] = sigma_s**2

    @property
    def applied_s(self) -> float:
        """The applied offset [s]."""
        return self._applied_s

    @property
    def estimate(self) -> OffsetEstimate:
        """The present estimate."""
        return OffsetEstimate(
            1e3 * self._applied_s,
            1e3 * float(self._state[0]),
            1e3 * float(np.sqrt(self._P[0, 0])),
            1e6 * float(self._state[1]),
        )

    def add(self, frame: MarkerFrame, rig: Rig, used_s: tuple[float, ...]) -> None:
        """Add the labelled markers of one frame.

        Args:
            frame: brought to one time with the corrections of `used_s`.
            used_s: the corrections, by camera.
        """
        shared = frame.seen & frame.seen[self._camera] & frame.valid
        partner = next((camera for camera in range(len(rig)) if camera != self._camera and shared[camera].any()), self._partner)
        if rig is not self._rig or partner != self._partner:
            self._change_partner(rig, partner)
        pair = [partner, self._camera]
        timed = _TimedMarkers(
            frame.t_capture_ns * 1e-9, used_s[self._camera], frame.image_px[pair], shared[partner], frame.sigma_px[pair]
        )
        if self._frames and not (timed.t_s > self._frames[-1].t_s and len(timed.valid) == len(self._frames[-1].valid)):
            self._add_rows()
            self._frames.clear()
        self._frames.append(timed)
        self._end_block(timed.t_s)

    def _change_partner(self, rig: Rig, partner: int) -> None:
        """Compare with another camera, whose errors of calibration are others."""
        if self._rig is not None:
            self._add_rows()
            self._frames.clear()
            self._means = None
        self._rig, self._partner = rig, partner
        self._F = compute_fundamental_matrix(rig.cameras[partner], rig.cameras[self._camera])

    def _add_rows(self) -> None:
        """Add the rows of each frame since the last call, from the three about it; the last two begin the next call.

        A frame's speeds come from its neighbours: so they do not depend on the noise of its own positions.
        """
        frames, self._frames = self._frames, self._frames[-2:]
        if len(frames) < 3 or self._rig is None:
            return
        valid, image_px = np.array([frame.valid for frame in frames]), np.array([frame.image_px for frame in frames])
        n, n_markers = valid.shape
        ideal_px = np.empty((2, n, n_markers, 2))
        for k, camera in enumerate((self._partner, self._camera)):
            pixels = undistort_to_pixels(self._rig.cameras[camera], image_px[:, k].reshape(-1, 2))
            ideal_px[k] = pixels[:, :2].reshape(n, n_markers, 2)
        sigma_px = np.sqrt(0.5 * (np.array([frame.sigma_px for frame in frames]) ** 2).sum(axis=1))
        t_s, applied_s = np.array([frame[:2] for frame in frames]).T
        span_s = t_s[2:] - t_s[:-2]
        velocity = (ideal_px[:, 2:] - ideal_px[:, :-2]) / span_s[:, None, None]
        shape = (2, (n - 2) * n_markers, 2)
        errors = compute_signed_errors(self._F, ideal_px[:, 1:-1].reshape(shape), velocity.reshape(shape))
        error, slope, noise = (values.reshape(n - 2, n_markers) for values in errors)
        steady = (span_s <= MAX_SPAN_S) & (applied_s[:-2] == applied_s[1:-1]) & (applied_s[1:-1] == applied_s[2:])
        good = valid[:-2] & valid[1:-1] & valid[2:] & steady[:, None]
        spread = self._centre(good, error, slope)
        sigma_px = np.maximum(sigma_px[1:-1], 1e-3) * np.sqrt(1.0 + spread)
        applied = np.broadcast_to(applied_s[1:-1, None], good.shape)
        self._rows.append(np.stack([slope, error, sigma_px, noise, applied], axis=2)[spread > 0.0])

    def _centre(self, good: Bools, error: Floats, slope: Floats) -> Floats:
        """Subtract each marker's running means where it is good, frame by frame, all (K, M), in place.

        Returns 1 / the number of frames in the means, 0 for none and where a marker is not good, (K, M).
        """
        n_markers = good.shape[1]
        if self._means is None or len(self._means[0]) != n_markers:
            self._means = np.zeros(n_markers), np.zeros((2, n_markers))
        count, mean = self._means
        spread = np.zeros(good.shape)
        both = np.stack([error, slope])
        for k in np.flatnonzero(good.any(axis=1)):
            now = good[k]
            np.divide(1.0, count, out=spread[k], where=now & (count > 0.0))
            both[:, k] -= mean
            count[:] = np.where(now, np.minimum(count + 1.0, MEAN_FRAMES), 0.0)
            np.add(mean, both[:, k] / np.maximum(count, 1.0), out=mean, where=now)
        error[:], slope[:] = both
        return spread

    def _end_block(self, t_s: float) -> None:
        """Update the filter with the rows of half a second, once it is over."""
        if self._block_s is None or not 0.0 <= t_s - self._block_s < 10.0 * BLOCK_S:
            self._add_rows()
            self._block_s, self._rows = t_s, []
        if t_s - self._block_s < BLOCK_S:
            return
        self._add_rows()
        rows = np.concatenate(self._rows) if self._rows else np.zeros((0, 5))
        middle_s, self._block_s, self._rows = 0.5 * (self._block_s + t_s), t_s, []
        if len(rows) < MIN_ROWS:
            return
        slope, error, sigma, noise, applied = rows.T
        # e = s (applied - offset) in every row: the slope is the correction.
        found = fit_slope_robustly(slope, error, sigma, noise)
        if found is None:
            return
        offset_s = float(np.median(applied)) - found[0]
        self._update(middle_s, offset_s, CORRELATED * found[1] + (NONLINEAR * found[0]) ** 2)

    def _update(self, t_s: float, offset_s: float, variance: float) -> None:
        """Predict to the middle of a block, then update."""
        elapsed_s = 0.0 if self._t_s is None else max(t_s - self._t_s, 0.0)
        self._t_s = t_s
        A = np.array([[1.0, elapsed_s], [0.0, 1.0]])
        self._state = A @ self._state
        self._P = A @ self._P @ A.T + np.diag([WALK_S**2, WALK_DRIFT**2]) * elapsed_s
        innovation = offset_s - self._state[0]
        S = self._P[0, 0] + self._nis * variance
        squared = innovation**2 / S
        if squared > GATE**2:
            # Outliers by wrong labels are rare; several in a row mean that the offset itself has jumped.
            self._n_outliers += 1
            if self._n_outliers >= MAX_OUTLIERS:
                self._n_outliers, self._P = 0, np.diag([PRIOR_S**2, self._P[1, 1]])
            return
        self._n_outliers = 0
        self._nis = max((NIS_FORGET + (1.0 - NIS_FORGET) * squared) * self._nis, 1.0)
        gain = self._P[:, 0] / S
        self._state = self._state + gain * innovation
        self._P = self._P - np.outer(gain, self._P[0])
        self._apply()

    def _apply(self) -> None:
        """Apply the estimate where it is sure and differs from the one in use."""
        sigma = float(np.sqrt(self._P[0, 0]))
        if sigma > TRUST_S:
            return
        ahead_s = float(self._state[0] + AHEAD_S * self._state[1])
        if abs(ahead_s - self._applied_s) > max(MIN_STEP_S, TRUST_SIGMAS * sigma):
            self._applied_s = ahead_s


def compute_signed_errors(F: Floats, ideal_px: Floats, velocity_px_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Return signed Sampson distances [px], their growth with the right view's delay, and the noise of that [px/s], (M,) each.

    As the distance of one moving point stays 0, moving the right view forward is moving the left one back: either view's
    velocity gives the growth; the mean is returned, half the difference is its noise.

    Args:
        F: fundamental matrix, (3, 3).
        ideal_px, velocity_px_s: undistorted points and their velocities, (2, M, 2).
    """
    left, right = (np.concatenate([px, np.ones((len(px), 1))], axis=1) for px in ideal_px)
    to_right, to_left = left @ F.T, right @ F
    norm = np.sqrt((to_right[:, :2] ** 2).sum(axis=1) + (to_left[:, :2] ** 2).sum(axis=1))
    norm = np.maximum(norm, 1e-300)
    error = np.einsum("mi,mi->m", right, to_right) / norm
    by_right = np.einsum("mi,mi->m", velocity_px_s[1], to_right[:, :2]) / norm
    by_left = -np.einsum("mi,mi->m", velocity_px_s[0], to_left[:, :2]) / norm
    return error, 0.5 * (by_right + by_left), 0.5 * (by_right - by_left)


def fit_slope_robustly(x: Floats, y: Floats, sigma: Floats, x_noise: Floats) -> tuple[float, float] | None:
    """Return k of y = k x + noise by iteratively reweighted least squares (Cauchy), and its variance; None if x is mostly
    noise.

    Args:
        x, y: (K,).
        sigma: of every row, up to a common scale, which comes from the residuals and is at least 0.1.
        x_noise: samples of the noise in x, whose squares are subtracted from those of x, which would otherwise make k too
            small.
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
    if real < MIN_SIGNAL * whole or whole <= least:
        return None
    return k * whole / real, scale**2 * whole / real**2


def subtract_running_means(track: Floats, error: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """Subtract from the errors and slopes of every row the running means of the earlier rows of the same track.

    Args:
        track: number of each row's track, (K,); rows are in order of time.
        error: signed Sampson distance of each row, (K,) [px].
        slope: its derivative with respect to the time offset, (K,) [px/s].
    Returns: errors and slopes without their means, (K,) each; those of a track's first row are zero.
    """
    means: dict[float, tuple[float, float, float]] = {}
    out = np.zeros((2, len(track)))
    for k in range(len(track)):
        count, mean_error, mean_slope = means.get(track[k], (0.0, error[k], slope[k]))
        out[0, k], out[1, k] = error[k] - mean_error, slope[k] - mean_slope
        count = min(count + 1.0, MEAN_FRAMES)
        means[track[k]] = count, mean_error + out[0, k] / count, mean_slope + out[1, k] / count
    return out[0], out[1]
