"""Videos and stamps of a recording: JPEG bytes as they came, killed files that open anywhere, a full disk that ends in order."""

import errno
import json
import multiprocessing
import subprocess
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from capture.packets import Blobs, Frame
from capture.recording.session import SessionVideo, read_recorded_jpegs
from capture.recording.sink import MAX_QUEUED, VideoSink, find_free_part
from capture.recording.video import VideoWriter
from capture.sources.recorded_times import StampWriter, is_video_stamps, read_video_stamps
from capture.sources.source import Stamp
from config.errors import SourceError
from tests.support.fakes import CountingSource
from tests.support.judges import program
from tests.support.kept import Kept
from tests.support.waiting import wait_until

MS = 1_000_000
NO_BLOBS = Blobs(0, 0, 0, np.zeros((0, 2)), np.zeros(0), np.zeros((0, 3)), np.zeros(0))


def picture(index: int, width: int = 64, height: int = 48) -> np.ndarray:
    """Return a picture that tells its number by the place of a bar, and its side by another."""
    image = np.full((height, width, 3), 20, np.uint8)
    image[:, index % width] = (40, 120, 250)
    image[: height // 4, : width // 4] = 90
    return image


def jpeg(index: int) -> bytes:
    return bytes(cv2.imencode(".jpg", picture(index), [cv2.IMWRITE_JPEG_QUALITY, 80])[1].tobytes())


class Camera(CountingSource):
    """A source of a size and a stamp of its own."""

    def __init__(self) -> None:
        super().__init__(0, 50.0)
        self.size, self.stamp = (64, 48), Stamp.DRIVER


def frame(index: int, compressed: bool = True, t_ns: int | None = None) -> Frame:
    return Frame(0, index, 10**9 + 20 * MS * index if t_ns is None else t_ns, picture(index), jpeg(index) if compressed else None)


def count_with_opencv(file: Path) -> int:
    """Return how many pictures OpenCV decodes, checking each for its bar."""
    capture, n = cv2.VideoCapture(str(file)), 0
    while True:
        ok, image = capture.read()
        if not ok:
            capture.release()
            return n
        assert abs(int(np.argmax(image[40, :, 2])) - n % 64) <= 1
        n += 1


def test_jpegs_are_stored_as_they_came_with_times_to_the_millisecond(tmp_path: Path) -> None:
    video = VideoWriter(tmp_path / "left.mkv", (64, 48), 50.0)
    for k in range(30):
        video.write(jpeg(k), 7_000 * MS + 20 * MS * k + (400_000 if k % 2 else -400_000))
    video.flush()
    video.close()
    assert list(read_recorded_jpegs(tmp_path / "left.mkv")) == [jpeg(k) for k in range(30)]
    assert count_with_opencv(tmp_path / "left.mkv") == 30
    capture = cv2.VideoCapture(str(tmp_path / "left.mkv"))
    assert capture.get(cv2.CAP_PROP_FPS) == pytest.approx(50.0)
    assert int(capture.get(cv2.CAP_PROP_FRAME_COUNT)) == 30


def test_what_was_flushed_is_readable_at_any_byte(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    noise = random.integers(0, 256, (9, 60, 80, 3), dtype=np.uint8)
    sent = [bytes(cv2.imencode(".jpg", image)[1].tobytes()) for image in noise]
    assert min(len(one) for one in sent) > 5000  # as large as a picture of a camera: each has a cluster of its own
    video = VideoWriter(tmp_path / "left.mkv", (80, 60), 50.0)
    for k, one in enumerate(sent):
        video.write(one, 20 * MS * k)
        video.flush()
    data = (tmp_path / "left.mkv").read_bytes()
    video.close()
    torn, counts = tmp_path / "torn.mkv", []
    for cut in range(len(sent[0]) + 2000, len(data) + 1, 997):
        torn.write_bytes(data[:cut])
        found = list(read_recorded_jpegs(torn))
        assert found == sent[: len(found)] and cut - sum(len(one) for one in found) < len(sent[0]) + 2000
        counts.append(len(found))
    torn.write_bytes(data)
    assert len(list(read_recorded_jpegs(torn))) == 8  # all but the one that waits for the next
    assert counts == sorted(counts)


def test_stamps_that_do_not_increase_are_still_a_video(tmp_path: Path) -> None:
    video = VideoWriter(tmp_path / "left.mkv", (64, 48), 50.0)
    for t_ms in (0, 20, 20, 10, 60):
        video.write(jpeg(t_ms), t_ms * MS)
    video.flush()
    video.close()
    assert len(list(read_recorded_jpegs(tmp_path / "left.mkv"))) == 5


def test_a_file_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "left.mkv").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        VideoWriter(tmp_path / "left.mkv", (64, 48), 50.0)
    assert (tmp_path / "left.mkv").read_bytes() == b"mine"


def test_stamps_of_a_torn_file_end_with_the_last_whole_line(tmp_path: Path, kept: Kept) -> None:
    file = tmp_path / "left.csv"
    stamps = kept(StampWriter(file))
    stamps.write(3, 1_000_000_007, 1_000_900_000, "driver")
    stamps.write(5, 1_040_000_001, 1_041_000_000, "driver")
    stamps.flush()
    stamps.close()
    assert is_video_stamps(file)
    rows, kind = read_video_stamps(file)
    assert rows.tolist() == [[3, 1_000_000_007, 1_000_900_000], [5, 1_040_000_001, 1_041_000_000]] and kind == "driver"
    data = file.read_bytes()
    file.write_bytes(data[:-3])
    assert read_video_stamps(file)[0][:, 0].tolist() == [3]
    file.write_bytes(data + b"6,x,1,driver\n")
    with pytest.raises(SourceError, match=":4: expected three whole numbers"):
        read_video_stamps(file)
    file.write_text("frame,seconds\n", "ascii")
    assert not is_video_stamps(file)
    with pytest.raises(SourceError, match="is it of a session"):
        read_video_stamps(file)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_taker_idles_records_and_stops(tmp_path: Path, compressed: bool, kept: Kept) -> None:
    taker = kept(VideoSink("left", Camera()))
    taker.take(frame(0, compressed), NO_BLOBS, 5)
    assert not list(tmp_path.iterdir()) and taker.counts() == {}
    taker.record(str(tmp_path))
    for k in range(1, 21):
        taker.take(frame(k, compressed), NO_BLOBS, 10**9 + 20 * MS * k + 3)
    taker.record("")
    taker.take(frame(21, compressed), NO_BLOBS, 5)
    taker.close()
    assert taker.notices() == [f"recorded {tmp_path / 'left.mkv'}: 20 pictures"]
    rows, kind = read_video_stamps(tmp_path / "left.csv")
    assert rows[:, 0].tolist() == list(range(1, 21)) and kind == "driver"
    assert (rows[:, 1] == 10**9 + 20 * MS * rows[:, 0]).all() and (rows[:, 2] == rows[:, 1] + 3).all()
    pictures = list(read_recorded_jpegs(tmp_path / "left.mkv"))
    assert len(pictures) == 20
    if compressed:
        assert pictures == [jpeg(k) for k in range(1, 21)]
    else:
        worst = [
            np.abs(cv2.imdecode(np.frombuffer(p, np.uint8), 1).astype(int) - picture(k)).mean() for k, p in enumerate(pictures, 1)
        ]
        assert max(worst) < 3.0


def test_a_camera_opened_anew_goes_on_in_another_part(tmp_path: Path, kept: Kept) -> None:
    taker = kept(VideoSink("right", Camera()))
    taker.record(str(tmp_path))
    for k in (4, 5, 6, 0, 1):
        taker.take(frame(k, t_ns=10**9 + 20 * MS * (k if k > 3 else 20 + k)), NO_BLOBS, 5)
    taker.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["right.2.csv", "right.2.mkv", "right.csv", "right.mkv"]
    assert [read_video_stamps(tmp_path / f"right{n}.csv")[0][:, 0].tolist() for n in ("", ".2")] == [[4, 5, 6], [0, 1]]
    again = kept(VideoSink("right", Camera()))
    before = (tmp_path / "right.mkv").read_bytes()
    again.record(str(tmp_path))
    again.take(frame(0), NO_BLOBS, 5)
    again.close()
    assert (tmp_path / "right.3.mkv").exists() and (tmp_path / "right.mkv").read_bytes() == before
    assert find_free_part(tmp_path, "right") == 4 and find_free_part(tmp_path, "left") == 1


def test_parts_are_one_source_with_the_stamps_they_were_taken_at(tmp_path: Path, kept: Kept) -> None:
    taker = kept(VideoSink("left", Camera()))
    taker.record(str(tmp_path))
    for k in (1, 2, 3, 0, 1):
        taker.take(frame(k, t_ns=10**9 + 20 * MS * (k if k else 7)), NO_BLOBS, 100 + k)
    taker.close()
    source = SessionVideo([tmp_path / "left.mkv", tmp_path / "left.2.mkv"], 0)
    assert source.size == (64, 48) and source.fps == pytest.approx(50.0) and source.n_frames == 5
    seen = []
    while (one := source.read()) is not None:
        assert one.jpeg == jpeg(one.index)
        seen.append((one.index, one.t_capture_ns, source.t_read_ns))
    assert seen == [(k, 10**9 + 20 * MS * (k if k else 7), 100 + k) for k in (1, 2, 3, 0, 1)]
    with pytest.raises(SourceError, match="no video of the right camera"):
        SessionVideo([], 1)


class FullDisk:
    """A file that has room for so many bytes."""

    def __init__(self, raw: Any, room: int) -> None:
        self._raw, self._room = raw, room

    def write(self, data: Any) -> int:
        n = min(len(data), self._room)
        if n == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._room -= n
        return int(self._raw.write(bytes(data[:n])))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


def test_a_full_disk_ends_the_recording_in_words_and_leaves_whole_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
) -> None:
    begin = VideoWriter.__init__

    def with_little_room(self: VideoWriter, *args: Any) -> None:
        begin(self, *args)
        self._raw = FullDisk(self._raw, 60_000)  # type: ignore[assignment]

    monkeypatch.setattr(VideoWriter, "__init__", with_little_room)
    taker = kept(VideoSink("left", Camera()))
    taker.record(str(tmp_path))
    news: list[str] = []
    for k in range(1, 400):
        taker.take(frame(k), NO_BLOBS, 5)
        time.sleep(0.002)
        news += taker.notices()
    wait_until(lambda: news.extend(taker.notices()) or news)
    taker.close()
    (text,) = news
    assert "recording stopped (no space left on device); what was recorded before is intact" in text and "are not in it" in text
    whole = list(read_recorded_jpegs(tmp_path / "left.mkv"))
    assert whole and whole == [jpeg(k) for k in range(1, len(whole) + 1)]
    assert (tmp_path / "left.mkv").stat().st_size <= 60_000


def test_a_folder_that_is_gone_is_told_and_the_camera_goes_on(tmp_path: Path, kept: Kept) -> None:
    taker = kept(VideoSink("left", Camera()))
    taker.record(str(tmp_path / "gone"))
    news: list[str] = []
    wait_until(lambda: news.extend(taker.notices()) or news)
    assert "recording stopped" in news[0]
    taker.take(frame(1), NO_BLOBS, 5)


@pytest.mark.parametrize("limit", ["pictures", "bytes"])
def test_what_does_not_fit_the_queue_is_counted_and_told_and_never_waited_for(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
) -> None:
    monkeypatch.setattr("capture.recording.sink.FLUSH_S", 60.0)
    if limit == "bytes":
        monkeypatch.setattr("capture.recording.sink.MAX_QUEUED", 10 * MAX_QUEUED)
        monkeypatch.setattr("capture.recording.sink.MAX_QUEUED_BYTES", MAX_QUEUED * frame(0).image.nbytes)
    taker = kept(VideoSink("left", Camera()))
    taker.record(str(tmp_path))
    for k in range(MAX_QUEUED + 7):
        taker.take(frame(k, compressed=limit == "pictures"), NO_BLOBS, 5)
    assert taker.notices() == ["7 pictures of the left camera not recorded: disk or machine are too slow"]
    assert taker.notices() == []
    taker.close()
    assert taker.notices() == [f"recorded {tmp_path / 'left.mkv'}: {MAX_QUEUED} pictures, 7 are not in it"]
    assert len(read_video_stamps(tmp_path / "left.csv")[0]) == MAX_QUEUED


def record_forever(folder: Path, last_ns: Any) -> None:
    """Record a picture every 10 ms, telling the time of the last one; the body of the process that is killed."""
    taker = VideoSink("left", Camera())
    taker.record(str(folder))
    for k in range(100_000):
        last_ns.value = time.monotonic_ns()
        taker.take(frame(k, t_ns=last_ns.value), NO_BLOBS, 5)
        time.sleep(0.01)


def test_after_a_kill_at_most_the_last_second_is_missing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    last_ns = context.RawValue("q", 0)
    process = context.Process(target=record_forever, args=(tmp_path, last_ns), daemon=True)
    process.start()
    csv = tmp_path / "left.csv"
    wait_until(lambda: csv.exists() and csv.stat().st_size > 200)
    time.sleep(0.4)
    process.kill()
    process.join()
    rows, _ = read_video_stamps(csv)
    assert rows[-1, 1] > last_ns.value - 1_000_000_000
    assert rows[:, 0].tolist() == list(range(len(rows)))
    pictures = list(read_recorded_jpegs(tmp_path / "left.mkv"))
    assert abs(len(pictures) - len(rows)) <= 1 + 30  # the video is flushed just before its stamps
    assert pictures == [jpeg(k) for k in range(len(pictures))]
    assert count_with_opencv(tmp_path / "left.mkv") == len(pictures)


@pytest.mark.judge
@pytest.mark.parametrize("killed", [False, True])
def test_ffprobe_reads_whole_and_killed_files(tmp_path: Path, killed: bool) -> None:
    ffprobe = program("ffprobe")
    video = VideoWriter(tmp_path / "left.mkv", (64, 48), 50.0)
    for k in range(25):
        video.write(jpeg(k), 20 * MS * k)
    video.flush()
    if not killed:
        video.close()
    arguments = ["-v", "error", "-count_frames", "-show_streams", "-of", "json", str(tmp_path / "left.mkv")]
    done = subprocess.run([ffprobe, *arguments], capture_output=True, text=True, check=True)
    (stream,) = json.loads(done.stdout)["streams"]
    assert (stream["codec_name"], stream["width"], stream["height"]) == ("mjpeg", 64, 48)
    assert int(stream["nb_read_frames"]) in ((22, 23, 24) if killed else (25,)) and not done.stderr
    if killed:
        video.close()
