"""The belief: prediction against Monte Carlo, a frame against a linear Kalman filter, points, tilt and a world that moves."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.arrays import Floats
from config.settings import SolveSettings
from database.geometry.kinematics import compute_local_markers
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec, rotvec_between
from reconstruct.body_state import BodyState
from reconstruct.models.local.gaussian import NeighbourGaussians
from reconstruct.models.local.model import DOFS, FULL, LocalModel, Quadratic
from reconstruct.observations import observations_from_markers
from reconstruct.solve.certainty import Minimum, build_minimum
from reconstruct.solve.root import RootPrior
from reconstruct.solve.solver import FrameProblem, solve_pose
from reconstruct.track.belief import (
    MOST_COUNTED,
    N_POSE,
    POSE,
    VELOCITY,
    Belief,
    Prior,
    apply_pose_change,
    build_initial_belief,
    carry_covariance,
    compute_pose_change,
    compute_reliance,
    compute_surprise,
    join_neighbours,
    predict,
    predict_points,
    turn_to_world,
    update_belief,
    update_by_pose,
)
from reconstruct.track.tilt import TILT_FLOOR_RAD, compute_tilt, compute_tilt_error
from tests.support.people import bent_pose, front_rig, marker_frame_of, person, worn_markers

SUBJECT = person("boxing", 2)
S = SolveSettings()
FRAME_NS = 1_000_000_000 // 60
PLACE = np.array([0.2, 1.0, -0.1])


def some_covariance(n: int, seed: int, sigma: float) -> Floats:
    """Return a covariance that is not diagonal, (n, n)."""
    half = np.random.default_rng(seed).normal(size=(n, 2 * n))
    return np.asarray(sigma**2 * (half @ half.T / (2 * n)))


def some_belief(seed: int = 0) -> Belief:
    """Return a belief about a bent pose that turns, walks and is not surely known."""
    rng, joints = np.random.default_rng(seed), bent_pose(4, 0.2)
    state = BodyState(0, joints, matrix_from_rotvec([0.1, 0.7, -0.2]), PLACE)
    bend, noise = rng.normal(0.0, 2.0, N_POSE), some_covariance(N_POSE, seed + 1, 5.0)
    return Belief(state, rng.normal(0.0, 1.0, N_POSE), some_covariance(2 * N_POSE, seed + 2, 0.1), bend, noise)


def some_neighbours(seed: int = 5) -> NeighbourGaussians:
    """Return what neighbours could say."""
    rng = np.random.default_rng(seed)
    pose, velocity = bent_pose(4, 0.25)[1:].ravel(), rng.normal(0.0, 1.0, N_POSE)
    covariance, spread = some_covariance(DOFS, seed + 1, 0.2), some_covariance(N_POSE, seed + 2, 2.0)
    return NeighbourGaussians(pose, covariance, velocity, spread, np.zeros(N_POSE), np.eye(N_POSE), S.neighbour_certainty)


def test_prediction_is_where_paths_of_the_motion_end() -> None:
    """Mean and covariance of 20,000 paths in small steps, of two joint coordinates and one of the root's position."""
    belief, seconds, n_steps, n_paths = some_belief(), 1.0 / 60.0, 20, 20_000
    some, rng = np.array([3, 40, N_POSE - 1]), np.random.default_rng(1)
    both = np.concatenate([some, N_POSE + some])
    known = rng.multivariate_normal(np.zeros(6), belief.covariance[np.ix_(both, both)], n_paths)
    z, v = known[:, :3], belief.velocity[some] + known[:, 3:]
    a = belief.acceleration[some]
    tau = np.array([S.joint_velocity_s, S.joint_velocity_s, S.root_velocity_s])
    half, dt = np.linalg.cholesky(belief.noise[np.ix_(some, some)]), seconds / n_steps
    for _ in range(n_steps):
        dv = (a - v / tau) * dt + np.sqrt(dt) * rng.normal(size=v.shape) @ half.T
        z, v = z + (v + 0.5 * dv) * dt, v + dv
    found = predict(belief, round(seconds * 1e9), S)
    change = compute_pose_change(belief.state, found.state)
    ends = np.concatenate([z, v], axis=1)
    deviation = ends.std(axis=0)
    np.testing.assert_allclose(
        np.concatenate([change[some], found.velocity[some]]), ends.mean(axis=0), atol=0.05 * deviation.max()
    )
    scale = np.outer(deviation, deviation)
    np.testing.assert_allclose(found.covariance[np.ix_(both, both)] / scale, np.cov(ends.T) / scale, atol=0.06)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.floats(0.0, 1.0))
def test_a_prediction_is_less_sure_and_stays_a_covariance(seed: int, seconds: float) -> None:
    belief = some_belief(seed)
    found = predict(belief, round(seconds * 1e9), S)
    np.testing.assert_allclose(found.covariance, found.covariance.T, atol=1e-12)
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-9
    assert (found.covariance.diagonal()[POSE] >= 0.0).all()
    if seconds == 0.0:
        np.testing.assert_allclose(found.covariance, belief.covariance, atol=1e-12)


def linear_frame(prior: Prior, seed: int) -> tuple[BodyState, Minimum, Floats, Floats]:
    """Return pose and minimum of a frame that is linear in the change of the pose, its H, (K, V), and its values, (K,)."""
    rng, before = np.random.default_rng(seed), prior.predicted.state
    H, y = rng.normal(0.0, 10.0, (12, N_POSE)), rng.normal(0.0, 1.0, 12)
    turn = rotvec_between(before.rotation, prior.root.rotation)
    expected = np.concatenate([prior.model.center, turn, prior.root.position_m - before.position_m])
    hessian = prior.model.precision + H.T @ H
    best = expected + np.linalg.solve(hessian, H.T @ (y - H @ expected))
    nothing = np.zeros(N_POSE)
    terms = Mock(prior=Quadratic(expected, prior.model.precision))
    return apply_pose_change(before, best, before.t_ns), Minimum(nothing, terms, 0.0, nothing, np.tril(hessian)), H, y


@pytest.mark.parametrize("seconds", [1.0 / 60.0, 0.5])
def test_a_frame_is_that_of_a_linear_kalman_filter(seconds: float) -> None:
    """All at once in information form: prediction, neighbours' poses and steps by their shares, and what is seen.

    Neighbours lead the mean by all of their share and make it as certain as by a part of it.
    """
    predicted, n = predict(some_belief(), round(seconds * 1e9), S), some_neighbours()
    prior = join_neighbours(predicted, n, None, seconds, S)
    state, minimum, H, y = linear_frame(prior, 3)
    certainty = S.neighbour_certainty
    found = update_belief(prior, state, minimum)

    known, told_by, pull = np.linalg.inv(predicted.covariance), np.zeros((2 * N_POSE, 2 * N_POSE)), np.zeros(2 * N_POSE)
    n = turn_to_world(n, predicted.state.rotation)
    apart = (n.pose - predicted.state.joints[1:].ravel(), n.velocity - predicted.velocity)
    told = 0.0
    for k, (rate, covariance) in enumerate(((S.pose_rate, n.pose_covariance), (S.velocity_rate, n.velocity_covariance))):
        precision, part = (
            min(rate * seconds, MOST_COUNTED) * np.linalg.inv(covariance),
            slice(k * N_POSE, k * N_POSE + len(apart[k])),
        )
        told_by[part, part] = precision
        pull[part] = precision @ apart[k]
        told += 0.5 * apart[k] @ precision @ apart[k]
    carried = known + certainty * told_by
    left = certainty * told - 0.5 * certainty**2 * pull @ np.linalg.solve(carried, pull)
    assert prior.told is not None and prior.carried is not None
    assert update_by_pose(prior.carried, prior.told.pose, certainty)[1] == pytest.approx(left, rel=1e-6)
    information = known + told_by
    information[POSE, POSE] += H.T @ H
    carried[POSE, POSE] += H.T @ H
    pull[POSE] += H.T @ y
    best = np.linalg.solve(information, pull)
    np.testing.assert_allclose(compute_pose_change(predicted.state, found.state), best[POSE], atol=1e-7)
    np.testing.assert_allclose(found.velocity, predicted.velocity + best[VELOCITY], atol=1e-6)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(carried), atol=1e-8)


def carried(prior: Prior, added: Floats) -> Floats:
    """Return the covariance after a frame that adds some information of the pose, (V, V)."""
    assert prior.told is not None and prior.carried is not None
    return carry_covariance(prior.carried, S.neighbour_certainty * prior.told.pose.precision + added)


def test_neighbours_of_many_frames_count_as_often_as_those_of_a_few() -> None:
    """A fifth of a second of poses is as sure in twelve frames as in one, whatever the rate: their errors last."""
    belief, n = some_belief(), some_neighbours()
    still = replace(S, velocity_rate=0.0, pose_rate=3.0)
    sure = []
    for frames in (1, 12):
        covariance = belief.covariance
        for _ in range(frames):
            prior = join_neighbours(replace(belief, covariance=covariance), n, None, 0.2 / frames, still)
            covariance = carried(prior, np.zeros((N_POSE, N_POSE)))
        sure.append(covariance)
    np.testing.assert_allclose(sure[0], sure[1], atol=1e-8)


def test_a_performer_who_was_just_found_is_as_his_neighbours_are() -> None:
    start, n = some_belief().state, some_neighbours()
    belief = build_initial_belief(start, n)
    prior = join_neighbours(belief, n, None, 0.0, S)
    np.testing.assert_allclose(prior.model.mean[1:].ravel() + prior.model.center, n.pose, atol=1e-12)
    np.testing.assert_allclose(prior.model.precision[:DOFS, :DOFS], np.linalg.inv(n.pose_covariance), rtol=1e-6, atol=1e-6)
    assert np.array_equal(prior.root.position_m, start.position_m)
    assert prior.led is not None and prior.told is not None and update_by_pose(prior.led, prior.told.pose, 1.0)[1] == 0.0


def test_points_are_as_sure_as_the_pose_makes_them() -> None:
    """Derivatives by differences: the covariance of a point is J P J'."""
    belief, h = some_belief(), 1e-6

    def points(state: BodyState) -> Floats:
        local = compute_local_markers(SUBJECT.skeleton, state.joints[None], SUBJECT.joint, SUBJECT.offset_m)[0]
        return np.asarray(local @ state.rotation.T + state.position_m)

    found_m, covariance_m2 = predict_points(belief, SUBJECT.skeleton, SUBJECT.joint, SUBJECT.offset_m)
    np.testing.assert_allclose(found_m, points(belief.state), atol=1e-12)
    sides = [[points(apply_pose_change(belief.state, side * h * e, 0)) for side in (1.0, -1.0)] for e in np.eye(N_POSE)]
    J = np.stack([(after - before) / (2.0 * h) for after, before in sides], axis=2)
    expected = np.einsum("mip,pq,njq->minj", J, belief.covariance[POSE, POSE], J)
    np.testing.assert_allclose(covariance_m2, expected, atol=1e-8)


def test_a_world_that_moves_takes_the_belief_along() -> None:
    """Predicted and moved, or moved and predicted: the same pose, velocity, points and covariances."""
    motion, belief = RigidMotion(matrix_from_rotvec([0.0, 1.2, 0.0]), np.array([2.0, 0.1, -3.0])), some_belief()
    one, other = predict(belief, FRAME_NS, S).moved(motion), predict(belief.moved(motion), FRAME_NS, S)
    np.testing.assert_allclose(one.state.rotation, other.state.rotation, atol=1e-12)
    np.testing.assert_allclose(one.state.position_m, other.state.position_m, atol=1e-12)
    np.testing.assert_allclose(one.velocity, other.velocity, atol=1e-12)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-9)
    body = (SUBJECT.skeleton, SUBJECT.joint, SUBJECT.offset_m)
    (before_m, before_m2), (after_m, after_m2) = predict_points(belief, *body), predict_points(belief.moved(motion), *body)
    np.testing.assert_allclose(after_m, motion.move(before_m), atol=1e-12)
    turned_m2 = np.einsum("ki,minj,lj->mknl", motion.rotation, before_m2, motion.rotation)
    np.testing.assert_allclose(after_m2, turned_m2, atol=1e-12)


def test_neighbours_tell_of_the_root_in_its_own_axes() -> None:
    """A walker who goes ahead along his Z goes along the world's X where that is ahead, and is as unsure across it as before."""
    quarter, n = matrix_from_rotvec(np.array([0.0, np.pi / 2.0, 0.0])), some_neighbours()
    velocity, spread = np.zeros(N_POSE), np.diag(np.arange(1.0, N_POSE + 1.0))
    velocity[-1], velocity[0] = 1.5, 0.7
    found = turn_to_world(replace(n, velocity=velocity, velocity_covariance=spread), quarter)
    np.testing.assert_allclose(found.velocity[-3:], [1.5, 0.0, 0.0], atol=1e-12)
    assert found.velocity[0] == 0.7 and found.velocity_covariance[0, 0] == 1.0
    np.testing.assert_allclose(found.velocity_covariance.diagonal()[-3:], [N_POSE, N_POSE - 1.0, N_POSE - 2.0], atol=1e-9)


UP, WEIGHTS = np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 1.0])
HEADING = matrix_from_rotvec(np.array([0.0, 0.7, 0.0]))
LEANING = HEADING @ matrix_from_rotvec(np.array([0.3, 0.0, 0.0]))


def up_of(*rotations: Floats) -> Floats:
    """Return the vertical in the frames of roots, (K, 3)."""
    return np.array([R.T @ UP for R in rotations])


def test_neighbours_that_agree_are_as_sure_of_the_tilt_as_any() -> None:
    tilt = compute_tilt(up_of(*[LEANING] * 3), WEIGHTS)
    assert tilt.variance == pytest.approx(TILT_FLOOR_RAD**2)
    apart = up_of(LEANING, HEADING @ matrix_from_rotvec(np.array([-0.9, 0.0, 0.0])), HEADING)
    assert compute_tilt(apart, WEIGHTS).variance > 5.0 * TILT_FLOOR_RAD**2


def test_a_tilt_raises_the_vertical_and_leaves_the_heading() -> None:
    turn = compute_tilt_error(HEADING, compute_tilt(up_of(*[LEANING] * 3), WEIGHTS).up)
    assert turn[1] == 0.0
    np.testing.assert_allclose(matrix_from_rotvec(turn) @ HEADING @ LEANING.T @ UP, UP, atol=1e-12)
    turned = matrix_from_rotvec(np.array([0.0, 2.0, 0.0]))
    np.testing.assert_allclose(compute_tilt_error(HEADING, compute_tilt(up_of(*[turned] * 3), WEIGHTS).up), 0.0, atol=1e-12)


@pytest.mark.parametrize(("sigma_rad", "least", "most"), [(1.0, 0.0, 0.02), (0.003, 0.29, 0.31)])
def test_a_root_that_is_not_known_is_drawn_to_the_neighbours_tilt(sigma_rad: float, least: float, most: float) -> None:
    """By half a second's worth of neighbours; one that is known stays. What is left is the angle to the leaning pose."""
    state = BodyState(0, bent_pose(4, 0.2), HEADING, PLACE)
    covariance = np.diag(np.repeat([0.1, sigma_rad, 0.1, 0.1], [DOFS, 3, 3, N_POSE]) ** 2)
    belief = Belief(state, np.zeros(N_POSE), covariance, np.zeros(N_POSE), np.eye(N_POSE))
    prior = join_neighbours(belief, some_neighbours(), compute_tilt(up_of(*[LEANING] * 3), WEIGHTS), 0.5, S)
    assert least < compute_geodesic_rad(prior.root.rotation, LEANING) < most


def test_neighbours_upside_down_or_without_a_common_tilt_give_numbers() -> None:
    fallen = matrix_from_rotvec(np.array([np.pi, 0.0, 0.0]))
    for ups in (up_of(fallen, fallen, fallen), up_of(fallen, np.eye(3), fallen)):
        tilt = compute_tilt(ups, WEIGHTS)
        assert np.isfinite(compute_tilt_error(np.eye(3), tilt.up)).all() and np.isfinite(tilt.variance)


def test_a_free_limb_leaves_more_volume_than_a_marker_of_the_torso() -> None:
    """Evidence of one point more where it is expected: a hand, which may be anywhere, is less likely there than the waist."""
    pose, names = bent_pose(4, 0.2), SUBJECT.markers.names
    pose[0] = [0.1, 0.7, -0.2]
    marker_m = worn_markers(SUBJECT, pose[None], PLACE[None])[0][0]
    precision = np.diag(np.repeat([0.2, 0.1, 0.1], [DOFS, 3, 3]) ** -2.0)
    model = LocalModel(np.concatenate([np.zeros((1, 3)), pose[1:]]), FULL, np.zeros(DOFS), precision)
    root = RootPrior(matrix_from_rotvec(pose[0]), PLACE, np.nan, np.nan)
    before, predicted = Quadratic(np.zeros(N_POSE), precision), BodyState(0, model.mean, root.rotation, PLACE)
    volume = {}
    for more in ("left_hand", "waist_left", None):
        shown = np.array([name in ("left_shoulder", "right_shoulder", "waist_right", more) for name in names])
        seen = observations_from_markers(marker_frame_of(marker_m, shown), front_rig(), np.full(len(names), 0.006))
        asked = FrameProblem(SUBJECT.skeleton, (SUBJECT.joint, SUBJECT.offset_m), model, root, seen)
        solution = solve_pose(asked, (root.rotation, root.position_m))
        state = BodyState(0, solution.joints, solution.rotation, solution.position_m)
        volume[more] = compute_surprise(predicted, before, state, build_minimum(asked, solution))
    assert volume[None] < volume["waist_left"] < volume["left_hand"] - 1.0


def test_a_pose_model_leads_as_neighbours_do() -> None:
    """What it says of a frame moves the pose with all of its weight, and makes it more certain with a part of that."""
    prior = join_neighbours(some_belief(), some_neighbours(), None, 1.0 / 60.0, S)
    said, nothing = some_covariance(N_POSE, 11, 30.0), np.zeros(N_POSE)
    terms = Mock(prior=Quadratic(nothing, prior.model.precision + said))
    found = update_belief(
        prior, prior.predicted.state, Minimum(nothing, terms, 0.0, nothing, np.tril(prior.model.precision + said))
    )
    np.testing.assert_allclose(found.covariance, carried(prior, S.neighbour_certainty * said), atol=1e-8)


def test_reliance_is_how_far_a_pose_moves_where_all_that_neighbours_said_does() -> None:
    """In a frame that is linear: the pose moves by it if the neighbours' poses move, and the one before as it relied on them."""
    rng, seconds, n = np.random.default_rng(5), 1.0 / 60.0, some_neighbours()
    told, moved = rng.normal(0.0, 0.3, (N_POSE, DOFS)), 1e-3 * rng.normal(size=DOFS)
    predicted = replace(some_belief(), reliance=told)
    further = replace(predicted, state=apply_pose_change(predicted.state, told @ moved, predicted.state.t_ns))
    found = []
    for belief, pose in ((predicted, n.pose), (further, n.pose + moved)):
        prior = join_neighbours(belief, replace(n, pose=pose, velocity=belief.velocity), None, seconds, S)
        expected = compute_pose_change(predicted.state, prior_state(prior))
        hessian = prior.model.precision + 40.0 * np.eye(N_POSE)
        found.append((expected - np.linalg.solve(hessian, 40.0 * expected), np.linalg.inv(hessian), prior))
    (at, covariance, prior), (after, *_) = found
    np.testing.assert_allclose(after - at, compute_reliance(prior, covariance) @ moved, atol=2e-5)


def prior_state(prior: Prior) -> BodyState:
    """Return the pose that a prior expects."""
    joints = prior.predicted.state.joints.copy()
    joints[1:] += prior.model.center.reshape(-1, 3)
    return BodyState(0, joints, prior.root.rotation, prior.root.position_m)
