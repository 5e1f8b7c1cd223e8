"""The replay report."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reconstruct.doubt import Doubt
from reconstruct.pose import Pose, TrackingState
from stream.protocol.report import build_replay_report, write_replay_report
from tests.support import fakes


def pose(index: int, state: TrackingState, residual_mm: tuple[float, float], latency_ms: float) -> Pose:
    """Return a pose with two markers, the second measured by nobody."""
    return replace(
        fakes.pose(index, index, np.zeros(3)),
        state=state,
        residual_m=np.array(residual_mm) / 1e3,
        residual_px=np.array([[1.0, 99.0], [2.0, 3.0]]),
        latency_ns={"solve": int(latency_ms * 1e6)},
    )


def test_report_counts_only_what_was_measured_while_tracking(tmp_path: Path) -> None:
    states = [TrackingState.TRACKING] * 3 + [TrackingState.LOST]
    poses = [pose(i, state, (10.0 * (i + 1), 500.0), i + 1.0) for i, state in enumerate(states)]
    report = build_replay_report(poses, wall_s=0.5, hidden_mm={"left_knee": [40.0, 50.0, 60.0], "head": []}, swaps_suspected=2)
    write_replay_report(tmp_path / "report.json", report)
    read = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert (read["frames"], read["tracked"], read["fps"], read["swaps_suspected"]) == (4, 0.75, 8.0, 2)
    assert read["reprojection_px"]["median"] == 2.0  # of 1, 2 and 3, not the 99 that nobody saw
    assert read["marker_residual_mm"]["median"] == pytest.approx(20.0)
    assert read["marker_residual_mm"]["p95"] == pytest.approx(29.0)
    assert read["hidden"]["left_knee"] == {"median_mm": 50.0, "p95_mm": pytest.approx(59.0), "frames": 3}
    assert read["hidden"]["head"] == {"median_mm": None, "p95_mm": None, "frames": 0}
    assert read["ms_by_stage"]["solve"]["p50"] == pytest.approx(2.5)
    assert {"duocap", "python", "numpy", "opencv-python"} <= set(read["versions"])


def test_doubtful_spans_are_listed_with_their_times_since_the_first_pose() -> None:
    doubts = [frozenset({Doubt.FIT} if n in (3, 4) else ()) for n in range(8)]
    poses = [replace(fakes.pose(n, 0, np.zeros(3)), t_capture_ns=10**9 + n * 10**8, doubts=doubts[n]) for n in range(8)]
    (span,) = build_replay_report(poses, wall_s=1.0)["doubtful"]
    assert (span["at_s"], span["seconds"], span["frames"]) == (pytest.approx(0.3), pytest.approx(0.1), 2)
    assert span["doubts"] == ["fit"]


def test_jumps_to_other_labels_are_counted_with_their_size() -> None:
    """The markers go 20 and 60 mm further in the two poses whose labels became the likelier ones."""
    doubts = [frozenset({Doubt.EXCHANGED} if n in (2, 5) else ()) for n in range(7)]
    along_m = np.cumsum([0.0, 0.0, 0.02, 0.0, 0.0, 0.06, 0.0])
    made = [replace(fakes.pose(n, 0, np.zeros(3)), t_capture_ns=n * 10**8) for n in range(7)]
    poses = [replace(p, doubts=d, marker_m=np.array([[0.0, 1.0, z]])) for p, d, z in zip(made, doubts, along_m, strict=True)]
    assert build_replay_report(poses, wall_s=1.0)["jumps"] == pytest.approx({"count": 2, "median_mm": 40.0, "most_mm": 60.0})
    assert build_replay_report(poses[:2], wall_s=1.0)["jumps"] == {"count": 0, "median_mm": None, "most_mm": None}


def test_the_time_of_a_recording_is_told_with_its_gaps() -> None:
    """Stamps in steps of 10 ms at 29.2 Hz, with a silence of two seconds and one frame missing."""
    seconds = np.round(np.arange(120) / 29.2 + np.where(np.arange(120) >= 60, 2.0, 0.0), 2)
    poses = [replace(fakes.pose(n, 0, np.zeros(3)), t_capture_ns=int(1e9 * t)) for n, t in enumerate(np.delete(seconds, 30))]
    time = build_replay_report(poses, wall_s=1.0, n_repeated=(3, 0))["time"]
    assert time["rate_hz"] == pytest.approx(29.2, rel=5e-3) and time["seconds"] == pytest.approx(seconds[-1])
    assert (time["gaps"], time["longest_gap_at_s"]) == (2, pytest.approx(seconds[59]))
    assert time["longest_gap_s"] == pytest.approx(2.03, abs=0.011)


def test_the_worst_seconds_are_those_tracked_least_then_those_explained_worst() -> None:
    residuals_mm = {0: 5.0, 1: 30.0, 2: 1.0, 3: 20.0}
    states = {2: TrackingState.COASTING}
    poses = [
        replace(pose(n, states.get(n // 10, TrackingState.TRACKING), (residuals_mm[n // 10], 0.0), 1.0), t_capture_ns=n * 10**8)
        for n in range(40)
    ]
    worst = build_replay_report(poses, wall_s=1.0)["worst_seconds"]
    assert [one["at_s"] for one in worst] == [2.0, 1.0, 3.0]
    assert worst[0]["tracked"] == 0.0 and worst[0]["marker_residual_mm"] is None
    assert worst[1]["marker_residual_mm"] == pytest.approx(30.0)


def test_report_of_nothing_is_still_json() -> None:
    report = build_replay_report([], wall_s=0.0)
    assert report["tracked"] is None and report["fps"] is None
    json.dumps(report, allow_nan=False)
