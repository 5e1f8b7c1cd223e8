"""Matching two views of a body: against truth, against every possible assignment, and with what is missing or false."""

import dataclasses
import itertools

import numpy as np
import pytest
from numpy.typing import ArrayLike

from calibration.camera import Rig
from capture.packets import Blobs, Points, Views
from capture.stereo.candidates import UNPAIRED
from capture.stereo.matching import assign_candidates, match
from config.arrays import Floats
from config.settings import MatchSettings
from tests.support.rigs import synthetic_rig

SETTINGS = MatchSettings()
BODY = np.array(
    [
        [0.21, 1.45, 0.05], [-0.19, 1.46, 0.03], [0.02, 1.38, 0.13], [0.52, 1.41, 0.08], [-0.55, 1.37, 0.02], [0.11, 1.02, 0.12],
        [0.0, 1.0, 0.15], [-0.1, 1.03, 0.11], [0.13, 0.55, 0.09], [-0.12, 0.52, 0.11], [0.15, 0.12, 0.06], [-0.14, 0.1, 0.02],
        [0.16, 0.03, 0.2], [-0.17, 0.05, 0.17],
    ]
)  # fmt: skip


def rig() -> Rig:
    """Two cameras side by side, 0.4 m apart: many markers share an epipolar line."""
    return synthetic_rig((-0.2, 1.1, 4.0), (0.2, 1.15, 4.05), (0.0, 0.9, 0.0), (640, 480), 0.8, (-0.03, 0.4, 0.001, -0.002, -1.9))


def blobs(camera: int, points_px: ArrayLike, t_ns: int = 0, color: ArrayLike = (200.0, 190.0, 180.0)) -> Blobs:
    px = np.array(points_px, float).reshape(-1, 2)
    n = len(px)
    return Blobs(camera, 0, t_ns, px, np.full(n, 30.0), np.array(np.broadcast_to(color, (n, 3)), float), np.full(n, 0.15))


def views(
    rig: Rig, points_m: Floats, noise_px: float = 0.0, seed: int = 0, skew_ns: int = 0, color: ArrayLike = (200.0, 190.0, 180.0)
) -> tuple[Views, Floats]:
    """Return both views in shuffled order, and for each left blob the right one that is the same marker."""
    random = np.random.default_rng(seed)
    orders = [random.permutation(len(points_m)) for _ in range(2)]
    colors = np.broadcast_to(color, (len(points_m), 3))
    seen = [
        blobs(
            side, camera.project(points_m[order]) + random.normal(0.0, noise_px, (len(order), 2)), side * skew_ns, colors[order]
        )
        for side, (camera, order) in enumerate(zip(rig.cameras, orders, strict=True))
    ]
    return Views(tuple(seen)), np.argsort(orders[1])[orders[0]]


def share_right(points: Points, partner: Floats) -> float:
    """Return the share of all left blobs matched to their true partner; wrong matches must not exist beside."""
    return float(np.sum(points.blob[1] == partner[points.blob[0]])) / len(partner)


def test_all_markers_of_a_body_without_any_hint() -> None:
    pair, partner = views(rig(), BODY, 0.2)
    points = match(pair, rig(), SETTINGS)
    assert share_right(points, partner) == 1.0
    assert len(points.single[0]) == len(points.single[1]) == 0
    assert points.epipolar_px.max() < 1.5
    order = np.argmin(np.linalg.norm(BODY[:, None] - points.point_m[None], axis=2), axis=1)
    error = points.point_m[order] - BODY
    sigma = np.sqrt(np.diagonal(points.covariance_m2[order], axis1=1, axis2=2))
    assert np.abs(error / sigma).max() < 6.0
    assert np.linalg.norm(error, axis=1).max() < 0.04


def test_a_body_at_the_edge_of_fisheyes() -> None:
    """There an ideal pixel is a fraction of a raw one, and all tolerances are in raw pixels."""
    lens = (-0.02, 0.006, -0.003, 0.0005)
    plain = synthetic_rig((-0.3, 1.1, 2.4), (0.3, 1.15, 2.45), (2.4, 0.9, 0.0), (1280, 960), np.radians(92.7), lens)
    wide = Rig(tuple(dataclasses.replace(camera, fisheye=True) for camera in plain.cameras))  # 120 degrees across
    assert all(np.degrees(np.arctan(np.abs(camera.undistort(camera.project(BODY))))).max() > 45.0 for camera in wide.cameras)
    pair, partner = views(wide, BODY, 0.2)
    points = match(pair, wide, SETTINGS)
    assert share_right(points, partner) == 1.0
    assert points.epipolar_px.max() < 1.5


@pytest.mark.parametrize("seed", range(5))
def test_prediction_decides_where_lines_are_crowded(seed: int) -> None:
    """With 1.5 px noise epipolar lines confuse markers of one height; predictions 3 cm off settle it."""
    pair, partner = views(rig(), BODY, 1.5, seed)
    predicted = BODY + np.random.default_rng(seed).normal(0.0, 0.02, BODY.shape)
    assert share_right(match(pair, rig(), SETTINGS, predicted), partner) == 1.0


def test_wrong_prediction_does_not_stop_matching() -> None:
    pair, partner = views(rig(), BODY, 0.2)
    points = match(pair, rig(), SETTINGS, BODY + [1.0, 0.0, 0.0])
    assert share_right(points, partner) >= 13 / 14


def test_marker_unseen_in_one_view_stays_single_and_reflections_too() -> None:
    pair, partner = views(rig(), BODY, 0.1, seed=3)
    hidden, kept = 4, np.delete(np.arange(14), 4)
    left = np.concatenate([pair[0].points_px[kept], [[15.0, 17.0]]])
    points = match(Views((blobs(0, left), pair[1])), rig(), SETTINGS)
    assert points.single[0].tolist() == [13]
    assert points.single[1].tolist() == [partner[hidden]]
    assert (points.blob[1] == partner[kept[points.blob[0]]]).all()


def test_colour_decides_between_markers_on_one_line() -> None:
    """Two markers whose four possible points all lie within the body: only colour tells the true ones."""
    camera = synthetic_rig((-0.2, 1.1, 4.0), (0.2, 1.1, 4.0), (0.0, 1.1, 0.0))
    true = np.array([[0.03, 1.1, 0.02], [-0.01, 1.1, 0.0]])
    colors = np.array([[220.0, 30.0, 30.0], [30.0, 220.0, 30.0]])
    pair, partner = views(camera, true, 0.0, seed=1, color=colors)
    assert share_right(match(pair, camera, SETTINGS), partner) == 1.0
    swapped = dataclasses.replace(pair[1], color_rgb=pair[1].color_rgb[::-1].copy())
    crossed = match(Views((pair[0], swapped)), camera, SETTINGS)
    assert (crossed.blob[1] != partner[crossed.blob[0]]).all()


def test_brightness_does_not_matter() -> None:
    pair, partner = views(rig(), BODY, 0.1)
    dim = dataclasses.replace(pair[1], color_rgb=pair[1].color_rgb * 0.4)
    assert share_right(match(Views((pair[0], dim)), rig(), SETTINGS), partner) == 1.0


def test_tolerance_grows_with_the_skew() -> None:
    camera = rig()
    marker = np.array([[0.0, 1.0, 0.1]])
    left, right = camera.cameras[0].project(marker), camera.cameras[1].project(marker) + [0.0, 9.5]
    together = match(Views((blobs(0, left), blobs(1, right))), camera, SETTINGS)
    apart = match(Views((blobs(0, left), blobs(1, right, 30_000_000))), camera, SETTINGS)
    assert (len(together.point_m), len(apart.point_m)) == (0, 1)
    assert 8.0 < apart.epipolar_px[0] < 8.0 + 0.03 * SETTINGS.skew_px_s


def test_points_behind_or_far_away_are_no_candidates() -> None:
    camera = rig()
    marker = np.array([[0.02, 1.1, 2.4]])
    left, right = camera.cameras[0].project(marker), camera.cameras[1].project(marker)
    assert len(match(Views((blobs(0, left), blobs(1, right))), camera, SETTINGS).point_m) == 1
    swapped = match(Views((blobs(0, right), blobs(1, left))), camera, SETTINGS)
    assert len(swapped.point_m) == 0
    assert swapped.single[0].tolist() == swapped.single[1].tolist() == [0]
    near = match(Views((blobs(0, left), blobs(1, right))), camera, dataclasses.replace(SETTINGS, max_depth_m=1.0))
    assert len(near.point_m) == 0


@pytest.mark.parametrize(("n_left", "n_right"), [(0, 0), (0, 3), (2, 0)])
def test_empty_views(n_left: int, n_right: int) -> None:
    pair = Views((blobs(0, np.full((n_left, 2), 100.0)), blobs(1, np.full((n_right, 2), 50.0))))
    points = match(pair, rig(), SETTINGS)
    assert points.point_m.shape == (0, 3)
    assert points.covariance_m2.shape == (0, 3, 3)
    assert points.single[0].tolist() == list(range(n_left))
    assert points.single[1].tolist() == list(range(n_right))


def cheapest_by_trying_all(cost: dict[tuple[int, int], float], n_left: int, n_right: int) -> float:
    """Return the least total cost over all partial assignments."""
    best = float("inf")
    for partners in itertools.product(range(-1, n_right), repeat=n_left):
        used = [p for p in partners if p >= 0]
        if len(set(used)) < len(used) or any(p >= 0 and (i, p) not in cost for i, p in enumerate(partners)):
            continue
        singles = (n_left - len(used)) + (n_right - len(used))
        best = min(best, sum(cost[i, p] for i, p in enumerate(partners) if p >= 0) + 0.5 * UNPAIRED * singles)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_assignment_against_trying_all(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_left, n_right = int(random.integers(1, 5)), int(random.integers(1, 5))
    i, j = np.nonzero(random.random((n_left, n_right)) < 0.7)
    cost = random.uniform(0.0, 1.5 * UNPAIRED, len(i))
    chosen = assign_candidates(i, j, cost, n_left, n_right)
    assert len(set(i[chosen])) == len(set(j[chosen])) == len(chosen)
    total = cost[chosen].sum() + 0.5 * UNPAIRED * (n_left + n_right - 2 * len(chosen))
    expected = cheapest_by_trying_all({(int(a), int(b)): float(c) for a, b, c in zip(i, j, cost, strict=True)}, n_left, n_right)
    assert total == pytest.approx(expected)
