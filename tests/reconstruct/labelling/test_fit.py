"""Whether a pose fits as usual: over what calibration and session say, not over what the pose itself brings about."""

from dataclasses import replace

import numpy as np
import pytest

from capture.packets import MarkerFrame
from config.arrays import Floats
from reconstruct.labelling.fit import Fit, error_ratio
from tests.support.people import front_rig, marker_frame_of, person, t_pose, worn_markers

RIG, SUBJECT = front_rig(), person()
MARKER_M = worn_markers(SUBJECT, t_pose()[None], np.array([[0.0, 1.0, 0.0]]))[0][0]
IMAGE_PX = np.array([camera.project(MARKER_M) for camera in RIG.cameras])


def frame_at(t_s: float) -> MarkerFrame:
    """Return a frame with all markers of the T-pose in both images."""
    frame = marker_frame_of(MARKER_M)
    return replace(frame, t_capture_ns=round(1e9 * t_s), image_px=IMAGE_PX, seen=np.ones_like(frame.seen))


def moved_by(ratio: float) -> Floats:
    """Return markers that are off by a number of times what is expected."""
    per_m = error_ratio(frame_at(0.0), MARKER_M + [0.001, 0.0, 0.0], RIG, SUBJECT) / 0.001
    return np.asarray(MARKER_M + [ratio / per_m, 0.0, 0.0])


def followed(ratios: Floats, fps: float = 60.0) -> list[bool]:
    """Return of each of some frames in turn whether it fits about as usual."""
    fit = Fit(RIG, SUBJECT)
    return [fit.step(frame_at(k / fps), moved_by(ratio)) for k, ratio in enumerate(ratios)]


def test_errors_are_over_the_expected_ones() -> None:
    assert error_ratio(frame_at(0.0), MARKER_M, RIG, SUBJECT) < 1e-9
    assert error_ratio(frame_at(0.0), moved_by(3.0), RIG, SUBJECT) == pytest.approx(3.0, rel=0.02)


@pytest.mark.parametrize("fps", [5.0, 60.0])
def test_a_bad_fit_is_not_learned_as_usual(fps: float) -> None:
    """Two seconds of a limb that is led astray hide nothing of what follows; a session that fits a little worse is no fault."""
    usual, astray, lost = np.full(round(2 * fps), 1.0), np.full(round(2 * fps), 2.7), np.full(round(fps), 4.0)
    fits = followed(np.concatenate([usual, astray, lost]), fps)
    assert all(fits[: len(usual)]) and not any(fits[-round(0.5 * fps) :])
    assert all(followed(np.full(round(5 * fps), 2.0), fps))
