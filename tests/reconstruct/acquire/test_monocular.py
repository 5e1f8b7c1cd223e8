"""Acquisition in one view: the T-pose from blobs in any order, some missing, some that are no markers; kernels; doubts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.acquire.monocular import (
    GATE_M,
    AcquiredView,
    ViewAcquirer,
    assign_blobs,
    choose_farthest_rows,
    choose_wide_pairs,
    find_nearest_seen_pose,
    keep_placement,
    score_image_placement,
    search_image_placements,
)
from reconstruct.body_state import BodyState
from reconstruct.search.examples import compute_examples
from tests.support.compiled import limit_examples
from tests.support.people import front_rig, person, t_pose, t_pose_clip, table_of, walk, worn_markers

UP = np.array([0.0, 1.0, 0.0])
SUBJECT = person("all_around", 2)
CAMERA = front_rig().cameras[0]


@pytest.fixture(scope="module")
def acquirer() -> ViewAcquirer:
    other = build_person_skeleton(1.8)
    return ViewAcquirer(SUBJECT, compute_examples(SUBJECT, table_of([walk(other, 5), t_pose_clip(other)])))


def placed(joints: Floats, yaw_rad: float, root_m: Floats) -> Floats:
    """Return the markers of a pose in the world, (M, 3)."""
    local = compute_local_markers(SUBJECT.skeleton, joints[None], SUBJECT.joint, SUBJECT.offset_m)[0]
    return np.asarray(local @ matrix_from_rotvec(yaw_rad * UP).T + root_m)


@limit_examples(20)
@given(seed=st.integers(0, 10_000), yaw=st.floats(-0.5, 0.5), depth=st.floats(-1.5, 1.0), n_missing=st.integers(0, 3))
def test_the_t_pose_is_labelled_and_placed(acquirer: ViewAcquirer, seed: int, yaw: float, depth: float, n_missing: int) -> None:
    """0.3 px of noise, up to three markers hidden, up to two blobs that are no markers, which may cost the trust at worst."""
    rng = np.random.default_rng(seed)
    root = np.array([rng.uniform(-0.3, 0.3), 0.95, depth])
    px = CAMERA.project(placed(t_pose(), yaw, root)) + rng.normal(0.0, 0.3, (14, 2))
    shown = rng.permutation(14)[: 14 - n_missing]
    blobs = np.vstack([px[shown], rng.uniform([0.0, 0.0], [640.0, 480.0], (rng.integers(0, 3), 2))])
    acquirer.forget()
    found = acquirer.acquire(CAMERA, blobs)
    assert found is not None
    right = np.full(14, -1)
    right[shown] = np.arange(len(shown))
    if len(blobs) > 14 - n_missing and not found.trusted:
        return
    taken = found.blob_of_marker[shown]
    assert (taken == right[shown]).mean() >= 0.9, (found.blob_of_marker, right)
    assert (
        np.linalg.norm(found.position_m - root) < 0.10
        and compute_geodesic_rad(found.rotation, matrix_from_rotvec(yaw * UP)) < 0.15
    )


def test_a_clear_t_pose_is_trusted_at_once_and_its_joints_given(acquirer: ViewAcquirer) -> None:
    acquirer.forget()
    found = acquirer.acquire(CAMERA, CAMERA.project(placed(t_pose(), 0.1, np.array([0.1, 0.95, 0.2])))[::-1])
    assert found is not None and found.trusted and found.cost_m < 0.01 and found.margin > 1.5
    assert found.blob_of_marker.tolist() == list(range(14))[::-1]
    assert np.allclose(found.joints, t_pose())


def test_the_last_pose_is_found_again(acquirer: ViewAcquirer) -> None:
    """A pose mid-step and half turned away, 1.5 m from where it was lost."""
    clip = walk(SUBJECT.skeleton, 3)
    markers, _ = worn_markers(SUBJECT, clip.rotvec[40:41], clip.root_m[40:41])
    rotation = matrix_from_rotvec(clip.rotvec[40, 0])
    last = BodyState(0, clip.rotvec[40], rotation, clip.root_m[40])
    moved = markers[0] + [0.8, 0.0, -1.2]
    acquirer.forget()
    found = acquirer.acquire(CAMERA, CAMERA.project(moved), last)
    assert found is not None and found.trusted
    assert found.blob_of_marker.tolist() == list(range(14))
    assert np.linalg.norm(found.position_m - clip.root_m[40] - [0.8, 0.0, -1.2]) < 0.05


def test_few_or_senseless_blobs(acquirer: ViewAcquirer) -> None:
    assert acquirer.acquire(CAMERA, np.zeros((0, 2))) is None
    assert acquirer.acquire(CAMERA, np.full((7, 2), 100.0)) is None
    rng = np.random.default_rng(1)
    for blobs in (np.full((14, 2), 100.0), rng.normal(0.0, 1e6, (14, 2)), rng.uniform(0.0, 480.0, (14, 2))):
        found = acquirer.acquire(CAMERA, blobs)
        assert found is None or (not found.trusted and np.isfinite(found.position_m).all())


def test_trust_grows_with_the_fit_and_the_margin() -> None:
    def found(cost_m: float, margin: float) -> AcquiredView:
        return AcquiredView(np.arange(14), np.eye(3), np.zeros(3), t_pose(), cost_m, margin)

    assert found(0.02, 1.0).trusted and found(0.05, 1.3).trusted
    assert not found(0.05, 1.1).trusted and not found(0.08, 9.0).trusted


def test_assignment_counts_what_is_missing_and_left_over() -> None:
    """Two markers 2 m ahead, one 10 cm beside its blob; the other far from any: 18 cm, or 30 cm with a blob left over."""
    markers = np.array([[0.0, 0.0, 2.0], [1.0, 0.0, 2.0]])
    blob, cost = assign_blobs(np.array([[0.05, 0.0]]), markers, 0.3)
    assert blob.tolist() == [0, -1] and cost == pytest.approx(np.sqrt((0.1**2 + 0.18**2) / 2))
    blob, cost = assign_blobs(np.array([[0.05, 0.0], [-2.0, 0.0]]), markers, 0.3)
    assert blob.tolist() == [0, -1] and cost == pytest.approx(np.sqrt((0.1**2 + 0.3**2) / 2))


def test_score_is_the_plain_mean() -> None:
    rng = np.random.default_rng(2)
    blobs, y, t = rng.uniform(-0.3, 0.3, (5, 2)), rng.normal(0.0, 0.4, (7, 3)), np.array([0.1, -0.1, 3.0])
    x = y + t
    d2 = (x[:, None, 2] ** 2) * ((x[:, None, :2] / x[:, None, 2:] - blobs[None]) ** 2).sum(axis=2)
    wanted = np.minimum(d2, 0.04).min(axis=1).mean() + np.minimum(d2, 0.04).min(axis=0).mean()
    assert 0.0 < wanted < 0.08
    assert score_image_placement(blobs, y, t, 0.04, np.empty(5)) == pytest.approx(wanted)


def test_the_best_are_kept_one_for_each_body() -> None:
    best, kept = np.full(2, np.inf), np.full((2, 4), -1.0)
    for score, number in ((0.5, 0), (0.3, 1), (0.4, 0), (0.6, 0), (0.2, 2), (0.35, 0)):
        keep_placement(score, number, np.array([score, 2.0, 3.0]), best, kept)
    order = np.argsort(best)
    np.testing.assert_allclose(best[order], [0.2, 0.3])
    np.testing.assert_allclose(kept[order], [[2.0, 0.2, 2.0, 3.0], [1.0, 0.3, 2.0, 3.0]])


@pytest.mark.parametrize("seed", range(3))
def test_the_body_that_is_seen_is_placed_where_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bodies, t = rng.normal(0.0, 0.4, (4, 6, 3)), np.array([0.3, -0.2, 3.5])
    seen = bodies[2] + t
    blobs = rng.permutation(seen[:, :2] / seen[:, 2:])
    pairs, best, kept = choose_wide_pairs(bodies, 4), np.full(3, np.inf), np.zeros((3, 4))
    search_image_placements(blobs, bodies, pairs, np.array([1.0, 8.0]), 0.05, best, kept)
    first = int(np.argmin(best))
    assert best[first] < 1e-12
    np.testing.assert_allclose(kept[first], [2.0, *t], atol=1e-6)


def test_the_nearest_pose_is_told_whatever_its_turn() -> None:
    rng = np.random.default_rng(7)
    bodies, R, t = rng.normal(0.0, 0.4, (5, 6, 3)), matrix_from_rotvec(np.array([0.2, 0.9, -0.3])), np.array([0.1, 0.2, 4.0])
    seen = bodies[3] @ R.T + t
    assert find_nearest_seen_pose(seen[:, :2] / seen[:, 2:], bodies, R, t, GATE_M**2) == 3
    assert find_nearest_seen_pose(seen[:, :2] / seen[:, 2:], bodies, R, np.array([0.0, 0.0, -9.0]), GATE_M**2) == -1


def test_diverse_rows_and_wide_pairs_by_hand() -> None:
    assert choose_farthest_rows(np.array([[0.0], [1.0], [10.0], [4.0]]), 3).tolist() == [0, 2, 3]
    assert len(choose_farthest_rows(np.zeros((2, 1)), 5)) == 2
    markers = np.array([[[0.0, 0, 0], [1.0, 0, 0], [5.0, 0, 0], [5.5, 0, 0]]])
    assert choose_wide_pairs(markers, 3).tolist() == [[0, 3], [0, 2], [1, 3]]
