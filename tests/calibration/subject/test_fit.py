"""The subject from T-poses: lengths within what markers tell, offsets, takes that agree and takes that do not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.subject.fit import ODD, BodyPrior, TPose, fit_body
from calibration.subject.subject import Subject
from calibration.subject.world import find_up
from config.arrays import Floats
from config.errors import CalibrationError
from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin import build_person_skeleton
from database.files.read import read_clip
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from tests.calibration.subject.takes import BODIES, fitted, held, offsets_mm, without
from tests.support.people import person, random_rotation, worn_markers

BONES = ("LowerLeg", "Foot", "LowerArm")  # named for their ends: thigh, shin, upper arm


def measured_t_pose(subject: Subject, seed: int, noise_m: float = 0.003) -> tuple[TPose, Floats]:
    """Return the T-pose a person really holds, a few degrees off, in a random frame, and that frame's rotation."""
    rng = np.random.default_rng(seed)
    R, t = random_rotation(rng), rng.uniform(-3.0, 3.0, 3)
    rotvec = rng.normal(0.0, 0.03, (N_JOINTS, 3))
    rotvec[0] = 0.0
    markers, _ = worn_markers(subject, charted_from_local(matrix_from_rotvec(rotvec))[None], np.zeros((1, 3)))
    n = len(subject.markers)
    point = markers[0] @ R.T + t + rng.normal(0.0, noise_m, (n, 3))
    return TPose(point, np.ones(n, bool), np.tile(noise_m**2 * np.eye(3), (n, 1, 1)), np.full(n, 0.002), 60), R


def bone_errors(found: Skeleton, true: Skeleton) -> Floats:
    """Return the errors of the lengths of thighs, shins and upper arms [m]."""
    index = [JOINT_INDEX[side + bone] for side in ("left", "right") for bone in BONES]
    return np.linalg.norm(found.offsets_m[index], axis=1) - np.linalg.norm(true.offsets_m[index], axis=1)


def check_fit(true: Skeleton, seed: int, bodies: list[Skeleton], worst_m: float) -> None:
    """Fit one person and compare with the truth."""
    worn = person("dark_room", seed, true)
    tpose, R = measured_t_pose(worn, seed)
    fit = fit_body("Ann", worn.markers, [tpose], BodyPrior(bodies))
    subject = fit.subject
    assert subject.name == subject.skeleton.name == "Ann"
    np.testing.assert_allclose(subject.residual_mm, 2.0)
    assert abs(subject.skeleton.height_m - true.height_m) < 0.06
    assert np.abs(bone_errors(subject.skeleton, true)).max() < worst_m
    up, sigma_rad = find_up(fit.pose[0][0], fit.pose[1], subject.skeleton.rest_positions_m())
    assert np.arccos(np.clip(up @ R[:, 1], -1.0, 1.0)) < min(3.0 * sigma_rad, np.radians(6.0))
    assert np.linalg.norm(subject.offset_m - worn.markers.offset_m, axis=1).max() < 0.06
    left, right = (np.linalg.norm(subject.skeleton.offsets_m[JOINT_INDEX[side + "Foot"]]) for side in ("left", "right"))
    assert left == pytest.approx(right)


@pytest.mark.parametrize("seed", range(8))
def test_bodies_that_the_database_does_not_hold(seed: int) -> None:
    """A limb's length comes from two markers with 6 mm offsets each and poses 2 degrees off; measured: at most 2.5 cm."""
    rng = np.random.default_rng(50 + seed)
    true = build_person_skeleton(rng.uniform(1.55, 1.9), leg_ratio=rng.uniform(0.97, 1.05), arm_ratio=rng.uniform(0.95, 1.05))
    check_fit(true, seed, BODIES, 0.04)


@pytest.mark.slow
def test_people_of_a_motion_database(motion_dir: Path) -> None:
    """Each person is left out of the space of the others; their knee markers may sit on the side of a bent rest pose."""
    files = sorted((motion_dir / "cmu").rglob("*.amc"))
    first = {path.parent: path for path in reversed(files)}
    people = [read_clip(path).skeleton for path in sorted(first.values())[:12]]
    assert len(people) >= 6
    for k, true in enumerate(people):
        check_fit(true, k, people[:k] + people[k + 1 :], 0.05)


def test_offsets_reproduce_the_markers_by_construction() -> None:
    """Whatever skeleton comes out, its fitted pose and offsets put every seen marker where it was measured."""
    worn = person("dark_room", 3, build_person_skeleton(1.8))
    tpose, _ = measured_t_pose(worn, 3, 0.02)
    subject = fit_body("Ann", worn.markers, [tpose], BodyPrior(BODIES)).subject
    # Offsets are read off in each joint's frame: markers of one joint keep their distances exactly.
    for joint in set(subject.joint.tolist()):
        same = np.flatnonzero(subject.joint == joint)
        measured = np.linalg.norm(tpose.point_m[same][:, None] - tpose.point_m[same][None], axis=2)
        kept = np.linalg.norm(subject.offset_m[same][:, None] - subject.offset_m[same][None], axis=2)
        np.testing.assert_allclose(kept, measured, atol=1e-9)
    # The arms are free to turn: elbow to shoulder stays as measured through bones, offsets and pose within the noise.
    assert np.linalg.norm(subject.offset_m - worn.offset_m, axis=1).max() < 0.08


def test_an_unseen_marker_keeps_its_nominal_place() -> None:
    worn = person("dark_room", 4, build_person_skeleton(1.7))
    tpose, _ = measured_t_pose(worn, 4)
    valid = tpose.valid.copy()
    valid[[3, 12]] = False
    point = np.where(valid[:, None], tpose.point_m, 0.0)
    subject = fit_body("Ann", worn.markers, [replace(tpose, valid=valid, point_m=point)], BodyPrior(BODIES)).subject
    assert np.array_equal(subject.offset_m[[3, 12]], worn.markers.offset_m[[3, 12]])
    assert not np.isclose(subject.offset_m[valid], worn.markers.offset_m[valid]).all(axis=1).any()
    assert np.abs(bone_errors(subject.skeleton, worn.skeleton)).max() < 0.05


def test_too_few_torso_markers() -> None:
    worn = person("dark_room", 4, build_person_skeleton(1.7))
    tpose, _ = measured_t_pose(worn, 4)
    valid = tpose.valid.copy()
    valid[np.flatnonzero(worn.markers.torso)[:4]] = False
    with pytest.raises(
        CalibrationError, match=r"^2 of 6 torso markers were seen .*not left_shoulder, right_shoulder, chest, waist_left\), and 3"
    ):
        fit_body("Ann", worn.markers, [replace(tpose, valid=valid)], BodyPrior(BODIES))


def test_a_marker_far_from_its_joint_is_refused_by_name() -> None:
    worn = person("dark_room", 4, build_person_skeleton(1.7))
    tpose, _ = measured_t_pose(worn, 4)
    point = tpose.point_m.copy()
    point[8] += 0.6
    with pytest.raises(CalibrationError, match=r"no T-pose fits: marker \w+ came out \d+ cm"):
        fit_body("Ann", worn.markers, [replace(tpose, point_m=point)], BodyPrior(BODIES))


def test_standing_legs_of_the_database_are_expected() -> None:
    """Where straight legs read 0.3 rad of flexion, saying so keeps the bend out of the legs' marker offsets."""
    worn = person("dark_room", 5, build_person_skeleton(1.7))
    standing = np.zeros((N_JOINTS, 3))
    for side in ("left", "right"):
        standing[JOINT_INDEX[side + "UpperLeg"], 0], standing[JOINT_INDEX[side + "LowerLeg"], 0] = -0.15, 0.3
    markers, _ = worn_markers(worn, charted_from_local(matrix_from_rotvec(standing))[None], np.zeros((1, 3)))
    n = len(worn.markers)
    tpose = TPose(markers[0], np.ones(n, bool), np.tile(1e-6 * np.eye(3), (n, 1, 1)), np.zeros(n), 9)
    told, untold = (fit_body("Ann", worn.markers, [tpose], BodyPrior(BODIES, given)).subject for given in (standing, None))
    legs = [m for m, name in enumerate(worn.markers.names) if "knee" in name or "ankle" in name]
    errors = [np.linalg.norm(subject.offset_m - worn.offset_m, axis=1)[legs].mean() for subject in (told, untold)]
    assert errors[0] < 0.7 * errors[1] and errors[0] < 0.015, errors


ANN = person("dark_room", 1, build_person_skeleton(1.75, arm_ratio=1.02))


def moved(seed: int, marker: str, by_m: tuple[float, float, float]):  # type: ignore[no-untyped-def]
    """Return a take before which a marker slipped."""
    tpose = held(ANN, seed)
    point = tpose.point_m.copy()
    point[ANN.markers.names.index(marker)] += by_m
    return replace(tpose, point_m=point)


def test_left_limbs_then_right_limbs() -> None:
    """As in the paper: two takes, each with half of the limb markers, give all offsets and one skeleton."""
    left_only, right_only = without(held(ANN, 3), ANN, "right"), without(held(ANN, 4), ANN, "left")
    assert left_only.valid.sum() == right_only.valid.sum() == 10
    found = fitted([left_only, right_only], ANN)
    assert found.used == (0, 1) and found.fit.seen.all()
    assert np.abs(bone_errors(found.fit.subject.skeleton, ANN.skeleton)).max() < 0.03
    assert offsets_mm(found, ANN).max() < 50.0
    half = fitted([left_only], ANN)
    assert half.fit.seen.sum() == 10
    unseen = np.flatnonzero(~half.fit.seen)
    assert np.array_equal(half.fit.subject.offset_m[unseen], ANN.markers.offset_m[unseen])


def test_takes_that_agree_are_all_used() -> None:
    found = fitted([held(ANN, seed) for seed in range(4)], ANN)
    assert found.used == (0, 1, 2, 3) and found.left_out == ()
    assert np.nanmax(found.oddity) < ODD
    assert np.abs(bone_errors(found.fit.subject.skeleton, ANN.skeleton)).max() < 0.03


def test_a_take_that_disagrees_is_left_out() -> None:
    """Before the second of four takes an elbow marker slipped by 8 cm."""
    takes = [held(ANN, 0), moved(1, "left_elbow", (0.08, 0.0, 0.0)), held(ANN, 2), held(ANN, 3)]
    found = fitted(takes, ANN)
    assert found.left_out == (1,) and found.oddity[1] > ODD
    alike = fitted([takes[k] for k in (0, 2, 3)], ANN)
    np.testing.assert_allclose(found.fit.subject.offset_m, alike.fit.subject.offset_m, atol=1e-9)


def test_two_that_disagree_are_both_used() -> None:
    found = fitted([held(ANN, 0), moved(1, "left_knee", (0.0, -0.05, 0.0))], ANN)
    assert found.used == (0, 1) and np.nanmax(found.oddity) > ODD


def test_one_take_has_nothing_to_disagree_with() -> None:
    found = fitted([held(ANN, 0)], ANN)
    assert found.used == (0,) and np.isnan(found.oddity).all()


def test_markers_moved_on_a_known_body() -> None:
    """The skeleton stays as it was, to the last bit, and the offsets follow the markers."""
    known = replace(ANN, length_sigma_m=np.full((2, 23), 0.007))
    again = person("dark_room", 9, ANN.skeleton)
    found = fitted([held(again, 5)], again, old=known)
    assert np.array_equal(found.fit.subject.skeleton.offsets_m, ANN.skeleton.offsets_m)
    assert np.array_equal(found.fit.subject.skeleton.tails_m, ANN.skeleton.tails_m)
    assert found.fit.subject.length_sigma_m is not None
    assert np.array_equal(found.fit.subject.length_sigma_m, known.length_sigma_m)
    assert offsets_mm(found, again).mean() < 20.0
    free = fitted([held(again, 5)], again)
    assert offsets_mm(found, again).mean() < offsets_mm(free, again).mean()


def test_a_height_that_is_told() -> None:
    tpose = held(ANN, 6)
    free, told = fitted([tpose], ANN), fitted([tpose], ANN, height_m=1.85)
    assert free.fit.subject.skeleton.height_m < told.fit.subject.skeleton.height_m < 1.85 + 1e-6
    assert told.fit.subject.length_sigma_m is not None and free.fit.subject.length_sigma_m is not None
    assert told.fit.subject.length_sigma_m.sum() == pytest.approx(free.fit.subject.length_sigma_m.sum(), rel=0.5)
