"""Time stamps: both layouts, and each fault with its line."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from capture.rate import estimate_frame_period_s
from capture.sources.recorded_times import read_timestamps
from capture.sources.source import Stamp, open_source
from config.errors import SourceError


def write(folder: Path, text: str) -> Path:
    path = folder / "stamps.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_one_stamp_a_pair(tmp_path: Path) -> None:
    path = write(tmp_path, "frame,seconds\n0,0.0\n1,0.03\n2,0.1\n")
    np.testing.assert_array_equal(read_timestamps(path), [0.0, 0.03, 0.1])


def test_one_stamp_a_camera_and_windows_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffframe, left_seconds, right_seconds\r\n0,0.0,0.01\r\n1,0.03,0.04\r\n\r\n")
    np.testing.assert_array_equal(read_timestamps(path), [[0.0, 0.01], [0.03, 0.04]])


def test_a_column_for_each_camera_whatever_they_are_called(tmp_path: Path) -> None:
    path = write(tmp_path, "frame,left_seconds,right_seconds,top_seconds\n0,0.0,0.01,0.5\n1,0.03,0.04,0.53\n")
    np.testing.assert_allclose(read_timestamps(path), [[0.0, 0.01, 0.5], [0.03, 0.04, 0.53]])
    assert read_timestamps(write(tmp_path, "frame,left_seconds\n0,0\n1,0.03\n")).shape == (2, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("frame,left_seconds,right\n", "expected frame,seconds or, with a column for each camera"),
        ("frame," + ",".join(f"{n}_seconds" for n in range(9)) + "\n", "expected frame,seconds or"),
        ("", "the first line is 'empty'"),
        ("time\n0\n", "the first line is 'time'; expected frame,seconds or"),
        ("frame,seconds\n", "no time stamps below the header"),
        ("frame,seconds\n0,0.0\n1,x\n", r"stamps.csv:3: expected 2 numbers, got '1,x'"),
        ("frame,seconds\n0,0.0\n1,nan\n", "stamps.csv:3: expected 2 numbers"),
        ("frame,seconds\n0,0.0\n1\n", "stamps.csv:3: expected 2 numbers"),
        ("frame,seconds\n0,0.0\n2,0.1\n", "stamps.csv:3: frame 2 where 1 was expected"),
        ("frame,seconds\n0,0.3\n1,0.2\n", "time goes from 0.3 to 0.2 at frame 1"),
        ("frame,seconds\n0,0\n1,33333333333\n", "3.33e[+]10 from frame to frame; expected seconds, or milli-"),
        ("frame,left_seconds,right_seconds\n0,0.0,0.4\n1,0.1,0.3\n", "time goes from 0.4 to 0.3 at frame 1"),
    ],
)
def test_each_fault_has_its_line(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(SourceError, match=expected) as caught:
        read_timestamps(write(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("unit_s", [1.0, 1e-3, 1e-6, 1e-9])
def test_wall_clocks_in_any_unit_count_from_the_first_frame(
    unit_s: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Seconds since 1970 are as usual in other programs as nanoseconds are."""
    rows = [f"{n},{round((1_763_917_494 + 0.04 * n) / unit_s, 6):.{6 if unit_s == 1.0 else 0}f}" for n in range(4)]
    found = read_timestamps(write(tmp_path, "\n".join(["frame,seconds", *rows]) + "\n"))
    np.testing.assert_allclose(found, [0.0, 0.04, 0.08, 0.12], atol=2e-6)
    assert ("taken as" in caplog.text) == (unit_s != 1.0)


def test_a_coarse_clock_repeats_stamps(tmp_path: Path) -> None:
    """Steps of 20 ms at 60 Hz, a gap among them; many alike are a fault."""
    true_s = np.arange(200) / 60.0 + np.where(np.arange(200) < 120, 0.0, 0.5)
    rows = [f"{n},{t:.2f}" for n, t in enumerate(0.02 * np.floor(true_s / 0.02))]
    found = read_timestamps(write(tmp_path, "\n".join(["frame,seconds", *rows]) + "\n"))
    assert np.abs(found - true_s - np.median(found - true_s)).max() < 0.006 and found[120] - found[119] > 0.49
    assert estimate_frame_period_s(found) == pytest.approx(1.0 / 60.0, rel=2e-3)
    with pytest.raises(SourceError, match=r"time goes from 1 to 1 at frame 1"):
        read_timestamps(write(tmp_path, "frame,seconds\n" + "".join(f"{n},1.0\n" for n in range(6)) + "6,2.0\n"))
    once = "".join(f"{n},{t}\n" for n, t in enumerate([0.0, 0.03, 0.03, *np.arange(4, 60) * 0.03]))
    assert read_timestamps(write(tmp_path, "frame,seconds\n" + once))[:5] == pytest.approx([0.0, 0.03, 0.075, 0.12, 0.15])


def video(file: Path, times_ms: list[int], announced_hz: int = 30) -> Path:
    """Write an MP4 of grey frames at times; B-frames, so that packets are not in order of time."""
    with av.open(str(file), "w") as container:
        stream = container.add_stream("libx264", rate=announced_hz, options={"bf": "2"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        for n, t_ms in enumerate(times_ms):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 3 * n, np.uint8), format="rgb24")
            frame.pts, frame.time_base = t_ms, Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file


def test_a_video_of_varying_rate_has_times_of_its_own(tmp_path: Path) -> None:
    """As phones write them; one at a fixed rate is counted, whatever its container announces; --fps is stronger."""
    times_ms = np.cumsum(np.random.default_rng(1).choice([33, 34, 50, 67], 40)).tolist()
    source = open_source(video(tmp_path / "phone.mp4", [0, *times_ms]), 0)
    frames = list(iter(source.read, None))
    assert source.stamp is Stamp.CONTAINER and [round(frame.t_capture_ns * 1e-6) for frame in frames] == [0, *times_ms]
    levels = [int(frame.image[24, 32, 0]) for frame in frames]
    assert levels == sorted(levels)
    even = open_source(video(tmp_path / "even.mp4", list(range(0, 2000, 40)), 50), 0)
    assert even.read() is not None and even.fps == pytest.approx(25.0, rel=1e-3)
    told = open_source(tmp_path / "phone.mp4", 0, 30.0)
    assert told.stamp is Stamp.FILE and [told.read().t_capture_ns for _ in range(2)] == [0, 33_333_333]  # type: ignore[union-attr]
    for opened in (source, even, told):
        opened.close()


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot read the time stamps"):
        read_timestamps(tmp_path / "none.csv")


def test_real_stamps(shared_data: Path) -> None:
    stamps = read_timestamps(shared_data / "two_webcams" / "timestamps.csv")
    assert stamps.shape == (853,)
    assert 24.0 < 852 / (stamps[-1] - stamps[0]) < 34.0
