"""Project folders of other programs: which video belongs to which of their cameras, and some or all of these as a rig.

| program | calibration | videos |
|---|---|---|
| caliscope | camera_array.toml, also in calibration/extrinsic/capture_volume/ | recordings/NAME/, cam_0.mp4 or port_0.mp4 |
| FreeMoCap | *camera_calibration*.toml, in millimetres | synchronized_videos/ |
| Pose2Sim | calibration/*.toml, Z up, or Calib.qca.txt of Qualisys | videos/ |
| EasyMocap | intri.yml, extri.yml | videos/, or images/NAME/ |
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calibration.camera import MAX_CAMERAS, Camera, Rig
from calibration.depth import VOLUME_M
from calibration.formats.camera_file import ReadOptions, build_rig
from calibration.formats.rig_file import read_camera_file
from calibration.pairs import CameraPair, find_capture_volume, rank_pairs
from capture.sources.source import IMAGE_SUFFIXES, make_natural_key
from config.arrays import Floats
from config.errors import DuocapError, FileFormatError
from tools.projects.frame_times import find_frame_times_file, read_frame_times

VIDEO_SUFFIXES = frozenset({".mp4", ".avi", ".mov", ".mkv", ".m4v", ".webm"})
VIDEOS = ("synchronized_videos", "synced_videos", "videos", "images", "recordings")
CALISCOPE = ("camera_array.toml", "calibration/extrinsic/capture_volume/camera_array.toml")
BEST = "best"  # in place of names


@dataclass(frozen=True, slots=True)
class Project:
    """A project of another program.

    Attributes:
        calibration: file or folder of the calibration.
        options: options for reading it.
        videos: video of each camera, by name.
    """

    folder: Path
    calibration: Path
    options: ReadOptions
    videos: dict[str, Path]

    def rig(self, names: tuple[str, ...]) -> Rig:
        """Return some of its cameras as a rig. Raises FileFormatError: no such camera, or one that cannot be used."""
        options = replace(self.options, names=names)
        return build_rig(str(self.calibration), read_camera_file(self.calibration, options), options)

    def frame_times(self, names: Sequence[str]) -> tuple[Floats, ...] | None:
        """Return the times of the frames of cameras, (N,) each [s], None where no file has them. Raises FileFormatError."""
        return read_video_times([self.videos[name] for name in names])


def read_video_times(videos: Sequence[Path]) -> tuple[Floats, ...] | None:
    """Return the times of the frames of videos, (N,) each [s], from the file beside them; None where there is none.

    Raises FileFormatError: the file is damaged, or lacks one of the cameras.
    """
    file = find_frame_times_file(videos[0].parent)
    if file is None:
        return None
    times = read_frame_times(file)
    found = []
    for video in videos:
        number = find_last_number(video.stem)
        if number is None or number not in times:
            has = ", ".join(map(str, times))
            raise FileFormatError(f"{file}: has no times of {video.name}; it has those of the cameras {has}")
        found.append(times[number])
    return tuple(found)


def open_project(folder: Path) -> Project | None:
    """Return the project in a folder, None if it is none. Raises DuocapError: videos and cameras do not belong together."""
    found = find_calibration_file(folder)
    if found is None:
        return None
    calibration, options = found
    videos = _find_videos(folder)
    names = [camera.name for camera in read_camera_file(calibration, options).cameras]
    if not videos:
        raise DuocapError(f"{folder}: a calibration ({calibration.name}) but no videos; expected them in {', '.join(VIDEOS)}")
    return Project(folder, calibration, options, _match_videos(folder, names, videos))


def find_calibration_file(folder: Path) -> tuple[Path, ReadOptions] | None:
    """Return the calibration of a project and how it is to be read, None where there is none."""
    for name in CALISCOPE:
        if (folder / name).is_file():
            return folder / name, ReadOptions()
    if (folder / "intri.yml").is_file() and (folder / "extri.yml").is_file():
        return folder, ReadOptions()
    for file in sorted(folder.glob("*camera_calibration*.toml")):
        return file, ReadOptions(unit_m=1e-3)
    for file in sorted((folder / "calibration").glob("*.toml")):
        return file, ReadOptions(up="z")
    for file in sorted((folder / "calibration").glob("*.qca.txt")):
        return file, ReadOptions()
    return None


def _find_videos(folder: Path) -> list[Path]:
    """Return the videos of a project, or its folders of images, those of the newest recording if there are several."""
    places = [folder / name for name in VIDEOS]
    places += sorted((folder / "recordings").glob("*"), key=lambda path: path.name, reverse=True)
    return next((videos for place in places if len(videos := list_videos(place)) > 1), [])


def _match_videos(folder: Path, names: Sequence[str], videos: Sequence[Path]) -> dict[str, Path]:
    """Return the video of every camera that has one. Raises DuocapError: fewer than two cameras have one, or one of several."""
    found = match_videos_to_cameras(names, videos)
    if len(found) < 2:
        listed = ", ".join(path.name for path in videos)
        raise DuocapError(
            f"{folder}: the cameras {', '.join(names)} and the videos {listed} do not go together; expected one named for each"
        )
    return found


def choose_project_cameras(project: Project, cameras: str | None) -> tuple[str, ...]:
    """Return the cameras asked for by name, all where none are; `best` for the pair that measures best.

    Raises DuocapError: there is no such camera, or they are too many.
    """
    if cameras == BEST:
        return tuple(camera.name for camera in find_best_pair(project).rig.cameras)
    names = tuple(name.strip() for name in cameras.split(",")) if cameras else tuple(project.videos)
    known = ", ".join(project.videos)
    for name in names:
        if name not in project.videos:
            raise DuocapError(f"{project.folder}: no video of a camera {name!r}; it has {known}")
    if len(names) > MAX_CAMERAS:
        raise DuocapError(
            f"{project.folder}: {len(names)} cameras ({known}), at most {MAX_CAMERAS} are used; choose with --cameras NAME,NAME"
        )
    return names


def find_best_pair(project: Project) -> CameraPair:
    """Return the pair that measures best where the cameras look. Raises DuocapError: no pair sees enough of it."""
    return find_best_calibrated_pair(project.calibration, replace(project.options, names=tuple(project.videos)))


def find_best_calibrated_pair(
    calibration: Path, options: ReadOptions, sides_m: tuple[float, float, float] = VOLUME_M
) -> CameraPair:
    """Return the pair of a calibration's cameras that measures best in a volume where they look.

    Args:
        calibration: file of the calibration.
        options: options for reading it, with the names of the cameras to choose from, or none for all that can be read.
        sides_m: width, height and depth of the volume [m].
    Raises: DuocapError: fewer than two can be read, or no two see a quarter of the volume.
    """
    content = read_camera_file(calibration, options)
    floor_known = content.floor_known or bool(options.up)
    cameras: list[Camera] = []
    for name in options.names or [camera.name for camera in content.cameras]:
        try:
            cameras.append(build_rig(str(calibration), content, replace(options, names=(name,))).cameras[0])
        except FileFormatError:
            continue  # one that was not calibrated is none to choose
    if len(cameras) < 2:
        raise DuocapError(f"{calibration}: {len(cameras)} of its cameras can be read; a pair needs two")
    pairs = rank_pairs(cameras, find_capture_volume(cameras, floor_known, sides_m), floor_known)
    if not pairs:
        size = "x".join(f"{side:g}" for side in sides_m)
        raise DuocapError(
            f"{calibration}: no two of its cameras see a quarter of {size} m where they look; give a smaller --volume"
        )
    return pairs[0]


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
