"""Where the markers of a take sit: found from poses and what was seen, wrong labels and single frames counting little."""

from dataclasses import replace

import numpy as np

from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from reconstruct.offline.motion import TakeMotion, build_take_motion
from reconstruct.offline.take import estimate_marker_offsets_m
from tests.support.people import person, walk, worn_markers

N, MOVED_M = 120, np.array([0.02, -0.01, 0.015])


def moved_marker() -> tuple[Subject, TakeMotion, list[MarkerFrame], Floats]:
    """Return a subject, its motion, frames that see the first marker MOVED_M from where it was calibrated, and the truth."""
    subject = person("boxing", 1)
    clip = walk(subject.skeleton, 3, speed=0.8)
    true_m = subject.offset_m.copy()
    true_m[0] += MOVED_M
    point_m, _ = worn_markers(replace(subject, offset_m=true_m), clip.rotvec[:N], clip.root_m[:N])
    M = len(true_m)
    nothing = MarkerFrame(
        0, 0, 0, np.ones(M, bool), point_m[0], np.tile(1e-6 * np.eye(3), (M, 1, 1)), np.ones((2, M), bool),
        np.zeros((2, M, 2)), np.full((2, M), 0.3), np.zeros(M), np.zeros((0, 3)),
    )  # fmt: skip
    frames = [replace(nothing, point_m=points) for points in point_m]
    return subject, build_take_motion(np.arange(N) / 60.0, clip.rotvec[:N], clip.root_m[:N], 60.0), frames, true_m


def test_a_marker_that_sits_elsewhere_is_found() -> None:
    subject, motion, frames, true_m = moved_marker()
    found = estimate_marker_offsets_m(subject, subject.offset_m, frames, motion)
    np.testing.assert_allclose(found, true_m, atol=0.003)


def test_wrong_labels_and_frames_that_do_not_show_it_do_not_move_it() -> None:
    subject, motion, frames, true_m = moved_marker()
    for k in range(0, N, 10):
        frames[k] = replace(frames[k], point_m=frames[k].point_m[::-1].copy())
    hidden = np.arange(len(true_m)) != 1
    frames = [replace(frame, valid=hidden, point_m=np.where(hidden[:, None], frame.point_m, np.nan)) for frame in frames]
    found = estimate_marker_offsets_m(subject, subject.offset_m, frames, motion)
    np.testing.assert_array_equal(found[1], subject.offset_m[1])
    np.testing.assert_allclose(found, true_m, atol=0.006)
