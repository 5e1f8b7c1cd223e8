"""The time offset of a recording's cameras: what both saw, one of three ways to an answer, and what it changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from calibration.camera import Rig
from calibration.epipolar import fundamental_matrix, ideal_pixels
from capture.packets import Blobs, Frame, Views
from capture.recording.recording import CaptureRecording
from capture.stereo.matching import match, with_rig_error
from capture.timing.events import OffsetMeasurement, TimeSeries, flash_offset, jump_offset
from capture.timing.offset import centred, robust_slope, signed_errors
from capture.timing.search import speeds
from capture.timing.tracks import BlobHistory, Tracks
from config.arrays import Floats
from config.errors import DuocapError
from config.settings import MatchSettings

Way = Literal["epipolar", "flash", "jump"]
RIG_SIGMA_PX = 0.3
BLOCK_S = 1.0
MAX_SPAN_S = 0.15
LEAST_BLOCKS = 3
CORRELATED = 2.0
SYSTEMATIC_S = 0.0003  # of any offset found so: markers are hidden and lit differently from either side
UNSTEADY = 3.0  # sigmas of the usual departure of a second's offset from the whole, beyond which it is no constant


class OffsetNotFoundError(DuocapError):
    """Nothing in the recording tells the time offset."""


@dataclass
class SyncSamples:
    """What a recording shows. light, speed: rows (t_s, values) by camera; rows: of matched blobs in motion, (K, 6) each:
    time [s], error [px], its growth with the right view's delay [px/s], the noise of that, sigma [px], left track."""

    light: tuple[list[Floats], list[Floats]] = field(default_factory=lambda: ([], []))
    speed: tuple[list[Floats], list[Floats]] = field(default_factory=lambda: ([], []))
    rows: list[Floats] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SyncResult:
    """An offset. by_second: time [s] and offset of every second that tells one, with its sigma, (S, 3); drift_ppm: NaN where
    unknown; error_px: median and 95th percentile of the epipolar error before and after, (2, 2), NaN without a rig."""

    offset: OffsetMeasurement
    by_second: Floats
    drift_ppm: float
    error_px: Floats


def look(recording: CaptureRecording, rig: Rig | None) -> SyncSamples:
    """Read a recording. Raises SourceError, CalibrationError as `CaptureRecording` does."""
    seen, tracks = SyncSamples(), (Tracks(), Tracks())
    histories: dict[tuple[int, int], BlobHistory] = {}
    before: dict[int, Blobs] = {}

    def watch(frame: Frame, blobs: Blobs) -> None:
        history = tracks[blobs.camera].step(blobs)
        histories[blobs.camera, blobs.index] = history
        t_s = blobs.t_capture_ns * 1e-9
        seen.light[blobs.camera].append(np.array([t_s, blobs.light]))
        if (speed := speeds(before.get(blobs.camera), blobs, history)) is not None:
            seen.speed[blobs.camera].append(np.array([t_s - 0.5 * speed[2], speed[0], speed[1]]))
        before[blobs.camera] = blobs

    for pair, _, _ in recording.pairs(watch=watch):
        if rig is not None:
            both = histories[0, pair.left.index], histories[1, pair.right.index]
            rows = _rows(pair, both, rig)
            if len(rows):
                seen.rows.append(rows)
        for key in [key for key in histories if key[1] < (pair.left, pair.right)[key[0]].index - 8]:
            del histories[key]
    return seen


def _rows(pair: Views, histories: tuple[BlobHistory, BlobHistory], rig: Rig) -> Floats:
    """Return the rows of one pair, for the moment of the frame before: speeds from either side of it owe its noise nothing."""
    points = match(with_rig_error(pair, RIG_SIGMA_PX), rig, MatchSettings(), None)
    which = (points.blob[0], points.blob[1])
    good = np.ones(len(points.point_m), bool)
    for history, index in zip(histories, which, strict=True):
        good &= (history.known[index] > 2) & (history.back_s[index, 2] < MAX_SPAN_S)
    if not good.any():
        return np.zeros((0, 6))
    middle, velocity = [], []
    for history, index, camera in zip(histories, which, rig.cameras, strict=True):
        ideal = ideal_pixels(camera, history.points_px[index[good]].reshape(-1, 2))[:, :2].reshape(-1, 3, 2)
        middle.append(ideal[:, 1])
        velocity.append((ideal[:, 0] - ideal[:, 2]) / history.back_s[index[good], 2][:, None])
    left, right = histories
    # The frames before were as far apart as their own stamps say, not as these.
    apart_s = 1e-9 * pair.skew_ns - right.back_s[which[1][good], 1] + left.back_s[which[0][good], 1]
    error, slope, noise = signed_errors(fundamental_matrix(*rig.cameras), np.stack(middle), np.stack(velocity))
    sigma = np.sqrt(0.5 * (pair.left.sigma_px[which[0][good]] ** 2 + pair.right.sigma_px[which[1][good]] ** 2) + RIG_SIGMA_PX**2)
    t_s = 1e-9 * left.t_ns - left.back_s[which[0][good], 1]
    track = left.track[which[0][good]].astype(float)
    return np.stack([t_s, error - slope * apart_s, slope, noise, sigma, track], axis=1)


def found_offset(seen: SyncSamples, way: Way) -> SyncResult:
    """Find the offset. Raises OffsetNotFoundError: nothing that tells it."""
    if way == "epipolar":
        return _by_epipolar(seen)
    left, right = (_series(side) for side in (seen.light if way == "flash" else seen.speed))
    found = flash_offset(left, right) if way == "flash" else jump_offset(left, right)
    if found is None:
        raise OffsetNotFoundError(_NOTHING[way])
    rows = np.concatenate(seen.rows) if seen.rows else np.zeros((0, 6))
    return SyncResult(found, np.zeros((0, 3)), float("nan"), _errors_px(rows, found.offset_s))


_NOTHING = {
    "flash": "no light was switched on and off in view of both cameras; switch one five times, or use --by jump",
    "jump": "no single jump or clap stands out in both views; stand still, jump once, stand still, or use --by epipolar",
    "epipolar": "too little moves across the epipolar lines to tell the time offset; record somebody walking about or boxing",
}


def _series(rows: Sequence[Floats]) -> TimeSeries:
    """Return rows (time, values) as a course; empty where there are none."""
    table = np.array(rows) if len(rows) else np.zeros((0, 3))
    return TimeSeries(np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1:]))


def _by_epipolar(seen: SyncSamples) -> SyncResult:
    """Find the offset by the epipolar error: of all together, and of every second."""
    rows = np.concatenate(seen.rows) if seen.rows else np.zeros((0, 6))
    t_s, error, slope, noise, sigma, track = rows.T
    error_c, slope_c = centred(track, error, slope)
    whole = robust_slope(slope_c, error_c, sigma, noise) if len(rows) else None
    by_second = []
    for begin in np.arange(t_s.min(), t_s.max(), BLOCK_S) if len(rows) else ():
        part = (t_s >= begin) & (t_s < begin + BLOCK_S)
        one = robust_slope(slope_c[part], error_c[part], sigma[part], noise[part]) if part.sum() > 30 else None
        if one is not None:
            by_second.append((begin + 0.5 * BLOCK_S, -one[0], np.sqrt(CORRELATED * one[1])))
    table = np.array(by_second).reshape(-1, 3)
    if whole is None or len(table) < LEAST_BLOCKS:
        raise OffsetNotFoundError(_NOTHING["epipolar"])
    offset_s = -whole[0]
    # The scatter of the seconds tells how sure the whole is, better than its residuals, which are alike from frame to frame.
    weight = 1.0 / table[:, 2] ** 2
    spread = float(np.sqrt((weight * (table[:, 1] - offset_s) ** 2).sum() / (len(table) - 1)))
    sigma_s = float(np.hypot(max(spread, 1.0) / np.sqrt(weight.sum()), SYSTEMATIC_S))
    return SyncResult(OffsetMeasurement(offset_s, sigma_s), table, _drift_ppm(table, spread), _errors_px(rows, offset_s))


def _drift_ppm(table: Floats, spread: float) -> float:
    """Return how fast the offset grows, NaN where that is not sure."""
    w = 1.0 / table[:, 2] ** 2
    t = table[:, 0] - (w * table[:, 0]).sum() / w.sum()
    drift = float((w * t * table[:, 1]).sum() / max((w * t * t).sum(), 1e-300))
    sigma = max(spread, 1.0) / np.sqrt(max(float((w * t * t).sum()), 1e-300))
    return 1e6 * drift if abs(drift) > 3.0 * sigma else float("nan")


def _errors_px(rows: Floats, offset_s: float) -> Floats:
    """Return median and 95th percentile of the epipolar error before and after a correction, (2, 2)."""
    if not len(rows):
        return np.full((2, 2), np.nan)
    # Right stamps that are late by the offset: the right view was taken that much earlier than it seemed.
    return np.array([np.percentile(np.abs(e), (50, 95)) for e in (rows[:, 1], rows[:, 1] + rows[:, 2] * offset_s)])


def sync_lines(seen: SyncSamples, found: SyncResult, way: Way) -> list[str]:
    """Return for a person what was found and how to use it."""
    offset_ms, sigma_ms = 1e3 * found.offset.offset_s, 1e3 * found.offset.sigma_s
    by = {"epipolar": "the epipolar error", "flash": "a flash", "jump": "a jump"}[way]
    late = f"{abs(offset_ms):.2f} ms {'late' if offset_ms >= 0 else 'early'}"
    lines = [f"the right camera's stamps are {late} (+-{sigma_ms:.2f}), by {by}"]
    if np.isfinite(found.error_px).all():
        (m0, p0), (m1, p1) = found.error_px
        lines.append(f"epipolar error: median {m0:.2f} px before, {m1:.2f} px after; 95th percentile {p0:.2f} and {p1:.2f} px")
    if np.isfinite(found.drift_ppm):
        lines.append(f"it grows by {found.drift_ppm:.0f} ppm ({found.drift_ppm * 0.06:.1f} ms a minute)")
    if _unsteady(found):
        low, high = 1e3 * np.percentile(found.by_second[:, 1], (10, 90))
        lines.append(
            f"but it is no constant: from {low:.0f} to {high:.0f} ms within the recording, as where two cameras are read in turn "
            "and stamped as one; record with `duocap record`, which stamps each on its own"
        )
    if abs(offset_ms) > 3.0 * sigma_ms:
        return [
            *lines,
            f"to use it: --set time.offset_ms={offset_ms:.2f}, or in a settings file: [time] offset_ms = {offset_ms:.2f}",
        ]
    return [*lines, "that is nothing to correct"]


def _unsteady(found: SyncResult) -> bool:
    """Return whether the seconds disagree by more than they are unsure."""
    if len(found.by_second) < LEAST_BLOCKS:
        return False
    z = (found.by_second[:, 1] - found.offset.offset_s) / np.hypot(found.by_second[:, 2], 0.001)
    return bool(np.sqrt(np.median(z**2)) > UNSTEADY * 0.6745)
