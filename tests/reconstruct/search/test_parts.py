"""A database of several files is searched as one file is, and mirror images that are stored nowhere as stored ones are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from database.builtin import build_person_skeleton
from database.clips import Clip, slice_clip
from database.files.resample import mirror_clip
from database.graph.build import make_graph_deriver
from database.store import PoseDatabase, open_database, write_database, write_parts
from reconstruct.models.local.motion import compute_bend_covariance, compute_example_steps, find_example_ends, find_example_starts
from reconstruct.search import lists
from reconstruct.search.examples import Examples, collect_root_rotvec, compute_examples
from reconstruct.search.exhaustive import Query, find_nearest_examples
from reconstruct.search.index import load_search_index
from tests.support.people import person, walk

pytestmark = pytest.mark.kernels
SUBJECT, COUNT = person(), 25
N_FRAMES, N_CASES, N_STEPS = 500, 40, 12  # of a clip, of a property, of a motion


def turned(clip: Clip, seed: int) -> Clip:
    """Return a motion of which no two poses, and no two sides, are the same, leaning over to one side."""
    rng = np.random.default_rng(seed)
    return replace(clip, name=f"{clip.name}{seed}", rotvec=clip.rotvec + rng.normal(0.0, 0.15, clip.rotvec.shape[1:]))


CLIPS = [slice_clip(turned(walk(build_person_skeleton(1.7), seed), seed), 0, N_FRAMES) for seed in range(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all clips in one file, in three that are one database, and with mirror images stored or not."""
    folder = tmp_path_factory.mktemp("databases")
    write_database(folder / "one.db", CLIPS, derive=make_graph_deriver())
    for k in range(3):
        write_database(folder / f"{k}.db", CLIPS[2 * k : 2 * k + 2], derive=make_graph_deriver())
    parts = [folder / f"{k}.db" for k in range(3)]
    write_parts(folder / "several.db", parts)
    write_parts(folder / "view.db", parts, mirrored=True)
    write_database(folder / "stored.db", [*CLIPS, *map(mirror_clip, CLIPS)], derive=make_graph_deriver())
    return folder


def query_near(examples: Examples, n: int, seed: int) -> Query:
    """Return a query near a pose, one marker unseen and one on a ray."""
    rng, M = np.random.default_rng(seed), len(SUBJECT.markers)
    weight, ray = np.full(M, 4000.0), np.zeros((M, 3))
    weight[seed % M], ray[(seed + 1) % M] = 0.0, [0.0, 0.6, 0.8]
    marker_m = examples.marker_m[n].reshape(M, 3) + rng.normal(0.0, 0.005, (M, 3))
    pose = examples.pose[n] + rng.normal(0.0, 0.02, examples.pose.shape[1])
    return Query(marker_m, weight, pose, rng.uniform(5.0, 60.0, len(pose)), ray)


def assert_same_examples(first: PoseDatabase, second: PoseDatabase) -> tuple[Examples, Examples]:
    """Compare all that is read of examples, and return them."""
    a, b = compute_examples(SUBJECT, first), compute_examples(SUBJECT, second)
    assert len(a) == len(b) and a.pose.shape == b.pose.shape
    for name in ("marker_m", "clip", "up"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    rows = np.random.default_rng(0).integers(0, len(a), 200)
    for key in (rows, slice(None, None, 7), slice(len(a) - 5, None), 0, len(a) - 1):
        assert np.array_equal(a.pose[key], b.pose[key])
    assert np.array_equal(collect_root_rotvec(first), collect_root_rotvec(second))
    starts = find_example_starts(a)
    assert np.array_equal(starts, find_example_starts(b)) and np.array_equal(
        find_example_ends(starts), find_example_ends(find_example_starts(b))
    )
    before = np.maximum(rows - 1, starts[rows])
    steps = [compute_example_steps(each, before, rows, each.pose[rows]) for each in (a, b)]
    np.testing.assert_allclose(steps[0], steps[1], atol=1e-6)
    np.testing.assert_allclose(compute_bend_covariance(a), compute_bend_covariance(b), atol=1e-9)
    return a, b


def test_examples_of_several_files_are_those_of_one(folder: Path) -> None:
    assert_same_examples(open_database(folder / "several.db"), open_database(folder / "one.db"))


def test_examples_of_mirror_images_are_those_of_stored_ones(folder: Path) -> None:
    view = open_database(folder / "view.db")
    examples, _ = assert_same_examples(view, open_database(folder / "stored.db"))
    assert len(examples) == 2 * view.n_poses and examples.n_stored == view.n_poses
    assert not np.allclose(examples.marker_m[: view.n_poses], examples.marker_m[view.n_poses :], atol=0.02)


@settings(max_examples=N_CASES)
@given(st.integers(0, 5999), st.integers(0, 999), st.sampled_from([("several", "one"), ("view", "stored")]))
def test_exhaustive_search_finds_the_same(folder: Path, row: int, seed: int, pair: tuple[str, str]) -> None:
    a, b = (load_search_index(SUBJECT, open_database(folder / f"{name}.db")).examples for name in pair)
    query = query_near(b, row % len(b), seed)
    seeds = np.random.default_rng(seed).integers(0, len(b), 60)
    (rows, found), (expected, exact) = find_nearest_examples(a, query, COUNT), find_nearest_examples(b, query, COUNT)
    np.testing.assert_allclose(found, exact, rtol=1e-5)  # mirrored, the terms are summed in another order
    assert len(np.intersect1d(rows, expected)) >= COUNT - 1
    assert set(find_nearest_examples(a, query, COUNT, seeds)[0].tolist()) == set(rows.tolist())


@pytest.mark.parametrize(("name", "groups_from"), [("several", 10**6), ("view", 10**6), ("view", 1000)])
def test_the_search_from_frame_to_frame_is_near_exact_across_files_and_sides(
    folder: Path, name: str, groups_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where lists are in groups, as in a database of millions."""
    monkeypatch.setattr(lists, "GROUPS_FROM", groups_from)
    index = load_search_index(SUBJECT, open_database(folder / f"{name}.db"))
    search, recalls = index.search(), []
    assert (len(index.lists.group_m) > 0) == (len(index.examples) >= groups_from)
    n = len(index.examples)
    for first in (n // 25, 2 * n // 5, 3 * n // 5, 6 * n // 7):
        for k in range(first, first + N_STEPS):
            query = query_near(index.examples, k, k)
            rows, distances = search.nearest(query, COUNT)
            expected, exact = find_nearest_examples(index.examples, query, COUNT)
            assert len(set(rows.tolist())) == COUNT and (np.diff(distances) >= 0.0).all()
            assert np.sqrt(distances).mean() < 1.02 * np.sqrt(exact).mean()
            recalls.append(len(np.intersect1d(rows, expected)) / COUNT)
    assert np.mean(recalls) > 0.95
    assert search.examined < 0.7 * n
