"""Suspected swaps: an exchange of two near markers is seen, good labels and far ones are not doubted."""

from dataclasses import replace

import numpy as np
import pytest

from capture.packets import Floats, MarkerFrame
from reconstruct.checks import swapped_markers
from reconstruct.pose import Pose
from tests.fakes import pose
from tests.people import marker_frame_of

PLACES = np.array([[0.0, 1.0, 0.0], [0.2, 1.0, 0.0], [0.0, 0.2, 0.1], [1.0, 0.2, 0.0]])


def seen(order: list[int], noise_m: float = 0.0) -> tuple[Pose, MarkerFrame]:
    """Give a pose and its frame, marker m measured where marker order[m] is."""
    points: Floats = PLACES[order] + np.random.default_rng(0).normal(0.0, noise_m, (4, 3))
    fitted = replace(pose(0, 0, np.zeros(3)), marker_m=PLACES, measured=np.ones(4, bool))
    return fitted, marker_frame_of(points)


@pytest.mark.parametrize("noise_m", [0.0, 0.02])
def test_good_labels_are_not_doubted(noise_m: float) -> None:
    assert swapped_markers(*seen([0, 1, 2, 3], noise_m)) == []


def test_two_near_markers_exchanged() -> None:
    assert swapped_markers(*seen([1, 0, 2, 3], 0.02)) == [(0, 1)]


def test_far_markers_are_not_compared() -> None:
    """No labelling exchanges markers a metre apart; what looks so is something else."""
    assert swapped_markers(*seen([0, 1, 3, 2])) == []


def test_only_measured_markers_count() -> None:
    fitted, frame = seen([1, 0, 2, 3])
    assert swapped_markers(replace(fitted, measured=np.array([True, False, True, True])), frame) == []
