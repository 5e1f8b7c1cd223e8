"""Associations: costs against numpy, and the labels of a scene."""

import math
from dataclasses import replace

import numpy as np
import pytest

from capture.packets import Views
from capture.stereo.matching import match
from config.arrays import Floats, Ints
from config.settings import LabelSettings, Settings
from numerics.assignment import IMPOSSIBLE
from reconstruct.track.association import (
    GATE2,
    Association,
    ExpectedMarkers,
    Sighting,
    associate,
    compute_point_costs,
)
from tests.support.people import bent_pose, blobs_of, front_rig, person, seen_pair, worn_markers

S = LabelSettings()
SUBJECT, RIG = person("boxing", 1), front_rig()
MARKER_M = worn_markers(SUBJECT, bent_pose(2, 0.3)[None], np.array([[0.0, 1.0, 0.0]]))[0][0]
N = len(MARKER_M)


def expected_at(marker_m: Floats, sigma_m: float, seen: float = 0.9) -> ExpectedMarkers:
    own_m2 = np.tile(sigma_m**2 * np.eye(3), (len(marker_m), 1, 1))
    return ExpectedMarkers(marker_m, independent(own_m2), np.full(len(marker_m), seen))


def independent(own_m2: Floats) -> Floats:
    """Return the covariance (N, 3, N, 3) of markers that know nothing of each other, each with its own, (N, 3, 3)."""
    every, covariance = np.arange(len(own_m2)), np.zeros((len(own_m2), 3, len(own_m2), 3))
    covariance[every, :, every] = own_m2
    return covariance


def test_costs_of_points_are_those_of_normal_densities() -> None:
    """Of the likelier of a marker that is where it is expected and one that strays."""
    rng, points = (
        np.random.default_rng(3),
        match(seen_pair(RIG, 0, MARKER_M, 0.3, np.random.default_rng(0)), RIG, Settings().match),
    )
    half = rng.normal(0.0, 0.05, (N, 3, 3))
    expected = ExpectedMarkers(
        MARKER_M + rng.normal(0.0, 0.02, (N, 3)), independent(half @ np.swapaxes(half, 1, 2)), rng.uniform(0.1, 0.9, N)
    )
    found = compute_point_costs(points, expected, S)
    for m in range(N):
        for p in range(len(points.point_m)):
            C = expected.covariance_m2[m] + points.covariance_m2[p] + S.marker_sigma_m**2 * np.eye(3)
            apart = points.point_m[p] - expected.point_m[m]
            d2 = apart @ np.linalg.solve(C, apart)
            density = 0.5 * (d2 + math.log(np.linalg.det(2.0 * math.pi * C)))
            cost = density - math.log(expected.seen[m]) + math.log(S.false_points_m3)
            near = cost if d2 < GATE2 else IMPOSSIBLE
            C += S.stray_m**2 * np.eye(3)
            d2 = apart @ np.linalg.solve(C, apart)
            stray = cost - density + 0.5 * (d2 + math.log(np.linalg.det(2.0 * math.pi * C))) - math.log(S.stray)
            assert found[m, p] == pytest.approx(min(near, stray if d2 < GATE2 else IMPOSSIBLE), rel=1e-6)


def labels_of(association: Association, views: Views, marker_m: Floats) -> tuple[int, int]:
    """Return how many labels are right and how many wrong, over both views."""
    right = wrong = 0
    for c, camera in enumerate(RIG.cameras):
        off_px = np.linalg.norm(association.frame.image_px[c] - camera.project(marker_m), axis=1)
        seen = association.frame.seen[c]
        right, wrong = right + int((off_px[seen] < 2.0).sum()), wrong + int((off_px[seen] >= 2.0).sum())
    return right, wrong


def associated(views: Views, expected: ExpectedMarkers) -> list[Association]:
    """Return the associations of views."""
    points = match(views, RIG, Settings().match, expected.point_m)
    return associate(Sighting(views, RIG, SUBJECT.markers, S), points, expected)


def test_markers_near_where_they_are_expected_get_their_labels() -> None:
    """One is hidden from one camera and keeps its label in the other; one is gone and nothing else takes its label."""
    hidden = ([0, 3], [3])
    views = seen_pair(RIG, 0, MARKER_M, 0.3, np.random.default_rng(1), hidden)
    best = associated(views, expected_at(MARKER_M + [0.02, 0.0, 0.01], 0.03))[0]
    assert labels_of(best, views, MARKER_M) == (2 * N - 3, 0)
    assert not best.frame.shown[3] and best.frame.seen[:, 0].tolist() == [False, True]


def test_two_markers_that_met_are_labelled_either_way() -> None:
    """Both are expected in the middle, hardly known: two ways are as likely, and each is offered; the others keep theirs."""
    expected = expected_at(MARKER_M, 0.01)
    a, b = SUBJECT.markers.names.index("left_hand"), SUBJECT.markers.names.index("right_hand")
    near = MARKER_M.copy()
    near[b] = near[a] + [0.12, 0.0, 0.0]
    point_m, covariance_m2 = near.copy(), expected.covariance_m2.copy()
    point_m[[a, b]], covariance_m2[[a, b]] = 0.5 * (near[a] + near[b]), 0.1**2 * np.eye(3)
    views = seen_pair(RIG, 0, near, 0.3, np.random.default_rng(2))
    ways = associated(views, replace(expected, point_m=point_m, covariance=independent(covariance_m2)))
    places = [tuple(way.point[[a, b]].tolist()) for way in ways[:2]]
    assert places[0] == places[1][::-1] and -1 not in places[0]
    assert abs(ways[0].likeliness - ways[1].likeliness) < 2.0
    others = np.setdiff1d(np.arange(N), [a, b])
    assert np.array_equal(ways[0].point[others], ways[1].point[others])


def test_nothing_seen_is_one_association_that_costs_what_misses_do() -> None:
    nothing = Views((blobs_of(0, 0, np.zeros((0, 2))), blobs_of(1, 0, np.zeros((0, 2)))))
    ways = associated(nothing, expected_at(MARKER_M, 0.03, seen=0.9))
    assert len(ways) == 1 and not ways[0].frame.shown.any()
    assert ways[0].likeliness == ways[0].cost == pytest.approx(-N * math.log(0.1))


def test_one_view_labels_by_itself() -> None:
    views = Views((seen_pair(RIG, 0, MARKER_M, 0.3, np.random.default_rng(3)).blobs[0], None))
    best = associated(views, expected_at(MARKER_M, 0.03))[0]
    assert labels_of(best, views, MARKER_M) == (N, 0) and not best.frame.any_valid


def _sorted(points: Ints) -> list[int]:
    """Return the points that are used."""
    return sorted(int(p) for p in points if p >= 0)


def test_no_point_is_two_markers() -> None:
    """All are expected at one place: each point is used once at most."""
    views = seen_pair(RIG, 0, MARKER_M, 0.3, np.random.default_rng(4))
    for way in associated(views, expected_at(np.tile(MARKER_M.mean(axis=0), (N, 1)), 0.5)):
        used = _sorted(way.point)
        assert len(set(used)) == len(used)
