"""The index of upright poses: every pose in one list, the nearest; distances against numpy."""

import numpy as np

from capture.packets import Floats
from reconstruct.pose_index import pose_index, squared_distances


def poses_of(rng: np.random.Generator, n: int) -> Floats:
    """Give poses of six markers, (N, 6, 3) [m]."""
    return rng.normal(0.0, 0.5, (n, 6, 3))


def test_index_lists_every_pose_once_below_its_nearest_centre() -> None:
    poses = poses_of(np.random.default_rng(0), 200)
    index = pose_index(poses, 20)
    assert sorted(index.member.tolist()) == list(range(200)) and len(index.centers) == 20
    d = np.linalg.norm((poses[:, None] - index.centers[None]).reshape(200, 20, -1), axis=2)
    for c in range(20):
        for n in index.member[index.start[c] : index.start[c + 1]]:
            assert d[n, c] <= d[n].min() + 1e-6
    alike = pose_index(np.tile(poses[:1], (50, 1, 1)), 20)
    assert len(alike.centers) == 1 and len(alike.member) == 50


def test_markers_without_a_point_do_not_count() -> None:
    rng = np.random.default_rng(3)
    poses, local, choice = poses_of(rng, 9), rng.normal(0.0, 0.5, (6, 3)), np.array([4, -1, 0, -1, 1, 2])
    wanted = ((poses - local) ** 2).sum(axis=2)[:, choice >= 0].sum(axis=1)
    np.testing.assert_allclose(squared_distances(poses.astype(np.float32), local, choice), wanted, rtol=1e-5)
