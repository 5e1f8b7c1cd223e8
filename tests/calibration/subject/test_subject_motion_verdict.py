"""What movement is held against: each way in which it can contradict a T-pose is found and named, good movement is kept."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.quality.report import Grade
from calibration.subject.fit import SubjectFit
from calibration.subject.motion import RefinedSubject, movement_findings, objections
from config.joints import JOINT_INDEX
from database.builtin import body
from database.geometry.skeleton import Skeleton
from tests.calibration.subject.subject_takes import fitted, held
from tests.support.people import person

ANN = person("all_around", 1, body(1.75))
THIGH = JOINT_INDEX["leftLowerLeg"]


@pytest.fixture(scope="module")
def still() -> SubjectFit:
    return fitted([held(ANN, 3)], ANN).fit


def refined(fit: SubjectFit, held_out: tuple[float, float] = (0.9, 0.7), far_mm: float = 5.0) -> RefinedSubject:
    """Return a refinement that found this body."""
    far = np.full(len(ANN.markers), 2.0)
    far[4] = far_mm
    return RefinedSubject(fit.subject, fit, 45, 8.0, 2.0, far, held_out, ("leftLowerLeg",))


def longer_thigh(fit: SubjectFit, by_m: float) -> SubjectFit:
    """Return a body with a longer left thigh."""
    old = fit.subject.skeleton
    offsets = old.offsets_m.copy()
    offsets[THIGH] *= 1.0 + by_m / np.linalg.norm(offsets[THIGH])
    return replace(fit, subject=replace(fit.subject, skeleton=Skeleton(old.name, offsets, old.tails_m.copy())))


def test_good_movement_is_kept(still: SubjectFit) -> None:
    [finding], kept = movement_findings(still, refined(still))
    assert kept and finding.grade is Grade.PASS
    assert "45 frames of movement fit" in finding.text and "0.90 -> 0.70 times" in finding.text
    assert objections(still, refined(still, (0.9, 0.95))) == []


def test_a_marker_that_stays_far_off_is_named(still: SubjectFit) -> None:
    [finding], kept = movement_findings(still, refined(still, far_mm=19.0))
    assert kept and finding.grade is Grade.POOR
    assert f"{ANN.markers.names[4]} 19 mm" in finding.text and "firmly" in finding.fix


def test_frames_left_aside_that_fit_worse(still: SubjectFit) -> None:
    [finding], kept = movement_findings(still, refined(still, (0.9, 1.1)))
    assert not kept and finding.grade is Grade.POOR
    assert "0.90 -> 1.10 times" in finding.text and "slip" in finding.fix


def test_a_bone_changed_beyond_what_was_known_of_it(still: SubjectFit) -> None:
    """3 standard deviations may be, 4 not."""
    assert still.subject.length_sigma_m is not None
    sigma = float(still.subject.length_sigma_m[0, THIGH])
    assert objections(still, refined(longer_thigh(still, 3.0 * sigma))) == []
    [said] = objections(still, refined(longer_thigh(still, 4.0 * sigma)))
    assert "ends at leftLowerLeg" in said


def test_a_bone_at_the_bounds_of_people(still: SubjectFit) -> None:
    """Only if the T-pose alone did not bring it there."""
    space, y = still.problem.space, still.adjusted.state.y
    high = space.high.copy()
    high[THIGH] = space.log_lengths(y)[THIGH]
    bound = replace(still, problem=replace(still.problem, space=replace(space, high=high)))
    [said] = objections(still, refined(bound))
    assert "leftLowerLeg" in said and "nobody's" in said
    assert objections(bound, refined(bound)) == []


def test_a_marker_elsewhere_than_in_the_t_pose(still: SubjectFit) -> None:
    """A knee marker may be 4 x 15 mm from where the T-pose has it, one at the hips 70 mm."""
    names = ANN.markers.names
    for name, may, not_ in (("left_knee", 0.055, 0.065), ("waist_left", 0.065, 0.075)):
        moved = []
        for by_m in (may, not_):
            offset = still.subject.offset_m.copy()
            offset[names.index(name), 1] += by_m
            moved.append(replace(still, subject=replace(still.subject, offset_m=offset)))
        assert objections(still, refined(moved[0])) == []
        [said] = objections(still, refined(moved[1]))
        assert said == f"{name} would sit {1e3 * not_:.0f} mm from where the T-pose has it"


def test_a_body_that_no_longer_explains_the_t_pose(still: SubjectFit) -> None:
    """14 markers less the root leave 36 numbers: chi-square with a standard deviation of 8.5."""
    for rise, said in ((45.0, 0), (58.0, 1)):
        worse = replace(still.adjusted, cost_of_take=still.adjusted.cost_of_take + rise)
        assert len(objections(still, refined(replace(still, adjusted=worse)))) == said
