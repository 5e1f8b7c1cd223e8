"""Names of cameras that are given by their files, folders or devices."""

from collections.abc import Sequence
from pathlib import Path

from config.errors import DuocapError
from config.settings import CAMERAS

MAX_CAMERAS = 8  # as calibration.camera says, which takes long to import


def camera_names(sources: Sequence[str]) -> tuple[str, ...]:
    """Return names for cameras: left and right for two, for more those of their files or folders.

    Raises DuocapError: too many, one given twice, or names that repeat.
    """
    if len(sources) > MAX_CAMERAS:
        raise DuocapError(f"{len(sources)} cameras; expected at most {MAX_CAMERAS}: leave some out")
    places = [str(Path(source).resolve()) if Path(source).exists() else source for source in sources]
    for source, place in zip(sources, places, strict=True):
        if places.count(place) > 1:
            raise DuocapError(f"{source}: given twice; give each camera once")
    if len(sources) <= len(CAMERAS):
        return CAMERAS if len(sources) == len(CAMERAS) else ()
    paths = [Path(source) for source in sources]
    for names in ([path.stem for path in paths], [path.parent.name for path in paths]):
        names = [f"cam{name}" if name.isdigit() else name for name in names]
        if len(set(names)) == len(names) and all(names):
            return tuple(names)
    raise DuocapError(f"{', '.join(sources)}: names that repeat; name each camera's file or folder as the camera")
