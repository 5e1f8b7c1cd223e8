"""Cleaning: flips go, possible motion stays."""

import numpy as np
import pytest

from config.arrays import Floats
from database.clips import Clip, clip_from_local
from database.files.cleaning import clean_clip
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import matrix_from_rotvec
from tests.database.motions import ANKLE, KNEE, OFFSETS, TAILS, TOES, WRIST, far_rad, smooth_clip

CLIP = smooth_clip(240)


def with_local(local: Floats) -> Clip:
    """Return the clip with other rotations."""
    return clip_from_local(CLIP.name, CLIP.skeleton, CLIP.fps, local, CLIP.root_m)


def rotated(clip: Clip, frames: slice, joint: int, rotvec: tuple[float, float, float]) -> Clip:
    """Rotate one joint in some frames."""
    local = local_from_charted(clip.rotvec)
    local[frames, joint] = local[frames, joint] @ matrix_from_rotvec(rotvec)
    return with_local(local)


@pytest.mark.parametrize(
    ("first", "length", "rotvec"), [(50, 1, (0.0, 0.7, 0.2)), (50, 2, (0.9, 0.0, 0.0)), (100, 12, (0.3, 3.0, 0.1))]
)
def test_a_flip_is_interpolated_away(first: int, length: int, rotvec: tuple[float, float, float]) -> None:
    cleaned, report = clean_clip(rotated(CLIP, slice(first, first + length), KNEE, rotvec))
    assert (report.frames, report.rotations, report.jumps_left) == (length, length, 0)
    # Within 12 frames of 1/120 s a swing of 0.8 rad at 1.2 Hz strays from the geodesic by w^2 A T^2 / 8 = 0.06 rad at most.
    assert far_rad(cleaned, CLIP) < (0.06 if length > 2 else 0.01)
    outside = np.r_[0:first, first + length : 240]
    np.testing.assert_array_equal(cleaned.rotvec[outside], rotated(CLIP, slice(0, 0), KNEE, rotvec).rotvec[outside])


def test_joints_that_flip_together_are_repaired_together() -> None:
    broken = rotated(rotated(CLIP, slice(60, 66), KNEE, (0, 3.0, 0)), slice(60, 66), ANKLE, (0, 0.5, 0))
    cleaned, report = clean_clip(broken)
    assert (report.frames, report.rotations) == (6, 12)
    assert far_rad(cleaned, CLIP) < 0.03


def test_a_foot_upside_down_is_turned_back_about_its_length() -> None:
    local = local_from_charted(CLIP.rotvec)
    local[:, TOES] = np.eye(3)  # toes straight: their own rotation by pi is then nearly the foot's
    level = with_local(local)
    local[40:120, ANKLE] = local[40:120, ANKLE] @ matrix_from_rotvec(np.pi * OFFSETS[TOES] / np.linalg.norm(OFFSETS[TOES]))
    cleaned, report = clean_clip(with_local(local))
    assert (report.feet, report.frames, report.jumps_left) == (80, 0, 0)
    out = local_from_charted(cleaned.rotvec)
    np.testing.assert_allclose(out[:, ANKLE], local_from_charted(level.rotvec)[:, ANKLE], atol=1e-9)
    pointing, before = (L[:, ANKLE] @ L[:, TOES] @ TAILS[TOES] for L in (out, local))
    np.testing.assert_allclose(pointing, before, atol=1e-9)


def test_possible_motion_and_a_rotation_that_stays_are_left() -> None:
    cleaned, report = clean_clip(CLIP)
    assert cleaned is CLIP and (report.frames, report.rotations, report.jumps_left) == (0, 0, 0)
    broken = rotated(CLIP, slice(150, None), WRIST, (2.5, 0, 0))
    cleaned, report = clean_clip(broken)
    assert cleaned is broken and (report.frames, report.jumps_left) == (0, 1)
    # A fast strike: an elbow at 25 rad/s at 120 Hz moves 0.21 rad a frame.
    local = local_from_charted(CLIP.rotvec)
    local[:, WRIST] = matrix_from_rotvec(np.clip(np.arange(240) - 100, 0, 10)[:, None] * [0.21, 0, 0])
    strike = with_local(local)
    assert clean_clip(strike)[0] is strike


def test_a_spike_of_the_root_is_taken_out() -> None:
    root = CLIP.root_m.copy()
    root[30] += (0.5, 0.0, 0.0)
    cleaned, report = clean_clip(Clip("walk", CLIP.skeleton, 120.0, CLIP.rotvec.copy(), root))
    assert report.frames == 1
    np.testing.assert_allclose(cleaned.root_m, CLIP.root_m, atol=1e-4)
    for n_frames in (1, 2, 3):
        assert clean_clip(smooth_clip(n_frames))[0].n_frames == n_frames
