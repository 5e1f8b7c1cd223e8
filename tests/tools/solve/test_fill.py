"""Gaps are filled by the body: exactly where it is right, joined to what is measured beside them, surer the shorter they are."""

import numpy as np

from calibration.subject.labelled import wear_places
from calibration.subject.subject import Subject
from config.arrays import Floats
from config.optical import read_optical_set
from database.builtin.bodies import build_person_skeleton
from tests.support.people import walk
from tools.solve.fill import fill_gaps
from tools.solve.motion import place_markers


def test_filled_markers_join_the_measured_ones_and_say_how_sure_they_are() -> None:
    skeleton = build_person_skeleton(1.78)
    clip = walk(skeleton)
    worn = wear_places(read_optical_set("cmu_41"))
    subject = Subject("a", skeleton, worn.marker_set(), worn.offset_m, np.zeros(len(worn.names)))
    true_m = place_markers(subject, clip.rotvec, clip.root_m)
    n, fps = len(true_m), clip.fps
    sway: Floats = 0.01 * np.sin(2.0 * np.pi * np.arange(n) / fps)[:, None, None] * [1.0, 0.0, 0.0]
    shown_m = true_m + sway
    valid = np.ones(true_m.shape[:2], bool)
    short, long = slice(40, 40 + round(0.1 * fps)), slice(40, 40 + round(0.8 * fps))
    valid[short, 0], valid[long, 1], valid[:, 2] = False, False, False
    found = fill_gaps(subject, clip.rotvec, clip.root_m, shown_m * valid[..., None], valid, fps, np.full((n, 24), 0.01))
    assert np.array_equal(found.filled[:, :2], ~valid[:, :2]) and not found.filled[:, 2].any()
    off_mm = 1e3 * np.linalg.norm(found.point_m - shown_m, axis=2)
    assert off_mm[short, 0].max() < 2.0 and off_mm[long, 1].max() < 15.0
    step_mm = 1e3 * np.linalg.norm(np.diff(found.point_m[:, 1] - shown_m[:, 1], axis=0), axis=1)
    assert step_mm[long.start - 1] < 2.0 and step_mm[long.stop - 1] < 2.0
    assert 0.0 < found.error_m[short, 0].max() < found.error_m[long, 1].max()
    assert (found.error_m[valid] == 0.0).all()
