"""The demo's figures, worked out by hand on made-up messages."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from config.errors import DuocapError
from config.joints import JOINTS, N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from stream.protocol.latency import Receipt
from tests.support import fakes
from tools.demo.report import (
    build_demo_report,
    build_report_tables,
    compute_stream_joints_m,
    format_budget,
    select_measured,
)

SKELETON = compose_skeleton_message(fakes.subject())
T0 = 10_000_000_000


def heard(n: int) -> list[Receipt]:
    """Return poses 100 ms apart, published 8 + 0.1 k ms after capture, the root at x = k."""
    messages = []
    for k in range(n):
        pose = fakes.pose(k, T0 + k * 100_000_000, np.array([float(k), 0.0, 0.0]))
        messages.append(Receipt(compose_pose_message(pose, SKELETON, "s", k, pose.t_capture_ns + 8_000_000 + 100_000 * k)))
    return messages


def truth(seconds: np.ndarray) -> np.ndarray:
    """The same motion, but everything 20 mm higher and the head another 30 mm."""
    poses = [fakes.pose(0, 0, np.array([10.0 * t, 0.02, 0.0])) for t in seconds]
    _, p = compute_forward_kinematics(
        fakes.subject().skeleton, np.array([x.rotvec for x in poses]), np.array([x.root_m for x in poses])
    )
    p[:, JOINTS.index("head"), 1] += 0.03
    return p


def test_joints_are_where_the_pose_has_them() -> None:
    pose = fakes.pose(3, 0, np.array([1.0, 2.0, 3.0]))
    message = compose_pose_message(pose, SKELETON, "s", 0, 0)
    _, expected = compute_forward_kinematics(fakes.subject().skeleton, pose.rotvec, pose.root_m)
    np.testing.assert_allclose(compute_stream_joints_m(SKELETON, [message])[0], expected, atol=1e-5)


def test_errors_shares_and_latencies() -> None:
    messages = heard(10)
    messages[4] = Receipt(replace(messages[4].pose, state="coasting"))
    held = replace(messages[9].pose, state="lost", t_publish_ns=messages[9].pose.t_publish_ns + 10**9)
    report = build_demo_report(SKELETON, [*messages, Receipt(held)], truth, T0, frames=(12, 13), captured=(11, 13))
    assert (report.poses, report.tracked) == (10, 9) and report.tracked_share == 9 / 12
    assert (report.due, report.dropped, report.lost) == (12, 2, 1)  # by the machine, and by the tracker
    mean, median, p95 = report.error_mm
    assert mean == pytest.approx((20 * (N_JOINTS - 1) + 50) / N_JOINTS, abs=0.01)
    assert median == pytest.approx(20, abs=0.01) and p95 == pytest.approx(20, abs=0.01)
    assert report.worst_joint == ("head", pytest.approx(50, abs=0.01))
    assert report.latency_ms["total"] == pytest.approx((8.45, 8.855, 8.891))
    assert report.latency_ms["solve"] == pytest.approx((0.001, 0.001, 0.001)) and "match" not in report.latency_ms


def test_receipts_make_the_latency_whole_and_the_budget_judges_it() -> None:
    messages = [replace(receipt, t_received_ns=receipt.pose.t_publish_ns + 2_000_000) for receipt in heard(10)]
    arguments = (SKELETON, messages, truth, T0, (10, 10), (10, 10))
    report = build_demo_report(*arguments, budget_ms=10.0)
    assert report.latency_ms["received"] == pytest.approx((2.0, 2.0, 2.0))
    assert report.latency_ms["total"] == pytest.approx((10.45, 10.855, 10.891))
    assert list(report.latency_ms) == ["solve", "received", "total"]
    assert format_budget(report.latency) == "p95 is 0.9 ms over the budget of 10 ms"
    assert format_budget(build_demo_report(*arguments, budget_ms=11.0).latency) == "p95 is within the budget of 11 ms"


def test_held_poses_count_once() -> None:
    first, second = heard(2)
    assert select_measured([first, Receipt(replace(first.pose, state="coasting")), second]) == [first, second]


def test_nothing_tracked_is_said() -> None:
    with pytest.raises(DuocapError, match="no pose of 2 was tracked"):
        build_demo_report(SKELETON, [Receipt(replace(m.pose, state="lost")) for m in heard(2)], truth, T0, (2, 2), (2, 2))


def test_tables_show_every_figure() -> None:
    report = build_demo_report(SKELETON, heard(10), truth, T0, frames=(10, 10), captured=(10, 9))
    console = Console(record=True, width=100)
    for table in build_report_tables(report):
        console.print(table)
    text = console.export_text()
    for words in ("10 and 9 of 10", "100.0 %", "mean 21.3 mm", "head, mean 50.0 mm", "total", "8.45", "p99"):
        assert words in text
