"""What the networks' numbers mean: anchors, a person's region, landmarks and the heatmaps that refine them."""

import numpy as np
import pytest

from capture.landmarks.detector import N_FOUND, decode_landmarks, refine_by_heatmaps
from capture.landmarks.person import compute_anchors, decode_person, list_search_regions
from capture.landmarks.region import Region, make_region


def test_anchors_are_as_many_as_the_detector_has_and_stand_in_the_cells() -> None:
    anchors = compute_anchors(224)
    assert anchors.shape == (2254, 2)  # 28 x 28 x 2, 14 x 14 x 2, and three layers of 7 x 7 x 2
    assert anchors[:2] == pytest.approx(np.full((2, 2), 0.5 / 28))
    assert anchors[2] == pytest.approx([1.5 / 28, 0.5 / 28])
    assert anchors[1568 + 2 * 14] == pytest.approx([0.5 / 14, 1.5 / 14])
    assert anchors[-6:] == pytest.approx(np.tile([6.5 / 7, 6.5 / 7], (6, 1)))


def test_the_likeliest_box_tells_the_keypoints() -> None:
    anchors = compute_anchors(224)
    boxes, scores = np.zeros((2254, 12), np.float32), np.full((2254, 1), -9.0, np.float32)
    scores[700], scores[40] = 2.0, 1.0
    boxes[700, 4:8] = [22.4, -11.2, 0.0, -44.8]
    score, points = decode_person([boxes, scores], anchors, 224)
    assert score == pytest.approx(1.0 / (1.0 + np.exp(-2.0)))
    assert points == pytest.approx(anchors[700] + np.array([[0.1, -0.05], [0.0, -0.2]]))


@pytest.mark.parametrize("size", [(640, 480), (1280, 720), (480, 640), (3840, 2160)])
def test_the_parts_cover_the_picture(size: tuple[int, int]) -> None:
    width, height = size
    parts = [region for region in list_search_regions(width, height) if region.size_px < max(size)]
    assert len(parts) < 24
    for x in np.linspace(0.0, width, 9):
        for y in np.linspace(0.0, height, 9):
            inside = [np.abs(part.center_px - (x, y)).max() <= 0.5 * part.size_px + 1e-6 for part in parts]
            assert any(inside)


def test_a_clear_peak_moves_a_landmark_and_a_weak_one_does_not() -> None:
    heatmaps = np.full((64, 64, 2), -20.0)
    heatmaps[20, 31, 0], heatmaps[20, 32, 0] = 5.0, 5.0
    heatmaps[40, 10, 1] = -1.0
    part = np.array([[30.2 / 64, 21.9 / 64], [10.0 / 64, 41.0 / 64]])
    moved, peaks = refine_by_heatmaps(part, heatmaps)
    assert moved[0] == pytest.approx([31.5 / 64, 20.0 / 64], abs=1e-6)
    assert moved[1] == pytest.approx(part[1])
    assert peaks == pytest.approx([1.0 / (1.0 + np.exp(-5.0)), 1.0 / (1.0 + np.exp(1.0))])
    far, none = refine_by_heatmaps(part + 3.0, heatmaps)
    assert far == pytest.approx(part + 3.0) and not none.any()


def test_landmarks_are_in_the_picture_and_tell_the_next_region() -> None:
    region = Region(np.array([300.0, 200.0]), 128.0, 0.3)
    table = np.zeros((N_FOUND, 5), np.float32)
    table[:, :2], table[:, 3] = 128.0, 3.0
    table[0, :2], table[34, :2] = (64.0, 192.0), (128.0, 36.0)
    found, following = decode_landmarks([table.ravel(), np.array([0.9], np.float32), np.full((64, 64, 39), 9.0)], region, 256)
    refined = np.array([[16.0 / 64, 48.0 / 64]])
    assert found.image_px[0] == pytest.approx(region.to_picture(refined)[0], abs=0.01)
    assert found.image_px.shape == (33, 2) and found.presence == pytest.approx(0.9)
    assert found.score == pytest.approx(1.0 / (1.0 + np.exp(-3.0)))
    expected = make_region(*region.to_picture(np.array([[0.5, 0.5], [0.5, 9.0 / 64]])))
    assert following.center_px == pytest.approx(expected.center_px, abs=0.1)
    assert following.turn_rad == pytest.approx(expected.turn_rad, abs=0.02)
    assert following.size_px == pytest.approx(expected.size_px, rel=0.02)
