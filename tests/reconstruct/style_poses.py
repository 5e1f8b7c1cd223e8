"""Made-up motions as poses of a session, for what learns styles of them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from config.joints import JOINT_INDEX, N_JOINTS
from reconstruct.models.style.learn.train import LearnOptions
from reconstruct.models.style.session import SessionStyle
from reconstruct.models.style.task import LearnTask
from reconstruct.pose import Pose, TrackingState
from tests.support.fakes import subject

N_MARKERS = 8
MS = 1_000_000


def pose(rotvec: NDArray[np.float64], t_ns: int, state: TrackingState = TrackingState.TRACKING, n_seen: int = N_MARKERS) -> Pose:
    """Return a pose of which so many markers were seen by both cameras."""
    m = N_MARKERS
    seen = np.tile(np.arange(m) < n_seen, (2, 1))
    joints = (np.zeros(N_JOINTS, np.uint8), np.ones(N_JOINTS))
    return Pose(
        0, t_ns, 0, state, rotvec, np.zeros(3), *joints, np.zeros((m, 3)), seen[0], np.zeros(m), seen, np.zeros((2, m)), {}
    )


def walking(seconds: float, fps: float = 60.0, t0_ns: int = 0) -> Iterator[Pose]:
    """Return poses of legs and arms that swing, never twice quite alike."""
    for n in range(round(seconds * fps)):
        phase = 2 * np.pi * n / fps
        stride = 1.0 + 0.3 * np.sin(0.37 * phase)
        yield pose(swung(stride * np.sin(phase), np.cos(phase), 0.1 * np.sin(0.13 * phase)), t0_ns + round(n * 1e9 / fps))


def boxing(seconds: float, fps: float = 60.0, t0_ns: int = 0) -> Iterator[Pose]:
    """Return poses that are far from all of `walking`: arms up, and fast."""
    for n in range(round(seconds * fps)):
        phase = 9.0 * n / fps
        rotvec = swung(0.2 * np.sin(phase), 0.0, 0.0)
        for k, side in enumerate(("left", "right")):
            rotvec[JOINT_INDEX[f"{side}UpperArm"]] = [0.0, 1.3 + 0.3 * np.sin(phase + k), 1.1]
            rotvec[JOINT_INDEX[f"{side}LowerArm"]] = [0.0, 1.5 + 0.9 * np.cos(phase + k), 0.4 * np.sin(0.37 * phase)]
        yield pose(rotvec, t0_ns + round(n * 1e9 / fps))


def standing(seconds: float, fps: float = 60.0) -> Iterator[Pose]:
    """Return poses of somebody who stands, with the noise of a measurement."""
    random = np.random.default_rng(5)
    for n in range(round(seconds * fps)):
        yield pose(random.normal(0.0, 0.002, (N_JOINTS, 3)), round(n * 1e9 / fps))


def swung(legs: float, knees: float, sway: float) -> NDArray[np.float64]:
    """Return rotation vectors of a step."""
    rotvec = np.zeros((N_JOINTS, 3))
    for sign, side in ((1.0, "left"), (-1.0, "right")):
        rotvec[JOINT_INDEX[f"{side}UpperLeg"], 0] = 0.5 * sign * legs
        rotvec[JOINT_INDEX[f"{side}LowerLeg"], 0] = 0.4 + 0.4 * sign * knees
        rotvec[JOINT_INDEX[f"{side}UpperArm"], 0] = -0.4 * sign * legs
        rotvec[JOINT_INDEX[f"{side}LowerArm"], 1] = 0.2 + 0.2 * sign * knees
    rotvec[JOINT_INDEX["spine"], 2] = sway
    return rotvec


def walking_task() -> LearnTask:
    """Return what a learner is asked after ten seconds of walking, in a few steps."""
    book = SessionStyle(subject().skeleton, options=LearnOptions(active=20, steps=3))
    for pose in walking(10.0, 30.0):
        book.add(pose)
    task = book.task()
    assert task is not None
    return task
