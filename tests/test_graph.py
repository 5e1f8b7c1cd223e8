"""The neighbour graph against brute force, and what becomes of it when clips are added."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from config.errors import DatabaseError
from database.graph import Graph
from database.graph_build import JOINT_ANGLES, LIMIT_STEP_RAD, UNIT_RAD, build_graph, extended, limit_rad

pytestmark = pytest.mark.kernels
Rotations = NDArray[np.float32]
Starts = NDArray[np.int64]


def motion(lengths: list[int], seed: int, step: float = 0.25, joints: int = 4) -> tuple[Rotations, Starts]:
    """Give random walks from a few common places, with some poses held; the root turns wildly."""
    rng = np.random.default_rng(seed)
    places = rng.normal(0.0, 0.4, (2, joints, 3))
    clips = []
    for n in lengths:
        steps = rng.normal(0.0, step, (n, joints, 3)) * rng.integers(0, 2, (n, 1, 1))
        clips.append(places[rng.integers(2)] + np.cumsum(steps, axis=0))
    rotvec = np.concatenate(clips)
    rotvec = np.clip(rotvec, -3.0, 3.0)
    rotvec[:, 0] = rng.normal(0.0, 1.0, (len(rotvec), 3))
    return rotvec.astype(np.float32), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def balls(rotvec: Rotations, radius_rad: float) -> list[set[int]]:
    """Give all other poses under the limit, by brute force on the rounded coordinates."""
    units = np.rint(rotvec[:, 1:].reshape(len(rotvec), -1).astype(np.float64) / UNIT_RAD).astype(np.int64)
    distance = np.abs(units[:, None] - units[None]).sum(axis=2)
    inside = distance < round(radius_rad / UNIT_RAD)
    return [set(np.flatnonzero(row).tolist()) - {n} for n, row in enumerate(inside)]


def beside(clip_start: Starts) -> list[set[int]]:
    """Give the poses before and after each in its clip."""
    clips = pairwise(clip_start.tolist())
    return [{m for m in (n - 1, n + 1) if first <= m < stop} for first, stop in clips for n in range(first, stop)]


def rows(graph: Graph) -> list[list[int]]:
    """Give the neighbours of every pose."""
    return [graph.of(n).tolist() for n in range(graph.n_poses)]


def same(one: Graph, other: Graph) -> bool:
    """Tell whether two graphs are equal in all they hold."""
    rule = (one.radius_rad, one.degree, one.seed) == (other.radius_rad, other.degree, other.seed)
    rows = np.array_equal(one.start, other.start) and np.array_equal(one.neighbour, other.neighbour)
    return rule and rows and np.array_equal(one.ball, other.ball)


@given(st.lists(st.integers(1, 14), min_size=1, max_size=4), st.integers(0, 99), st.sampled_from([6.0, 60.0, 120.0]))
def test_with_room_for_all_the_rows_are_the_balls_and_the_poses_beside(lengths: list[int], seed: int, fps: float) -> None:
    rotvec, clip_start = motion(lengths, seed)
    graph = build_graph(rotvec, clip_start, fps=fps, degree=len(rotvec))
    expected = balls(rotvec, graph.radius_rad)
    assert graph.ball.tolist() == [len(ball) for ball in expected]
    assert rows(graph) == [sorted(ball | near) for ball, near in zip(expected, beside(clip_start), strict=True)]


@given(st.lists(st.integers(1, 14), min_size=1, max_size=4), st.integers(0, 99), st.integers(0, 5))
def test_rows_are_samples_of_the_balls(lengths: list[int], seed: int, degree: int) -> None:
    rotvec, clip_start = motion(lengths, seed)
    graph = build_graph(rotvec, clip_start, fps=60.0, degree=degree)
    for row, ball, near in zip(rows(graph), balls(rotvec, graph.radius_rad), beside(clip_start), strict=True):
        assert near <= set(row) <= ball | near
        assert row == sorted(set(row))
        assert len(row) == len(near) + min(degree, len(ball - near))


@given(st.lists(st.integers(1, 12), min_size=2, max_size=4), st.integers(0, 99), st.data())
def test_extended_is_the_same_as_built_anew(lengths: list[int], seed: int, data: st.DataObject) -> None:
    rotvec, clip_start = motion(lengths, seed)
    cut = data.draw(st.integers(1, len(lengths) - 1))
    old_n, eps_rad = int(clip_start[cut]), math.radians(data.draw(st.sampled_from([1.0, 6.0])))
    anew = build_graph(rotvec, clip_start, fps=60.0, eps_rad=eps_rad, degree=3, seed=5)
    old = build_graph(rotvec[:old_n], clip_start[: cut + 1], fps=60.0, eps_rad=eps_rad, degree=3, seed=5)
    assert same(extended(old, rotvec, clip_start, fps=60.0), anew)


def test_old_poses_are_not_compared_again() -> None:
    # What the stored graph says of old poses is believed: a row emptied on purpose stays without old partners.
    rotvec, clip_start = motion([9, 8, 7], 3, step=0.01)
    old = build_graph(rotvec[:17], clip_start[:3], fps=60.0, degree=40)
    none = Graph(np.zeros(18, np.int64), np.zeros(0, np.int32), np.zeros(17, np.int32), old.radius_rad, 40, 0)
    grown = extended(none, rotvec, clip_start, fps=60.0)
    near = beside(clip_start)
    assert all(set(row) - near[n] <= set(range(17, 24)) for n, row in enumerate(rows(grown)[:17]))
    assert grown.ball[:17].max() <= 7 and rows(grown)[17:] == rows(build_graph(rotvec, clip_start, fps=60.0, degree=40))[17:]


def test_a_graph_that_ends_within_a_clip_is_refused() -> None:
    rotvec, clip_start = motion([9, 8], 3)
    old = build_graph(rotvec[:5], np.array([0, 5]), fps=60.0)
    with pytest.raises(DatabaseError, match="pose 5, in the middle of a clip"):
        extended(old, rotvec, clip_start, fps=60.0)


def test_identical_poses_are_all_joined() -> None:
    rotvec = np.full((30, 4, 3), 0.3, np.float32)
    graph = build_graph(rotvec, np.array([0, 20, 30]), fps=60.0, degree=4)
    assert graph.ball.tolist() == [29] * 30
    assert {len(row) for row in rows(graph)} == {5, 6}
    assert graph.radius_rad == pytest.approx(math.radians(3.0 * JOINT_ANGLES), abs=1e-6)


def test_a_single_pose_has_no_neighbours() -> None:
    graph = build_graph(np.zeros((1, 4, 3), np.float32), np.array([0, 1]), fps=60.0)
    assert graph.start.tolist() == [0, 0] and len(graph.neighbour) == 0 and graph.ball.tolist() == [0]


def test_clips_out_of_reach_are_joined_by_time_alone() -> None:
    rotvec = np.zeros((4, 4, 3), np.float32)
    rotvec[:, 2] = [[0, 0, 0], [-3, -3, 3], [3, 3, 3], [3, -3, -3]]
    graph = build_graph(rotvec, np.array([0, 2, 4]), fps=60.0)
    assert graph.ball.tolist() == [0] * 4 and rows(graph) == [[1], [0], [3], [2]]


def test_the_root_does_not_count() -> None:
    rotvec, clip_start = motion([12, 9], 8)
    turned = rotvec.copy()
    turned[:, 0] = 0.0
    assert same(build_graph(rotvec, clip_start, fps=60.0), build_graph(turned, clip_start, fps=60.0))


def test_every_partner_is_as_likely_and_the_seed_decides() -> None:
    rotvec = np.zeros((41, 4, 3), np.float32)
    clip_start = np.arange(42, dtype=np.int64)  # clips of one pose: nobody is beside anybody
    drawn = np.zeros(41, np.int64)
    for seed in range(20):
        graph = build_graph(rotvec, clip_start, fps=60.0, degree=8, seed=seed)
        drawn += np.bincount(graph.neighbour, minlength=41)
    assert same(graph, build_graph(rotvec, clip_start, fps=60.0, degree=8, seed=19))
    assert rows(graph) != rows(build_graph(rotvec, clip_start, fps=60.0, degree=8, seed=18))
    # Each is drawn with probability 8 / 40 in 40 rows of 20 graphs: 160 +- 11.
    assert abs(drawn - 160).max() < 4.5 * math.sqrt(40 * 20 * 0.2 * 0.8)
    first = np.bincount(graph.of(0), minlength=41)
    assert any(not np.array_equal(first, np.bincount(graph.of(n), minlength=41)) for n in range(1, 41))


def test_limit_is_the_speed_of_the_motion_for_a_frame_of_the_camera() -> None:
    # 2000 steps of 0.1 rad in each of 6 coordinates: 0.6 rad at 120 Hz, 1.2 rad in a frame of 60 Hz, 1.49 degrees a joint angle.
    rotvec = np.zeros((2001, 3, 3), np.float32)
    rotvec[1::2, 1:] = 0.1
    clip_start = np.array([0, 2001])
    per_angle = limit_rad(rotvec, clip_start, 120.0, 60.0, eps_rad=0.0) / JOINT_ANGLES
    assert per_angle == pytest.approx(math.radians(1.5))
    assert limit_rad(rotvec, clip_start, 60.0, 60.0, eps_rad=0.0) / JOINT_ANGLES == pytest.approx(math.radians(0.75))
    assert limit_rad(rotvec, clip_start, 120.0, 60.0) / JOINT_ANGLES == pytest.approx(math.radians(3.0))
    # One frame that jumps away and back, and the jump from clip to clip, do not count; four such jumps do.
    jumping = rotvec.copy()
    jumping[1000, 1:] = 2.0
    assert limit_rad(jumping, clip_start, 120.0, 60.0, eps_rad=0.0) / JOINT_ANGLES == pytest.approx(math.radians(1.5))
    apart = rotvec + np.where(np.arange(2001) < 700, 0.0, 2.0)[:, None, None].astype(np.float32)
    assert limit_rad(apart, np.array([0, 700, 2001]), 120.0, 60.0, eps_rad=0.0) / JOINT_ANGLES == pytest.approx(math.radians(1.5))
    jumping[[200, 400, 600, 800], 1:] = 2.0
    assert limit_rad(jumping, clip_start, 120.0, 60.0, eps_rad=0.0) > 2 * 6 * 1.8 - LIMIT_STEP_RAD * JOINT_ANGLES


def test_what_is_no_rotation_vector_is_refused() -> None:
    for bad in (8.0, np.nan):
        rotvec = np.zeros((3, 4, 3), np.float32)
        rotvec[1, 2, 0] = bad
        with pytest.raises(DatabaseError, match="a part of"):
            build_graph(rotvec, np.array([0, 3]), fps=60.0)


def test_many_spans_on_threads_and_progress() -> None:
    rotvec, clip_start = motion([260, 300], 2, step=0.05, joints=3)
    seen: list[tuple[int, int]] = []
    graph = build_graph(rotvec, clip_start, fps=6.0, progress=lambda done, total, _what: seen.append((done, total)))
    assert len(seen) > 16 and seen[-1] == (560, 560) and seen == sorted(seen)
    assert graph.ball.tolist() == [len(ball) for ball in balls(rotvec, graph.radius_rad)]
