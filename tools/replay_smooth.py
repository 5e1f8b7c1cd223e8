"""Smoothing of a replayed take: what `duocap replay --smooth` does to what it exports."""

from dataclasses import replace

from calibration.subject import Subject
from config.errors import DuocapError
from config.settings import Settings
from reconstruct.smoother import smoothed
from tools.replay import ReplayResult

MAX_WINDOW_S = 2.0


def with_smoothing(settings: Settings, window_s: float) -> Settings:
    """Leave the filter of live poses out of a run that is smoothed afterwards; it would only delay. Raises as `check_window`."""
    check_window(window_s)
    return settings if window_s == 0.0 else replace(settings, filter=replace(settings.filter, output=False))


def check_window(window_s: float) -> None:
    """Raise DuocapError for a window that is negative or wider than smoothing makes sense for."""
    if not 0.0 <= window_s <= MAX_WINDOW_S:
        raise DuocapError(f"--smooth {window_s:g}: the window must be from 0 to {MAX_WINDOW_S:g} seconds; 0.2 is usual")


def smoothed_result(result: ReplayResult, subject: Subject, window_s: float) -> ReplayResult:
    """Give a replay with its poses smoothed and its gaps bridged; the very result for a window of 0."""
    return result if window_s == 0.0 else replace(result, poses=smoothed(result.poses, subject, window_s))
