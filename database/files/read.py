"""Read one motion file of any supported format."""

import logging
from collections.abc import Callable
from pathlib import Path

from config.errors import FileFormatError
from database.clips import Clip
from database.files.asf_amc import read_amc
from database.files.bvh import read_bvh
from database.files.gltf import read_gltf
from database.files.retarget import NO_HINTS, SAID_M, ImportedMotion, ImportHints, import_motion
from database.files.source_motion import SourceMotion, read_file_bytes

logger = logging.getLogger(__name__)
READERS: dict[str, Callable[[Path], SourceMotion]] = {
    ".amc": read_amc, ".bvh": read_bvh, ".glb": read_gltf, ".gltf": read_gltf, ".vrma": read_gltf, ".vrm": read_gltf,
}  # fmt: skip
SUFFIXES = (".amc", ".bvh", ".glb", ".gltf", ".vrma")
KINDS = ".amc (with its .asf), .bvh, .glb, .gltf or .vrma"
EXPECTED = f"expected a motion as {KINDS}"


def has_motion(path: Path) -> bool:
    """Return whether a file is a motion by its name; glTF files, most of which are models, must have an animation, too."""
    if path.suffix.lower() in (".glb", ".gltf"):
        return b'"animations"' in read_file_bytes(path)
    return path.suffix.lower() in SUFFIXES


def read_imported_motion(path: str | Path, hints: ImportHints = NO_HINTS) -> ImportedMotion:
    """Return a motion file as a clip of our skeleton, uncleaned, at its own rate, with what was found and doubted.

    Args:
        path: the file.
        hints: what the user says about it.
    Raises: FileFormatError, with file and line.
    """
    file = Path(path)
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file; {EXPECTED}")
    if file.suffix.lower() not in READERS:
        raise FileFormatError(f"{file}: {EXPECTED}, found {file.suffix or 'no suffix'}")
    return import_motion(str(file), READERS[file.suffix.lower()](file), hints)


def read_clip(path: str | Path, hints: ImportHints = NO_HINTS) -> Clip:
    """Return a motion file as a clip; what was doubted or does not fit is logged as a warning, all else as information.

    Args:
        path: the file.
        hints: what the user says about it.
    Raises: FileFormatError, with file and line.
    """
    imported = read_imported_motion(path, hints)
    first, *notes = imported.lines()
    logger.log(logging.WARNING if imported.residual.worst_m > SAID_M else logging.INFO, "%s: %s", path, first)
    for note in notes:
        logger.warning("%s: %s", path, note)
    return imported.clip
