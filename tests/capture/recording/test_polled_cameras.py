"""Cameras read in turn, faster than they give pictures: repeated pictures, and when each was taken."""

from pathlib import Path

import av
import numpy as np
import pytest

from capture.recording.polled_cameras import estimate_picture_times, estimate_polled_times, find_repeated_pictures
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.settings import DetectorSettings
from tests.support.people import person

PERIOD_S = 0.0347


def polled(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read a camera n times: stamps in 10 ms steps, which readings give the picture before again, when pictures were taken.

    As a driver does, it hands out its pictures one by one: one that waits is given at the next reading.
    """
    rng = np.random.default_rng(seed)
    read_s = 1.0 + np.cumsum(rng.choice([0.03, 0.034, 0.05, 0.02], size=n, p=[0.6, 0.23, 0.12, 0.05]))
    picture = np.zeros(n, int)
    picture[0] = int(read_s[0] / PERIOD_S)
    for k in range(1, n):
        picture[k] = min(picture[k - 1] + 1, int(read_s[k] / PERIOD_S))
    return np.round(read_s, 2), np.append(False, np.diff(picture) == 0), PERIOD_S * picture


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_times_of_pictures_are_nearer_than_the_stamps(seed: int) -> None:
    stamps_s, repeated, taken_s = polled(seed)
    error = (estimate_picture_times(stamps_s, repeated) - taken_s)[~repeated]
    by_stamp = (stamps_s - taken_s)[~repeated]
    assert np.std(error) < 0.65 * np.std(by_stamp)
    times = estimate_picture_times(stamps_s, repeated)[~repeated]
    assert (np.diff(times) > 0.0).all() and (times <= stamps_s[~repeated] + 0.02).all()


def write_mjpeg(file: Path, levels: list[int]) -> None:
    """Write a video of grey pictures."""
    with av.open(str(file), "w") as out:
        stream = out.add_stream("mjpeg", rate=30, options={"qmin": "3", "qmax": "3"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        for level in levels:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((48, 64, 3), level, np.uint8), format="rgb24")))
        out.mux(stream.encode())


def test_repeated_pictures_of_a_video_are_found_and_their_pairs_dropped(tmp_path: Path) -> None:
    stamps_s, repeated, _ = polled(4, n=60)
    levels = [3 * np.cumsum(~r) + 20 for r in (repeated, np.zeros(60, bool))]
    files = (tmp_path / "left.avi", tmp_path / "right.avi")
    for file, each in zip(files, levels, strict=True):
        write_mjpeg(file, [int(level) for level in each])
    found = find_repeated_pictures(files[0])
    assert found is not None and np.array_equal(found, repeated)
    times = estimate_polled_times(stamps_s, files)
    assert times is not None and times.shape == (60, 2)
    spec = RecordingSpec(tuple(map(str, files)), fps=30.0)
    recording = CaptureRecording(spec, DetectorSettings(), person().markers)
    seen = {pair[0].index for pair, _, _ in recording.pairs()}
    assert recording.polled and recording.n_repeated == [int(repeated.sum()), 0]
    assert not seen & set(np.flatnonzero(repeated)) and len(seen) > 0.8 * (~repeated).sum()


def test_cameras_that_never_repeat_keep_their_stamps(tmp_path: Path) -> None:
    files = (tmp_path / "left.avi", tmp_path / "right.avi")
    for file in files:
        write_mjpeg(file, list(range(20, 80)))
    assert estimate_polled_times(0.03 * np.arange(60.0), files) is None
