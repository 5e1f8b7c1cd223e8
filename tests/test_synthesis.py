"""Synthesis finds poses of its style that do what is asked."""

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin.catalog import builtin_clip
from database.clips import Clip
from database.kinematics import forward
from reconstruct.style.constraints import Constraints, points
from reconstruct.style.features import some, training_poses
from reconstruct.style.learn import LearnOptions, learn
from reconstruct.style.model import Style
from reconstruct.style.synthesis import Synthesizer

HANDLES = np.array([JOINT_INDEX[name] for name in ("leftHand", "rightHand", "leftFoot", "rightFoot")])


@pytest.fixture(scope="module")
def clip() -> Clip:
    return builtin_clip("walk", fps=30.0)


@pytest.fixture(scope="module")
def walk(clip: Clip) -> Style:
    return learn(some(training_poses([clip]), 40), clip.skeleton, "walk", LearnOptions(latent=2, active=40, steps=40))


def asked(clip: Clip, row: int, sigma_m: float = 0.01) -> Constraints:
    _, p = forward(clip.skeleton, clip.rotvec[row], clip.root_m[row])
    return points(HANDLES, np.zeros((len(HANDLES), 3)), p[HANDLES], sigma_m)


def test_a_pose_of_the_motion_is_found_from_its_hands_and_feet(clip: Clip, walk: Style) -> None:
    synthesizer = Synthesizer([walk])
    for row in (20, 41, 66):
        found = synthesizer.synthesize(asked(clip, row))
        truth = forward(clip.skeleton, clip.rotvec[row], clip.root_m[row])[1]
        p = forward(clip.skeleton, found.rotvec, found.root_m)[1]
        assert found.reached and found.off_m.max() < 0.015
        assert np.linalg.norm(p - truth, axis=1).mean() < 0.02
