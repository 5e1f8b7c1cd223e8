"""Read one motion file of any supported format."""

from pathlib import Path

from config.errors import FileFormatError
from database.clips import Clip
from database.files.asf_amc import read_amc
from database.files.bvh import read_bvh
from database.files.retarget import clip_from_source

READERS = {".amc": read_amc, ".bvh": read_bvh}
SUFFIXES = tuple(READERS)


def read_clip(path: str | Path) -> Clip:
    """Return a motion file as a clip of our skeleton, uncleaned, at its own rate. Raises FileFormatError, with file and line."""
    file = Path(path)
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file; expected a motion as .amc (with its .asf) or .bvh")
    if file.suffix.lower() not in READERS:
        raise FileFormatError(f"{file}: expected a motion as .amc (with its .asf) or .bvh, found {file.suffix or 'no suffix'}")
    return clip_from_source(str(file), READERS[file.suffix.lower()](file))
