"""Synthesis: its energy's derivatives, and poses of a style that do what is asked of them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.catalog import builtin_clip
from database.clips import Clip
from database.kinematics import forward
from database.rotations import Floats, geodesic_rad, matrix_from_rotvec
from reconstruct.observations import Observations
from reconstruct.style.constraints import Constraints, FixedJoints, Handles, Orientations, RootPrior, points
from reconstruct.style.features import N_ANGLES, some, static_features, training_poses
from reconstruct.style.learn import LearnOptions, learn
from reconstruct.style.model import Style, StyleError
from reconstruct.style.synthesis import Past, Synthesis, Synthesizer
from reconstruct.style.synthesis_kernels import (
    Asked,
    Linear,
    Prior,
    State,
    _evaluate,
    _linear,
    _most_rows,
    _moved,
    _rotation_error,
    _step,
)
from reconstruct.style.synthesis_start import Start

NAMES = ("leftHand", "rightHand", "leftFoot", "rightFoot", "head", "hips")
HANDLES = np.array([JOINT_INDEX[name] for name in NAMES])
MEAN_M = 0.02  # of the joints' places, where the motion itself is asked for


@cache
def clip(name: str = "walk") -> Clip:
    return builtin_clip(name, fps=30.0)


@cache
def style(name: str = "walk", n: int = 30) -> Style:
    options = LearnOptions(latent=2, active=n, method="direct", steps=30)
    return learn(some(training_poses([clip(name)]), n), clip().skeleton, name, options)


def places(rotvec: Floats, root_m: Floats) -> Floats:
    return forward(clip().skeleton, rotvec, root_m)[1]


def truth(row: int, name: str = "walk") -> Floats:
    return places(clip(name).rotvec[row], clip(name).root_m[row])


def asked(row: int, n: int = 4, sigma_m: float = 0.005) -> Constraints:
    return points(HANDLES[:n], np.zeros((n, 3)), truth(row)[HANDLES[:n]], sigma_m)


def in_picture(world: Floats) -> Constraints:
    """Ask for image points of a camera before the performer, 1 px each; a second camera sees nothing."""
    n = len(world)
    rotation = matrix_from_rotvec([0.1, 3.0, 0.0])
    translation = np.array([0.0, 0.0, 3.5]) - rotation @ world.mean(axis=0)
    seen = world @ rotation.T + translation
    ideal = np.stack([seen[:, :2] / seen[:, 2:], np.zeros((n, 2))])
    weight = np.stack([np.ones(n), np.zeros(n)])
    views = (np.stack([rotation, np.eye(3)]), np.stack([translation, np.zeros(3)]), np.full(2, 600.0))
    observations = Observations(np.zeros((n, 3)), np.zeros((n, 3, 3)), ideal, weight, *views)
    return Constraints(Handles(HANDLES[:n], np.zeros((n, 3))), observations)


def mean_off_m(found: Synthesis, row: int) -> float:
    return float(np.linalg.norm(places(found.rotvec, found.root_m) - truth(row), axis=1).mean())


# The energy


def problem(rng: np.random.Generator) -> tuple[Prior, Asked, State]:
    """Ask for a bit of everything, of a pose that is near none of it."""
    world = truth(20)[HANDLES] + 0.05 * rng.normal(size=(6, 3))
    line = in_picture(world)
    both = points(HANDLES, 0.1 * rng.normal(size=(6, 3)), world, 0.02)
    observations = replace(line.observations, point_m=world, root_info=both.observations.root_info.copy())
    observations.root_info[::2] = 0.0
    constraints = Constraints(
        both.handles,
        observations,
        Orientations(np.array([0, 14]), matrix_from_rotvec(rng.normal(size=(2, 3))), np.array([0.1, 0.2])),
        FixedJoints(np.array([4]), rng.normal(size=(1, 3)), np.array([0.1])),
        RootPrior(matrix_from_rotvec(rng.normal(size=3)), rng.normal(size=3), 0.3, 0.2),
        3.0,
    )
    s = static_features(clip().rotvec[10:12])
    synthesizer = Synthesizer([style(n=20), style("jump", 20)], (0.3, 0.7))
    told = synthesizer._problem(constraints, Past(s[1], s[0]))
    prior, arrays = synthesizer._prior(told, 2), told.asked
    pose = clip().rotvec[12] + 0.1 * rng.normal(size=(N_JOINTS, 3))
    return prior, arrays, (pose, matrix_from_rotvec(rng.normal(size=3)), world.mean(axis=0), rng.normal(size=4))


def evaluated(state: State, prior: Prior, arrays: Asked) -> tuple[float, Linear, int]:
    lin, rows = _linear(_most_rows(arrays[0], arrays[1]), N_ANGLES, 10), np.zeros(1, np.int64)
    energy = _evaluate(state, prior, Synthesizer([style()])._body, arrays, lin, np.empty((2, 2)), rows)
    return energy, lin, int(rows[0])


@given(st.integers(0, 10**6))
@settings(max_examples=2)
def test_gradient_of_the_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior, arrays, state = problem(rng)
    _, lin, n = evaluated(state, prior, arrays)
    gradient = np.concatenate([lin[2] + lin[5][:n].T @ lin[7][:n], lin[4] + lin[6][:n].T @ lin[7][:n]])
    for _ in range(4):
        d = rng.normal(size=len(gradient)) * 1e-6
        ends = []
        for sign in (1.0, -1.0):
            trial = tuple(np.empty_like(part) for part in state)
            _moved(state, sign * d[:N_ANGLES], sign * d[N_ANGLES:], trial)
            ends.append(evaluated(trial, prior, arrays)[0])
        assert_allclose(ends[0] - ends[1], 2.0 * gradient @ d, rtol=1e-5, atol=1e-6 * np.abs(gradient).max() * 1e-6 * 100.0)


def test_a_step_solves_the_whole_system() -> None:
    prior, arrays, state = problem(np.random.default_rng(5))
    _, lin, n = evaluated(state, prior, arrays)
    J = np.concatenate([lin[5][:n], lin[6][:n]], axis=1)
    H = np.block([[np.diag(lin[0]), lin[1]], [lin[1].T, lin[3]]]) + J.T @ J
    scale = np.concatenate([lin[0], lin[8]]) + (J**2).sum(axis=0)
    gradient = np.concatenate([lin[2], lin[4]]) + J.T @ lin[7][:n]
    step_a, step_p, damping = np.empty(N_ANGLES), np.empty(10), 0.1
    while (gain := _step(lin, n, damping, step_a, step_p)) < 0.0:  # far from a minimum the Hessian is indefinite
        damping *= 10.0
    assert damping < 1e4
    little = np.concatenate([np.full(N_ANGLES, 1e-9), np.full(10, 1e-6)])
    shall = -np.linalg.solve(H + np.diag(damping * scale + little), gradient)
    assert_allclose(np.concatenate([step_a, step_p]), shall, rtol=1e-6, atol=1e-9 * np.abs(shall).max())
    assert_allclose(gain, -0.5 * gradient @ shall, rtol=1e-8)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.1, np.pi - 1e-8, np.pi])
def test_rotation_error_is_the_rotation_vector(angle: float) -> None:
    axis, target, e = np.array([0.6, 0.0, -0.8]), matrix_from_rotvec([0.2, 0.5, -1.0]), np.empty(3)
    R = np.ascontiguousarray(matrix_from_rotvec(angle * axis) @ target)
    _rotation_error(R, target, e)
    assert geodesic_rad(matrix_from_rotvec(e) @ target, R) < 1e-6 and abs(np.linalg.norm(e) - angle) < 1e-6


# Poses: these run the solver from end to end, which plain Python takes long for.


@pytest.mark.slow
def test_a_pose_of_the_motion_is_found_from_its_hands_and_feet() -> None:
    synthesizer = Synthesizer([style()])
    for row in (20, 41, 66):
        found = synthesizer.synthesize(asked(row))
        assert found.converged and found.reached and found.variance < 0.5
        assert mean_off_m(found, row) < MEAN_M
        assert_allclose(
            found.off_m, np.linalg.norm(places(found.rotvec, found.root_m)[HANDLES[:4]] - truth(row)[HANDLES[:4]], axis=1)
        )


@pytest.mark.slow
def test_a_warm_start_ends_where_the_cold_one_did_and_all_is_repeatable() -> None:
    synthesizer = Synthesizer([style()])
    cold = synthesizer.synthesize(asked(30))
    warm = synthesizer.synthesize(asked(30), synthesizer.synthesize(asked(29)))
    again = Synthesizer([style()]).synthesize(asked(30))
    assert_allclose(warm.energy, cold.energy, atol=0.1)
    assert np.array_equal(again.rotvec, cold.rotvec) and again.energy == cold.energy


@pytest.mark.slow
def test_motion_counts_where_the_past_is_known() -> None:
    s = static_features(clip().rotvec)
    found = Synthesizer([style()]).synthesize(asked(40), past=Past(s[39], s[38]))
    assert found.converged and mean_off_m(found, 40) < MEAN_M


@pytest.mark.slow
def test_image_points_of_one_camera() -> None:
    found = Synthesizer([style()]).synthesize(in_picture(truth(25)[HANDLES]))
    assert found.reached and found.off_px[0].max() < 3.0 and (found.off_px[1] == 0.0).all() and (found.off_m == 0.0).all()
    assert mean_off_m(found, 25) < 0.1  # depth is known by the body's size alone


@pytest.mark.slow
def test_orientations_and_held_joints() -> None:
    head, elbow = JOINT_INDEX["head"], JOINT_INDEX["leftLowerArm"]
    turned = matrix_from_rotvec([0.0, 0.3, 0.0]) @ forward(clip().skeleton, clip().rotvec[20], clip().root_m[20])[0][head]
    bent = clip().rotvec[20, elbow] + [0.0, -0.3, 0.0]
    constraints = replace(
        asked(20, 3, 0.01),
        orientations=Orientations(np.array([head]), turned[None], np.array([0.02])),
        fixed=FixedJoints(np.array([elbow]), bent[None], np.array([0.02])),
    )
    found = Synthesizer([style()]).synthesize(constraints)
    assert geodesic_rad(forward(clip().skeleton, found.rotvec, found.root_m)[0][head], turned) < 0.06
    assert np.abs(found.rotvec[elbow] - bent).max() < 0.06


@pytest.mark.slow
def test_between_styles() -> None:
    walk, jump = style(), style("jump")
    mixed, constraints = Synthesizer([walk, jump], (0.5, 0.5)), asked(20, 3, 0.05)
    pure = [Synthesizer([one]).synthesize(constraints) for one in (walk, jump)]
    ends = [mixed.with_shares(shares).synthesize(constraints) for shares in ((1.0, 0.0), (0.0, 1.0))]
    for end, alone in zip(ends, pure, strict=True):
        assert_allclose(end.energy, alone.energy, atol=0.05)
        assert_allclose(end.rotvec, alone.rotvec, atol=0.02)
    mixtures = [mixed.with_shares((1.0 - share, share)).synthesize(constraints) for share in (0.1, 0.5, 0.9)]
    away = [np.linalg.norm(one.rotvec[1:] - pure[0].rotvec[1:]) for one in mixtures]
    assert away[0] < away[1] < away[2] and len(mixtures[1].latent) == 2 and all(one.converged for one in mixtures)


@pytest.mark.slow
def test_what_cannot_be_is_flagged() -> None:
    synthesizer = Synthesizer([style()])
    far = asked(20)
    far.observations.point_m[0] += (3.0, 0.0, 0.0)
    contradicting = points(HANDLES[[0, 0, 1, 2]], np.zeros((4, 3)), truth(20)[HANDLES[[0, 1, 1, 2]]])
    for constraints in (far, contradicting):
        found = synthesizer.synthesize(constraints)
        assert not found.reached
        assert np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all() and np.isfinite(found.energy)


@pytest.mark.slow
def test_what_is_not_finite_is_not_asked() -> None:
    synthesizer = Synthesizer([style()])
    broken = asked(20)
    broken.observations.point_m[1] = np.nan
    nothing = points(HANDLES[:3], np.zeros((3, 3)), np.full((3, 3), np.nan))
    for constraints in (broken, nothing, replace(nothing, root=RootPrior(np.full((3, 3), np.nan), np.zeros(3), 0.1, 0.1))):
        found = synthesizer.synthesize(constraints)
        assert np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all() and found.reached
    prior = RootPrior(matrix_from_rotvec([0.0, 1.0, 0.0]), np.array([1.0, 0.9, 2.0]), 0.1, 0.01)
    found = synthesizer.synthesize(replace(nothing, root=prior))
    assert_allclose(found.root_m, prior.position_m, atol=0.01)
    assert geodesic_rad(matrix_from_rotvec(found.rotvec[0]), prior.rotation) < 0.3


@pytest.mark.slow
def test_handles_that_are_asked_for_are_surer_than_the_rest() -> None:
    synthesizer, constraints = Synthesizer([style()]), asked(20, 6)
    constraints.observations.root_info[3:] = 0.0
    found = synthesizer.synthesize(constraints)
    covariance = synthesizer.handle_covariance(found, constraints)
    sigma = np.sqrt(np.linalg.eigvalsh(covariance))
    assert (sigma > 0.0).all() and sigma[:3].max() < 0.0051 and sigma[3:].max() < 0.2
    assert (sigma[3:].max(axis=1) > sigma[:3].max()).all()
    off = np.linalg.norm(places(found.rotvec, found.root_m)[HANDLES[3:]] - truth(20)[HANDLES[3:]], axis=1)
    assert (off < 4.0 * sigma[3:].max(axis=1)).all()


def test_shares_and_styles_that_are_none() -> None:
    one = style()
    for styles, shares in (([], ()), ([one], (0.5, 0.5)), ([one], (0.0,)), ([one, one], (1.5, -0.5)), ([one], (np.nan,))):
        with pytest.raises(StyleError):
            Synthesizer(styles, shares)
    with pytest.raises(StyleError, match="train it anew"):
        Synthesizer([replace(one, features=one.features[:, :-3])])
    assert Synthesizer([one, one], (1.0, 3.0)).shares == (0.25, 0.75)


def test_starts_know_the_poses_as_the_features_do() -> None:
    synthesizer = Synthesizer([style()])
    start = synthesizer._examples.starts(synthesizer._problem(asked(20), None), synthesizer.up, 2)
    assert len(start) == 2 and isinstance(start[0], Start)
    off = np.linalg.norm(places(np.concatenate([[[0.0] * 3], start[0].rotvec[1:]]), np.zeros(3)), axis=1)
    assert np.isfinite(off).all() and np.linalg.norm(start[0].root_m - clip().root_m[20]) < 0.1
