"""Sources: order, stamps, and every way a recording can be damaged."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from capture.packets import Frame
from capture.sources.source import ImageFolder, Source, VideoFile, make_natural_key, open_source, register_source
from config.arrays import Floats
from config.errors import SourceError


def gray(level: int, size: tuple[int, int] = (64, 48)) -> np.ndarray:
    return np.full((size[1], size[0], 3), level, np.uint8)


def write_video(path: Path, levels: list[int], fps: float = 25.0) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), fps, (64, 48))
    assert writer.isOpened()
    for level in levels:
        writer.write(gray(level))
    writer.release()
    return path


def read_all(source: Source) -> list[Frame]:
    frames = []
    while (frame := source.read()) is not None:
        frames.append(frame)
    return frames


def test_video_frames_in_order_with_stamps_from_the_rate(tmp_path: Path) -> None:
    source = open_source(write_video(tmp_path / "a.avi", [10, 60, 110, 160]), camera=1)
    assert isinstance(source, Source)
    assert (source.size, source.fps, source.n_frames) == ((64, 48), 25.0, 4)
    frames = read_all(source)
    assert [frame.index for frame in frames] == [0, 1, 2, 3]
    assert [frame.t_capture_ns for frame in frames] == [0, 40_000_000, 80_000_000, 120_000_000]
    assert [frame.camera for frame in frames] == [1] * 4
    assert [round(float(frame.image.mean()), -1) for frame in frames] == [10, 60, 110, 160]
    assert frames[0].image.flags.c_contiguous
    assert not source.truncated
    source.close()
    assert source.read() is None


def test_rate_can_be_overridden_and_stamps_given(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.avi", [10, 20, 30])
    assert [frame.t_capture_ns for frame in read_all(open_source(path, 0, fps=50.0))] == [0, 20_000_000, 40_000_000]
    stamps = np.array([0.5, 0.53, 0.6])
    assert [frame.t_capture_ns for frame in read_all(open_source(path, 0, seconds=stamps))] == [
        500_000_000,
        530_000_000,
        600_000_000,
    ]
    with pytest.raises(SourceError, match="implausible"):
        open_source(path, 0, fps=0.0)


def test_truncated_video_gives_what_is_there(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "whole.avi", list(range(20, 140, 3))).read_bytes()
    path = tmp_path / "cut.avi"
    path.write_bytes(whole[: int(0.6 * len(whole))])
    source = open_source(path, 0)
    frames = read_all(source)
    assert 10 < len(frames) < 38
    assert source.truncated
    assert [frame.index for frame in frames] == list(range(len(frames)))


@pytest.mark.parametrize("content", [b"", b"this is not a video\n" * 100], ids=["empty", "text"])
def test_files_that_are_no_video(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.avi"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"a\.avi: .*expected a (video|file)") as caught:
        open_source(path, 0)
    assert "\n" not in str(caught.value)


def test_missing_file() -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        open_source("/nowhere/left.avi", 0)


def test_images_in_natural_order(tmp_path: Path) -> None:
    for number in (10, 9, 2, 100):
        cv2.imwrite(str(tmp_path / f"shot{number}.png"), gray(number))
    (tmp_path / "notes.txt").write_text("not an image", encoding="utf-8")
    source = open_source(tmp_path, 0)
    assert isinstance(source, ImageFolder)
    assert (source.n_frames, source.size, source.fps) == (4, (64, 48), 30.0)
    assert [int(frame.image[0, 0, 0]) for frame in read_all(source)] == [2, 9, 10, 100]


def test_natural_key() -> None:
    names = ["b1", "a10", "a2b3", "a2b10", "A1", "10", "9"]
    assert sorted(names, key=make_natural_key) == ["9", "10", "A1", "a2b3", "a2b10", "a10", "b1"]


def test_folder_without_images(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no images in this folder"):
        open_source(tmp_path, 0)


def test_size_changes_on_the_way(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "0.png"), gray(5))
    cv2.imwrite(str(tmp_path / "1.png"), gray(5, (32, 24)))
    source = open_source(tmp_path, 0)
    assert source.read() is not None
    with pytest.raises(SourceError, match=r"1\.png is 32x24, but the first frame 64x48"):
        source.read()


def test_damaged_image_ends_the_folder(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "0.png"), gray(5))
    (tmp_path / "1.png").write_bytes(b"broken")
    source = open_source(tmp_path, 0)
    assert len(read_all(source)) == 1
    assert source.truncated
    (tmp_path / "0.png").write_bytes(b"broken")
    with pytest.raises(SourceError, match="cannot be decoded"):
        open_source(tmp_path, 0)


def test_other_kinds_register_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.sources.source._OPENERS", [])
    path = write_video(tmp_path / "a.avi", [10, 20])

    def opener(spec: str, camera: int, fps: float | None, seconds: Floats | None) -> Source:
        return VideoFile(path, camera + 5, fps, seconds)

    register_source(lambda spec: spec.startswith("sim:"), opener)
    frame = open_source("sim:anything", 1).read()
    assert frame is not None
    assert frame.camera == 6
