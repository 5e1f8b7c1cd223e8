"""Project folders of other programs: which video belongs to which of their cameras, and a pair of these as a rig.

| program | calibration | videos |
|---|---|---|
| caliscope | camera_array.toml | recordings/NAME/, cam_0.mp4 or port_0.mp4 |
| FreeMoCap | *camera_calibration*.toml, in millimetres | synchronized_videos/ |
| Pose2Sim | calibration/*.toml, Z up | videos/ |
| EasyMocap | intri.yml, extri.yml | videos/, or images/NAME/ |
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from calibration.camera import Rig
from calibration.depth import depth_sigma_m, performer_distance_m, volume_points_m
from calibration.formats.camera_file import ReadOptions, rig_of
from calibration.formats.rig_file import read_camera_file
from capture.sources.source import IMAGE_SUFFIXES, natural_key
from config.errors import DuocapError, FileFormatError

VIDEO_SUFFIXES = frozenset({".mp4", ".avi", ".mov", ".mkv", ".m4v", ".webm"})
VIDEOS = ("synchronized_videos", "synced_videos", "videos", "images", "recordings")
MARKER_PX = 0.2  # noise of a marker's centre, by which pairs are compared


@dataclass(frozen=True, slots=True)
class Project:
    """A project of another program. calibration: its file or folder; options: to read it by; videos: by camera."""

    folder: Path
    calibration: Path
    options: ReadOptions
    videos: dict[str, Path]

    def rig(self, names: tuple[str, str]) -> Rig:
        """Return two of its cameras as a rig. Raises FileFormatError: no such camera, or one that cannot be used."""
        o = self.options
        options = ReadOptions(o.size, o.unit_m, o.up, names)
        return rig_of(str(self.calibration), read_camera_file(self.calibration, options), options)


def open_project(folder: Path) -> Project | None:
    """Return the project in a folder, None if it is none. Raises DuocapError: videos and cameras do not belong together."""
    found = _calibration(folder)
    if found is None:
        return None
    calibration, options = found
    videos = _videos(folder)
    names = [camera.name for camera in read_camera_file(calibration, options).cameras]
    if not videos:
        raise DuocapError(f"{folder}: a calibration ({calibration.name}) but no videos; expected them in {', '.join(VIDEOS)}")
    return Project(folder, calibration, options, _matched(folder, names, videos))


def _calibration(folder: Path) -> tuple[Path, ReadOptions] | None:
    """Return the calibration of a project and how it is to be read."""
    if (folder / "camera_array.toml").is_file():
        return folder / "camera_array.toml", ReadOptions()
    if (folder / "intri.yml").is_file() and (folder / "extri.yml").is_file():
        return folder, ReadOptions()
    for file in sorted(folder.glob("*camera_calibration*.toml")):
        return file, ReadOptions(unit_m=1e-3)
    for file in sorted((folder / "calibration").glob("*.toml")):
        return file, ReadOptions(up="z")
    return None


def _videos(folder: Path) -> list[Path]:
    """Return the videos of a project, or its folders of images, those of the newest recording if there are several."""
    places = [folder / name for name in VIDEOS]
    places += sorted((folder / "recordings").glob("*"), key=lambda path: path.name, reverse=True)
    for place in places:
        inside = sorted(place.iterdir(), key=lambda path: natural_key(path.name)) if place.is_dir() else []
        videos = [path for path in inside if path.suffix.lower() in VIDEO_SUFFIXES or _is_images(path)]
        if len(videos) > 1:
            return videos
    return []


def _is_images(path: Path) -> bool:
    """Return whether a folder holds images."""
    return path.is_dir() and any(file.suffix.lower() in IMAGE_SUFFIXES for file in path.iterdir())


def _matched(folder: Path, names: Sequence[str], videos: Sequence[Path]) -> dict[str, Path]:
    """Return the video of every camera that has one: of the same name, or the same last number.

    Raises DuocapError: fewer than two cameras have one, or one of several.
    """
    found: dict[str, Path] = {}
    for name in names:
        alike = [path for path in videos if path.stem == name] or [
            path for path in videos if _number(path.stem) is not None and _number(path.stem) == _number(name)
        ]
        if len(alike) == 1:
            found[name] = alike[0]
    if len(found) < 2:
        listed = ", ".join(path.name for path in videos)
        raise DuocapError(
            f"{folder}: the cameras {', '.join(names)} and the videos {listed} do not go together; expected one named for each"
        )
    return found


def _number(name: str) -> int | None:
    """Return the last number in a name."""
    numbers = re.findall(r"\d+", name)
    return int(numbers[-1]) if numbers else None


def project_pair(project: Project, cameras: str | None) -> tuple[str, str]:
    """Return the left and the right camera as asked for, or of two the only ones. Raises DuocapError: it is to be said which."""
    names = tuple(name.strip() for name in cameras.split(",")) if cameras else tuple(project.videos)
    known = ", ".join(project.videos)
    if len(names) != 2 and cameras:
        raise DuocapError(f"--cameras {cameras}: expected LEFT,RIGHT, two of {known}")
    if len(names) != 2:
        raise DuocapError(
            f"{project.folder}: {len(project.videos)} cameras ({known}); choose two with --cameras{_proposal(project)}"
        )
    for name in names:
        if name not in project.videos:
            raise DuocapError(f"{project.folder}: no video of a camera {name!r}; it has {known}")
    return names[0], names[1]


def _proposal(project: Project) -> str:
    """Return the pair that measures best where both see the performer, with what tells; empty where no pair will do."""
    best: tuple[float, str] | None = None
    for left, right in combinations(project.videos, 2):
        try:
            rig = project.rig((left, right))
        except FileFormatError:
            continue
        to_right = rig.left.rotation @ (rig.right.center_m - rig.left.center_m)
        if to_right[0] < 0.0:
            left, right = right, left
            rig = Rig(rig.right, rig.left, rig.error_px, rig.floor_known, rig.grade)
        distance_m = performer_distance_m(rig)
        seen = len(volume_points_m(rig, distance_m))
        depth_m = depth_sigma_m(rig, distance_m, MARKER_PX)
        if seen >= 4 and (best is None or depth_m / seen < best[0]):
            words = f" {left},{right}, which measures best: {rig.baseline_m:.2f} m apart, {1e3 * depth_m:.1f} mm of depth noise"
            best = depth_m / seen, words
    return "" if best is None else best[1]
