"""Several T-poses: one side's markers after the other's, takes that agree, takes that do not, markers moved on a known body."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.subject.fit import ODD
from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin import body
from tests.calibration.subject.subject_takes import fitted, held, offsets_mm, without
from tests.support.people import person

ANN = person("dark_room", 1, body(1.75, arm_ratio=1.02))
BONES = ("leftLowerLeg", "leftFoot", "leftLowerArm")


def moved(seed: int, marker: str, by_m: tuple[float, float, float]):  # type: ignore[no-untyped-def]
    """Return a take before which a marker slipped."""
    tpose = held(ANN, seed)
    point = tpose.point_m.copy()
    point[ANN.markers.names.index(marker)] += by_m
    return replace(tpose, point_m=point)


def errors_m(skeleton) -> Floats:  # type: ignore[no-untyped-def]
    """Return the errors of a skeleton's thighs, shins and upper arms."""
    index = [JOINT_INDEX[bone] for bone in BONES]
    return np.linalg.norm(skeleton.offsets_m[index], axis=1) - np.linalg.norm(ANN.skeleton.offsets_m[index], axis=1)


def test_left_limbs_then_right_limbs() -> None:
    """As in the paper: two takes, each with half of the limb markers, give all offsets and one skeleton."""
    left_only, right_only = without(held(ANN, 3), ANN, "right"), without(held(ANN, 4), ANN, "left")
    assert left_only.valid.sum() == right_only.valid.sum() == 10
    found = fitted([left_only, right_only], ANN)
    assert found.used == (0, 1) and found.fit.seen.all()
    assert np.abs(errors_m(found.fit.subject.skeleton)).max() < 0.03
    assert offsets_mm(found, ANN).max() < 50.0
    half = fitted([left_only], ANN)
    assert half.fit.seen.sum() == 10
    unseen = np.flatnonzero(~half.fit.seen)
    assert np.array_equal(half.fit.subject.offset_m[unseen], ANN.markers.offset_m[unseen])


def test_takes_that_agree_are_all_used() -> None:
    found = fitted([held(ANN, seed) for seed in range(4)], ANN)
    assert found.used == (0, 1, 2, 3) and found.left_out == ()
    assert np.nanmax(found.oddity) < ODD
    assert np.abs(errors_m(found.fit.subject.skeleton)).max() < 0.03


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
