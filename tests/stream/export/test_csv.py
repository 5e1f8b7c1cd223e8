"""CSV: names, states and metres."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from reconstruct.pose import TrackingState
from stream.export.csv import format_csv
from tests.support.files.takes import take


def test_csv_names_state_and_metres() -> None:
    motion = take(3, states=(TrackingState.TRACKING, TrackingState.COASTING, TrackingState.LOST))
    rows = list(csv.DictReader(io.StringIO(format_csv(motion))))
    assert list(rows[0])[:6] == ["frame", "seconds", "state", "hips.x", "hips.y", "hips.z"]
    assert [(row["frame"], row["state"]) for row in rows] == [("0", "tracking"), ("1", "coasting"), ("2", "lost")]
    assert float(rows[1]["seconds"]) == pytest.approx(1 / 60, abs=1e-6)
    knee = [float(rows[1][f"leftLowerLeg.{axis}"]) for axis in "xyz"]
    np.testing.assert_allclose(knee, motion.positions_m()[1, JOINT_INDEX["leftLowerLeg"]], atol=1e-6)
    assert rows[2]["rightHand.z"] == ""


def test_csv_tells_how_far_off_joints_may_be() -> None:
    motion = take(3, states=(TrackingState.LOST, TrackingState.TRACKING, TrackingState.COASTING))
    error_m = np.stack([np.full(len(JOINT_INDEX), value) for value in (np.inf, 0.012, 0.02)])
    rows = list(csv.DictReader(io.StringIO(format_csv(replace(motion, error_m=error_m)))))
    assert [row["leftFoot.error"] for row in rows] == ["", "0.0120", "0.0200"]
    assert rows[1]["hips.x"] == list(csv.DictReader(io.StringIO(format_csv(motion))))[1]["hips.x"]
