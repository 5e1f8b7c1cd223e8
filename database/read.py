"""Read one motion file of any supported format."""

from pathlib import Path

from config.errors import FileFormatError
from database.asf_amc import DEFAULT_FPS, read_amc
from database.bvh import read_bvh
from database.clips import Clip
from database.retarget import clip_from_source

SUFFIXES = (".amc", ".bvh")


def read_clip(path: str | Path, asf: str | Path | None = None, fps: float = DEFAULT_FPS) -> Clip:
    """Give a motion file as a clip of our skeleton, uncleaned and at its own rate.

    asf: skeleton of an AMC, default the one in its folder; fps: rate of an AMC, which does not say it.
    Raises FileFormatError with file and line.
    """
    file = Path(path)
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file; expected a motion as .amc (with its .asf) or .bvh")
    if file.suffix.lower() == ".amc":
        motion = read_amc(file, None if asf is None else Path(asf), fps)
    elif file.suffix.lower() == ".bvh":
        motion = read_bvh(file)
    else:
        raise FileFormatError(f"{file}: expected a motion as .amc (with its .asf) or .bvh, found {file.suffix or 'no suffix'}")
    return clip_from_source(str(file), motion)
