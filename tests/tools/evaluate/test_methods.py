"""Methods that turn markers into poses: the peers' regression, and every method on a motion that the database contains."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from config.errors import DatabaseError
from config.settings import SolveSettings
from database.clips import Clip
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.search.examples import Examples, compute_examples
from tests.support.people import table_of
from tools.evaluate.methods import METHODS, NearestNeighbour, PeerSettings, WeightedRegression, ridge_regression, solve
from tools.evaluate.queries import MotionQuery, apply_variant
from tools.evaluate.scores import position_errors_mm


def test_ridge_regression_is_exact_on_a_plane_and_the_mean_under_a_heavy_ridge() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 4))
    slope, level = rng.normal(size=(4, 2)), np.array([5.0, -1.0])
    weights = rng.uniform(0.1, 3.0, 30)
    y = x @ slope + level
    at = np.array([0.3, -2.0, 0.5, 1.0])
    assert_allclose(ridge_regression(x, y, weights, at, 1e-6), at @ slope + level, atol=1e-6)
    assert_allclose(ridge_regression(x, y, weights, at, 1e6), weights @ y / weights.sum(), atol=1e-6)


def test_ridge_regression_minimises_what_it_says() -> None:
    rng = np.random.default_rng(4)
    x, y, w = rng.normal(size=(9, 2)), rng.normal(size=(9, 1)), rng.uniform(0.5, 2.0, 9)
    w /= w.sum()
    design = np.vstack([np.sqrt(w)[:, None] * np.column_stack([np.ones(9), x]), [[0, 0.4, 0], [0, 0, 0.4]]])
    target = np.concatenate([np.sqrt(w) * y[:, 0], [0.0, 0.0]])
    level, *slope = np.linalg.lstsq(design, target, rcond=None)[0]
    at = np.array([1.5, -0.7])
    assert_allclose(ridge_regression(x, y, 7.0 * w, at, 0.4), [level + at @ slope], rtol=1e-9)


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_finds_poses_of_the_database(query: MotionQuery, examples: Examples, name: str) -> None:
    found = solve(query, examples, SolveSettings(), name)
    joint_m, true_m = (compute_forward_kinematics(query.subject.skeleton, p.rotvec, p.root_m)[1] for p in (found, query))
    limit_mm = {"NN": 1.0, "LWR": 5.0, "average": 25.0, "paper": 5.0, "paper-si": 20.0, "ours": 4.0}[name]
    assert position_errors_mm(joint_m, true_m)[1:].mean() < limit_mm and found.frame_ms > 0


def test_the_nearest_neighbour_is_an_example_as_it_is(query: MotionQuery, examples: Examples) -> None:
    finder = NearestNeighbour(query.subject, examples, PeerSettings(neighbours=1, velocity_share=1.0, velocity_gain=1.0))
    for n in range(12):
        joints = finder.step(query.frame(n), query.start if n == 0 else None).joints[1:].ravel()
        away = np.abs(examples.pose - joints).max(axis=1)
        assert away.min() == 0.0 and abs(int(away.argmin()) - n) <= 2


def test_regression_goes_between_examples_where_the_nearest_cannot(clip: Clip, query: MotionQuery) -> None:
    sparse = replace(clip, rotvec=np.ascontiguousarray(clip.rotvec[::4]), root_m=np.ascontiguousarray(clip.root_m[::4]))
    examples = compute_examples(query.subject, table_of([sparse]))
    between = np.arange(len(query)) % 4 == 2
    mm = {}
    for kind in (NearestNeighbour, WeightedRegression):
        finder = kind(query.subject, examples, PeerSettings(neighbours=1 if kind is NearestNeighbour else 6, ridge_m=0.005))
        poses = [finder.step(query.frame(n), query.start if n == 0 else None) for n in range(len(query))]
        joints = np.array([pose.joints for pose in poses])
        mm[kind] = np.abs(joints[between, 1:] - query.rotvec[between, 1:]).mean()
    assert mm[WeightedRegression] < 0.7 * mm[NearestNeighbour]


def test_hidden_markers_have_no_influence(query: MotionQuery, examples: Examples) -> None:
    short = replace(
        query, rotvec=query.rotvec[:12], root_m=query.root_m[:12], marker_m=query.marker_m[:12], visible=query.visible[:12]
    )
    hidden = apply_variant(short, "missing", 3)
    moved = replace(hidden, marker_m=np.where(hidden.visible[..., None], hidden.marker_m, 77.0))
    for name in METHODS:
        one, two = (solve(each, examples, SolveSettings(), name) for each in (hidden, moved))
        assert np.array_equal(one.rotvec, two.rotvec) and np.array_equal(one.root_m, two.root_m)


def test_unknown_method(query: MotionQuery, examples: Examples) -> None:
    with pytest.raises(DatabaseError, match="'KNN' is no method; take NN, LWR"):
        solve(query, examples, SolveSettings(), "KNN")
