"""Generated T-poses: they look like one, move smoothly and stand on the floor."""

import numpy as np
import pytest

from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from database.clips import Clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from database.tpose import LOWERING_S, T_POSE, compute_median_skeleton, make_tpose_clips

BODY = build_person_skeleton(1.7)
LEVEL, SPREAD = T_POSE["elevation"]
CLIPS = list(make_tpose_clips(BODY, 30.0))


def positions(clip: Clip) -> Floats:
    """Return joint positions, (N, J, 3) [m]."""
    return compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]


def bone(p: Floats, side: str, joint: str, end: str) -> Floats:
    """Return unit vectors along a bone, (N, 3)."""
    vector = p[:, JOINT_INDEX[side + end]] - p[:, JOINT_INDEX[side + joint]]
    return np.asarray(vector / np.linalg.norm(vector, axis=1, keepdims=True))


def elevation_deg(p: Floats, side: str) -> Floats:
    """Return the angle of the upper arm above level."""
    return np.asarray(np.degrees(np.arcsin(bone(p, side, "UpperArm", "LowerArm")[:, 1])))


def test_standing_clips_are_t_poses() -> None:
    standing = [positions(clip) for clip in CLIPS if "tpose" in clip.name]
    assert len(standing) >= 8
    p = np.concatenate(standing)
    for side, sign in (("left", 1), ("right", -1)):
        # The whole range is used, with sway and the lean of the trunk added.
        elevation = elevation_deg(p, side)
        assert LEVEL - SPREAD - 15 < elevation.min() < LEVEL - SPREAD / 2
        assert LEVEL + SPREAD / 2 < elevation.max() < LEVEL + SPREAD + 15
        elbow = (bone(p, side, "UpperArm", "LowerArm") * bone(p, side, "LowerArm", "Hand")).sum(axis=1)
        assert np.degrees(np.arccos(elbow)).max() < sum(T_POSE["elbow"]) + 3
        assert (sign * (p[:, JOINT_INDEX[f"{side}Hand"], 0] - p[:, JOINT_INDEX["upperChest"], 0])).min() > 0.5
    feet = np.linalg.norm(p[:, JOINT_INDEX["leftFoot"]] - p[:, JOINT_INDEX["rightFoot"]], axis=1)
    assert 0.05 < feet.min() < 0.14 and 0.22 < feet.max() < 0.32
    assert (p[:, JOINT_INDEX["head"], 1] > 1.3).all()


def test_all_lowerings_end_with_arms_down_by_both_ways() -> None:
    lowering = {clip.name: positions(clip) for clip in CLIPS if "lower" in clip.name}
    raising = {clip.name: positions(clip)[::-1] for clip in CLIPS if "raise" in clip.name}
    assert len(lowering) == len(raising) == 2 * len(LOWERING_S)
    for p in (*lowering.values(), *raising.values()):
        assert elevation_deg(p, "left")[0] > LEVEL - SPREAD - 12 and elevation_deg(p, "right")[-1] < -60
    forwards = {name: p[:, JOINT_INDEX["leftHand"], 2].max() for name, p in lowering.items()}
    assert min(z for name, z in forwards.items() if "front" in name) > 0.35
    assert max(z for name, z in forwards.items() if "side" in name) < 0.35


def test_motion_is_smooth_and_feet_stay() -> None:
    for clip in CLIPS:
        G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)
        assert np.linalg.norm(np.diff(clip.rotvec, axis=0), axis=-1).max() < 0.4, clip.name  # no jump of a chart
        speed = np.linalg.norm(np.diff(p, axis=0), axis=-1) * clip.fps
        # The hand's way is at most 1.3 m in a minimum-jerk curve, whose peak is 1.875 times its mean speed.
        raised = 0.0 if "tpose" in clip.name else 1.875 * 1.3 * 2 / float(clip.name.split("_")[-1].rstrip("s"))
        assert speed.max() < max(1.0, raised), clip.name
        assert np.ptp(p[:, [JOINT_INDEX["leftFoot"], JOINT_INDEX["rightFoot"]]], axis=0).max() < 0.03, clip.name
        toes = [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]]
        tips = p[:, toes] + np.einsum("nfij,fj->nfi", G[:, toes], clip.skeleton.tails_m[toes])
        assert tips[..., 1].min() > -1e-9 and tips[..., 1].max() < 0.06, clip.name
        feet = [JOINT_INDEX["leftFoot"], JOINT_INDEX["rightFoot"]]
        assert G[:, feet, 1, 1].min() > 1.0 - 1e-9, clip.name  # soles are level


def test_the_same_every_time_and_at_any_rate() -> None:
    again = list(make_tpose_clips(BODY, 30.0))
    assert all(np.array_equal(a.rotvec, b.rotvec) for a, b in zip(CLIPS, again, strict=True))
    fast = next(iter(make_tpose_clips(BODY, 60.0)))
    np.testing.assert_allclose(fast.rotvec[::2], CLIPS[0].rotvec, atol=1e-9)


def test_the_median_body_is_symmetric() -> None:
    shin, crooked = JOINT_INDEX["leftLowerLeg"], build_person_skeleton(1.8).offsets_m.copy()
    crooked[shin] += (0.0, -0.02, 0.01)
    bodies = [
        build_person_skeleton(1.5),
        Skeleton("crooked", crooked, build_person_skeleton(1.8).tails_m.copy()),
        build_person_skeleton(1.9),
    ]
    median = compute_median_skeleton(bodies)
    left, right = (median.offsets_m[JOINT_INDEX[f"{side}LowerLeg"]] for side in ("left", "right"))
    # The medians of left and right are those of the crooked body; their mean is on both sides.
    np.testing.assert_allclose(left, build_person_skeleton(1.8).offsets_m[shin] + (0.0, -0.01, 0.0), atol=1e-12)
    np.testing.assert_allclose(right, left, atol=1e-12)
    hip = JOINT_INDEX["rightUpperLeg"]
    assert median.offsets_m[hip, 0] == pytest.approx(build_person_skeleton(1.8).offsets_m[hip, 0])
