"""Names of cameras that are given by their files, folders or devices."""

from collections.abc import Sequence
from pathlib import Path

from config.errors import DuocapError
from config.settings import CAMERA_NAMES


def choose_camera_names(sources: Sequence[str]) -> tuple[str, ...]:
    """Return names for cameras: left and right for two, for more those of their files or folders.

    Raises DuocapError: too many, one given twice, or names that repeat.
    """
    if len(sources) > len(CAMERA_NAMES):
        raise DuocapError(f"{len(sources)} cameras; expected at most {len(CAMERA_NAMES)}: leave some out")
    places = [str(Path(source).resolve()) if Path(source).exists() else source for source in sources]
    for source, place in zip(sources, places, strict=True):
        if places.count(place) > 1:
            raise DuocapError(f"{source}: given twice; give each camera once")
    if len(sources) <= 2:
        return CAMERA_NAMES[:2] if len(sources) == 2 else ()
    paths = [Path(source) for source in sources]
    for names in ([path.stem for path in paths], [path.parent.name for path in paths]):
        names = [f"cam{name}" if name.isdigit() else name for name in names]
        if len(set(names)) == len(names) and all(names):
            return tuple(names)
    raise DuocapError(f"{', '.join(sources)}: names that repeat; name each camera's file or folder as the camera")
