"""Rig files of any program: the format is recognised, read into a rig, and written."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from calibration.camera import Rig
from calibration.formats.camera_file import CameraFile, ReadOptions, build_rig
from calibration.formats.easymocap import find_easymocap_folder, format_easymocap, read_easymocap
from calibration.formats.kalibr import format_kalibr, is_kalibr, read_kalibr
from calibration.formats.opencv import find_opencv_files, format_opencv, read_opencv
from calibration.formats.qualisys import format_qualisys, read_qualisys
from calibration.formats.rig_toml import CAMERA_TABLES, format_caliscope, read_camera_tables, read_toml_tables, write_rig_toml
from calibration.formats.rig_toml import read_rig_toml as read_native
from config.errors import FileFormatError
from config.files import write_atomically, write_together
from config.settings import CAMERA_NAMES
from config.text import read_text

FORMATS = ("toml", "caliscope", "opencv", "kalibr", "easymocap", "qualisys")
WITHOUT_FISHEYE = ("easymocap", "qualisys")
STORED = (".yml", ".yaml", ".xml")  # as OpenCV writes them
QUALISYS = (".qca.txt", ".qca")
START = 500  # characters of a file that tell its format
PLAIN = ReadOptions()
EXPECTED = (
    "TOML (duocap, aniposelib, Pose2Sim, FreeMoCap, caliscope), YAML or XML (OpenCV, Kalibr, ROS camera_info), EasyMocap's "
    "folder or Qualisys' .qca.txt"
)


def read_rig(path: str | Path, options: ReadOptions = PLAIN, n_views: int | None = None) -> Rig:
    """Read the rig in a file or folder of any known program.

    Args:
        path: the file or folder.
        options: what the file leaves open.
        n_views: how many cameras it must have; None: any number.
    Raises: FileFormatError: unreadable, unknown, another number of cameras, or implausible ones.
    """
    path = Path(path)
    ours = options == PLAIN and path.suffix.lower() == ".toml" and _is_duocap_rig(path)
    rig = read_native(path) if ours else read_cameras(path, options)
    if n_views is not None and len(rig) != n_views:
        names = ", ".join(camera.name for camera in rig.cameras)
        raise FileFormatError(
            f"{path}: a rig of {len(rig)} camera{'' if len(rig) == 1 else 's'} ({names}), but {n_views} were given; give one "
            "video or camera for each of the rig, in its order, or calibrate those you have together with `duocap calibrate rig`"
        )
    return rig


def read_rig_for_views(path: Path, n_views: int, names: Sequence[str] = ()) -> tuple[Rig, tuple[int, ...]]:
    """Return the rig for a number of views, and the indices of its cameras in the file.

    Args:
        path: rig file.
        n_views: number of views.
        names: the camera of each view, by its name in the file or by its place there: left, right, third and so on. Without names
            the views are of all cameras in order, and a single view is of the first.
    Raises: FileFormatError: as `read_rig`, or no camera has such a name, or the names are not one for each view.
    """
    if not names and n_views > 1:
        return read_rig(path, n_views=n_views), tuple(range(n_views))
    rig = read_rig(path)
    own = [camera.name for camera in rig.cameras]
    called = {**dict(zip(CAMERA_NAMES, range(len(own)), strict=False)), **{name: n for n, name in enumerate(own)}}
    wrong = next((name for name in names if name not in called), None)
    if wrong is not None:
        raise FileFormatError(f"{path}: no camera {wrong!r}; it has {', '.join(own)}")
    chosen = tuple(called[name] for name in names) or (0,)
    if len(set(chosen)) < len(chosen) or len(chosen) != n_views:
        raise FileFormatError(
            f"{path}: {n_views} view{'' if n_views == 1 else 's'} for the cameras {', '.join(names)}; expected one for each, and "
            f"each once, of {', '.join(own)}"
        )
    return replace(rig, cameras=tuple(rig.cameras[n] for n in chosen)), chosen


def read_cameras(path: Path, options: ReadOptions = PLAIN) -> Rig:
    """Read the cameras of a file or folder. Raises FileFormatError: unreadable, unknown, too many, or implausible ones."""
    return build_rig(str(path), read_camera_file(path, options), options)


def read_camera_file(path: Path, options: ReadOptions = PLAIN) -> CameraFile:
    """Read all cameras of a file or folder as they are in it. Raises FileFormatError: unreadable or unknown."""
    folder = find_easymocap_folder(path)
    if folder is not None:
        return read_easymocap(folder, options)
    if path.is_dir():
        if find_opencv_files(path) == [path]:
            raise FileFormatError(f"{path}: is a folder without a calibration in it; expected {EXPECTED}")
        return read_opencv(path, options)
    try:
        text = read_text(path, what="the rig")
    except FileFormatError as error:
        raise FileFormatError(f"{error}; expected {EXPECTED}") from error
    suffix = path.suffix.lower()
    if re.search(r"<calibration[\s/>]", text[:START]) or path.name.lower().endswith(QUALISYS):
        return read_qualisys(path)
    if suffix in STORED and is_kalibr(text):
        return read_kalibr(path)
    if suffix in STORED or text.startswith("%YAML") or "<opencv_storage" in text[:START]:
        return read_opencv(path, options)
    if suffix == ".toml" or _has_camera_table(text):
        return read_camera_tables(path)
    raise FileFormatError(f"{path}: a file of no program that is read; expected {EXPECTED}")


def _has_camera_table(text: str) -> bool:
    """Return whether a text is TOML with the matrix of a camera."""
    try:
        return "matrix" in text and bool(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


def _is_duocap_rig(path: Path) -> bool:
    """Return whether a TOML file names its cameras as duocap does."""
    return any(name in read_toml_tables(path) for name in CAMERA_TABLES)


def find_format(path: Path) -> str:
    """Return the format for a file's name. Raises FileFormatError: there is none."""
    name = path.name.lower()
    if name.endswith(".toml"):
        return "toml"
    if name.endswith(STORED):
        return "opencv"
    if name.endswith((*QUALISYS, ".txt")):
        return "qualisys"
    if not path.suffix:
        return "easymocap"
    raise FileFormatError(f"{path}: no known calibration file ends so; expected {EXPECTED}, or give --format")


def write_rig_file(path: Path, rig: Rig, form: str) -> list[Path]:
    """Write a rig in one of FORMATS, completely or not at all, and return the files written.

    Args:
        path: the file, or EasyMocap's folder, which is made.
        rig: the cameras.
        form: one of FORMATS.
    Raises: FileFormatError: it cannot be written, or the format has no place for a fisheye.
    """
    if form in WITHOUT_FISHEYE and any(camera.fisheye for camera in rig.cameras):
        raise FileFormatError(f"{path}: {form} has no place for fisheye lenses; write toml, caliscope, opencv or kalibr")
    if form == "easymocap":
        try:
            path.mkdir(exist_ok=True)
        except OSError as error:
            raise FileFormatError(f"{path}: cannot be made; choose a name in an existing folder that you may write to") from error
        texts = {path / name: text for name, text in format_easymocap(rig).items()}
    elif form == "toml":
        write_rig_toml(path, rig)
        return [path]
    elif form == "opencv":
        suffix = path.suffix.lower() if path.suffix.lower() in STORED else ".yml"
        texts = {path: format_opencv(rig, suffix)}
    else:
        texts = {path: {"caliscope": format_caliscope, "kalibr": format_kalibr, "qualisys": format_qualisys}[form](rig)}
    with write_together():
        for file, text in texts.items():
            write_atomically(file, text)
    return list(texts)
