"""The real recording: subject from its T-pose, every pair replayed with the built-in database."""

from pathlib import Path

import numpy as np
import pytest

from calibration.formats.rig_toml import read_rig_toml
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.markers import read_marker_set
from config.settings import Settings
from database.default import open_default_database
from stream.protocol.report import build_replay_report
from tools.calibrate.session import fit_subject_to_pairs, read_pairs
from tools.replay.replay import ReplayResult, ReplayWay, replay_recording

pytestmark = pytest.mark.slow
T_POSE_S = (0.5, 8.0)


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    found = shared_data / "two_webcams"
    if not (found / "left.avi").is_file():
        pytest.skip(f"no real recording: {found} does not exist")
    return found


@pytest.fixture(scope="module")
def result(folder: Path) -> ReplayResult:
    settings, rig, worn = Settings(), read_rig_toml(folder / "rig.toml"), read_marker_set(folder / "markers.toml")
    spec = RecordingSpec((str(folder / "left.avi"), str(folder / "right.avi")), folder / "timestamps.csv")
    database = open_default_database()
    recording = CaptureRecording(spec, settings.detector, worn)
    [pairs] = read_pairs(recording, [T_POSE_S], rig)
    subject = fit_subject_to_pairs("Ann", pairs, rig, worn, database, settings).subject
    assert 1.5 < subject.skeleton.height_m < 2.1
    return replay_recording(recording, rig, subject, database, settings, ReplayWay(hidden=("left_knee",)))


def test_it_is_tracked_and_explained(result: ReplayResult) -> None:
    report = build_replay_report(result.poses, 1.0, result.hidden_mm, result.swaps_suspected)
    assert report["frames"] >= 810 and report["time"]["seconds"] > 29.0  # 45 pictures came twice
    assert report["tracked"] >= 0.98
    assert report["reprojection_px"]["median"] < 3.0
    assert report["swaps_suspected"] <= 0.02 * report["frames"]
    assert report["hidden"]["left_knee"]["frames"] > 500 and report["hidden"]["left_knee"]["median_mm"] < 150.0


def test_motion_is_smooth_and_upright(result: ReplayResult) -> None:
    """Nobody turns by 60 degrees or moves by 30 cm between two frames of 33 ms."""
    root = np.stack([pose.root_m for pose in result.poses])
    assert np.linalg.norm(np.diff(root, axis=0), axis=1).max() < 0.3
    turn = np.stack([pose.rotvec[1:] for pose in result.poses])
    assert np.linalg.norm(np.diff(turn, axis=0), axis=2).max() < 1.2
