"""Frames are drawn to where the others of a motion expect them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.constraints import RootConstraint
from reconstruct.models.style.features import N_ANGLES, N_STATIC
from reconstruct.models.style.synthesis.pull import ROOT_M, ROOT_RAD, ExpectedStep, pull_joints, pull_root
from tests.reconstruct.models.style.synthesis.test_trajectory import asked_at
from tests.support.style_posers import FakePoser


@given(st.integers(0, 5), st.integers(0, 2**31))
def test_a_frame_is_drawn_to_where_later_frames_want_it(n: int, seed: int) -> None:
    """The pull is the least of the terms of frames n+1 and n+2 in s_n: their slope is nothing there."""
    rng = np.random.default_rng(seed)
    static = rng.normal(size=(6, N_STATIC))

    def some() -> ExpectedStep:
        precision = np.repeat(rng.uniform(0.5, 2.0, (2, N_STATIC // 3)), 3, axis=1)  # alike for the components of a joint
        return ExpectedStep(rng.normal(size=N_STATIC), precision[0], rng.normal(size=N_STATIC), precision[1])

    expected = [some() for _ in range(6)]
    drawn = pull_joints(n, static, expected, np.zeros(0, np.int64))

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
    free = pull_root(1, turned, RootConstraint())
    np.testing.assert_allclose(rotvec_from_matrix(free.rotation), [0.0, 0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(free.position_m, [0.4, 0.4, 0.4])
    asked = RootConstraint(matrix_from_rotvec(np.array([0.0, 1.0, 0.0])), np.ones(3), 0.5 * ROOT_RAD, 0.5 * ROOT_M)  # as surely
    both = pull_root(1, turned, asked)
    np.testing.assert_allclose(rotvec_from_matrix(both.rotation), [0.0, 0.7, 0.0], atol=1e-12)
    np.testing.assert_allclose(both.position_m, [0.7, 0.7, 0.7])
    assert both.sigma_m == pytest.approx(0.5 * ROOT_M / np.sqrt(2.0))
    assert pull_root(0, turned, asked) is asked and pull_root(2, turned, asked) is asked
