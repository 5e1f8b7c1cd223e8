"""Smoothing backwards, against the least squares of all moments at once where everything is linear."""

from dataclasses import replace

import numpy as np
import pytest

from config.arrays import Floats
from config.settings import SolveSettings
from reconstruct.body_state import BodyState
from reconstruct.models.local.model import DOFS
from reconstruct.track.backward_smoothing import Moment, carry_moment, smooth_backwards
from reconstruct.track.belief import N_POSE, Belief, apply_pose_change, predict

SETTINGS, N, STEP_S, NOISE = SolveSettings(), 4, 1.0 / 60.0, 0.01
LINEAR = np.setdiff1d(np.arange(N_POSE), np.arange(DOFS, DOFS + 3))  # all but the root's rotation, which stays as it is


def first_belief(rng: np.random.Generator) -> Belief:
    """Return a belief whose coordinates depend on each other, but for the root's rotation."""
    half = rng.normal(size=(2 * N_POSE, 2 * N_POSE)) / 12.0
    turning = np.r_[DOFS : DOFS + 3, N_POSE + DOFS : N_POSE + DOFS + 3]
    half[turning] = half[:, turning] = 0.0
    covariance = 0.04 * (half @ half.T) + 1e-4 * np.eye(2 * N_POSE)
    velocity = rng.normal(size=N_POSE)
    velocity[DOFS : DOFS + 3] = 0.0
    acceleration = np.where(np.isin(np.arange(N_POSE), LINEAR), rng.normal(size=N_POSE), 0.0)
    noise = 2.0 * np.eye(N_POSE)
    state = BodyState(0, 0.3 * rng.normal(size=(DOFS // 3 + 1, 3)), np.eye(3), rng.normal(size=3))
    return Belief(state, velocity, covariance, acceleration, noise)


def vector_of(belief: Belief) -> Floats:
    """Return pose and velocity as one vector, the root's rotation as 0."""
    joints = belief.state.joints[1:].ravel()
    return np.concatenate([joints, np.zeros(3), belief.state.position_m, belief.velocity])


def see(belief: Belief, H: Floats, seen: Floats) -> Belief:
    """Return a belief after H x was seen with NOISE: Kalman's update."""
    P = belief.covariance
    gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + NOISE**2 * np.eye(len(H)))
    step = gain @ (seen - H @ vector_of(belief))
    state = apply_pose_change(belief.state, step[:N_POSE], belief.state.t_ns)
    return replace(belief, state=state, velocity=belief.velocity + step[N_POSE:], covariance=P - gain @ H @ P)


def carried(belief: Belief, t_ns: int) -> tuple[Floats, Floats, Floats]:
    """Return F, what is added to F x, and the covariance of what is unknown, from one moment to the next."""
    origin = replace(belief, covariance=np.zeros_like(belief.covariance))
    offset = vector_of(predict(replace(origin, velocity=np.zeros(N_POSE)), t_ns, SETTINGS)) - vector_of(
        replace(origin, velocity=np.zeros(N_POSE))
    )
    F = np.eye(2 * N_POSE)
    for k in range(N_POSE):
        unit = np.zeros(N_POSE)
        unit[k] = 1e-3
        moved = predict(replace(origin, velocity=unit), t_ns, SETTINGS)
        F[N_POSE:, N_POSE + k] = (moved.velocity - offset[N_POSE:]) * 1e3
        if k in LINEAR:
            F[:N_POSE, N_POSE + k] = (vector_of(moved) - vector_of(origin) - offset)[:N_POSE] * 1e3
    return F, offset, predict(origin, t_ns, SETTINGS).covariance


@pytest.fixture(scope="module")
def case() -> tuple[list[Moment], Floats]:
    """Return filtered moments, and the first one's mean by least squares over all moments."""
    rng = np.random.default_rng(3)
    belief, size = first_belief(rng), 2 * N_POSE
    information, pull = np.zeros((N * size, N * size)), np.zeros(N * size)
    precision = np.linalg.inv(belief.covariance)
    information[:size, :size], pull[:size] = precision, precision @ vector_of(belief)
    moments = list[Moment]()
    for k in range(N):
        here = slice(k * size, (k + 1) * size)
        if k:
            t_ns = round(k * STEP_S * 1e9)
            before, predicted = belief, predict(belief, t_ns, SETTINGS)
            F, offset, Q = carried(before, t_ns)
            both = np.concatenate([-F, np.eye(size)], axis=1)
            weighted = both.T @ np.linalg.inv(Q)
            part = slice((k - 1) * size, (k + 1) * size)
            information[part, part] += weighted @ both
            pull[part] += weighted @ offset
        else:
            before, predicted = belief, belief
        H = np.zeros((20, size))
        H[:, LINEAR] = rng.normal(size=(20, len(LINEAR)))
        seen = H @ vector_of(predicted) + 0.05 * rng.normal(size=20)
        information[here, here] += H.T @ H / NOISE**2
        pull[here] += H.T @ seen / NOISE**2
        belief = see(predicted, H, seen)
        moments.append(carry_moment(before, predicted, belief, SETTINGS) if k else Moment(belief))
    return moments, np.linalg.solve(information, pull)[:size]


def test_the_past_is_that_of_least_squares_over_all_moments(case: tuple[list[Moment], Floats]) -> None:
    moments, mean = case
    found = smooth_backwards(moments)
    linear = np.concatenate([LINEAR, N_POSE + LINEAR])
    np.testing.assert_allclose(vector_of(found)[linear], mean[linear], atol=1e-7)
    assert found.state.t_ns == moments[0].belief.state.t_ns
    assert np.abs(vector_of(found) - vector_of(moments[0].belief)).max() > 1e-3  # the later moments told something


def test_nothing_is_told_from_after_the_body_was_found_anew(case: tuple[list[Moment], Floats]) -> None:
    first, second, third, *_ = case[0]
    found = smooth_backwards([first, second, Moment(third.belief)])
    np.testing.assert_array_equal(vector_of(found), vector_of(smooth_backwards([first, second])))
