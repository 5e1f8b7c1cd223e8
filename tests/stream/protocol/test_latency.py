"""Latency by stage: worked out by hand, whole from grab to receipt, and the budget's verdict."""

from dataclasses import replace

import pytest

from stream.protocol.latency import STAGES, Latency, Receipt, compute_latency, compute_stage_durations
from tests.support.stream_messages import POSE

MS = 1_000_000
WAY = {"read": 2 * MS, "detect": 3 * MS, "wait": 1 * MS, "solve": 4 * MS, "publish": 500_000}


def receipt(late_ms: int = 0, received_ms: int | None = 2) -> Receipt:
    """Return a pose captured at 100 ms, published 10.5 ms later, the solver `late_ms` later still; received 2 ms after that."""
    way = {**WAY, "solve": WAY["solve"] + late_ms * MS}
    t_publish_ns = 100 * MS + sum(way.values())
    pose = replace(POSE, t_capture_ns=100 * MS, t_publish_ns=t_publish_ns, latency_ns=way)
    return Receipt(pose, None if received_ms is None else t_publish_ns + received_ms * MS)


def test_stages_add_up_to_the_total_of_each_pose() -> None:
    stages = compute_stage_durations(receipt())
    assert stages.pop("total") == sum(stages.values()) == 12_500_000 and stages["received"] == 2 * MS


def test_percentiles_by_stage_in_the_order_of_the_way() -> None:
    latency = compute_latency([receipt(late) for late in range(101)], budget_ms=33.0)
    assert list(latency.stages_ms) == ["read", "detect", "wait", "solve", "publish", "received", "total"]
    assert latency.stages_ms["solve"] == pytest.approx((54.0, 99.0, 103.0))
    assert latency.stages_ms["read"] == pytest.approx((2.0, 2.0, 2.0)) and latency.n == 101
    assert latency.total_ms == pytest.approx((62.5, 107.5, 111.5))
    assert latency.is_over and latency.over_ms == pytest.approx(74.5)


def test_the_budget_is_for_the_total_of_19_in_20() -> None:
    late = [receipt(30)] * 4 + [receipt()] * 96
    assert compute_latency(late, 12.6).over_ms == pytest.approx(-0.1) and not compute_latency(late, 12.6).is_over
    assert compute_latency(late + late[:3], 12.6).is_over
    assert compute_latency([receipt()], 12.4).is_over and not compute_latency([receipt()], 12.5).is_over


def test_a_lag_that_was_asked_for_is_a_stage_and_does_not_count_against_the_budget() -> None:
    way = {"solve": 4 * MS, "finish": 1 * MS, "lag": 100 * MS, "publish": 1 * MS}
    pose = replace(POSE, t_capture_ns=0, t_publish_ns=106 * MS, latency_ns=way)
    latency = compute_latency([Receipt(pose, 108 * MS)], 8.5)
    assert list(latency.stages_ms) == ["solve", "finish", "lag", "publish", "received", "total"]
    assert latency.total_ms == pytest.approx((108.0, 108.0, 108.0)) and latency.allowed_ms == pytest.approx(108.5)
    assert not latency.is_over and compute_latency([Receipt(pose, 108 * MS)], 7.5).over_ms == pytest.approx(0.5)


def test_without_receipts_the_way_ends_at_publishing() -> None:
    latency = compute_latency([receipt(received_ms=None)], 33.0)
    assert "received" not in latency.stages_ms and latency.total_ms == pytest.approx((10.5, 10.5, 10.5))


def test_held_poses_and_none_at_all() -> None:
    held = Receipt(replace(POSE, latency_ns={"publish": 1000}), POSE.t_publish_ns + 10**10)
    assert compute_latency([held], 33.0) == compute_latency([], 33.0) == Latency({}, 0, 33.0)
    assert compute_latency([held, receipt()], 33.0).n == 1
    assert Latency({}, 0, 33.0).total_ms is None and not Latency({}, 0, 33.0).is_over


def test_stages_of_a_later_version_come_last() -> None:
    pose = replace(POSE, latency_ns={"zeal": 1, "publish": 2, "ardour": 3, "read": 4})
    assert list(compute_latency([Receipt(pose)], 1.0).stages_ms) == ["read", "publish", "ardour", "zeal", "total"]
    assert STAGES[0] == "read" and STAGES[-1] == "received"
