"""What our BVH exporter writes, our BVH reader reads back: same joints, same skeleton, same rotations."""

from pathlib import Path

import numpy as np

from database.kinematics import forward
from database.read import read_clip
from database.rotations import geodesic_rad, matrix_from_rotvec
from reconstruct.pose import State
from stream.export.bvh import write_bvh
from stream.export.take import Take
from tests.motion_files import random_values, write_amc


def test_our_own_export_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    clip = read_clip(write_amc(tmp_path, random_values(rng, 6)))
    times = np.arange(clip.n_frames) / 60.0
    states = (State.TRACKING,) * clip.n_frames
    write_bvh(tmp_path / "take.bvh", Take(clip.skeleton, times, states, clip.rotvec.copy(), clip.root_m.copy()))
    back = read_clip(tmp_path / "take.bvh")
    assert back.fps == 60.0
    # Written with six decimals of degrees and of centimetres.
    np.testing.assert_allclose(back.skeleton.offsets_m, clip.skeleton.offsets_m, atol=1e-6)
    np.testing.assert_allclose(back.skeleton.tails_m[[4, 14, 18]], clip.skeleton.tails_m[[4, 14, 18]], atol=1e-6)
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    np.testing.assert_allclose(forward(back.skeleton, back.rotvec, back.root_m)[1], p, atol=1e-5)
    assert geodesic_rad(matrix_from_rotvec(back.rotvec), matrix_from_rotvec(clip.rotvec)).max() < 1e-5
