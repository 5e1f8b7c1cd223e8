"""A subject refined over movement: what bends tells lengths, what does not is left alone, what contradicts the T-pose is said."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.quality.report import Grade
from calibration.subject.fit import SubjectFit
from calibration.subject.motion import (
    MotionFrame,
    RefinedSubject,
    choose_spread_rows,
    describe_objections,
    judge_refinement,
    refine_subject_fit,
    rest_rotvec_from_charted,
)
from config.errors import CalibrationError
from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin import build_person_skeleton
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from tests.calibration.subject.takes import fitted, held
from tests.support.people import person, worn_markers

ANN = person("all_around", 1, build_person_skeleton(1.75, leg_ratio=1.12, arm_ratio=0.88))
BONES = ("leftLowerLeg", "leftFoot", "leftLowerArm", "leftHand")
NOISE_M = 0.002


def bending(n: int = 150) -> np.ndarray:
    """Return free movement from the rest pose, (n, J, 3) [rad]: knees, hips, elbows and shoulders all bend, out of step."""
    t = np.linspace(0.0, 6.0, n)
    poses = np.zeros((n, N_JOINTS, 3))
    for side, sign, late in (("left", 1.0, 0.0), ("right", -1.0, 1.3)):
        swing = np.sin(2.1 * t + late)
        poses[:, JOINT_INDEX[side + "UpperLeg"]] = np.stack(
            [-0.5 - 0.5 * swing, 0.1 * swing, sign * 0.2 * np.cos(1.7 * t)], axis=1
        )
        poses[:, JOINT_INDEX[side + "LowerLeg"], 0] = 0.7 - 0.6 * np.cos(2.9 * t + late)
        poses[:, JOINT_INDEX[side + "UpperArm"]] = np.stack(
            [0.2 * swing, sign * -0.6 * swing, sign * -0.7 * np.cos(1.3 * t)], axis=1
        )
        poses[:, JOINT_INDEX[side + "LowerArm"], 1] = -sign * (0.9 - 0.8 * np.cos(2.3 * t + late))
    poses[:, 0, 1] = 0.4 * np.sin(0.8 * t)
    return poses


def frames_of(poses: np.ndarray, off_rad: float = 0.0, seed: int = 5) -> list[MotionFrame]:
    """Return what an estimator has of a movement, each pose off by so much."""
    rng = np.random.default_rng(seed)
    root = np.tile([0.1, 0.95, 0.2], (len(poses), 1))
    local = charted_from_local(matrix_from_rotvec(poses))
    markers, _ = worn_markers(ANN, local, root)
    n = len(ANN.markers)
    told = charted_from_local(matrix_from_rotvec(poses + rng.normal(0.0, off_rad, poses.shape)))
    return [
        MotionFrame(
            markers[k] + rng.normal(0.0, NOISE_M, (n, 3)),
            np.ones(n, bool),
            np.tile(NOISE_M**2 * np.eye(3), (n, 1, 1)),
            told[k],
            root[k] + 0.01,
        )
        for k in range(len(poses))
    ]


def lengths_mm(fit: SubjectFit) -> np.ndarray:
    """Return the lengths of the bones that are looked at [mm]."""
    return 1e3 * np.linalg.norm(fit.subject.skeleton.offsets_m[[JOINT_INDEX[bone] for bone in BONES]], axis=1)


@pytest.fixture(scope="module")
def still() -> SubjectFit:
    return fitted([held(ANN, 3, off_rad=0.05)], ANN).fit


@pytest.fixture(scope="module")
def moved(still: SubjectFit) -> RefinedSubject:
    return refine_subject_fit(still, frames_of(bending(), 0.05))


def test_movement_brings_lengths_and_places_nearer_to_the_truth(still: SubjectFit, moved: RefinedSubject) -> None:
    """Bones and marker places on the limbs, and what is said to be known of them."""
    refined = moved
    true = 1e3 * np.linalg.norm(ANN.skeleton.offsets_m[[JOINT_INDEX[bone] for bone in BONES]], axis=1)
    before, after = np.abs(lengths_mm(still) - true), np.abs(lengths_mm(refined.fit) - true)
    assert after.mean() < 0.85 * before.mean() and after.max() < 0.85 * before.max()
    limb = ~ANN.markers.torso
    off = [np.linalg.norm(fit.subject.offset_m - ANN.offset_m, axis=1)[limb].mean() for fit in (still, refined.fit)]
    assert off[1] < off[0]
    old, new = still.subject.length_sigma_m, refined.subject.length_sigma_m
    assert old is not None and new is not None
    thigh = JOINT_INDEX["leftLowerLeg"]
    assert new[0, thigh] < old[0, thigh]
    assert refined.held_out[1] < refined.held_out[0] and refined.n_frames == 60
    assert {"leftUpperLeg", "leftLowerLeg", "rightUpperArm", "rightLowerArm"} <= set(refined.bent)
    assert "leftFoot" not in refined.bent and "head" not in refined.bent


def test_wrong_labels_do_not_count(still: SubjectFit, moved: RefinedSubject) -> None:
    """Two markers exchanged in a tenth of the frames leave the lengths where they are without."""
    wrong = frames_of(bending(), 0.05)
    left, right = (ANN.markers.names.index(name) for name in ("left_hand", "right_knee"))
    for k in range(0, len(wrong), 10):
        point = wrong[k].point_m.copy()
        point[[left, right]] = point[[right, left]]
        wrong[k] = replace(wrong[k], point_m=point)
    assert np.abs(lengths_mm(refine_subject_fit(still, wrong).fit) - lengths_mm(moved.fit)).max() < 3.0


def test_a_skeleton_that_is_kept_stays_as_it_is_known() -> None:
    """Only markers are placed anew: lengths and what is known of them are those of before."""
    sigma_m = np.full((2, N_JOINTS), 0.007)
    old = fitted([held(ANN, 3, off_rad=0.05)], ANN, old=replace(ANN, length_sigma_m=sigma_m)).fit
    refined = refine_subject_fit(old, frames_of(bending(40), 0.05))
    assert np.array_equal(refined.subject.skeleton.offsets_m, ANN.skeleton.offsets_m)
    assert refined.subject.length_sigma_m is not None and np.array_equal(refined.subject.length_sigma_m, sigma_m)
    limb = ~ANN.markers.torso
    off = [np.linalg.norm(fit.subject.offset_m - ANN.offset_m, axis=1)[limb].mean() for fit in (old, refined.fit)]
    assert off[1] < off[0]


def test_what_tells_nothing_is_refused(still: SubjectFit) -> None:
    """Too few frames, frames without markers, and a performer who stands."""
    frames = frames_of(bending())
    with pytest.raises(CalibrationError, match="only 5 frames"):
        refine_subject_fit(still, frames[:5])
    unseen = [replace(frame, valid=np.zeros_like(frame.valid)) for frame in frames]
    with pytest.raises(CalibrationError, match="only 0 frames"):
        refine_subject_fit(still, unseen)
    with pytest.raises(CalibrationError, match="nothing bends"):
        refine_subject_fit(still, frames_of(np.zeros((60, N_JOINTS, 3))))


def test_frames_are_spread_over_the_poses() -> None:
    """Of many alike and few others, the others are taken."""
    poses = np.zeros((100, N_JOINTS, 3))
    poses[[17, 64, 80], 4, 0] = [1.0, -1.0, 0.5]
    assert {17, 64, 80} <= set(choose_spread_rows(poses, 4).tolist())
    assert len(choose_spread_rows(poses, 500)) == 100


def test_charted_poses_are_told_from_the_rest_pose() -> None:
    """What `charted` gives of rotations from the rest pose is undone."""
    poses = bending(7)
    np.testing.assert_allclose(rest_rotvec_from_charted(charted_from_local(matrix_from_rotvec(poses))), poses, atol=1e-9)


THIGH = JOINT_INDEX["leftLowerLeg"]


def refined_as(fit: SubjectFit, held_out: tuple[float, float] = (0.9, 0.7), far_mm: float = 5.0) -> RefinedSubject:
    """Return a refinement that found this body."""
    far = np.full(len(ANN.markers), 2.0)
    far[4] = far_mm
    return RefinedSubject(fit.subject, fit, 45, far, held_out, ("leftLowerLeg",))


def longer_thigh(fit: SubjectFit, by_m: float) -> SubjectFit:
    """Return a body with a longer left thigh."""
    old = fit.subject.skeleton
    offsets = old.offsets_m.copy()
    offsets[THIGH] *= 1.0 + by_m / np.linalg.norm(offsets[THIGH])
    return replace(fit, subject=replace(fit.subject, skeleton=Skeleton(old.name, offsets, old.tails_m.copy())))


def test_good_movement_is_kept(still: SubjectFit) -> None:
    [finding], kept = judge_refinement(still, refined_as(still))
    assert kept and finding.grade is Grade.PASS
    assert "45 frames of movement fit" in finding.text and "0.90 -> 0.70 times" in finding.text
    assert describe_objections(still, refined_as(still, (0.9, 0.95))) == []


def test_a_marker_that_stays_far_off_is_named(still: SubjectFit) -> None:
    [finding, torso], kept = judge_refinement(still, refined_as(still, far_mm=19.0))
    assert kept and finding.grade is torso.grade is Grade.POOR
    assert torso.text == f"the torso rests on markers that swing: {ANN.markers.names[4]} (19 mm)"
    assert f"{ANN.markers.names[4]} 19 mm" in finding.text and "firmly" in finding.fix


def test_frames_left_aside_that_fit_worse(still: SubjectFit) -> None:
    [finding], kept = judge_refinement(still, refined_as(still, (0.9, 1.1)))
    assert not kept and finding.grade is Grade.POOR
    assert "0.90 -> 1.10 times" in finding.text and "slip" in finding.fix


def test_a_bone_changed_beyond_what_was_known_of_it(still: SubjectFit) -> None:
    """3 standard deviations may be, 4 not."""
    assert still.subject.length_sigma_m is not None
    sigma = float(still.subject.length_sigma_m[0, THIGH])
    assert describe_objections(still, refined_as(longer_thigh(still, 3.0 * sigma))) == []
    [said] = describe_objections(still, refined_as(longer_thigh(still, 4.0 * sigma)))
    assert "ends at leftLowerLeg" in said


def test_a_bone_at_the_bounds_of_people(still: SubjectFit) -> None:
    """Only if the T-pose alone did not bring it there."""
    space, y = still.problem.space, still.adjusted.state.y
    high = space.high.copy()
    high[THIGH] = space.log_lengths(y)[THIGH]
    bound = replace(still, problem=replace(still.problem, space=replace(space, high=high)))
    [said] = describe_objections(still, refined_as(bound))
    assert "leftLowerLeg" in said and "nobody's" in said
    assert describe_objections(bound, refined_as(bound)) == []


def test_a_marker_elsewhere_than_in_the_t_pose(still: SubjectFit) -> None:
    """A knee marker may be 4 x 15 mm from where the T-pose has it, one at the hips 70 mm."""
    names = ANN.markers.names
    for name, may, not_ in (("left_knee", 0.055, 0.065), ("waist_left", 0.065, 0.075)):
        moved = []
        for by_m in (may, not_):
            offset = still.subject.offset_m.copy()
            offset[names.index(name), 1] += by_m
            moved.append(replace(still, subject=replace(still.subject, offset_m=offset)))
        assert describe_objections(still, refined_as(moved[0])) == []
        [said] = describe_objections(still, refined_as(moved[1]))
        assert said == f"{name} would sit {1e3 * not_:.0f} mm from where the T-pose has it"


def test_a_body_that_no_longer_explains_the_t_pose(still: SubjectFit) -> None:
    """14 markers less the root leave 36 numbers: chi-square with a standard deviation of 8.5."""
    for rise, said in ((45.0, 0), (58.0, 1)):
        worse = replace(still.adjusted, cost_of_take=still.adjusted.cost_of_take + rise)
        assert len(describe_objections(still, refined_as(replace(still, adjusted=worse)))) == said
