"""A walk of a simulated performer, in whatever videos and with whatever stamps somebody else would have recorded it."""

import tempfile
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.settings import CAMERA_NAMES
from tests.support.commands import Result
from tests.support.ports import free_address
from tests.tools.commands.walked import CLIP, Walked, ended, made_walk

Image = NDArray[np.uint8]
MS = Fraction(1, 1000)
CODING = {
    "libx264": {"bf": "2", "crf": "12", "preset": "veryfast"},
    "libx265": {"crf": "12", "preset": "veryfast", "x265-params": "bframes=2:log-level=error"},
}


@cache
def walk() -> Walked:
    """Return the walk, simulated once a process, with subject and database."""
    return made_walk(Path(tempfile.mkdtemp(prefix="duocap-zoo-")))


@cache
def _clip(side: str) -> tuple[Image, ...]:
    """Return the pictures of one camera, decoded."""
    reader, images = cv2.VideoCapture(str(walk().folder / f"clip_{side}.avi")), []
    while (read := reader.read())[0]:
        images.append(np.asarray(read[1], np.uint8))
    reader.release()
    assert len(images) == CLIP.stop - CLIP.start
    return tuple(images)


def pictures(side: str, n: int) -> list[Image]:
    """Return n pictures of one camera, of a walk that goes forth and back."""
    there = _clip(side)
    back = (*there, *there[-2:0:-1])
    return [back[k % len(back)] for k in range(n)]


def write_avi(file: Path, images: Sequence[Image], announced_hz: float) -> Path:
    """Write motion JPEG in AVI, which knows a rate and no times."""
    height, width = images[0].shape[:2]
    writer = cv2.VideoWriter(str(file), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), announced_hz, (width, height))
    for image in images:
        writer.write(image)
    writer.release()
    return file


def write_mkv(file: Path, images: Sequence[Image], stamps_s: Floats, announced_hz: float) -> Path:
    """Write motion JPEG in Matroska, each picture at its own time, to a millisecond."""
    height, width = images[0].shape[:2]
    with av.open(str(file), "w") as container:
        stream = container.add_mux_stream(
            "mjpeg", rate=Fraction(announced_hz).limit_denominator(1001), width=width, height=height
        )
        for image, t_s in zip(images, stamps_s.tolist(), strict=True):
            packet = av.Packet(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 97])[1].tobytes())
            packet.stream, packet.time_base, packet.is_keyframe = stream, MS, True
            packet.pts = packet.dts = round(1e3 * t_s)
            container.mux(packet)
    return file


def write_coded(
    file: Path,
    images: Sequence[Image],
    stamps_s: Floats,
    rate: Fraction,
    codec: str = "libx264",
    pixels: str = "yuv420p",
    rotation_deg: int = 0,
) -> Path:
    """Write a video of B-frames as phones and recorders do. rate: as announced; rotation_deg: how players are to turn it."""
    height, width = images[0].shape[:2]
    with av.open(str(file), "w") as container:
        stream = container.add_stream(codec, rate=rate, options=CODING[codec])
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        tick = Fraction(1, 90_000)
        stream.codec_context.time_base = tick
        for image, t_s in zip(images, stamps_s.tolist(), strict=True):
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            frame.pts, frame.time_base = round(t_s / tick), tick
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    if rotation_deg:
        turn_in_container(file, rotation_deg)
    return file


def turn_in_container(file: Path, degrees: int) -> None:
    """Set the matrix by which players turn an MP4 video, clockwise by 90, 180 or 270 degrees, as phones do."""
    cos, sin = {90: (0, 1), 180: (-1, 0), 270: (0, -1)}[degrees]
    matrix = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]]) * [[65536, 65536, 1 << 30]]
    data = bytearray(file.read_bytes())
    header = data.find(b"tkhd") + 4  # version 0: the matrix is 40 bytes into the box
    assert header > 3 and data[header] == 0
    data[header + 40 : header + 76] = matrix.astype(">i4").tobytes()
    file.write_bytes(data)


def replay(videos: Sequence[Path], *more: object, **changed: object) -> Result:
    """Run `duocap replay` of two videos; changed: options in place of the walk's, such as rig and timestamps."""
    given: dict[str, object] = {"timestamps": None, "rig": "rig.toml"} | changed
    words = walk().replay_words(*more, "--set", f"stream.address={free_address()}", "--set", "stream.service=", **given)
    words[1:3] = videos
    return ended(words)


def both(folder: Path, suffix: str) -> list[Path]:
    """Return the names of the videos of both cameras."""
    return [folder / f"{side}{suffix}" for side in CAMERA_NAMES[:2]]
