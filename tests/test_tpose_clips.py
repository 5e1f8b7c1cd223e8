"""Generated T-poses: they look like one, move smoothly and stand on the floor."""

import numpy as np
import pytest

from config.joints import JOINT_INDEX, N_JOINTS, PARENTS
from database.clips import Clip
from database.kinematics import forward
from database.skeleton import Skeleton
from database.tpose import LOWERING_S, T_POSE, median_skeleton, tpose_clips


def person(scale: float = 1.0) -> Skeleton:
    """Give a plain body of 1.7 m, the same on both sides."""
    middle = {"spine": (0, 0.05, 0), "chest": (0, 0.12, 0), "upperChest": (0, 0.12, 0), "neck": (0, 0.13, 0)}
    middle |= {"upperNeck": (0, 0.06, 0.01), "head": (0, 0.06, 0.01)}
    side = {"UpperLeg": (0.09, -0.08, 0), "LowerLeg": (0, -0.42, 0), "Foot": (0, -0.41, 0), "Toes": (0, -0.04, 0.13)}
    side |= {"Shoulder": (0.03, 0.1, 0), "UpperArm": (0.15, 0, 0), "LowerArm": (0.29, 0, 0), "Hand": (0.25, 0, 0)}
    offsets, tails = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3))
    for name, joint in JOINT_INDEX.items():
        part = name.removeprefix("left").removeprefix("right")
        if joint:
            offsets[joint] = (
                middle[name] if name in middle else np.array(side[part]) * (-1 if name.startswith("right") else 1, 1, 1)
            )
    tails[[JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]]] = (0, 0, 0.06)
    tails[JOINT_INDEX["head"]] = (0, 0.18, 0)
    return Skeleton("p", offsets * scale, tails * scale)


BODY = person()
LEVEL, SPREAD = T_POSE["elevation"]
CLIPS = list(tpose_clips(BODY, 60.0))


def places(clip: Clip) -> np.ndarray:
    """Give joint positions, (N, J, 3) [m]."""
    return forward(clip.skeleton, clip.rotvec, clip.root_m)[1]


def elevation_deg(p: np.ndarray, side: str) -> np.ndarray:
    """Give the angle of the upper arm above level."""
    arm = p[:, JOINT_INDEX[f"{side}LowerArm"]] - p[:, JOINT_INDEX[f"{side}UpperArm"]]
    return np.degrees(np.arcsin(arm[:, 1] / np.linalg.norm(arm, axis=1)))


def elbow_deg(p: np.ndarray, side: str) -> np.ndarray:
    """Give how far the elbow is bent."""
    upper = p[:, JOINT_INDEX[f"{side}LowerArm"]] - p[:, JOINT_INDEX[f"{side}UpperArm"]]
    lower = p[:, JOINT_INDEX[f"{side}Hand"]] - p[:, JOINT_INDEX[f"{side}LowerArm"]]
    return np.degrees(np.arccos((upper * lower).sum(1) / np.linalg.norm(upper, axis=1) / np.linalg.norm(lower, axis=1)))


def test_standing_clips_are_t_poses() -> None:
    standing = [places(clip) for clip in CLIPS if "tpose" in clip.name]
    assert len(standing) >= 8
    p = np.concatenate(standing)
    for side, sign in (("left", 1), ("right", -1)):
        # The whole range is used, with sway and the lean of the trunk on top.
        assert LEVEL - SPREAD - 15 < elevation_deg(p, side).min() < LEVEL - SPREAD / 2
        assert LEVEL + SPREAD / 2 < elevation_deg(p, side).max() < LEVEL + SPREAD + 15
        assert elbow_deg(p, side).max() < sum(T_POSE["elbow"]) + 3
        assert (sign * (p[:, JOINT_INDEX[f"{side}Hand"], 0] - p[:, JOINT_INDEX["upperChest"], 0])).min() > 0.5
    feet = np.linalg.norm(p[:, JOINT_INDEX["leftFoot"]] - p[:, JOINT_INDEX["rightFoot"]], axis=1)
    assert 0.05 < feet.min() < 0.14 and 0.22 < feet.max() < 0.32
    assert (p[:, JOINT_INDEX["head"], 1] > 1.3).all()


def test_all_lowerings_end_with_arms_down_by_both_ways() -> None:
    lowering = {clip.name: places(clip) for clip in CLIPS if "lower" in clip.name}
    raising = {clip.name: places(clip) for clip in CLIPS if "raise" in clip.name}
    assert len(lowering) == len(raising) == 2 * len(LOWERING_S)
    for p in lowering.values():
        assert elevation_deg(p, "left")[0] > LEVEL - SPREAD - 12 and elevation_deg(p, "right")[-1] < -60
    for p in raising.values():
        assert elevation_deg(p, "left")[-1] > LEVEL - SPREAD - 12 and elevation_deg(p, "right")[0] < -60
    forwards = {name: p[:, JOINT_INDEX["leftHand"], 2].max() for name, p in lowering.items()}
    assert min(z for name, z in forwards.items() if "front" in name) > 0.35
    assert max(z for name, z in forwards.items() if "side" in name) < 0.35


@pytest.mark.parametrize("clip", CLIPS, ids=lambda clip: clip.name)
def test_motion_is_smooth_and_feet_stay(clip: Clip) -> None:
    p = places(clip)
    assert np.linalg.norm(np.diff(clip.rotvec, axis=0), axis=-1).max() < 0.2  # no jump of a chart
    speed = np.linalg.norm(np.diff(p, axis=0), axis=-1) * clip.fps
    # The hand's way is at most 1.3 m in a minimum-jerk curve, whose peak is 1.875 times its mean speed.
    assert speed.max() < max(
        1.0, 1.875 * 1.3 * 2 / float(clip.name.split("_")[-1].rstrip("s")) if "tpose" not in clip.name else 0
    )
    ankles = p[:, [JOINT_INDEX["leftFoot"], JOINT_INDEX["rightFoot"]]]
    assert np.ptp(ankles, axis=0).max() < 0.03
    G, _ = forward(clip.skeleton, clip.rotvec, clip.root_m)
    toes = [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]]
    tips = p[:, toes] + np.einsum("nfij,fj->nfi", G[:, toes], clip.skeleton.tails_m[toes])
    assert tips[..., 1].min() > -1e-9 and tips[..., 1].max() < 0.04


def test_the_same_every_time_and_at_any_rate() -> None:
    again = list(tpose_clips(BODY, 60.0))
    assert all(np.array_equal(a.rotvec, b.rotvec) for a, b in zip(CLIPS, again, strict=True))
    slow = next(iter(tpose_clips(BODY, 30.0)))
    np.testing.assert_allclose(slow.rotvec, CLIPS[0].rotvec[::2], atol=1e-9)


def test_the_median_body_is_symmetric() -> None:
    crooked = person(1.1)
    offsets = crooked.offsets_m.copy()
    offsets[JOINT_INDEX["leftLowerLeg"]] += (0.0, -0.02, 0.01)
    bodies = [person(0.9), Skeleton("crooked", offsets, crooked.tails_m.copy()), person(1.2)]
    median = median_skeleton(bodies)
    left, right = (median.offsets_m[JOINT_INDEX[f"{side}LowerLeg"]] for side in ("left", "right"))
    # Left median of -0.378, -0.482, -0.504; right of -0.378, -0.462, -0.504; their mean on both sides.
    np.testing.assert_allclose(left, [0, -(0.482 + 0.462) / 2, 0.0], atol=1e-12)
    np.testing.assert_allclose(right, left, atol=1e-12)
    assert median.offsets_m[JOINT_INDEX["rightUpperLeg"], 0] == pytest.approx(-0.099)
    assert len(PARENTS) == N_JOINTS
