"""Frames of labelled points and of blobs of one view."""

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import Views
from capture.stereo.marker_frames import build_marker_frame, frame_from_view
from capture.stereo.matching import match
from config.settings import MatchSettings
from tests.support.people import blobs_of, front_rig, seen_pair

BODY = np.array(
    [
        [0.2, 1.4, 0.05], [-0.19, 1.42, 0.0], [0.03, 1.3, 0.14], [0.55, 1.0, 0.1], [-0.5, 1.1, 0.2], [0.1, 0.5, 0.1],
        [-0.12, 0.45, 0.0],
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def rig() -> Rig:
    return front_rig()


def test_points_become_markers_with_the_blobs_they_are_of(rig: Rig) -> None:
    """Permuted points take the labels they are given; those left over are extra, a marker without one is not seen."""
    pair = seen_pair(rig, 3, BODY, 0.0, np.random.default_rng(5))
    points = match(pair, rig, MatchSettings())
    choice = np.array([int(np.argmin(np.linalg.norm(points.point_m - marker_m, axis=1))) for marker_m in BODY])
    choice[4] = -1
    frame, others = build_marker_frame(pair, points, choice), np.arange(len(BODY)) != 4
    assert frame.valid.tolist() == others.tolist() == frame.seen[0].tolist() == frame.seen[1].tolist() and frame.index == 3
    np.testing.assert_allclose(frame.point_m[others], BODY[others], atol=1e-3)
    for c, camera in enumerate(rig.cameras):
        np.testing.assert_allclose(frame.image_px[c, others], camera.project(BODY[others]), atol=1e-6)
    assert not frame.point_m[4].any() and not frame.covariance_m2[4].any() and not frame.image_px[:, 4].any()
    np.testing.assert_allclose(frame.extra_m, BODY[4][None], atol=1e-3)


def test_no_points_no_labels() -> None:
    pair = Views((blobs_of(0, 0, np.zeros((0, 2))), blobs_of(1, 0, np.zeros((0, 2)))))
    frame = build_marker_frame(pair, match(pair, front_rig(), MatchSettings()), np.full(len(BODY), -1, np.int64))
    assert not frame.valid.any() and not frame.seen.any() and len(frame.extra_m) == 0


def test_blobs_of_one_view_become_a_frame_of_their_own(rig: Rig) -> None:
    """Marker 2 takes blob 0 and marker 0 blob 3; the left view and the other markers stay empty."""
    pair = seen_pair(rig, 4, BODY, 0.0, np.random.default_rng(1))
    frame = frame_from_view(pair, 1, np.array([3, -1, 0, -1, -1, -1, -1]))
    assert not frame.valid.any() and not frame.seen[0].any() and np.flatnonzero(frame.seen[1]).tolist() == [0, 2]
    assert np.array_equal(frame.image_px[1, 0], pair[1].points_px[3]) and not frame.image_px[1, 1].any()
    assert np.array_equal(frame.image_px[1, 2], pair[1].points_px[0])
    assert frame.index == 4 and frame.t_capture_ns == pair.t_capture_ns
