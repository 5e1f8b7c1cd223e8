"""A session's folder as a recording: both cameras in the order of time, whatever their rates."""

from pathlib import Path

import cv2
import numpy as np

from capture.packets import Blobs, Frame
from capture.recording.recording import CaptureRecording, RecordingSpec
from capture.recording.session import is_session, merge_in_time_order, open_session_videos
from capture.recording.sink import VideoSink
from config.markers import read_marker_set
from config.settings import DetectorSettings
from tests.capture.scenes import paint_disc

NONE = Blobs(0, 0, 0, np.zeros((0, 2)), np.zeros(0), np.zeros((0, 3)), np.zeros(0))
EPOCH_NS, MS = 77 * 10**9, 1_000_000


class Webcam:
    """What a recorder of pictures asks of a source."""

    name, size, fps, n_frames, truncated = "webcam", (160, 120), 25.0, None, False
    stamp, facts = "read", {}  # type: ignore[var-annotated]


def picture(at_px: float) -> np.ndarray:
    """Paint four markers in the dark, which go to the right."""
    image = np.full((120, 160, 3), 4, np.uint8)
    for row in (20, 45, 70, 100):
        paint_disc(image, (at_px, row), 4.0, (250, 250, 250))
    return image


def session(folder: Path, speed_px_ms: float = 0.05) -> Path:
    """Record 40 frames of a left camera at 25 a second and 80 of a right one at 50, which begins 3 ms later."""
    folder.mkdir()
    (folder / "session.toml").write_text("", encoding="utf-8")
    for camera, (side, n, step_ms, late_ms) in enumerate((("left", 40, 40, 0), ("right", 80, 20, 3))):
        taker = VideoSink(side, Webcam())
        taker.record(str(folder))
        for k in range(n):
            t_ms = late_ms + step_ms * k
            image = picture(20.0 + speed_px_ms * t_ms)
            jpeg = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, 95))[1].tobytes()
            taker.take(Frame(camera, k, EPOCH_NS + t_ms * MS, image, jpeg), NONE, EPOCH_NS + t_ms * MS + 1)
        taker.close()
    return folder


def test_frames_come_in_the_order_of_their_stamps_from_0(tmp_path: Path) -> None:
    folder = session(tmp_path / "take")
    assert is_session(folder) and not is_session(tmp_path)
    frames = [left or right for left, right in merge_in_time_order(open_session_videos(folder)) if left or right]
    stamps = [frame.t_capture_ns for frame in frames]
    assert len(frames) == 120 and stamps == sorted(stamps) and stamps[:3] == [0, 3 * MS, 23 * MS]
    assert [frame.index for frame in frames if frame.camera == 0] == list(range(40))


def test_a_session_is_a_recording_whose_cameras_need_not_run_alike(tmp_path: Path) -> None:
    folder = session(tmp_path / "take")
    recording = CaptureRecording(RecordingSpec((str(folder),)), DetectorSettings(mode="dark"), read_marker_set("boxing"))
    pairs = [pair for pair, _, _ in recording.pairs()]
    assert len(pairs) >= 39 and recording.sizes == ((160, 120), (160, 120))
    assert {pair.skew_ns for pair in pairs[1:]} <= {3 * MS, -17 * MS}
    for pair in pairs[:10]:  # both see markers move at 0.05 px a millisecond
        right_px = pair[0].points_px[:, 0].mean() + 0.05 * pair.skew_ns / MS
        assert abs(pair[1].points_px[:, 0].mean() - right_px) < 0.2


def test_who_stands_still_through_a_whole_session_is_no_background(tmp_path: Path) -> None:
    folder = session(tmp_path / "tpose", speed_px_ms=0.0)
    recording = CaptureRecording(RecordingSpec((str(folder),)), DetectorSettings(), read_marker_set("boxing"))
    counts = [(len(pair[0]), len(pair[1])) for pair, _, _ in recording.pairs()]
    assert len(counts) >= 39 and set(counts[1:]) == {(4, 4)}
