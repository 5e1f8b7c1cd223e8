"""Curves, and motion along them, with a poser that only remembers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.joints import JOINT_INDEX, N_JOINTS
from database.rotations import Floats, geodesic_rad, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.style.constraints import Constraints, RootPrior, points
from reconstruct.style.features import N_ANGLES, N_FEATURES, N_STATIC
from reconstruct.style.model import StyleError
from reconstruct.style.trajectory import SWEEPS, follow
from reconstruct.style.trajectory_curves import Curve, span_s
from reconstruct.style.trajectory_path import best_path
from reconstruct.style.trajectory_pull import ROOT_M, ROOT_RAD, Expected, pull, root_pull
from reconstruct.style.trajectory_rate import at_rate
from tests.style_posers import T_POSE, FakePoser, plain_style

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
        ([1.0], ARC[:1], "two keys or more, this has 1"),
        ([0.0, 0.0], ARC[:2], "do not rise"),
        ([0.0, 1.0], ARC[:3], "2 times and 3 places"),
        ([0.0, np.nan], ARC[:2], "not finite"),
    ],
)
def test_what_is_no_curve_is_refused(time_s: list[float], place: Floats, words: str) -> None:
    with pytest.raises(StyleError, match=words):
        Curve(np.array(time_s), place)


def test_every_frame_is_posed_alone_from_its_neighbours_and_in_sweeps() -> None:
    poser, progress = FakePoser(), list[tuple[int, int]]()
    place = np.linspace([0.0, 1.0, 0.0], [1.0, 1.0, 0.0], 20)
    found = follow(poser, asked_at(place), progress=lambda done, total: progress.append((done, total)))
    hand = np.array([pose.root_m for pose in found])
    np.testing.assert_allclose(hand - hand[0], place - place[0], atol=1e-12)
    assert len(poser.calls) == 20 + 2 * 19 + SWEEPS * 20
    assert [call[0] for call in poser.calls[:20]] == [None] * 20  # cold
    assert all(start is not None for start, _, _ in poser.calls[20:])
    assert progress[-1] == (len(poser.calls), len(poser.calls))
    forwards = [past is not None for _, past, _ in poser.calls[58:78]]
    assert forwards == [False, False] + [True] * 18
    assert all(pose.reached for pose in found)


def test_shares_of_styles_change_with_time() -> None:
    poser = FakePoser((plain_style(), plain_style()), shares=(1.0, 0.0))
    shares = np.stack([np.linspace(1.0, 0.0, 20), np.linspace(0.0, 1.0, 20)], axis=1)
    follow(poser, asked_at(np.zeros((20, 3))), shares=shares)
    np.testing.assert_allclose([call[2] for call in poser.calls[:20]], shares)
    np.testing.assert_allclose([call[2] for call in poser.calls[-20:]], shares[::-1])  # the last sweep goes backwards


def test_short_motions() -> None:
    assert follow(FakePoser(), []) == ()
    assert len(follow(FakePoser(), asked_at(np.zeros((1, 3))))) == 1
    assert len(follow(FakePoser(), asked_at(np.zeros((2, 3))))) == 2


def test_what_cannot_be_reached_is_flagged_though_neighbours_agree() -> None:
    """Two handles a metre further apart than the body's."""
    joint = np.array([JOINT_INDEX["leftHand"], JOINT_INDEX["leftFoot"]])
    asked = [points(joint, np.zeros((2, 3)), np.array([[0.7, 3.4, 0.0], [0.1, 0.1, 0.0]])) for _ in range(5)]
    found = follow(FakePoser(), asked)
    assert not any(pose.reached for pose in found)
    assert found[0].off_m.min() > 0.5


def test_the_path_avoids_a_pose_that_fits_a_little_better_but_is_far_from_its_neighbours() -> None:
    pose = FakePoser().synthesize(asked_at(np.zeros((1, 3)))[0])
    odd = replace(pose, energy=-3.0, rotvec=pose.rotvec + 0.5)
    style = replace(plain_style(), modelled=np.ones(N_FEATURES, bool), spread=np.full(N_FEATURES, 0.05))
    path = best_path([[pose], [odd, pose], [pose]], [style], [(1.0,)] * 3)
    assert path == [pose, pose, pose]
    assert best_path([[odd, pose]], [style], [(1.0,)]) == [odd]


@given(st.integers(0, 5), st.integers(0, 2**31))
def test_a_frame_is_drawn_to_where_later_frames_want_it(n: int, seed: int) -> None:
    """The pull is the least of the terms of frames n+1 and n+2 in s_n: their slope is nothing there."""
    rng = np.random.default_rng(seed)
    static = rng.normal(size=(6, N_STATIC))

    def some() -> Expected:
        precision = np.repeat(rng.uniform(0.5, 2.0, (2, N_STATIC // 3)), 3, axis=1)  # alike for the components of a joint
        return Expected(rng.normal(size=N_STATIC), precision[0], rng.normal(size=N_STATIC), precision[1])

    expected = [some() for _ in range(6)]
    drawn = pull(n, static, expected, np.zeros(0, np.int64))

    def terms(s: Floats) -> float:
        at = static.copy()
        at[n, :N_ANGLES] = s
        total = 0.0
        for m in range(n + 1, min(n + 3, 6)):
            e = expected[m]
            if m == n + 1:
                total += (e.velocity_precision * (at[m] - at[m - 1] - e.velocity) ** 2)[:N_ANGLES].sum()
            if m >= 2:
                acceleration = at[m] - 2.0 * at[m - 1] + at[m - 2]
                total += (e.acceleration_precision * (acceleration - e.acceleration) ** 2)[:N_ANGLES].sum()
        return 0.5 * total

    if n == 5:
        assert len(drawn.joint) == 0
        return
    assert len(drawn.joint) == N_ANGLES // 3
    centre, precision = drawn.rotvec.ravel(), np.repeat(drawn.sigma_rad**-2, 3)
    step = rng.normal(size=N_ANGLES)
    assert terms(centre + step) == pytest.approx(terms(centre) + 0.5 * (precision * step**2).sum(), rel=1e-9)


def test_a_root_is_drawn_between_its_neighbours_and_to_what_is_asked_of_it() -> None:
    pose = FakePoser().synthesize(asked_at(np.zeros((1, 3)))[0])
    turned = [replace(pose, rotvec=np.array([[0.0, a, 0.0], *pose.rotvec[1:]]), root_m=np.full(3, a)) for a in (0.2, 9.0, 0.6)]
    free = root_pull(1, turned, RootPrior())
    np.testing.assert_allclose(rotvec_from_matrix(free.rotation), [0.0, 0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(free.position_m, [0.4, 0.4, 0.4])
    asked = RootPrior(matrix_from_rotvec(np.array([0.0, 1.0, 0.0])), np.ones(3), 0.5 * ROOT_RAD, 0.5 * ROOT_M)  # as surely
    both = root_pull(1, turned, asked)
    np.testing.assert_allclose(rotvec_from_matrix(both.rotation), [0.0, 0.7, 0.0], atol=1e-12)
    np.testing.assert_allclose(both.position_m, [0.7, 0.7, 0.7])
    assert both.sigma_m == pytest.approx(0.5 * ROOT_M / np.sqrt(2.0))
    assert root_pull(0, turned, asked) is asked and root_pull(2, turned, asked) is asked


def test_a_motion_at_other_rates_goes_through_its_poses_and_has_their_length() -> None:
    rng = np.random.default_rng(2)
    turn = np.array([[0.0, angle, 0.0] for angle in np.linspace(2.0, 4.5, 31)])  # through half a turn
    rotvec = np.tile(T_POSE, (31, 1, 1)) + np.cumsum(rng.normal(0.0, 0.01, (31, N_JOINTS, 3)), axis=0)
    rotvec[:, 0] = rotvec_from_matrix(matrix_from_rotvec(turn))
    root_m = np.cumsum(rng.normal(0.0, 0.01, (31, 3)), axis=0)
    for fps in (60.0, 120.0, 30.0, 15.0, 24.0):
        r, p = at_rate(rotvec, root_m, fps)
        assert len(r) == len(p) == int(fps) + 1
        np.testing.assert_allclose(p[-1], root_m[-1], atol=1e-9)
        assert geodesic_rad(matrix_from_rotvec(r[1:, 0]), matrix_from_rotvec(r[:-1, 0])).max() < 1.1 * 2.5 / fps
    np.testing.assert_allclose(at_rate(rotvec, root_m, 60.0)[0][::2, 1:], rotvec[:, 1:], atol=1e-9)
    assert len(at_rate(rotvec[:1], root_m[:1], 60.0)[0]) == 1
