"""The typical standing pose: of those who stand still with straight legs, and of nobody else."""

from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin import build_person_skeleton
from database.clips import Clip, clip_from_local
from database.geometry.rotations import matrix_from_rotvec
from database.standing import compute_standing_rotvec
from database.store import open_database, write_database

KNEES = [JOINT_INDEX["leftLowerLeg"], JOINT_INDEX["rightLowerLeg"]]
ARM = JOINT_INDEX["leftUpperArm"]


def standing(name: str, knee_rad: tuple[float, float], n_frames: int = 200, arm_rad_s: float = 0.0) -> Clip:
    """Return somebody whose knees are bent a little, left and right, and whose left arm may turn."""
    rotvec: Floats = np.zeros((n_frames, N_JOINTS, 3))
    rotvec[:, KNEES, 0] = knee_rad
    rotvec[:, ARM, 0] = arm_rad_s * np.arange(n_frames) / 60.0
    return clip_from_local(name, build_person_skeleton(), 60.0, matrix_from_rotvec(rotvec), np.zeros((n_frames, 3)))


def typical(path: Path, captured: list[Clip], generated: tuple[Clip, ...] = ()) -> Floats:
    """Return the standing pose of a database."""
    write_database(path, captured, generated)
    return compute_standing_rotvec(open_database(path))


def test_straight_legs_are_as_those_who_stand_have_them(tmp_path: Path) -> None:
    still = [standing("a", (0.2, 0.3)), standing("b", (0.25, 0.35)), standing("c", (0.3, 0.4), 2000)]
    moving, squatting = standing("d", (0.1, 0.1), arm_rad_s=1.0), standing("e", (1.2, 1.2))
    found = typical(tmp_path / "a.db", [*still, moving, squatting], (standing("t", (0.0, 0.0)),))
    # One vote a clip, left and right averaged: the median of 0.25 and of 0.35.
    np.testing.assert_allclose(found[KNEES], [[0.3, 0.0, 0.0]] * 2, atol=1e-6)
    assert not found[ARM].any() and not found[0].any()


def test_nobody_who_stands_gives_the_rest_pose(tmp_path: Path) -> None:
    assert not typical(tmp_path / "a.db", [standing("e", (1.2, 1.2))]).any()
    assert not typical(tmp_path / "b.db", [standing("a", (0.2, 0.2), 40)]).any()  # ten poses are too few
