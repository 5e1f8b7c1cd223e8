"""The adjustment of lengths, offsets and poses: exact data, several takes, bounds, stature, what it says of its own errors."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.subject.adjust import HeightPrior, PoseMarkers, SubjectProblem, adjust_subject, compute_height
from calibration.subject.fit import SIGMA_RAD, build_subject_problem, compute_length_sigmas
from calibration.subject.model import SkeletonSpace, learn_skeleton_space, place_body
from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS
from config.markers import read_marker_set
from database.builtin import build_person_skeleton

AROUND = read_marker_set("all_around")
SPACE = learn_skeleton_space(
    [
        build_person_skeleton(1.55),
        build_person_skeleton(1.66, shoulder_ratio=1.05),
        build_person_skeleton(1.72),
        build_person_skeleton(1.85, arm_ratio=1.05),
    ]
)
NOISE_M = 0.002


def drawn_take(
    y: Floats, offset: Floats, rng: np.random.Generator, noise_m: float = NOISE_M, space: SkeletonSpace = SPACE
) -> PoseMarkers:
    """Return a take of a body whose pose is drawn as far from the T-pose as people are."""
    rotvec = rng.normal(size=(N_JOINTS, 3)) * SIGMA_RAD
    rotvec[0] = rng.normal(0.0, 0.2, 3)
    root = rng.normal(size=3)
    point = place_body(space.vectors(y)[0], offset, AROUND.joint, rotvec, root).marker_m
    point = point + rng.normal(0.0, noise_m, point.shape)
    n = len(AROUND)
    start = np.zeros((N_JOINTS, 3))
    return PoseMarkers(point, np.ones(n, bool), np.tile(noise_m**2 * np.eye(3), (n, 1, 1)), start, SIGMA_RAD, root + 0.05)


def drawn_body(rng: np.random.Generator) -> tuple[Floats, Floats, SubjectProblem]:
    """Return y and offsets of a body drawn from what is expected, and the question without takes."""
    asked = build_subject_problem(SPACE, AROUND, [])
    offset = asked.markers.offset_m + rng.normal(size=(len(AROUND), 3)) * asked.markers.sigma_m[:, None]
    return rng.normal(size=SPACE.n_parameters), offset, asked


def test_what_is_expected_is_found_from_exact_data() -> None:
    """A mean body at nominal places in an exact T-pose costs nothing and stays as it is."""
    rng = np.random.default_rng(0)
    asked = build_subject_problem(SPACE, AROUND, [])
    take = drawn_take(np.zeros(SPACE.n_parameters), AROUND.offset_m, rng)
    rest = place_body(
        SPACE.vectors(np.zeros(SPACE.n_parameters))[0], AROUND.offset_m, AROUND.joint, np.zeros((N_JOINTS, 3)), np.ones(3)
    )
    found = adjust_subject(replace(asked, takes=(replace(take, point_m=rest.marker_m),)))
    assert found.cost < 1e-8
    np.testing.assert_allclose(found.state.y, 0.0, atol=1e-5)
    np.testing.assert_allclose(found.placed[0].marker_m, rest.marker_m, atol=1e-6)
    assert found.misfit == 1.0


def test_errors_are_as_large_as_it_says() -> None:
    """Bodies, offsets and poses drawn from what is expected: errors over sigmas have unit spread, cost is what freedom says."""
    ratios, costs, freedom = [], [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y, offset, asked = drawn_body(rng)
        found = adjust_subject(replace(asked, takes=(drawn_take(y, offset, rng),)))
        n = SPACE.n_parameters
        D = SPACE.directions[1:N_JOINTS]
        sigma = np.sqrt(np.einsum("rp,pq,rq->r", D, found.covariance[:n, :n], D))
        ratios.append((D @ (found.state.y - y) / sigma)[sigma > 0])
        costs.append(found.cost)
        freedom.append(found.freedom)
    assert np.sqrt(np.mean(np.square(ratios))) == pytest.approx(1.0, abs=0.15)
    assert np.mean(costs) / np.mean(freedom) == pytest.approx(1.0, abs=0.25)


def test_more_takes_tell_more_and_share_one_body() -> None:
    rng = np.random.default_rng(3)
    y, offset, asked = drawn_body(rng)
    takes = tuple(drawn_take(y, offset, rng) for _ in range(6))
    one, all_of_them = (adjust_subject(replace(asked, takes=takes[:k])) for k in (1, 6))
    sigma_one, sigma_six = (compute_length_sigmas(SPACE, replace(found, freedom=0))[0] for found in (one, all_of_them))
    arm = (0, JOINT_INDEX["leftLowerArm"])
    assert sigma_six[arm] < 0.99 * sigma_one[arm]  # a little only: in every T-pose offsets and lengths look alike
    assert sigma_six.mean() < sigma_one.mean()
    assert all_of_them.cost_of_take.shape == (6,) and len(all_of_them.placed) == 6


def test_taking_part_by_part_is_the_whole_adjustment() -> None:
    """Eliminating what is each take's own changes nothing: the gradient of all numbers vanishes at what is found."""
    rng = np.random.default_rng(4)
    y, offset, asked = drawn_body(rng)
    problem = replace(asked, takes=tuple(drawn_take(y, offset, rng) for _ in range(2)))
    found = adjust_subject(problem)

    def cost(moved_y: Floats, moved_offset: Floats, turn: Floats) -> float:
        state = replace(found.state, y=moved_y, offset_m=moved_offset, rotvec=(turn, found.state.rotvec[1]))
        return adjust_subject(problem, state, max_steps=0).cost

    base = (found.state.y, found.state.offset_m, found.state.rotvec[0])
    h = 1e-4
    for part, at in ((0, (2,)), (1, (3, 1)), (2, (JOINT_INDEX["leftUpperArm"], 2)), (2, (0, 1))):
        up, down = ([x.copy() for x in base] for _ in range(2))
        up[part][at] += h
        down[part][at] -= h
        assert cost(*up) > found.cost - 1e-6 and cost(*down) > found.cost - 1e-6
        assert abs(cost(*up) - cost(*down)) < 0.05 * (cost(*up) + cost(*down) - 2 * found.cost) + 1e-5


def test_nobody_comes_out_as_nobody_is() -> None:
    """Markers of a giant: bones stop at the bounds."""
    rng = np.random.default_rng(5)
    giant = learn_skeleton_space([build_person_skeleton(2.4)])
    asked = build_subject_problem(SPACE, AROUND, [])
    take = drawn_take(np.zeros(giant.n_parameters), AROUND.offset_m, rng, space=giant)
    found = adjust_subject(replace(asked, takes=(take,)))
    log = SPACE.log_lengths(found.state.y)
    used = SPACE.mean > np.log(0.01)
    assert (log[used] < SPACE.high[used] + 0.03).all()
    assert found.misfit > 2.0


def test_a_stature_that_is_told_is_heeded() -> None:
    rng = np.random.default_rng(6)
    y, offset, asked = drawn_body(rng)
    problem = replace(asked, takes=(drawn_take(y, offset, rng),))
    free = compute_height(SPACE, adjust_subject(problem).state.y)[0]
    told = compute_height(SPACE, adjust_subject(replace(problem, stature=HeightPrior(free + 0.10, 0.01))).state.y)[0]
    assert free + 0.02 < told < free + 0.10


def test_height_and_its_derivative() -> None:
    y = np.random.default_rng(7).normal(size=SPACE.n_parameters)
    height, slope = compute_height(SPACE, y)
    assert height == pytest.approx(SPACE.skeleton(y).height_m, abs=1e-12)
    h = 1e-6
    numeric = [(compute_height(SPACE, y + step)[0] - compute_height(SPACE, y - step)[0]) / (2 * h) for step in h * np.eye(len(y))]
    np.testing.assert_allclose(slope, numeric, atol=1e-8)


def test_one_marker_where_nobody_expects_it_does_not_bend_the_body() -> None:
    """A knee marker worn 12 cm down the shin, eight sigmas: thigh and shin keep most of their lengths."""
    rng = np.random.default_rng(8)
    y, offset, asked = drawn_body(rng)
    offset = asked.markers.offset_m.copy()
    good = drawn_take(0.0 * y, offset, np.random.default_rng(1))
    knee = AROUND.names.index("left_knee")
    bad = replace(good, point_m=good.point_m.copy())
    bad.point_m[knee] += [0.0, -0.12, 0.0]
    lengths = [np.exp(SPACE.log_lengths(adjust_subject(replace(asked, takes=(take,))).state.y)) for take in (good, bad)]
    for bone in ("leftLowerLeg", "leftFoot"):
        assert abs(lengths[1][JOINT_INDEX[bone]] - lengths[0][JOINT_INDEX[bone]]) < 0.03
