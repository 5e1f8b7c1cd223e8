"""Videos in a folder, and which is of which camera."""

import re
from collections.abc import Sequence
from pathlib import Path

from capture.sources.source import IMAGE_SUFFIXES, make_natural_key

VIDEO_SUFFIXES = frozenset({".mp4", ".avi", ".mov", ".mkv", ".m4v", ".webm"})


def list_videos(place: Path) -> list[Path]:
    """Return the videos in a folder and its folders of images, in natural order; none where it is no folder."""
    inside = sorted(place.iterdir(), key=lambda path: make_natural_key(path.name)) if place.is_dir() else []
    return [path for path in inside if path.suffix.lower() in VIDEO_SUFFIXES or _is_image_folder(path)]


def _is_image_folder(path: Path) -> bool:
    """Return whether a folder holds images."""
    return path.is_dir() and any(file.suffix.lower() in IMAGE_SUFFIXES for file in path.iterdir())


def match_videos_to_cameras(names: Sequence[str], videos: Sequence[Path]) -> dict[str, Path]:
    """Return the video of every camera that has exactly one: of the same name, or the same last number."""
    found: dict[str, Path] = {}
    for name in names:
        alike = [path for path in videos if path.stem == name] or [
            path
            for path in videos
            if find_last_number(path.stem) is not None and find_last_number(path.stem) == find_last_number(name)
        ]
        if len(alike) == 1:
            found[name] = alike[0]
    return found


def find_last_number(name: str) -> int | None:
    """Return the last number in a name."""
    numbers = re.findall(r"\d+", name)
    return int(numbers[-1]) if numbers else None
