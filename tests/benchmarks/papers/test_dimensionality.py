"""Error against dimensions, on poses whose answers are known; a curve that a GPLVM must unroll."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install "duocap[benchmarks]"')

from benchmarks.papers.dimensionality import (
    CASES,
    ReconstructedPoses,
    count_dimensions,
    learn_gplvm,
    make_row,
    measure_case,
    project_best_mixture,
    project_globally,
    project_in_clusters,
    project_locally,
    project_poses,
)
from benchmarks.papers.frame import Request
from config.arrays import Floats
from config.errors import DatabaseError
from database.store import open_database, write_database
from tests.support.people import person, walk

ALL = np.ones(6, bool)


def planes(n: int) -> Floats:
    """Return points of two far planes of two dimensions each, turned differently in six."""
    rng = np.random.default_rng(0)
    bases = [np.linalg.qr(rng.normal(size=(6, 2)))[0] for _ in range(2)]
    offsets = [np.full(6, -4.0), np.array([5.0, 0.0, 3.0, 0.0, 4.0, 1.0])]
    return np.array([offsets[s] + bases[s] @ rng.normal(size=2) for s in rng.integers(0, 2, n)])


def test_errors_by_hand() -> None:
    """Residuals of 3 and -4 degrees in two angles that move; what stands still does not count."""
    residuals = np.radians(np.array([[[3.0, -4.0, 90.0]], [[0.0, 0.5, 90.0]]]))
    found = make_row("a", np.array([1, 5]), residuals, np.array([True, True, False]))
    np.testing.assert_allclose(found["mean_deg"], [3.5, 0.25])
    np.testing.assert_allclose(found["rms_deg"], [np.sqrt(12.5), np.sqrt(0.125)])
    assert (found["B < 1 deg"], found["B = 5"], found["B = 7"]) == (5, pytest.approx(0.25), None)
    assert count_dimensions(np.array([1, 2]), np.array([3.0, 1.5])) is None


def test_one_direction_after_the_other_is_projected_out() -> None:
    left = project_poses(np.array([[2.0, -3.0, 5.0]]), np.eye(3)[[2, 0]], 3)
    np.testing.assert_array_equal(left[:, 0], [[2.0, -3.0, 0.0], [0.0, -3.0, 0.0], [0.0, -3.0, 0.0]])


def test_two_planes_need_five_dimensions_globally_and_two_locally() -> None:
    poses = planes(400)
    tests, rest = poses[:40], poses[40:]
    left = project_globally(poses, tests, 6)
    assert np.abs(left[3]).mean() > 0.01
    np.testing.assert_allclose(left[4:], 0.0, atol=1e-9)
    np.testing.assert_allclose(project_in_clusters(poses, tests, 4, 2)[1:], 0.0, atol=1e-9)
    np.testing.assert_allclose(project_best_mixture(poses, tests, 4, (1, 2), ALL)[1:], 0.0, atol=1e-9)
    near = np.argsort(np.linalg.norm(tests[:, None] - rest, axis=2), axis=1)[:, :50]
    np.testing.assert_allclose(project_locally(rest, ReconstructedPoses("own", tests, near), 4)[1:], 0.0, atol=1e-9)


def test_a_gplvm_unrolls_an_arc_that_one_principal_component_cannot() -> None:
    plane = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 2)))[0]
    angle = np.linspace(0.0, 1.5 * np.pi, 41)
    points = np.column_stack([np.cos(angle), np.sin(angle)]) @ plane.T + [0.3, -1.0, 0.2, 2.0]
    model = learn_gplvm(points[::2], 1, steps=200)
    error = np.array([np.linalg.norm(model.reconstruct(point) - point) for point in points[1::2]])
    residual2 = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] ** 2 / len(points)
    assert np.sqrt((error**2).mean()) < 0.2 * np.sqrt(residual2)


def test_a_database_without_the_clips_is_said(tmp_path: Path) -> None:
    clip = walk(person().skeleton)
    write_database(tmp_path / "poses.db", [clip])
    with pytest.raises(DatabaseError, match="holds none of 07_01"):
        measure_case(CASES["walking"], open_database(tmp_path / "poses.db"), [clip], Request(tmp_path))
