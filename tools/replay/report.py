"""The report of a replay in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from capture.timing.grouping import GroupingCounts
from config.words import format_count
from reconstruct.doubt import SHOWN_S
from stream.protocol.landmarks import format_landmarks

MAX_SPANS = 10


def format_replay_report(report: Mapping[str, Any]) -> list[str]:
    """Describe a replay report for a person."""
    tracked = "none" if report["tracked"] is None else f"{100 * report['tracked']:.1f} %"
    lines = [
        f"{format_count(report['frames'], 'frame')}, {tracked} tracked, {report['fps']:.0f} frames a second",
        _format_times(report["time"]),
        f"reprojection {_format_spread(report['reprojection_px'], 'px', 2)}; "
        f"marker residual {_format_spread(report['marker_residual_mm'], 'mm', 1)}; "
        f"frames with labels in doubt {report['swaps_suspected']}",
    ]
    if report["jumps"]["count"]:
        jumps = report["jumps"]
        lines.append(
            f"jumps to other labels {jumps['count']}, by {jumps['median_mm']:.0f} mm median, {jumps['most_mm']:.0f} mm most"
        )
    lines += format_landmarks(report["landmarks"])
    lines += _format_doubtful_spans(report["doubtful"])
    for name, score in report["hidden"].items():
        lines.append(
            f"hidden {name}: {_format_number(score['median_mm'], 0)} mm median, "
            f"{_format_number(score['p95_mm'], 0)} mm p95, {format_count(score['frames'], 'frame')}"
        )
    lines.append(f"{'stage':<10}{'p50':>8}{'p95':>8}{'p99':>8}  ms")
    for stage, times in report["ms_by_stage"].items():
        lines.append(f"{stage:<10}" + "".join(f"{_format_number(times[share], 2):>8}" for share in ("p50", "p95", "p99")))
    return lines


def format_left_out(n_poses: int, n_frames: int | None, counts: GroupingCounts | None, n_repeated: Sequence[int]) -> str:
    """Describe why there are fewer poses than pictures of a camera; empty where there are not.

    Args:
        n_poses: poses that came out.
        n_frames: pictures of the camera with the most, None where unknown.
        counts: of the pictures by moments.
        n_repeated: pictures of each camera that repeat the one before.
    """
    if counts is None or n_frames is None or n_poses >= n_frames:
        return ""
    reasons = {
        "had no partner of the same time in another camera": max(counts.unpaired, default=0),
        "came too late": max(counts.late, default=0),
        "repeat the one before": max(n_repeated, default=0),
    }
    rest = n_frames - n_poses - sum(reasons.values())
    said = [f"{count} {why}" for why, count in reasons.items() if count]
    said += [f"{rest} lie where only one camera recorded, or before the first pair"] if rest > 0 else []
    return f"{n_poses} of {n_frames} pictures of a camera became poses: {', '.join(said)}"


def _format_doubtful_spans(spans: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the spans in which something speaks against labels or poses: the longest, in order."""
    told = sorted(sorted(spans, key=lambda span: -span["seconds"])[:MAX_SPANS], key=lambda span: span["at_s"])
    lines = [f"doubtful {_format_span(span['at_s'], span['seconds'])}: {span['reasons']}" for span in told]
    left = len(spans) - len(told)
    return [*lines, f"and {left} shorter ones (--report has all)"] if left else lines


def _format_span(at_s: float, seconds: float) -> str:
    """Return when something was; an instant has no end that differs from its beginning."""
    return f"{at_s:.2f} to {at_s + seconds:.2f} s" if seconds >= SHOWN_S else f"at {at_s:.2f} s, for a moment"


def _format_times(time: Mapping[str, Any]) -> str:
    """Describe the time that a recording takes."""
    parts = [f"{time['seconds']:.2f} s at {_format_number(time['rate_hz'], 2)} Hz"]
    if time["gaps"]:
        gaps = "a gap" if time["gaps"] == 1 else f"{time['gaps']} gaps, the longest"
        parts.append(f"{gaps} of {time['longest_gap_s']:.2f} s at {time['longest_gap_at_s']:.2f} s")
    if any(time["repeated_pictures"]):
        counts = " and ".join(str(n) for n in time["repeated_pictures"])
        parts.append(f"{counts} pictures{' (of each camera)' * (len(time['repeated_pictures']) > 1)} repeat the one before")
    return "; ".join(parts)


def _format_spread(spread: Mapping[str, float | None], unit: str, digits: int) -> str:
    """Return median and 95th percentile."""
    return f"{_format_number(spread['median'], digits)} {unit} median, {_format_number(spread['p95'], digits)} {unit} p95"


def _format_number(value: float | None, digits: int) -> str:
    """Return a number, or a dash where nothing was measured."""
    return "-" if value is None else f"{value:.{digits}f}"
