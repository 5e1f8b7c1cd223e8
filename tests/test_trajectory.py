"""Curves, and motion along them, with a poser that only remembers."""

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.rotations import Floats
from reconstruct.style.constraints import Constraints, points
from reconstruct.style.model import StyleError
from reconstruct.style.trajectory import SETTLE_STEPS, follow
from reconstruct.style.trajectory_curves import Curve, span_s
from tests.style_posers import FakePoser

ARC = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 2.0, 4.0], [3.0, 0.0, 0.0]])


def asked_at(place_m: Floats) -> list[Constraints]:
    """Ask for the left hand at places, (N, 3)."""
    return [points(np.array([JOINT_INDEX["leftHand"]]), np.zeros((1, 3)), place[None]) for place in place_m]


@pytest.mark.parametrize("way", ["monotone", "smooth", "linear"])
def test_a_curve_goes_through_its_keys_and_asks_for_nothing_beyond(way: str) -> None:
    curve = Curve(np.array([1.0, 2.0, 2.5, 4.0]), ARC, way)
    np.testing.assert_allclose(curve.at(curve.time_s), ARC, atol=1e-12)
    assert np.isnan(curve.at(np.array([0.99, 4.01]))).all()
    assert span_s([curve, Curve(np.array([0.5, 3.0]), ARC[:2])]) == (0.5, 4.0)


def test_a_foot_stands_between_two_equal_keys_unless_the_curve_may_swing() -> None:
    time_s, t = np.array([0.0, 1.0, 2.0, 3.0]), np.linspace(1.0, 2.0, 21)
    place = np.array([[0.0, 0.3, 0.0], [0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.3, 0.0]])
    np.testing.assert_allclose(Curve(time_s, place).at(t), np.tile(place[1], (21, 1)), atol=1e-12)
    assert Curve(time_s, place, "smooth").at(t)[:, 1].min() < -0.01


def test_two_keys_are_joined_by_a_line() -> None:
    for way in ("monotone", "smooth"):
        middle = Curve(np.array([0.0, 2.0]), ARC[:2], way).at(np.array([0.5]))
        np.testing.assert_allclose(middle, [[0.25, 0.5, 0.0]])


@pytest.mark.parametrize(
    ("time_s", "place", "words"),
    [
        ([1.0], ARC[:1], "1 keys"),
        ([0.0, 0.0], ARC[:2], "do not rise"),
        ([0.0, 1.0], ARC[:3], "2 times and 3 places"),
        ([0.0, np.nan], ARC[:2], "not finite"),
    ],
)
def test_what_is_no_curve_is_refused(time_s: list[float], place: Floats, words: str) -> None:
    with pytest.raises(StyleError, match=words):
        Curve(np.array(time_s), place)


def test_the_first_frames_are_gone_through_forwards_and_backwards_before_the_motion() -> None:
    poser = FakePoser()
    place = np.linspace([0.0, 1.0, 0.0], [1.0, 1.0, 0.0], 40)
    found = follow(poser, asked_at(place))
    hand = np.array([pose.root_m for pose in found])
    np.testing.assert_allclose(hand - hand[0], place - place[0], atol=1e-12)
    starts, pasts = [call[0] for call in poser.calls], [call[1] for call in poser.calls]
    settling = 2 * SETTLE_STEPS + 1
    assert len(poser.calls) == settling + 40
    assert starts[0] is None and all(start is not None for start in starts[1:])  # cold once
    assert pasts[:settling] == [None] * settling and all(past is not None for past in pasts[settling:])


def test_the_past_is_one_and_two_steps_back_at_any_rate() -> None:
    """The features of this poser are its turn, which rises evenly with time."""
    for rate_hz in (30.0, 50.0, 60.0, 120.0):
        poser = _Turning(rate_hz)
        follow(poser, asked_at(np.zeros((60, 3))), rate_hz)
        now = poser.turned[-1]
        past = poser.calls[-1][1]
        assert past is not None
        assert past.before[0] == pytest.approx(now - 1.0 / 30.0, abs=1e-9)
        assert past.earlier[0] == pytest.approx(now - 2.0 / 30.0, abs=1e-9)


def test_shares_of_styles_change_with_time() -> None:
    poser = FakePoser(shares=(1.0, 0.0))
    shares = np.stack([np.linspace(1.0, 0.0, 20), np.linspace(0.0, 1.0, 20)], axis=1)
    follow(poser, asked_at(np.zeros((20, 3))), shares=shares)
    np.testing.assert_allclose([call[2] for call in poser.calls[-20:]], shares)


def test_short_motions_and_slow_rates() -> None:
    assert follow(FakePoser(), []) == ()
    assert len(follow(FakePoser(), asked_at(np.zeros((1, 3))))) == 1
    assert len(follow(FakePoser(), asked_at(np.zeros((2, 3))), 60.0)) == 2
    with pytest.raises(StyleError, match="25 frames a second"):
        follow(FakePoser(), asked_at(np.zeros((5, 3))), 25.0)


class _Turning(FakePoser):
    """Bends its first joint about x a little further with every pose it is asked for a moving body."""

    def __init__(self, rate_hz: float) -> None:
        super().__init__()
        self.rate_hz, self.turned = rate_hz, list[float]()

    def synthesize(self, constraints, start=None, past=None):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        pose = super().synthesize(constraints, start, past)
        if past is not None:
            self.turned.append(len(self.turned) / self.rate_hz)
            rotvec = pose.rotvec.copy()
            rotvec[1, 0] = self.turned[-1]
            return replace(pose, rotvec=rotvec)
        return pose
