"""Synthesis: derivatives, the banded system, loads, and motion that obeys eq. 1."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import nnls

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from config.joints import JOINT_INDEX
from database.builtin.catalog import make_builtin_clip
from numerics.banded import BandedEquations
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics, find_joint_rows
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.prepare import prepare_field_motion
from reconstruct.models.physics.field.state import compute_units
from reconstruct.models.physics.field.train import FPS, FieldMotion, FieldOptions, train_field
from reconstruct.models.physics.synthesis.animate import build_window_problem, split_windows
from reconstruct.models.physics.synthesis.energy import MotionEnergy
from reconstruct.models.physics.synthesis.loads import share_loads
from reconstruct.models.physics.synthesis.measure import measure_motion
from reconstruct.models.physics.synthesis.normal import KnotSystem, solve_damped_step
from reconstruct.models.physics.synthesis.problem import (
    ExampleMotion,
    ExternalForce,
    KeyPath,
    KeyPose,
    MotionProblem,
    Mound,
    Surroundings,
    SynthesisWeights,
)
from reconstruct.models.physics.synthesis.solve import SolveOptions, solve_motion
from reconstruct.models.physics.synthesis.stances import seek_contacts
from reconstruct.models.physics.synthesis.start import build_from_examples, interpolate_keys
from reconstruct.models.physics.synthesis.strength import compute_torque_limits

FIRST = 100


@pytest.fixture(scope="module")
def walk() -> FieldMotion:
    return prepare_field_motion(make_builtin_clip("walk"), 70.0)


@pytest.fixture(scope="module")
def field(walk: FieldMotion) -> ForceField:
    return train_field("walk", [walk], FieldOptions(inducing=80, learning=300, steps=15))


def _problem(walk: FieldMotion, field: ForceField | None, n: int) -> MotionProblem:
    body = build_body(walk.skeleton, 70.0)
    q = walk.q[FIRST : FIRST + n]
    keys = (KeyPose(0, q[0]), KeyPose(n - 1, q[-1]))
    return MotionProblem(body, compute_units(body), field, FPS, walk.parts[FIRST : FIRST + n], walk.level_m, keys)


def _moved(walk: FieldMotion, n: int) -> np.ndarray:
    """Return a motion that breaks every term a little."""
    rng = np.random.default_rng(4)
    slow = np.cumsum(rng.normal(size=(n, N_TANGENT)) * 2e-3, axis=0)
    return Dynamics(build_body(walk.skeleton, 70.0)).integrate(walk.q[FIRST : FIRST + n], slow)


WEIGHTS = {
    "all": SynthesisWeights(),
    "contacts": SynthesisWeights(physics=0.0, field=0.0, first=0.0, log_variance=0.0, example=0.0),
    "statistics": SynthesisWeights(constraints=0.0, physics=0.0, first=3.0),
    "physics": SynthesisWeights(constraints=0.0, field=0.0, first=0.0, example=0.0),
    "torques": SynthesisWeights(constraints=0.0, field=0.0, first=0.0, physics=1e-6, torque=2.0, example=0.0, strength=0.0),
    "strength": SynthesisWeights(constraints=0.0, field=0.0, first=0.0, physics=1e-6, example=0.0, strength=1e4),
}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_gradient_is_that_of_central_differences(walk, field, weights):
    n = 10
    pull = ExternalForce(10, np.array([0.0, 0.1, -0.1]), 3, 8, np.array([20.0, 3.0, -30.0]), 60.0, np.array([0.2, 1.0, -1.0]))
    path = KeyPath(7, np.array([4, 5]), np.zeros((2, 3)))
    log = Mound(walk.q[FIRST, [0, 2]] + 0.1, np.array([1.0, 0.3]), 0.15, 0.05)
    around = Surroundings(slope=np.array([0.05, -0.02]), mounds=(log,) if weights == "contacts" else ())
    problem = replace(_problem(walk, field, n), paths=(path,), external=(pull,), surroundings=around, weights=WEIGHTS[weights])
    keys = (problem.keys[0], replace(problem.keys[1], free_place=True))
    spread = 0.05 * np.random.default_rng(5).normal(size=(1, 2, N_TANGENT)) * np.linspace(0.0, 1.0, n)[:, None, None]
    problem = replace(problem, keys=keys, example=ExampleMotion(walk.q[FIRST + 1 : FIRST + n + 1], spread, 1.5))
    if weights in ("torques", "strength"):  # their derivatives leave the loads of contacts as they are
        problem = replace(problem, parts=np.zeros((n, 2, 3), bool))
    energy, q = MotionEnergy(problem), _moved(walk, n)
    _, normal = energy.linearise(q)
    rng = np.random.default_rng(1)
    for _ in range(12):
        direction = rng.normal(size=(n, N_TANGENT)) * (rng.random((n, N_TANGENT)) < 0.1)
        ahead, behind = (energy.evaluate(energy.dynamics.integrate(q, s * direction)).energy for s in (1e-6, -1e-6))
        slope = (ahead - behind) / 2e-6
        assert abs((normal.gradient * direction).sum() - slope) < 2e-3 * abs(slope) + 1e-2


def test_the_banded_system_is_the_dense_one():
    rng = np.random.default_rng(2)
    n = 9
    normal = BandedEquations.zero(n, N_TANGENT)
    J, r = rng.normal(size=(n - 2, 4, 3 * N_TANGENT)), rng.normal(size=(n - 2, 4))
    first, second, pairs = rng.normal(size=(n - 1, 2, 72)), rng.normal(size=(n - 1, 2, 72)), rng.normal(size=(n - 1, 2))
    single, alone = rng.normal(size=(n, 90, 72)), rng.normal(size=(n, 90))
    normal.add_triples(J, r)
    normal.add_pairs(first, second, pairs)
    normal.add_frames(single, alone)
    rows, residuals = [], []
    for t in range(n):
        for blocks, start, values in ((J, t, r), (np.concatenate([first, second], axis=2), t, pairs), (single, t, alone)):
            if t < len(blocks):
                row = np.zeros((blocks.shape[1], n * 72))
                row[:, start * 72 : start * 72 + blocks.shape[2]] = blocks[t]
                rows.append(row)
                residuals.append(values[t])
    system = KnotSystem(n, 2)
    whole = np.concatenate(rows) @ np.kron(system.S, np.eye(72))
    gradient = whole.T @ np.concatenate(residuals)
    H = whole.T @ whole
    wanted = np.linalg.solve(H + 0.1 * np.eye(len(H)), -gradient)
    np.testing.assert_allclose(solve_damped_step(*system.system(normal), 0.1).ravel(), wanted, rtol=1e-6, atol=1e-9)


def test_loads_are_those_of_nonnegative_least_squares():
    rng = np.random.default_rng(3)
    A, r = 50.0 * rng.normal(size=(6, 6, 20)), 30.0 * rng.normal(size=(6, 6))
    even = 0.02 * 10.0 ** rng.integers(0, 4, size=(6, 20))
    got = share_loads(A, r, even)
    for t in range(6):
        wanted, _ = nnls(np.vstack([A[t], np.diag(np.sqrt(even[t]))]), np.concatenate([r[t], np.zeros(20)]))
        np.testing.assert_allclose(got.weight[t], wanted, atol=1e-5)


def test_without_contacts_the_body_falls_freely(walk):
    n = 20
    problem = _problem(walk, None, n)
    in_air = walk.q[FIRST : FIRST + n].copy()
    in_air[:, 1] += 1.0
    keys = (KeyPose(0, in_air[0]), KeyPose(n - 1, in_air[-1]))
    weights = SynthesisWeights(torque=0.1)
    problem = replace(problem, parts=np.zeros((n, 2, 3), bool), keys=keys, weights=weights)
    got = solve_motion(problem, interpolate_keys(problem.dynamics(), keys, n), SolveOptions(30, 1e-5))
    dynamics = Dynamics(problem.body)
    center = np.array([dynamics.center_of_mass(row) for row in got.q])
    fall = np.diff(center, 2, axis=0) * FPS**2
    np.testing.assert_allclose(fall[2:-2], np.broadcast_to([0.0, -9.81, 0.0], (n - 6, 3)), atol=0.4)


def test_a_walk_between_two_poses_obeys_the_equations_of_motion(walk, field):
    n = 40
    problem = _problem(walk, field, n)
    first = build_from_examples(problem, problem.parts)
    got = solve_motion(problem, first.q, SolveOptions(25))
    before, after = (measure_motion(problem, q) for q in (first.q, got.q))
    assert after.residual_force < 0.02 and after.residual_force < before.residual_force
    assert after.slide_m < 0.001 and after.outside_cone == 0.0
    apart = problem.dynamics().difference(walk.q[[FIRST, FIRST + n - 1]], got.q[[0, -1]])
    assert np.abs(apart).max() < 0.02


@pytest.mark.parametrize("down", [False, True])
def test_next_to_a_key_contacts_are_its_own(walk, field, down):
    n = 40
    problem = _problem(walk, field, n)
    last = replace(problem.keys[1], parts=np.full((2, 3), down))
    parts = build_from_examples(replace(problem, keys=(problem.keys[0], last)), None).parts
    assert (parts[-5:] == down).all() and (parts[: n // 2] != down).any()


def test_contacts_of_a_real_walk_are_found_anew_from_its_motion(walk, field):
    n = 80
    problem = _problem(walk, field, n)
    wrong = np.roll(problem.parts, 9, axis=0)  # 0.15 s late
    found = seek_contacts(MotionEnergy(replace(problem, parts=wrong)), walk.q[FIRST : FIRST + n])
    real, before, after = (each.any(axis=2) for each in (problem.parts, wrong, found))
    assert (after == real).mean() > 0.88 > 0.8 > (before == real).mean()


def test_a_body_that_hangs_in_the_air_has_no_contacts(walk, field):
    problem = _problem(walk, field, 20)
    q = walk.q[FIRST : FIRST + 20].copy()
    q[:, 1] += 0.3
    assert not seek_contacts(MotionEnergy(problem), q).any()


def test_legs_are_stronger_in_extension_and_limits_leave_a_walk_as_it_is(walk, field):
    least, largest = compute_torque_limits(build_body(walk.skeleton, 70.0))
    knee, ankle = (find_joint_rows(JOINT_INDEX[name]).start for name in ("leftLowerLeg", "rightFoot"))
    assert -least[knee] > largest[knee] > 0.0 and largest[ankle] > -least[ankle] > 0.0
    assert not np.isfinite(largest[find_joint_rows(JOINT_INDEX["chest"])]).any()
    assert MotionEnergy(_problem(walk, field, 40)).evaluate(walk.q[FIRST : FIRST + 40]).terms["strength"] < 1.0


def test_a_log_raises_feet_and_no_body():
    log = Surroundings(mounds=(Mound(np.array([0.0, 2.0]), np.array([1.0, 0.15]), 0.2, 0.02),))
    height, slope = log.compute_foot_ground(np.array([[0.0, 2.0], [0.0, 1.6]]))
    np.testing.assert_allclose(height, [0.2, 0.0], atol=1e-3)
    np.testing.assert_allclose(slope, 0.0, atol=1e-2)
    assert float(log.height_m(np.array(0.0), np.array(2.0))) < 0.03


def test_ctrl_c_keeps_the_motion_so_far(walk, field):
    problem = _problem(walk, field, 12)

    def stop(step: int, energy: float) -> None:
        raise KeyboardInterrupt

    start = _moved(walk, 12)
    got = solve_motion(problem, start, SolveOptions(10, report=stop))
    assert got.interrupted and got.found.energy < MotionEnergy(problem).evaluate(start).energy


def test_long_motion_is_solved_in_windows_that_go_on_where_the_last_one_was():
    ranges = split_windows(400, FPS)
    assert ranges[0][0] == 0 and ranges[-1][1] == 400 and all(b[0] < a[1] for a, b in pairwise(ranges))
    assert len({stop - first for first, stop in ranges}) == 1  # a short last one could not move the foot that it begins on
    assert split_windows(60, FPS) == [(0, 60)]


def test_a_window_begins_as_the_motion_does_there(walk, field):
    n = 40
    problem = _problem(walk, field, n)
    q = walk.q[FIRST : FIRST + n]
    spread = np.zeros((n, 1, N_TANGENT))
    part = build_window_problem(replace(problem, example=ExampleMotion(q, spread, 1.0)), 20, 35, q)
    frames = {key.frame: key.q for key in part.keys}
    assert sorted(frames) == [0, 1, 2, 14] and part.n_frames == 15 and part.weights.first == 0.0
    np.testing.assert_array_equal(frames[1], q[21])
    assert part.example is not None
    np.testing.assert_array_equal(part.example.q, q[20:35])
    got = solve_motion(part, _moved(walk, n)[20:35], SolveOptions(30, 1e-5))
    assert np.abs(problem.dynamics().difference(q[20:23], got.q[:3])).max() < 0.01
