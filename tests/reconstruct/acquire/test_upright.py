"""Upright poses: every pose in the list of its nearest centre, distances against numpy, headings, exchanged markers."""

import numpy as np

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.acquire.upright import (
    build_pose_index,
    compute_mirror_order,
    compute_squared_distances,
    list_limb_swaps,
    remove_heading,
)
from tests.support.people import person


def poses_of(rng: np.random.Generator, n: int) -> Floats:
    """Return poses of six markers, (N, 6, 3) [m]."""
    return rng.normal(0.0, 0.5, (n, 6, 3))


def test_index_lists_every_pose_once_below_its_nearest_centre() -> None:
    poses = poses_of(np.random.default_rng(0), 200)
    index = build_pose_index(poses, 20)
    assert sorted(index.member.tolist()) == list(range(200)) and len(index.centers) == 20
    d = np.linalg.norm((poses[:, None] - index.centers[None]).reshape(200, 20, -1), axis=2)
    for c in range(20):
        for n in index.member[index.start[c] : index.start[c + 1]]:
            assert d[n, c] <= d[n].min() + 1e-6
    alike = build_pose_index(np.tile(poses[:1], (50, 1, 1)), 20)
    assert len(alike.centers) == 1 and len(alike.member) == 50


def test_markers_without_a_point_do_not_count() -> None:
    rng = np.random.default_rng(3)
    poses, local, choice = poses_of(rng, 9), rng.normal(0.0, 0.5, (6, 3)), np.array([4, -1, 0, -1, 1, 2])
    wanted = ((poses - local) ** 2).sum(axis=2)[:, choice >= 0].sum(axis=1)
    np.testing.assert_allclose(compute_squared_distances(poses.astype(np.float32), local, choice), wanted, rtol=1e-5)


def test_orders_exchange_what_they_should() -> None:
    subject = person("boxing")
    names = np.array(subject.markers.names)
    mirrored = names[compute_mirror_order(subject)]
    assert all(
        a == b.replace("left", "@").replace("right", "left").replace("@", "right") for a, b in zip(names, mirrored, strict=True)
    )
    opposite = np.zeros((4, 4), bool)
    opposite[0, 3] = opposite[3, 0] = opposite[1, 2] = opposite[2, 1] = True
    assert list_limb_swaps(opposite).tolist() == [[3, 1, 2, 0], [0, 2, 1, 3]]


def test_headings() -> None:
    R = matrix_from_rotvec(np.array([[0.0, 0.7, 0.0], [0.3, 0.0, 0.0]]))
    level = remove_heading(np.concatenate([R, (R[0] @ R[1])[None]]))
    np.testing.assert_allclose(level[0], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(level[2], R[1], atol=1e-12)
