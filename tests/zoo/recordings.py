"""Recordings as other cameras and programs write them: every picture comes out, upright, in order and at its time."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np

from calibration.formats.rig_file import read_rig
from calibration.formats.rig_toml import write_rig_toml
from capture.sources.source import open_source
from config.arrays import Floats
from tests.zoo.specimen import Outcome, Specimen
from tests.zoo.walks import Image, both, pictures, replay, walk, write_avi, write_coded, write_mkv

N, SIZE, RATE = 40, (320, 240), Fraction(30)
LEVELS = 6.0  # by which a picture may be off on average, of 255: neighbours of the scene below differ by 25


def scene(n: int = N, size: tuple[int, int] = SIZE) -> list[Image]:
    """Return pictures of which no two are alike, nor any to itself turned or mirrored: a bright corner, and a bar that moves."""
    width, height = size
    y, x = np.mgrid[:height, :width]
    images = []
    for k in range(n):
        image = np.repeat((40 + 60 * x / width + 60 * y / height)[..., None], 3, axis=2)
        image[: height // 4, : width // 4, 2] = 230
        image[:, (k * width // n) : ((k + 6) * width // n), 1] = 250
        images.append(np.ascontiguousarray(image.astype(np.uint8)))
    return images


def even(n: int = N, rate: Fraction = RATE) -> Floats:
    """Return even times [s]."""
    return np.arange(n) / float(rate)


def read(path: Path, expected: Sequence[Image], stamps_s: Floats) -> Outcome:
    """Read a source; the error is the worst picture's mean difference, of 255; infinite: a time is off by 1 ms."""
    source = open_source(path, 0)
    frames = list(iter(source.read, None))
    source.close()
    text = f"{len(frames)} pictures of {source.size[0]}x{source.size[1]} at {source.fps:.2f} Hz"
    if len(frames) != len(expected) or source.truncated:
        return Outcome(text, np.inf)
    late_s = np.abs(1e-9 * np.array([frame.t_capture_ns for frame in frames]) - stamps_s).max()
    off = [
        float(np.abs(frame.image.astype(float) - image).mean()) if frame.image.shape == image.shape else np.inf
        for frame, image in zip(frames, expected, strict=True)
    ]
    return Outcome(text, max(off) if late_s < 1.01e-3 else np.inf)


def _folder(suffix: str, first: int, deep: bool = False) -> Callable[[Path], Outcome]:
    """Return what writes stills whose numbers have no leading zeros. deep: 16 bits a channel."""

    def make(folder: Path) -> Outcome:
        (folder / "stills").mkdir()
        for k, image in enumerate(scene()):
            content = image.astype(np.uint16) * 257 if deep else image
            (folder / "stills" / f"IMG_{first + k}{suffix}").write_bytes(cv2.imencode(suffix.lower(), content)[1].tobytes())
        (folder / "stills" / "Thumbs.db").write_bytes(b"no picture")
        return read(folder / "stills", scene(), even())

    return make


def _coded(suffix: str, codec: str, pixels: str, rate: Fraction = RATE) -> Callable[[Path], Outcome]:
    """Return what writes a coded video."""

    def make(folder: Path) -> Outcome:
        file = write_coded(folder / f"clip{suffix}", scene(), even(rate=rate), rate, codec, pixels)
        return read(file, scene(), even(rate=rate))

    return make


def _turned(degrees: int) -> Callable[[Path], Outcome]:
    """Return what writes a video of a phone that was held upright: pictures lie, and the file says how to turn them."""

    def make(folder: Path) -> Outcome:
        upright = scene(size=(240, 320) if degrees != 180 else SIZE)
        lying = [np.ascontiguousarray(np.rot90(image, degrees // 90)) for image in upright]
        return read(write_coded(folder / "phone.mp4", lying, even(), RATE, rotation_deg=degrees), upright, even())

    return make


def _trimmed(varying: bool) -> Callable[[Path], Outcome]:
    """Return what writes a video that was trimmed on a phone: its first pictures are in the file, but not to be shown."""

    def make(folder: Path) -> Outcome:
        stamps_s, cut = even(), 5
        if varying:
            stamps_s = np.concatenate([[0.0], np.cumsum(np.random.default_rng(3).choice([0.033, 0.05, 0.067], N - 1))])
        stamps_s = stamps_s - stamps_s[cut]
        file = write_coded(folder / "phone.mp4", scene(), stamps_s, RATE)
        return read(file, scene()[cut:], stamps_s[cut:])

    return make


def _matroska(folder: Path) -> Outcome:
    """Write motion JPEG in Matroska."""
    return read(write_mkv(folder / "clip.mkv", scene(), even(), 30.0), scene(), even())


def _told(result_out: str) -> Outcome:
    """Return the first two lines of a replay's report, and the share that was not tracked."""
    lines = " | ".join(result_out.splitlines()[:2])
    found = re.search(r"([\d.]+) % tracked", lines)
    return Outcome(lines, 100.0 - float(found[1]) if found else np.inf)


def _fast(folder: Path) -> Outcome:
    """Replay a walk at 120 Hz, in MP4."""
    for file in both(folder, ".mp4"):
        write_coded(file, pictures(file.stem, 80), even(80, Fraction(120)), Fraction(120))
    return _replayed(folder, both(folder, ".mp4"))


def _unlike(folder: Path) -> Outcome:
    """Replay a walk whose right camera has other pictures than the left."""
    rig, size = read_rig(walk().folder / "rig.toml"), (840, 630)
    scale = size[0] / rig.cameras[1].size[0]
    matrix = rig.cameras[1].matrix * [[scale], [scale], [1.0]]
    matrix[:2, 2] += 0.5 * scale - 0.5  # pixel centres are at whole numbers
    write_rig_toml(folder / "rig.toml", replace(rig, cameras=(rig.cameras[0], replace(rig.cameras[1], size=size, matrix=matrix))))
    write_avi(folder / "left.avi", pictures("left", 50), 30.0)
    write_avi(folder / "right.avi", [np.asarray(cv2.resize(image, size), np.uint8) for image in pictures("right", 50)], 30.0)
    return _replayed(folder, both(folder, ".avi"), rig=folder / "rig.toml")


def _repeated(folder: Path) -> Outcome:
    """Replay a walk recorded at 30 Hz from a camera that gave 20: every third picture is the one before."""
    for file in both(folder, ".avi"):
        images = pictures(file.stem, 40)
        write_avi(file, [images[2 * (k // 3) + min(k % 3, 1)] for k in range(60)], 30.0)
    return _replayed(folder, both(folder, ".avi"))


def _replayed(folder: Path, videos: Sequence[Path], **changed: object) -> Outcome:
    """Replay two videos."""
    result = replay(videos, "--no-publish", **changed)
    return _told(result.out) if result.status == 0 else Outcome(result.err.replace(str(folder), ""), refused=True)


_ALL = f"^{N} pictures of 320x240 at 30.00 Hz"

SPECIMENS: tuple[Specimen, ...] = (
    Specimen("stills as a camera names them", _folder(".JPG", 98), _ALL, LEVELS, "of 255"),
    Specimen("PNG sequence of 16 bits", _folder(".png", 0, deep=True), _ALL, LEVELS, "of 255"),
    Specimen("motion JPEG in Matroska", _matroska, _ALL, LEVELS, "of 255"),
    Specimen("MP4 with B-frames", _coded(".mp4", "libx264", "yuv420p"), _ALL, LEVELS, "of 255"),
    Specimen("MKV with B-frames", _coded(".mkv", "libx264", "yuv420p"), _ALL, LEVELS, "of 255"),
    Specimen("phone held upright", _turned(90), f"^{N} pictures of 240x320 at 30.00 Hz", LEVELS, "of 255"),
    Specimen("phone held upside down", _turned(180), _ALL, LEVELS, "of 255"),
    Specimen("phone held upright the other way", _turned(270), f"^{N} pictures of 240x320", LEVELS, "of 255"),
    Specimen("trimmed on a phone", _trimmed(False), "^35 pictures of 320x240 at 30.00 Hz", LEVELS, "of 255"),
    Specimen("trimmed, of variable rate", _trimmed(True), "^35 pictures of 320x240", LEVELS, "of 255"),
    Specimen("H.264 of 10 bits", _coded(".mp4", "libx264", "yuv420p10le"), _ALL, LEVELS, "of 255"),
    Specimen("H.265 of 10 bits", _coded(".mov", "libx265", "yuv420p10le"), _ALL, LEVELS, "of 255"),
    Specimen("120 Hz", _fast, r"tracked.*120\.00 Hz$", 5.0, "% not tracked", slow=True),
    Specimen("cameras of different sizes", _unlike, r"tracked.*30\.00 Hz$", 5.0, "% not tracked", slow=True),
    Specimen("repeated pictures", _repeated, r"20 and 20 pictures \(of each camera\) repeat", 50.0, "% not tracked", slow=True),
)
