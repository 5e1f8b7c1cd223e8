"""Joint angles of Acclaim skeletons: recovered without wraps and flips, as a slow search would find them."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from database.clips import Clip
from database.files.read import read_clip
from database.geometry.kinematics import charted_from_local, local_from_charted
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from tools.evaluate.asf_angles import AsfAngles, JointChain, angle_errors, angles_near, asf_angles, own_angles

IDENTITY = np.eye(3)


def chain(*axes: str) -> JointChain:
    vectors = np.array([IDENTITY["xyz".index(axis)] for axis in axes])
    left, right = matrix_from_rotvec([0.3, -0.2, 0.9]), matrix_from_rotvec([-0.5, 0.1, 0.4])
    return JointChain(3, vectors, tuple(f"b.r{axis}" for axis in axes), left, right)


def rotation(which: JointChain, angles: np.ndarray) -> np.ndarray:
    """Return L' = left R right one frame at a time, as the definition has it."""
    out = []
    for theta in angles:
        R = np.eye(3)
        for axis, t in zip(which.axes, theta, strict=True):
            R = R @ matrix_from_rotvec(t * axis)
        out.append(which.left @ R @ which.right)
    return np.array(out)


def test_three_angles_come_back_on_the_branch_they_are_near() -> None:
    rng = np.random.default_rng(1)
    which = chain("z", "y", "x")
    true = rng.uniform([-6.0, -1.3, -6.0], [6.0, 1.3, 6.0], (50, 3))
    found = angles_near(which, rotation(which, true), true + rng.normal(0.0, 0.15, true.shape))
    assert_allclose(found, true, atol=1e-6)
    # (z, y, x) and (z + pi, pi - y, x + pi) are the same rotation; the start says which.
    twin = np.stack([true[:, 0] + np.pi, np.pi - true[:, 1], true[:, 2] + np.pi], axis=1)
    assert_allclose(rotation(which, twin), rotation(which, true), atol=1e-9)
    assert_allclose(angles_near(which, rotation(which, true), twin + 0.05), twin, atol=1e-6)


def test_where_two_axes_line_up_no_angle_runs_away() -> None:
    which = chain("z", "y", "x")
    locked = np.array([[0.4, np.pi / 2, -0.7]])
    turned = rotation(which, locked + [[0.02, 0.0, 0.01]])
    found = angles_near(which, turned, locked)
    assert np.abs(found - locked).max() < 0.1
    assert compute_geodesic_rad(rotation(which, found), turned)[0] < 1e-3


def test_a_hinge_takes_the_nearest_rotation_it_can_reach() -> None:
    which = chain("x")
    target = which.left @ matrix_from_rotvec([[0.8, 0.2, -0.1]]) @ which.right
    found = angles_near(which, target, np.array([[0.5]]))
    tried = np.linspace(0.0, 1.6, 16_001)
    best = tried[np.argmin(compute_geodesic_rad(rotation(which, tried[:, None]), target))]
    assert abs(found[0, 0] - best) < 0.01


def test_differences_wrap() -> None:
    one = AsfAngles((chain("x", "y"),), (np.array([[3.1, 0.2]]),))
    two = AsfAngles((chain("x", "y"),), (np.array([[-3.1, 0.5]]),))
    assert_allclose(angle_errors(one, two), np.degrees([[2 * np.pi - 6.2, 0.3]]), atol=1e-9)


def test_angles_of_a_real_clip_are_those_of_its_file(motion_dir: Path) -> None:
    amc = motion_dir / "cmu" / "subjects" / "07" / "07_08.amc"
    if not amc.is_file():
        pytest.skip(f"{amc} does not exist")
    file = asf_angles(amc)
    clip: Clip = read_clip(amc)
    assert len(file.names) == 46 and len(set(file.names)) == 46
    assert {"lfemur.rx", "rradius.rx", "lfoot.rz", "head.ry", "lwrist.ry"} <= set(file.names)
    own = own_angles(file, clip.rotvec)
    assert angle_errors(own, file).max() < 1e-3
    part = file.part(slice(10, 60, 5))
    assert [len(angles) for angles in part.angles] == [10] * len(part.angles)
    # A joint of three degrees of freedom that is turned by 4 degrees about one of their axes: that angle alone moves, by 4.
    k = next(index for index, name in enumerate(file.chains) if name.names[-1] == "lfemur.rx")
    which = file.chains[k]
    turned = clip.rotvec.copy()
    theta = file.angles[k].copy()
    theta[:, -1] += np.radians(4.0)
    turned[:, which.joint] = charted_from_local(_all_joints(clip, which, theta))[:, which.joint]
    errors = angle_errors(own_angles(file, turned), file)
    column = file.names.index("lfemur.rx")
    assert_allclose(errors[:, column], 4.0, atol=1e-3)
    assert np.delete(errors, column, axis=1).max() < 1e-3


def _all_joints(clip: Clip, which: JointChain, theta: np.ndarray) -> np.ndarray:
    local = local_from_charted(clip.rotvec).copy()
    local[:, which.joint] = rotation(which, theta)
    return local
