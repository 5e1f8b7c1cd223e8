"""Methods of the synthesis tables: the peers, the queries' variants, the errors, on motions made by rule."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from calibration.subject import Subject
from config.errors import DatabaseError
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import SolveSettings
from database.builtin.repertoire import database_clips
from database.clips import Clip, clip_slice
from database.kinematics import forward
from reconstruct.examples import Examples, examples_for
from tools.evaluation.asf_angles import AsfAngles, Chain
from tools.evaluation.methods import METHODS, NearestNeighbour, Tuning, WeightedRegression, method, ridge_regression
from tools.evaluation.queries import FPS, N_HIDDEN, NOISE_M, SIX, Query, query_from_clip, varied
from tools.evaluation.synthesis import Run, errors_of, run_clip, synthesized
from tools.evaluation.synthesis_plot import plot_runs
from tools.evaluation.synthesis_table import behaviour_mean, table


class Table:
    """Clips as the examples take them."""

    def __init__(self, clips: list[Clip]) -> None:
        self.rotvec = np.concatenate([clip.rotvec for clip in clips]).astype(np.float32)
        self.fps = FPS
        self.clip_start = np.cumsum([0, *(clip.n_frames for clip in clips)])


@pytest.fixture(scope="module")
def clip() -> Clip:
    walk = next(clip for clip in database_clips(FPS) if clip.name.startswith("walk"))
    return clip_slice(walk, 20, 60)


@pytest.fixture(scope="module")
def query(clip: Clip) -> Query:
    hip = Chain(1, np.eye(3), ("hip.rx", "hip.ry", "hip.rz"), np.eye(3), np.eye(3))
    return query_from_clip(clip, "walking", read_marker_set("boxing"), AsfAngles((hip,), (np.zeros((clip.n_frames, 3)),)))


@pytest.fixture(scope="module")
def examples(clip: Clip, query: Query) -> Examples:
    return examples_for(query.subject, Table([clip]))


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


def test_a_query_holds_the_markers_of_the_pose(query: Query) -> None:
    G, p = forward(query.subject.skeleton, query.rotvec[7], query.root_m[7])
    k = query.subject.markers.names.index("left_foot")
    joint = int(query.subject.joint[k])
    frame = query.frame(7)
    assert_allclose(frame.point_m[k], p[joint] + G[joint] @ query.subject.offset_m[k], atol=1e-12)
    assert frame.valid.all() and frame.t_capture_ns == round(7e9 / 60)


def test_variants(query: Query) -> None:
    noise = varied(query, "noise", 2).marker_m - query.marker_m
    assert abs(noise.std() / NOISE_M - 1.0) < 0.05 and abs(noise.mean()) < NOISE_M / 10
    hidden = ~varied(query, "missing", 2).visible
    assert not hidden[0].any() and (hidden[1:].sum(axis=1) == N_HIDDEN).all()
    six = varied(query, "six", 2)
    assert [name for name, shown in zip(query.subject.markers.names, six.visible[3], strict=True) if shown] == list(SIX)
    assert (six.frame(3).point_m[~six.visible[3]] == 0.0).all()
    assert varied(query, "exact", 2) is query
    with pytest.raises(DatabaseError, match="take exact, noise"):
        varied(query, "fog", 2)


def test_variants_are_the_same_for_a_seed_and_differ_between_seeds_and_clips(query: Query) -> None:
    first = varied(query, "noise", 5).marker_m
    assert np.array_equal(first, varied(query, "noise", 5).marker_m)
    assert not np.array_equal(first, varied(query, "noise", 6).marker_m)
    assert not np.array_equal(first, varied(replace(query, stem="other"), "noise", 5).marker_m)


def test_six_markers_need_their_names(query: Query) -> None:
    worn = read_marker_set("dark_room")
    subject = Subject("a", query.subject.skeleton, worn, worn.offset_m, np.zeros(len(worn)), np.array([0.0, 1.0, 0.0]))
    with pytest.raises(DatabaseError, match="left_hand"):
        varied(replace(query, subject=subject), "six", 1)


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_finds_poses_that_the_database_holds(query: Query, examples: Examples, name: str) -> None:
    rotvec, root_m, frame_ms = synthesized(query, examples, SolveSettings(), name)
    errors = errors_of(query, rotvec, root_m)
    limit_mm = {"NN": 1.0, "LWR": 5.0, "average": 25.0, "paper": 5.0, "ours": 4.0}[name]
    assert errors.position_mm.mean() < limit_mm and len(errors.position_mm) == len(query) - 1
    assert frame_ms > 0


def test_the_nearest_neighbour_is_an_example_as_it_is(query: Query, examples: Examples) -> None:
    finder = NearestNeighbour(query.subject, examples, Tuning(neighbours=1, velocity_share=1.0, velocity_gain=1.0))
    for n in range(12):
        joints = finder.step(query.frame(n), query.start if n == 0 else None).joints[1:].ravel()
        away = np.abs(examples.pose - joints).max(axis=1)
        assert away.min() == 0.0 and abs(int(away.argmin()) - n) <= 2


def test_regression_goes_between_examples_where_the_nearest_cannot(clip: Clip, query: Query) -> None:
    sparse = clip_slice(clip, 0, clip.n_frames)
    sparse = replace(sparse, rotvec=np.ascontiguousarray(clip.rotvec[::4]), root_m=np.ascontiguousarray(clip.root_m[::4]))
    examples = examples_for(query.subject, Table([sparse]))
    between = np.arange(len(query)) % 4 == 2
    mm = {}
    for kind in (NearestNeighbour, WeightedRegression):
        finder = kind(query.subject, examples, Tuning(neighbours=1 if kind is NearestNeighbour else 6, ridge_m=0.005))
        poses = [finder.step(query.frame(n), query.start if n == 0 else None) for n in range(len(query))]
        joints = np.array([pose.joints for pose in poses])
        mm[kind] = np.abs(joints[between, 1:] - query.rotvec[between, 1:]).mean()
    assert mm[WeightedRegression] < 0.7 * mm[NearestNeighbour]


def test_hidden_markers_say_nothing(query: Query, examples: Examples) -> None:
    hidden = varied(query, "missing", 3)
    moved = replace(hidden, marker_m=np.where(hidden.visible[..., None], hidden.marker_m, 77.0))
    for name in METHODS:
        one = synthesized(hidden, examples, SolveSettings(), name)
        two = synthesized(moved, examples, SolveSettings(), name)
        assert np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])


def test_errors_are_what_was_done_to_the_poses(query: Query) -> None:
    rotvec, root_m = query.rotvec.copy(), query.root_m + [0.0, 0.003, 0.004]
    errors = errors_of(query, rotvec, root_m)
    assert_allclose(errors.position_mm, 5.0, atol=1e-9)
    assert_allclose(errors.geodesic_deg, 0.0, atol=1e-5)
    assert run_clip(query, _one(query), SolveSettings(), "NN").means()["position_mm"] > 20.0  # all it knows is one pose


def _one(query: Query) -> Examples:
    still = Clip("still", query.subject.skeleton, FPS, np.zeros((1, N_JOINTS, 3)), np.zeros((1, 3)))
    return examples_for(query.subject, Table([still]))


def test_unknown_method(query: Query, examples: Examples) -> None:
    with pytest.raises(DatabaseError, match="'KNN' is no method; take NN, LWR"):
        method("KNN", query.subject, examples, SolveSettings())


def test_figures_are_written(tmp_path: Path, query: Query, examples: Examples) -> None:
    runs = []
    for name, mm, frames in (("LWR", 10.0, 30), ("ours", 4.0, 30), ("LWR", 20.0, 10), ("ours", 8.0, 10)):
        means = {"asf_deg": mm / 4, "component_deg": 2.0, "geodesic_deg": 3.0, "position_mm": mm, "frame_ms": 1.0}
        runs.append(Run(f"c{frames}", "walking", "exact", name, frames, means, np.full(frames, 2.0), np.full(frames, mm)))
    assert behaviour_mean(runs, "walking", "LWR", "position_mm") == 12.5  # frames count alike
    lines = table(runs, "asf_deg")
    assert lines[1].split()[:6] == ["walking", "2", "40", "3.12", "1.25", "0.40"] and "1.30, 0.39" in lines[1]
    files = plot_runs(runs, tmp_path / "figures")
    assert sorted(file.name for file in files) == ["bars_exact.png", "c10_exact.png", "c30_exact.png"]
    assert all(file.read_bytes()[:4] == b"\x89PNG" for file in files)
