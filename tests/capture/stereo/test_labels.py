"""Labels: permuted points, lone views, markers that come back, markers that pass each other."""

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import MarkerFrame, Points, Views
from capture.stereo.labels import ExpectedMarkers, frame_of_view, label, labelled_points, marker_frame
from capture.stereo.matching import match
from config.arrays import Floats
from config.settings import LabelSettings, MatchSettings
from tests.support.people import blobs_of, front_rig, seen_pair

BODY = np.array(
    [
        [0.2, 1.4, 0.05], [-0.19, 1.42, 0.0], [0.03, 1.3, 0.14], [0.55, 1.0, 0.1], [-0.5, 1.1, 0.2], [0.1, 0.5, 0.1],
        [-0.12, 0.45, 0.0],
    ]
)  # fmt: skip
TIGHT = 0.035


@pytest.fixture(scope="module")
def rig() -> Rig:
    return front_rig()


def labelled(rig: Rig, pair: Views, predicted: Floats, sigma_m: float | Floats = TIGHT) -> MarkerFrame:
    """Match and label one pair."""
    expected = ExpectedMarkers(predicted, np.broadcast_to(np.asarray(sigma_m, float), (len(predicted),)).copy())
    return label(pair, match(pair, rig, MatchSettings(), predicted), rig, expected)


@pytest.mark.parametrize("seed", range(6))
def test_permuted_points_get_their_labels(rig: Rig, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = labelled(rig, seen_pair(rig, 3, BODY, 0.3, rng), BODY + rng.normal(0.0, 0.02, BODY.shape))
    assert frame.valid.all() and frame.seen.all() and len(frame.extra_m) == 0
    # 0.3 px at 4.6 m and f = 686 px is 2 mm across; in depth 4.6 times that, as the base line is 1 m.
    assert np.linalg.norm(frame.point_m - BODY, axis=1).max() < 0.04
    for c, camera in enumerate(rig.cameras):
        assert np.abs(frame.image_px[c] - camera.project(BODY)).max() < 1.5
    assert np.all(frame.sigma_px == 0.3) and frame.index == 3


@pytest.mark.parametrize("blind", [0, 1])
def test_a_marker_of_one_camera_becomes_a_2d_observation(rig: Rig, blind: int) -> None:
    rng = np.random.default_rng(7)
    hidden = ([4], []) if blind == 0 else ([], [4])
    frame = labelled(rig, seen_pair(rig, 0, BODY, 0.2, rng, hidden), BODY + 0.01)
    others = np.arange(len(BODY)) != 4
    assert frame.valid.tolist() == others.tolist()
    assert not frame.seen[blind, 4] and frame.seen[1 - blind, 4] and frame.seen[:, others].all()
    assert np.abs(frame.image_px[1 - blind, 4] - rig.cameras[1 - blind].project(BODY[4])).max() < 1.0
    assert not frame.point_m[4].any() and not frame.covariance_m2[4].any() and not frame.image_px[blind, 4].any()


def test_a_stranger_gets_no_label(rig: Rig) -> None:
    """A reflection where no marker is missing stays extra; near a marker's place but farther than the marker too."""
    rng = np.random.default_rng(2)
    strangers = np.array([[0.9, 1.6, -0.3], BODY[5] + [0.09, 0.05, 0.0]])
    frame = labelled(rig, seen_pair(rig, 0, np.concatenate([BODY, strangers]), 0.2, rng), BODY)
    assert frame.valid.all() and len(frame.extra_m) == 2
    assert np.linalg.norm(frame.point_m - BODY, axis=1).max() < 0.04


def test_gone_for_a_second_and_back(rig: Rig) -> None:
    """Unseen for 60 frames, a marker may be 20 cm from its prediction; it is labelled again, and nothing else takes its name."""
    s = LabelSettings()
    rng = np.random.default_rng(4)
    sigma = np.full(len(BODY), s.sigma_m)
    sigma[3] = min(s.sigma_m + 60 * s.growth_m, s.max_sigma_m)
    predicted = BODY.copy()
    predicted[3] += [0.12, -0.12, 0.1]
    back = labelled(rig, seen_pair(rig, 60, BODY, 0.3, rng), predicted, sigma)
    assert back.valid.all() and np.linalg.norm(back.point_m[3] - BODY[3]) < 0.04
    gone = labelled(rig, seen_pair(rig, 59, BODY, 0.3, rng, ([3], [3])), predicted, sigma)
    assert np.flatnonzero(~gone.valid).tolist() == [3] and not gone.seen[:, 3].any()
    early = labelled(rig, seen_pair(rig, 60, BODY, 0.3, rng), predicted, s.sigma_m)
    assert not early.valid[3] and len(early.extra_m) == 1


@pytest.mark.parametrize("gap_m", [0.04, 0.08])
def test_two_markers_that_pass_each_other(rig: Rig, gap_m: float) -> None:
    """Side by side at 1 m/s each, predicted at constant velocity: the labels go on with their markers."""
    rng = np.random.default_rng(9)
    last: list[Floats] = []
    for k in range(-12, 13):
        body = BODY.copy()
        body[3], body[4] = [k / 60, 1.1, 0.1], [-k / 60, 1.1 + gap_m, 0.12]
        predicted = body if len(last) < 2 else 2 * last[-1] - last[-2]
        frame = labelled(rig, seen_pair(rig, k + 12, body, 0.3, rng), predicted)
        assert frame.valid[[0, 1, 2, 5, 6]].all() and frame.seen.any(axis=0).all()
        for c, camera in enumerate(rig.cameras):
            # Within 5 sigmas of its own place in the image; 4 cm are 6 px.
            error = np.linalg.norm(frame.image_px[c] - camera.project(body), axis=1)
            assert error[frame.seen[c]].max() < 1.5, k
        last.append(body)


def some_points(point_m: Floats, sigma_m: Floats) -> Points:
    """Return points with covariances that are not round: deep along z."""
    n = len(point_m)
    S = sigma_m[:, None, None] ** 2 * np.diag([1.0, 1.0, 25.0])
    none = np.zeros(0, np.int64)
    return Points(point_m, S, np.tile(np.arange(n), (2, 1)), np.zeros(n), (none, none))


def test_depth_may_be_off_where_x_and_y_may_not() -> None:
    """sigma = sqrt(0.035^2 + 0.05^2) = 6.1 cm in depth, 3.6 cm across: the gate of 4 lies at 24 and 15 cm."""
    expected = ExpectedMarkers(np.zeros((1, 3)), np.full(1, 0.035))
    for offset, taken in (([0.0, 0.0, 0.23], 0), ([0.0, 0.0, 0.26], -1), ([0.13, 0.0, 0.0], 0), ([0.16, 0.0, 0.0], -1)):
        assert labelled_points(some_points(np.array([offset]), np.array([0.01])), expected).tolist() == [taken], offset


def test_no_points_no_labels(rig: Rig) -> None:
    pair = Views((blobs_of(0, 0, np.zeros((0, 2))), blobs_of(1, 0, np.zeros((0, 2)))))
    frame = labelled(rig, pair, BODY)
    assert not frame.valid.any() and not frame.seen.any() and len(frame.extra_m) == 0


def test_without_expectation_lone_blobs_stay_unlabelled(rig: Rig) -> None:
    pair = seen_pair(rig, 0, BODY, 0.0, np.random.default_rng(1), ([2], []))
    points = match(pair, rig, MatchSettings())
    frame = marker_frame(pair, points, rig, np.full(len(BODY), -1, np.int64), None)
    assert not frame.seen.any() and len(frame.extra_m) == len(BODY) - 1


def test_blobs_of_one_view_become_a_frame_of_their_own(rig: Rig) -> None:
    """Marker 2 takes blob 0 and marker 0 blob 3; the left view and the other markers stay empty."""
    pair = seen_pair(rig, 4, BODY, 0.0, np.random.default_rng(1))
    frame = frame_of_view(pair, 1, np.array([3, -1, 0, -1, -1, -1, -1]))
    assert not frame.valid.any() and not frame.seen[0].any() and np.flatnonzero(frame.seen[1]).tolist() == [0, 2]
    assert np.array_equal(frame.image_px[1, 0], pair[1].points_px[3]) and not frame.image_px[1, 1].any()
    assert np.array_equal(frame.image_px[1, 2], pair[1].points_px[0])
    assert frame.index == 4 and frame.t_capture_ns == pair.t_capture_ns
