"""The rate that a machine holds, judged on made-up poses."""

import numpy as np
import pytest

from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from stream.protocol.latency import Receipt
from tests.support import fakes
from tools.demo.rate import RateWatch

T0, MS = 10_000_000_000, 1_000_000


def watched(*shares: float, every_ms: int = 50) -> tuple[RateWatch, list[int]]:
    """Let poses of so large shares of 60 Hz come in one second after another; return when fewer frames were called for [ms]."""
    watch, called = RateWatch(T0, 60.0), list[int]()
    for second, share in enumerate(shares):
        for k in range(round(60 * share)):
            for _ in range(2):  # a pose that is held comes again
                watch.add(T0 + second * 1000 * MS + k * round(1e9 / 60))
        for ms in range(1000 * second, 1000 * (second + 1), every_ms):
            if watch.turn(T0 + ms * MS):
                called.append(ms)
    return watch, called


@pytest.mark.parametrize(
    ("shares", "called"),
    [
        ((0.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0), []),  # the first second does not count
        ((1.0, 0.8, 0.8, 0.8, 0.8), [3250]),
        ((1.0, 1.0, 0.85, 1.0, 1.0, 1.0), []),  # a short disturbance
        ((1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5), [5250]),  # once
        ((1.0,) * 9 + (0.3,) * 4, []),  # later on it is something else that takes the machine
    ],
)
def test_a_machine_that_does_not_hold_the_rate_is_asked_for_half(shares: tuple[float, ...], called: list[int]) -> None:
    assert watched(*shares)[1] == called


def test_what_is_reported_begins_after_the_change() -> None:
    times_s = np.arange(601) / 60.0
    watch, _ = watched(1.0, 0.5, 0.5, 0.5)
    assert watch.judged_from_s == pytest.approx(3.75) and watch.n_due(times_s) == 188  # of 301 at 30 Hz those from 3.75 s on
    assert "30 of 60" in watch.message() and "30 Hz" in watch.words()
    skeleton = compose_skeleton_message(fakes.subject())
    poses = [compose_pose_message(fakes.pose(k, T0 + k * 1000 * MS, np.zeros(3)), skeleton, "s", k, 0) for k in range(6)]
    assert [one.pose.seq for one in watch.judged([Receipt(pose) for pose in poses])] == [4, 5]
    held, _ = watched(*[1.0] * 5)
    assert held.n_due(times_s) == 601 and held.words() == "60 Hz" and len(held.judged([Receipt(pose) for pose in poses])) == 6
