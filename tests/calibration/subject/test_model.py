"""Markers of a posed body and their derivatives; the space of skeletons: symmetric, as wide as people differ, its bounds."""

import numpy as np
import pytest

from calibration.subject.model import (
    MARGIN,
    MIRROR,
    SkeletonSpace,
    compute_marker_jacobians,
    learn_skeleton_space,
    make_fixed_space,
    place_body,
)
from config.arrays import Floats
from config.errors import CalibrationError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from config.markers import read_marker_set
from database.builtin import build_person_skeleton
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from tests.calibration.subject.takes import BODIES

DARK = read_marker_set("dark_room")
SPACE = learn_skeleton_space(
    [build_person_skeleton(1.55), build_person_skeleton(1.72, arm_ratio=1.04), build_person_skeleton(1.85, leg_ratio=1.03)]
)


def some_body(seed: int = 0) -> tuple[Floats, Floats, Floats, Floats]:
    """Return y, offsets, rotation vectors and root of a body in an odd pose."""
    rng = np.random.default_rng(seed)
    offset = DARK.offset_m + rng.normal(0.0, 0.02, DARK.offset_m.shape)
    return 0.5 * rng.normal(size=SPACE.n_parameters), offset, rng.normal(0.0, 0.4, (N_JOINTS, 3)), rng.normal(size=3)


def markers_of(y: Floats, offset: Floats, rotvec: Floats, root: Floats) -> Floats:
    """Return the markers, (M, 3)."""
    return place_body(SPACE.vectors(y)[0], offset, DARK.joint, rotvec, root).marker_m


def numeric(function, x: Floats) -> Floats:  # type: ignore[no-untyped-def]
    """Return central differences, (M, 3, n)."""
    h = 1e-6
    steps = h * np.eye(x.size).reshape(-1, *x.shape)
    return np.stack([(function(x + step) - function(x - step)) / (2 * h) for step in steps], axis=-1)


def test_placed_as_the_kinematics_place_it() -> None:
    y, offset, rotvec, root = some_body()
    placed = place_body(SPACE.vectors(y)[0], offset, DARK.joint, rotvec, root)
    G, p = compute_forward_kinematics(SPACE.skeleton(y), charted_from_local(matrix_from_rotvec(rotvec)), root)
    np.testing.assert_allclose(placed.G, G, atol=1e-12)
    np.testing.assert_allclose(placed.p, p, atol=1e-12)
    elbow = DARK.names.index("left_elbow")
    joint = JOINT_INDEX["leftLowerArm"]
    np.testing.assert_allclose(placed.marker_m[elbow], p[joint] + G[joint] @ offset[elbow], atol=1e-12)


def test_derivatives_against_central_differences() -> None:
    y, offset, rotvec, root = some_body(1)
    vectors, vector_slopes = SPACE.vectors(y)
    slope = compute_marker_jacobians(place_body(vectors, offset, DARK.joint, rotvec, root), vector_slopes, DARK.joint, rotvec)
    np.testing.assert_allclose(slope.shape, numeric(lambda v: markers_of(v, offset, rotvec, root), y), atol=1e-7)
    by_pose = numeric(lambda v: markers_of(y, offset, v, root), rotvec).reshape(len(DARK), 3, N_JOINTS, 3)
    np.testing.assert_allclose(slope.pose, by_pose, atol=1e-7)
    by_offset = numeric(lambda v: markers_of(y, v, rotvec, root), offset).reshape(len(DARK), 3, len(DARK), 3)
    for m in range(len(DARK)):
        np.testing.assert_allclose(slope.offset[m], by_offset[m, :, m], atol=1e-7)
        assert not by_offset[m, :, np.arange(len(DARK)) != m].any()


def scaled(skeleton: Skeleton, joint: str, factor: float) -> Skeleton:
    """Return a body one joint of which lies farther from its parent, on one side only."""
    offsets = skeleton.offsets_m.copy()
    offsets[JOINT_INDEX[joint]] *= factor
    return Skeleton("uneven", offsets, skeleton.tails_m.copy())


def drawn(space: SkeletonSpace, n: int, seed: int = 0) -> np.ndarray:
    """Return the logarithms of lengths of people drawn from the space, (n, 2 J)."""
    y = np.random.default_rng(seed).normal(size=(n, space.n_parameters))
    return space.mean + y @ space.directions.T


def test_the_middle_of_it_is_the_mean_of_the_bodies() -> None:
    space = learn_skeleton_space(BODIES)
    middle = space.skeleton(np.zeros(space.n_parameters))
    thigh = [np.linalg.norm(b.offsets_m[JOINT_INDEX["leftLowerLeg"]]) for b in BODIES]
    found = np.linalg.norm(middle.offsets_m[JOINT_INDEX["leftLowerLeg"]])
    assert found == pytest.approx(np.exp(np.mean(np.log(thigh))), rel=1e-9)
    assert min(b.height_m for b in BODIES) < middle.height_m < max(b.height_m for b in BODIES)


def test_every_skeleton_of_it_is_the_same_on_both_sides() -> None:
    space = learn_skeleton_space([scaled(b, "leftLowerArm", 1.1) for b in BODIES])
    skeleton = space.skeleton(np.random.default_rng(1).normal(size=space.n_parameters))
    flip = np.array([-1.0, 1.0, 1.0])
    np.testing.assert_allclose(skeleton.offsets_m[MIRROR] * flip, skeleton.offsets_m, atol=1e-12)
    np.testing.assert_allclose(skeleton.tails_m[MIRROR] * flip, skeleton.tails_m, atol=1e-12)


def test_bones_end_where_the_next_begin() -> None:
    """The tail of a thigh is the knee, in every skeleton of the space."""
    space = learn_skeleton_space(BODIES)
    skeleton = space.skeleton(np.random.default_rng(2).normal(size=space.n_parameters))
    for bone, end in (("leftUpperLeg", "leftLowerLeg"), ("rightLowerArm", "rightHand"), ("neck", "upperNeck")):
        np.testing.assert_allclose(skeleton.tails_m[JOINT_INDEX[bone]], skeleton.offsets_m[JOINT_INDEX[end]], atol=2e-3)


def test_people_differ_in_size_and_in_each_bone() -> None:
    """Bodies that differ in nothing but size say nothing of proportions: those of people at large are allowed for."""
    alike = learn_skeleton_space(
        [build_person_skeleton(1.5), build_person_skeleton(1.6), build_person_skeleton(1.7), build_person_skeleton(1.8)]
    )
    log = drawn(alike, 4000)
    thigh, upper_arm = JOINT_INDEX["leftLowerLeg"], JOINT_INDEX["leftLowerArm"]
    assert np.corrcoef(log[:, thigh], log[:, upper_arm])[0, 1] > 0.5
    assert 0.03 < np.std(log[:, thigh] - log[:, upper_arm]) < 0.12
    assert 0.05 < np.std(log[:, thigh]) < 0.15
    wide = learn_skeleton_space(
        [build_person_skeleton(1.2), build_person_skeleton(1.5), build_person_skeleton(1.8), build_person_skeleton(1.95)]
    )
    assert np.std(drawn(wide, 4000)[:, thigh]) > 1.5 * np.std(log[:, thigh])


def test_bounds_lie_a_margin_beyond_the_bodies() -> None:
    space = learn_skeleton_space(BODIES)
    shin = JOINT_INDEX["leftFoot"]
    lengths = [np.linalg.norm(b.offsets_m[shin]) for b in BODIES]
    assert np.exp(space.high[shin]) == pytest.approx(max(lengths) * np.exp(MARGIN))
    assert np.exp(space.low[shin]) == pytest.approx(min(lengths) * np.exp(-MARGIN))


def test_asymmetry_of_the_people_is_kept() -> None:
    space = learn_skeleton_space([scaled(b, "leftLowerArm", 1.1) for b in BODIES])
    assert space.asymmetry[JOINT_INDEX["leftLowerArm"]] == pytest.approx(0.5 * np.log(1.1))
    assert space.asymmetry[JOINT_INDEX["rightLowerArm"]] == pytest.approx(0.5 * np.log(1.1))
    assert space.asymmetry[JOINT_INDEX["chest"]] == 0.0


def test_stature_of_bodies_that_reach_from_sole_to_crown() -> None:
    assert learn_skeleton_space(BODIES).stature == pytest.approx(1.0, abs=0.02)
    cropped = [Skeleton("cropped", b.offsets_m.copy(), 0.5 * b.tails_m) for b in BODIES]
    assert learn_skeleton_space(cropped).stature > 1.03


def test_one_body_is_enough_and_none_is_not() -> None:
    alone = learn_skeleton_space(BODIES[:1])
    found = alone.skeleton(np.zeros(alone.n_parameters))
    np.testing.assert_allclose(found.offsets_m, BODIES[0].offsets_m, atol=1e-9)
    assert np.std(drawn(alone, 2000)[:, JOINT_INDEX["leftLowerLeg"]]) > 0.04
    with pytest.raises(CalibrationError, match="no skeleton"):
        learn_skeleton_space([])


def test_a_known_skeleton_stays_as_it_is() -> None:
    uneven = scaled(BODIES[2], "leftLowerArm", 1.07)
    space = make_fixed_space(uneven)
    assert space.n_parameters == 0
    kept = space.skeleton(np.zeros(0))
    np.testing.assert_allclose(kept.offsets_m, uneven.offsets_m, atol=1e-12)
    np.testing.assert_allclose(kept.tails_m, uneven.tails_m, atol=1e-12)
    assert len(JOINTS) == N_JOINTS
