"""A take on another body: feet that stood stand, and the way is scaled by the hips."""

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton, make_builtin_clip
from database.geometry.skeleton import Skeleton
from stream.take.read import take_from_clip
from stream.take.retarget import retarget_take
from stream.take.take import measure_hips_height_m, prepare_for_engine
from tests.stream.export.test_glb import dance


def long_shins(height_m: float) -> Skeleton:
    """Return a body whose shins are longer and thighs shorter than a person's, with high ankles."""
    person = build_person_skeleton(height_m)
    offsets_m = person.offsets_m.copy()
    for side in ("left", "right"):
        thigh, shin, foot = (JOINT_INDEX[side + part] for part in ("LowerLeg", "Foot", "Toes"))
        offsets_m[thigh] *= 0.85
        offsets_m[shin] *= 1.2
        offsets_m[foot, 1] *= 1.5
    return Skeleton("odd", offsets_m, person.tails_m.copy())


@pytest.mark.parametrize("height_m", [1.1, 2.1])
def test_feet_that_stand_stand_on_the_other_body(height_m: float) -> None:
    clip = make_builtin_clip("walk", build_person_skeleton(1.75), 60.0, 3)
    take, body = take_from_clip(clip, "walk"), long_shins(height_m)
    moved, ratio = retarget_take(take, body), measure_hips_height_m(body) / measure_hips_height_m(take.skeleton)
    np.testing.assert_allclose(moved.root_m, ratio * take.root_m)
    before_m, after_m = take.positions_m(), moved.positions_m()
    for name in ("leftToes", "rightToes"):
        row = JOINT_INDEX[name]
        ground = before_m[:, row, 1].min()
        standing = before_m[:, row, 1] < ground + 0.005
        expected_m = ratio * before_m[standing, row]
        expected_m[:, 1] += body.rest_positions_m()[row, 1] + measure_hips_height_m(body)
        expected_m[:, 1] -= ratio * (take.skeleton.rest_positions_m()[row, 1] + measure_hips_height_m(take.skeleton))
        off_m = np.linalg.norm(after_m[standing, row] - expected_m, axis=1)
        assert np.median(off_m) < 0.005 and off_m.max() < 0.02
    arms = [JOINT_INDEX["leftUpperArm"], JOINT_INDEX["rightHand"], JOINT_INDEX["head"]]
    np.testing.assert_array_equal(moved.rotvec[:, arms], take.rotvec[:, arms])


def test_for_engines_a_take_begins_at_the_origin_facing_forward_after_a_t_pose() -> None:
    take = dance()
    ready = prepare_for_engine(take)
    assert len(ready) == len(take) + 1
    np.testing.assert_allclose(ready.local_rotations()[0], np.broadcast_to(np.eye(3), (23, 3, 3)), atol=1e-9)
    assert (ready.positions_m()[0] + ready.skeleton.tails_m)[:, 1].min() == pytest.approx(0.0, abs=1e-9)
    assert ready.root_m[1, [0, 2]] == pytest.approx([0.0, 0.0], abs=1e-12)
    forward = ready.local_rotations()[1, 0, :, 2]
    assert forward[0] == pytest.approx(0.0, abs=1e-9) and forward[2] > 0.5
    across = np.linalg.norm(np.diff(take.positions_m(), axis=1), axis=2)
    np.testing.assert_allclose(np.linalg.norm(np.diff(ready.positions_m()[1:], axis=1), axis=2), across, atol=1e-9)
    np.testing.assert_allclose(ready.root_m[1:, 1], take.root_m[:, 1])
