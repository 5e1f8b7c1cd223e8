"""The time offsets of a recording's cameras: what all saw, one of three ways to an answer, and what it changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibration.camera import Rig
from calibration.epipolar import compute_fundamental_matrix, undistort_to_pixels
from capture.packets import Blobs, Frame, Views
from capture.recording.recording import CaptureRecording
from capture.stereo.matching import add_rig_error, match
from capture.timing.events import OffsetMeasurement, TimeSeries, estimate_flash_offset, estimate_jump_offset
from capture.timing.offset import CORRELATED, MAX_SPAN_S, compute_signed_errors, fit_slope_robustly, subtract_running_means
from capture.timing.search import measure_speeds
from capture.timing.tracks import BlobHistory, BlobTracker
from config.arrays import Floats
from config.errors import DuocapError
from config.settings import CAMERA_NAMES, MatchSettings

Way = Literal["epipolar", "flash", "jump"]
RIG_SIGMA_PX = 0.3
BLOCK_S = 1.0
LEAST_BLOCKS = 3
SYSTEMATIC_S = 0.0003  # of any offset found so: markers are hidden and lit differently from either side
UNSTEADY = 3.0  # sigmas of the usual departure of a second's offset from the whole, beyond which it is no constant


class OffsetNotFoundError(DuocapError):
    """Nothing in the recording tells the time offset."""


class SyncSamples:
    """Samples of a recording by camera, (V,) lists each.

    light, speed: rows (t_s, values); rows: of blobs in motion that the camera and the first one see, (K, 6) each: time [s], error
    [px], its growth with the camera's delay [px/s], the noise of that, sigma [px], the first camera's track.
    """

    def __init__(self, n_cameras: int) -> None:
        self.light: list[list[Floats]] = [[] for _ in range(n_cameras)]
        self.speed: list[list[Floats]] = [[] for _ in range(n_cameras)]
        self.rows: list[list[Floats]] = [[] for _ in range(n_cameras)]

    def all_rows(self, camera: int) -> Floats:
        """Return the rows of a camera, (K, 6)."""
        return np.concatenate(self.rows[camera]) if self.rows[camera] else np.zeros((0, 6))


@dataclass(frozen=True, slots=True)
class SyncResult:
    """An offset.

    Attributes:
        by_second: time [s] and offset of every second that tells one, with its sigma, (S, 3).
        drift_ppm: NaN where unknown.
        error_px: median and 95th percentile of the epipolar error before and after, (2, 2), NaN without a rig.
    """

    offset: OffsetMeasurement
    by_second: Floats
    drift_ppm: float
    error_px: Floats


def collect_sync_samples(recording: CaptureRecording, rig: Rig | None) -> SyncSamples:
    """Collect the samples of a recording. Raises SourceError, CalibrationError as `CaptureRecording` does."""
    n_cameras = len(recording.sizes)
    seen, tracks = SyncSamples(n_cameras), [BlobTracker() for _ in range(n_cameras)]
    histories: dict[tuple[int, int], BlobHistory] = {}
    before: dict[int, Blobs] = {}

    def watch(frame: Frame, blobs: Blobs) -> None:
        history = tracks[blobs.camera].step(blobs)
        histories[blobs.camera, blobs.index] = history
        t_s = blobs.t_capture_ns * 1e-9
        seen.light[blobs.camera].append(np.array([t_s, blobs.light]))
        if (speed := measure_speeds(before.get(blobs.camera), blobs, history)) is not None:
            seen.speed[blobs.camera].append(np.array([t_s - 0.5 * speed[2], speed[0], speed[1]]))
        before[blobs.camera] = blobs

    for views, _, _ in recording.pairs(watch=watch):
        first, *others = views.blobs
        for blobs in others if rig is not None and first is not None else ():
            if rig is not None and first is not None and blobs is not None:
                both = histories[0, first.index], histories[blobs.camera, blobs.index]
                rows = _build_epipolar_rows(Views((first, blobs)), both, Rig((rig.cameras[0], rig.cameras[blobs.camera])))
                seen.rows[blobs.camera] += [rows] if len(rows) else []
        newest = {blobs.camera: blobs.index for blobs in views.present}
        for key in [key for key in histories if key[1] < newest.get(key[0], 0) - 8]:
            del histories[key]
    return seen


def _build_epipolar_rows(pair: Views, histories: tuple[BlobHistory, BlobHistory], rig: Rig) -> Floats:
    """Return the rows of two views, for the moment of the frame before: speeds from either side of it owe its noise nothing.

    rig: of the two cameras.
    """
    points = match(add_rig_error(pair, RIG_SIGMA_PX), rig, MatchSettings(), None)
    which = (points.blob[0], points.blob[1])
    good = np.ones(len(points.point_m), bool)
    for history, index in zip(histories, which, strict=True):
        good &= (history.known[index] > 2) & (history.back_s[index, 2] < MAX_SPAN_S)
    if not good.any():
        return np.zeros((0, 6))
    middle, velocity = [], []
    for history, index, camera in zip(histories, which, rig.cameras, strict=True):
        ideal = undistort_to_pixels(camera, history.points_px[index[good]].reshape(-1, 2))[:, :2].reshape(-1, 3, 2)
        middle.append(ideal[:, 1])
        velocity.append((ideal[:, 0] - ideal[:, 2]) / history.back_s[index[good], 2][:, None])
    first, second = histories
    # The frames before were as far apart as their own stamps say, not as these.
    apart_s = 1e-9 * pair.skew_ns - second.back_s[which[1][good], 1] + first.back_s[which[0][good], 1]
    error, slope, noise = compute_signed_errors(compute_fundamental_matrix(*rig.cameras), np.stack(middle), np.stack(velocity))
    variances = [blobs.sigma_px[index[good]] ** 2 for blobs, index in zip(pair.present, which, strict=True)]
    sigma = np.sqrt(0.5 * (variances[0] + variances[1]) + RIG_SIGMA_PX**2)
    t_s = 1e-9 * first.t_ns - first.back_s[which[0][good], 1]
    track = first.track[which[0][good]].astype(float)
    return np.stack([t_s, error - slope * apart_s, slope, noise, sigma, track], axis=1)


def estimate_sync_offset(seen: SyncSamples, way: Way, camera: int = 1) -> SyncResult:
    """Estimate by how much a camera's timestamps are later than the first camera's.

    Args:
        seen: samples of the recording.
        way: epipolar, flash or jump.
        camera: number of the camera, from 1 on.
    Raises: OffsetNotFoundError: the recording does not determine it.
    """
    if way == "epipolar":
        return _estimate_epipolar_offset(seen, camera)
    kept = seen.light if way == "flash" else seen.speed
    first, other = (_build_series(kept[c]) for c in (0, camera))
    found = estimate_flash_offset(first, other) if way == "flash" else estimate_jump_offset(first, other)
    if found is None:
        raise OffsetNotFoundError(f"{_format_camera_pair(camera)}: {_NOTHING[way]}")
    return SyncResult(found, np.zeros((0, 3)), float("nan"), _compute_errors_px(seen.all_rows(camera), found.offset_s))


def _format_camera_pair(camera: int) -> str:
    """Return two cameras in words."""
    return f"{CAMERA_NAMES[0]} and {CAMERA_NAMES[camera]}"


_NOTHING = {
    "flash": "no light was switched on and off in view of both; switch one five times, or use --by jump",
    "jump": "no single jump or clap stands out in both views; stand still, jump once, stand still, or use --by epipolar",
    "epipolar": "too little moves across the epipolar lines to tell the time offset; record somebody walking about or boxing",
}


def _build_series(rows: Sequence[Floats]) -> TimeSeries:
    """Return rows (time, values) as a course; empty where there are none."""
    table = np.array(rows) if len(rows) else np.zeros((0, 3))
    return TimeSeries(np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1:]))


def _estimate_epipolar_offset(seen: SyncSamples, camera: int) -> SyncResult:
    """Find the offset by the epipolar error: of all together, and of every second."""
    rows = seen.all_rows(camera)
    t_s, error, slope, noise, sigma, track = rows.T
    error_c, slope_c = subtract_running_means(track, error, slope)
    whole = fit_slope_robustly(slope_c, error_c, sigma, noise) if len(rows) else None
    by_second = []
    for begin in np.arange(t_s.min(), t_s.max(), BLOCK_S) if len(rows) else ():
        part = (t_s >= begin) & (t_s < begin + BLOCK_S)
        one = fit_slope_robustly(slope_c[part], error_c[part], sigma[part], noise[part]) if part.sum() > 30 else None
        if one is not None:
            by_second.append((begin + 0.5 * BLOCK_S, -one[0], np.sqrt(CORRELATED * one[1])))
    table = np.array(by_second).reshape(-1, 3)
    if whole is None or len(table) < LEAST_BLOCKS:
        raise OffsetNotFoundError(f"{_format_camera_pair(camera)}: {_NOTHING['epipolar']}")
    offset_s = -whole[0]
    # The scatter of the seconds tells how sure the whole is, better than its residuals, which are alike from frame to frame.
    weight = 1.0 / table[:, 2] ** 2
    spread = float(np.sqrt((weight * (table[:, 1] - offset_s) ** 2).sum() / (len(table) - 1)))
    sigma_s = float(np.hypot(max(spread, 1.0) / np.sqrt(weight.sum()), SYSTEMATIC_S))
    return SyncResult(
        OffsetMeasurement(offset_s, sigma_s), table, _estimate_drift_ppm(table, spread), _compute_errors_px(rows, offset_s)
    )


def _estimate_drift_ppm(table: Floats, spread: float) -> float:
    """Return how fast the offset grows, NaN where that is not sure."""
    w = 1.0 / table[:, 2] ** 2
    t = table[:, 0] - (w * table[:, 0]).sum() / w.sum()
    drift = float((w * t * table[:, 1]).sum() / max((w * t * t).sum(), 1e-300))
    sigma = max(spread, 1.0) / np.sqrt(max(float((w * t * t).sum()), 1e-300))
    return 1e6 * drift if abs(drift) > 3.0 * sigma else float("nan")


def _compute_errors_px(rows: Floats, offset_s: float) -> Floats:
    """Return median and 95th percentile of the epipolar error before and after a correction, (2, 2)."""
    if not len(rows):
        return np.full((2, 2), np.nan)
    # Right stamps that are late by the offset: the right view was taken that much earlier than it seemed.
    return np.array([np.percentile(np.abs(e), (50, 95)) for e in (rows[:, 1], rows[:, 1] + rows[:, 2] * offset_s)])


def format_sync_result(found: SyncResult, way: Way, camera: int = 1) -> list[str]:
    """Return the result for a camera in words.

    Args:
        found: result for the camera.
        way: epipolar, flash or jump.
        camera: number of the camera, from 1 on.
    """
    offset_ms, sigma_ms = 1e3 * found.offset.offset_s, 1e3 * found.offset.sigma_s
    by = {"epipolar": "the epipolar error", "flash": "a flash", "jump": "a jump"}[way]
    late = f"{abs(offset_ms):.2f} ms {'late' if offset_ms >= 0 else 'early'}"
    lines = [f"the {CAMERA_NAMES[camera]} camera's stamps are {late} (+-{sigma_ms:.2f}), by {by}"]
    if np.isfinite(found.error_px).all():
        (m0, p0), (m1, p1) = found.error_px
        lines.append(f"epipolar error: median {m0:.2f} px before, {m1:.2f} px after; 95th percentile {p0:.2f} and {p1:.2f} px")
    if np.isfinite(found.drift_ppm):
        lines.append(f"it grows by {found.drift_ppm:.0f} ppm ({found.drift_ppm * 0.06:.1f} ms a minute)")
    if _is_unsteady(found):
        low, high = 1e3 * np.percentile(found.by_second[:, 1], (10, 90))
        lines.append(
            f"but it is no constant: from {low:.0f} to {high:.0f} ms within the recording, as where two cameras are read in turn "
            "and stamped as one; record with `duocap record`, which stamps each on its own"
        )
    return lines if needs_correction(found) else [*lines, "that is nothing to correct"]


def needs_correction(found: SyncResult) -> bool:
    """Return whether there is something to correct."""
    return abs(found.offset.offset_s) > 3.0 * found.offset.sigma_s


def format_sync_usage(found: Sequence[SyncResult]) -> list[str]:
    """Return how to use the result for each camera but the first; none where nothing is to be corrected."""
    if not any(needs_correction(one) for one in found):
        return []
    late_ms = [1e3 * one.offset.offset_s if needs_correction(one) else 0.0 for one in found]
    more = ", ".join(f"{value:.2f}" for value in late_ms[1:])
    sets = [f"--set time.offset_ms={late_ms[0]:.2f}", *([f"--set time.more_offsets_ms=[{more}]"] if more else [])]
    lines = [f"offset_ms = {late_ms[0]:.2f}", *([f"more_offsets_ms = [{more}]"] if more else [])]
    return [f"to use it: {' '.join(sets)}, or in a settings file, in [time]: {'; '.join(lines)}"]


def _is_unsteady(found: SyncResult) -> bool:
    """Return whether the seconds disagree by more than they are unsure."""
    if len(found.by_second) < LEAST_BLOCKS:
        return False
    z = (found.by_second[:, 1] - found.offset.offset_s) / np.hypot(found.by_second[:, 2], 0.001)
    return bool(np.sqrt(np.median(z**2)) > UNSTEADY * 0.6745)
