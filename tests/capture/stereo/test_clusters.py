"""Matching three views and more: clusters against truth, with markers hidden from some views, false blobs, and without a hint."""

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import Points, Views
from capture.stereo.clusters import BlobPairs, make_blob_table, pack_cameras, score_pairs
from capture.stereo.matching import match
from config.arrays import Bools, Ints
from config.settings import MatchSettings
from tests.capture.stereo.test_matching import BODY, blobs
from tests.support.rigs import synthetic_camera

pytestmark = pytest.mark.kernels
SETTINGS = MatchSettings()
PLACES_M = [(-1.2, 1.1, 3.8), (1.2, 1.15, 3.85), (3.9, 1.4, 0.3), (-0.4, 1.6, -3.9)]
NOISE_PX = 0.2


def rig_of(n: int) -> Rig:
    """Return two cameras in front, one at the side, one behind."""
    cameras = [synthetic_camera(f"cam_{c}", place, (0.0, 0.9, 0.0), (640, 480), 1.0) for c, place in enumerate(PLACES_M[:n])]
    return Rig(tuple(cameras), 0.0, floor_known=True)


def seen_from(rig: Rig, shown: Bools, seed: int, n_false: int = 0) -> tuple[Views, list[Ints]]:
    """Return views of the body in shuffled order with false blobs, and the marker of every blob, -1 for none; shown: (V, M)."""
    rng, views, markers = np.random.default_rng(seed), [], []
    for c, camera in enumerate(rig.cameras):
        marker = np.concatenate([np.flatnonzero(shown[c]), np.full(n_false, -1)])
        true_px = camera.project(BODY[marker]) + rng.normal(0.0, NOISE_PX, (len(marker), 2))
        px = np.where(marker[:, None] >= 0, true_px, rng.uniform((0.0, 0.0), camera.size, true_px.shape))
        order = rng.permutation(len(marker))
        views.append(blobs(c, px[order]))
        markers.append(marker[order])
    return Views(tuple(views)), markers


def count_right(points: Points, markers: list[Ints]) -> tuple[int, int]:
    """Return how many clusters have blobs of one marker alone, and how many have not."""
    right = 0
    for blob in points.blob.T:
        of = {int(markers[c][b]) for c, b in enumerate(blob) if b >= 0}
        right += len(of) == 1 and -1 not in of
    return right, len(points.point_m) - right


@pytest.mark.parametrize("n", [3, 4])
def test_all_markers_of_a_body_without_any_hint(n: int) -> None:
    """Nearer to the truth than by two cameras 2.4 m apart, and no false cluster."""
    rig = rig_of(n)
    views, markers = seen_from(rig, np.ones((n, len(BODY)), bool), 1)
    points = match(views, rig, SETTINGS)
    assert count_right(points, markers) == (len(BODY), 0)
    assert (points.blob >= 0).all() and all(len(single) == 0 for single in points.single)
    marker = markers[0][points.blob[0]]
    error_m = points.point_m - BODY[marker]
    sigma_m = np.sqrt(np.diagonal(points.covariance_m2, axis1=1, axis2=2))
    assert np.abs(error_m / sigma_m).max() < 6.0 and np.linalg.norm(error_m, axis=1).max() < 0.006


@pytest.mark.parametrize("n_false", [0, 4])
@pytest.mark.parametrize(("hint", "least", "most"), [(True, 0.9, 0.1), (False, 0.8, 0.16)])
def test_markers_hidden_in_each_view_by_itself(hint: bool, least: float, most: float, n_false: int) -> None:
    """A third hidden in each of four views, and false blobs in each: most of what two views see or more is found."""
    rig, expected = rig_of(4), BODY + np.random.default_rng(0).normal(0.0, 0.02, BODY.shape)
    right = wrong = due = 0
    for seed in range(20):
        shown = np.random.default_rng(100 + seed).random((4, len(BODY))) > 0.35
        views, markers = seen_from(rig, shown, seed, n_false)
        found = count_right(match(views, rig, SETTINGS, expected if hint else None), markers)
        right, wrong, due = right + found[0], wrong + found[1], due + int((shown.sum(axis=0) > 1).sum())
    assert right > least * due
    assert wrong - 20 * 2 * (n_false > 0) < most * due  # false blobs pair with each other


def test_a_view_that_is_absent_is_no_view() -> None:
    """Four cameras of which two send are the same two cameras alone."""
    rig = rig_of(4)
    views, _ = seen_from(rig, np.ones((4, len(BODY)), bool), 3)
    absent = match(Views((views.blobs[0], None, views.blobs[2], None)), rig, SETTINGS, BODY)
    lone = match(Views((views.blobs[0], views.blobs[2])), Rig((rig.cameras[0], rig.cameras[2])), SETTINGS, BODY)
    np.testing.assert_array_equal(absent.point_m, lone.point_m)
    np.testing.assert_array_equal(absent.blob[[0, 2]], lone.blob)
    assert (absent.blob[[1, 3]] == -1).all()


@pytest.mark.parametrize("turn_deg", [-35.0, 15.0, 25.0, 40.0])
def test_level_arms_at_the_height_of_the_cameras(turn_deg: float) -> None:
    """Their images lie on one epipolar line in all views: only the places along it tell the markers apart."""
    places_m = [(-0.5, 1.3, 6.0), (0.5, 1.3, 6.0), (7.0, 1.3, 0.0)]
    cameras = [synthetic_camera(f"cam_{c}", place, (0.0, 1.3, 0.0), (640, 480), 1.0) for c, place in enumerate(places_m)]
    along = np.radians(turn_deg)
    arms_m = np.array([[x * np.cos(along), 1.3, -x * np.sin(along)] for x in (-0.7, -0.45, -0.19, 0.17, 0.43, 0.71)])
    rng = np.random.default_rng(0)
    views = Views(tuple(blobs(c, camera.project(arms_m) + rng.normal(0.0, 0.1, (6, 2))) for c, camera in enumerate(cameras)))
    points = match(views, Rig(tuple(cameras), 0.0, floor_known=True), SETTINGS)
    assert (points.blob == points.blob[0]).all() and points.blob.shape == (3, 6)


def test_a_pair_costs_less_where_other_views_confirm_it() -> None:
    """Blobs 0, 1, 2, 3 of four cameras see one point, all paired but 2 and 3; blob 4 is one more of the last camera, paired with
    0 alone, and so is blob 5 with 0 and 1, far from the point's image.
    """
    rig, first, second = rig_of(4), np.array([0, 0, 0, 1, 1, 0, 0, 1]), np.array([1, 2, 3, 2, 3, 4, 5, 5])
    cost, point_m = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 0.5, 0.5]), np.array([0.1, 1.0, 0.2])
    px = [camera.project(point_m) for camera in rig.cameras]
    seen = [blobs(c, np.stack([px[c]] if c < 3 else [px[c], px[c], px[c] + (0.0, 200.0)])) for c in range(4)]
    edges = BlobPairs(first, second, np.zeros(8), np.tile(point_m, (8, 1)), np.tile(1e-6 * np.eye(3), (8, 1, 1)), cost)
    score = np.empty(8)
    score_pairs(pack_cameras(list(rig.cameras)), make_blob_table(seen, list(rig.cameras)), edges, 8.0, 0.8, score)
    np.testing.assert_allclose(score[:6], [1 - 2 - 0, 2 - 3, 3 - 2, 4 - 5, 5 - 4, 1], atol=1e-9)
