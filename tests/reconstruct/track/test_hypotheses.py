"""Hypotheses: those that are alike are merged, those that are far less likely are dropped, and no more than a few go on."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np

from config.settings import LabelSettings
from reconstruct.track.estimator import Estimate
from reconstruct.track.hypotheses import SAME_M, Branch, select_distinct_branches
from tests.support.people import bent_pose, marker_frame_of, person, worn_markers

S = LabelSettings()
SUBJECT = person("boxing", 1)
MARKER_M = worn_markers(SUBJECT, bent_pose(2, 0.3)[None], np.array([[0.0, 1.0, 0.0]]))[0][0]


def branch(score: float, off_m: float = 0.0, label: int = 0) -> Branch:
    """Return a branch whose markers are off the others', with labels of its own."""
    frame = marker_frame_of(MARKER_M)
    frame = replace(frame, image_px=frame.image_px + label)
    return Branch(None, Mock(Estimate, frame=frame, marker_m=MARKER_M + [off_m, 0.0, 0.0]), score)


def scores(*branches: Branch) -> list[float]:
    """Return the scores of those that are kept."""
    return [each.score for each in select_distinct_branches(branches, SUBJECT.markers.worn, S)]


def test_equal_labels_and_poses_are_one_the_likelier() -> None:
    assert scores(branch(0.0), branch(-1.0, 0.9 * SAME_M)) == [0.0]


def test_other_labels_or_other_poses_stay_apart() -> None:
    assert scores(branch(0.0), branch(-1.0, 1.1 * SAME_M), branch(-2.0, label=3)) == [0.0, -1.0, -2.0]


def test_what_is_hopeless_beside_the_best_is_dropped() -> None:
    assert scores(branch(5.0), branch(5.1 - S.hopeless, label=1), branch(4.9 - S.hopeless, label=2)) == [5.0, 5.1 - S.hopeless]


def test_no_more_go_on_than_the_beam_is_wide() -> None:
    assert scores(*(branch(-0.1 * k, label=k) for k in range(S.beam + 3))) == [-0.1 * k for k in range(S.beam)]


def test_nothing_is_kept_of_nothing() -> None:
    assert select_distinct_branches([], SUBJECT.markers.worn, S) == []
