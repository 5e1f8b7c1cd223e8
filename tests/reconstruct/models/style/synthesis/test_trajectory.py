"""Curves, and motion along them, with a poser that only remembers."""

from dataclasses import replace

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX
from reconstruct.constraints import Constraints, build_point_handles
from reconstruct.models.style.features import N_FEATURES
from reconstruct.models.style.synthesis.trajectory import (
    SWEEPS,
    choose_best_path,
    follow_constraints,
)
from tests.support.style_posers import FakePoser, plain_style


def asked_at(place_m: Floats) -> list[Constraints]:
    """Ask for the left hand at places, (N, 3)."""
    return [build_point_handles(np.array([JOINT_INDEX["leftHand"]]), np.zeros((1, 3)), place[None]) for place in place_m]


def test_every_frame_is_posed_alone_from_its_neighbours_and_in_sweeps() -> None:
    poser, progress = FakePoser(), list[tuple[int, int]]()
    place = np.linspace([0.0, 1.0, 0.0], [1.0, 1.0, 0.0], 20)
    found = follow_constraints(poser, asked_at(place), progress=lambda done, total: progress.append((done, total)))
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
    follow_constraints(poser, asked_at(np.zeros((20, 3))), shares=shares)
    np.testing.assert_allclose([call[2] for call in poser.calls[:20]], shares)
    np.testing.assert_allclose([call[2] for call in poser.calls[-20:]], shares[::-1])  # the last sweep goes backwards


def test_short_motions() -> None:
    assert follow_constraints(FakePoser(), []) == ()
    assert len(follow_constraints(FakePoser(), asked_at(np.zeros((1, 3))))) == 1
    assert len(follow_constraints(FakePoser(), asked_at(np.zeros((2, 3))))) == 2


def test_what_cannot_be_reached_is_flagged_though_neighbours_agree() -> None:
    """Two handles a metre further apart than the body's."""
    joint = np.array([JOINT_INDEX["leftHand"], JOINT_INDEX["leftFoot"]])
    asked = [build_point_handles(joint, np.zeros((2, 3)), np.array([[0.7, 3.4, 0.0], [0.1, 0.1, 0.0]])) for _ in range(5)]
    found = follow_constraints(FakePoser(), asked)
    assert not any(pose.reached for pose in found)
    assert found[0].error_m.min() > 0.5


def test_the_path_avoids_a_pose_that_fits_a_little_better_but_is_far_from_its_neighbours() -> None:
    pose = FakePoser().synthesize(asked_at(np.zeros((1, 3)))[0])
    odd = replace(pose, energy=-3.0, rotvec=pose.rotvec + 0.5)
    style = replace(plain_style(), modelled=np.ones(N_FEATURES, bool), spread=np.full(N_FEATURES, 0.05))
    path = choose_best_path([[pose], [odd, pose], [pose]], [style], [(1.0,)] * 3)
    assert path == [pose, pose, pose]
    assert choose_best_path([[odd, pose]], [style], [(1.0,)]) == [odd]
