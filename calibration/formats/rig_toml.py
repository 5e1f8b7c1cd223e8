"""rig.toml in the schema of aniposelib, Pose2Sim and caliscope, with `floor_known` and `verdict` of our own in `[metadata]`.

Tables `[cam_0]` to `[cam_7]`, as many as there are cameras: `name`, `size` [px], `matrix` (3, 3) [px], `distortions` (4 or 5: k1,
k2, p1, p2[, k3]; with `fisheye = true`: k1, k2, k3, k4), `rotation` (Rodrigues vector, world to camera), `translation` (world to
camera) [m]; `[metadata]` with `adjusted`, `error` [px]. Files of other programs may have other table names, more cameras and
lenses of more coefficients.
"""

import math
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w

from calibration.camera import MAX_CAMERAS, MAX_SIDE_PX, Camera, Rig, check_baseline, check_camera
from calibration.formats.camera_file import CameraFile, FoundCamera
from calibration.formats.lens import LENGTHS, read_lens
from calibration.formats.storage import format_shapes
from config.arrays import Floats
from config.errors import FileFormatError
from config.files import read_toml, write_atomically
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

CAMERA_TABLES = tuple(f"cam_{n}" for n in range(MAX_CAMERAS))
# A rotation goes vector -> matrix -> vector; rounding away the last bits gives back the digits that were read.
ROTATION_DECIMALS = 14


def read_toml_tables(path: str | Path) -> dict[str, Any]:
    """Read a TOML file. Raises FileFormatError: no such file, or not TOML."""
    return read_toml(Path(path), what="the rig", advice="give one of aniposelib, Pose2Sim, caliscope or `duocap simulate`")


def read_rig_toml(path: str | Path) -> Rig:
    """Read a rig of one to eight cameras.

    Raises FileFormatError: no such file, not TOML, a camera or key missing, a value of the wrong type or implausible.
    """
    tables = read_toml_tables(path)
    found = [name for name, table in tables.items() if isinstance(table, dict) and name != "metadata"]
    expected = CAMERA_TABLES[: max(len(found), 1)]
    if set(found) != set(expected):
        listed, wanted = (", ".join(f"[{name}]" for name in names) for names in (found, expected))
        raise FileFormatError(
            f"{path}: a rig has one to {MAX_CAMERAS} cameras, [{CAMERA_TABLES[0]}] to [{CAMERA_TABLES[-1]}] without a gap; "
            f"expected {wanted}, got {listed or 'no camera'}"
        )
    cameras = tuple(camera_from_table(f"{path}: [{name}]", tables[name]) for name in expected)
    known = read_metadata(f"{path}: [metadata]", tables.get("metadata", {}))
    rig = Rig(cameras, *known)
    if not rig.is_monocular:
        check_baseline(str(path), rig)
    return rig


def write_rig_toml(path: str | Path, rig: Rig) -> None:
    """Write a rig; the file is complete or, on any failure, as it was before.

    Raises FileFormatError: the folder cannot be written to.
    """
    metadata: dict[str, Any] = {"adjusted": False, "floor_known": rig.floor_known}
    if not math.isnan(rig.error_px):
        metadata["error"] = float(rig.error_px)
    if rig.grade:
        metadata["verdict"] = rig.grade
    tables = {f"cam_{n}": table_from_camera(camera) for n, camera in enumerate(rig.cameras)}
    text = "# x_camera = R(rotation) x_world + translation; metres, pixels\n" + tomli_w.dumps({**tables, "metadata": metadata})
    write_atomically(Path(path), text)


def table_from_camera(camera: Camera) -> dict[str, Any]:
    """Return the TOML table of a camera; `fisheye` only where it is one, as aniposelib has it."""
    return {
        "name": camera.name,
        "size": list(camera.size),
        "matrix": camera.matrix.tolist(),
        **({"fisheye": True} if camera.fisheye else {}),
        "distortions": camera.distortions.tolist(),
        "rotation": (np.round(rotvec_from_matrix(camera.rotation), ROTATION_DECIMALS) + 0.0).tolist(),
        "translation": camera.translation.tolist(),
    }


def camera_from_table(where: str, table: dict[str, Any]) -> Camera:
    """Check one camera's table and turn it into a Camera."""
    fisheye = table.get("fisheye", False)
    if not isinstance(fisheye, bool):
        raise FileFormatError(f"{where} fisheye must be true or false, got {fisheye!r}")
    size = _read_numbers(where, table, "size", ((2,),))
    if not (np.all(size == np.round(size)) and np.all((size >= 16) & (size <= MAX_SIDE_PX))):
        raise FileFormatError(f"{where} size must be width and height in whole pixels, 16 to {MAX_SIDE_PX}, got {table['size']}")
    whole = (int(size[0]), int(size[1]))
    matrix = _read_numbers(where, table, "matrix", ((3, 3),))
    lens = _read_numbers(where, table, "distortions", ((4,),) if fisheye else LENGTHS)
    matrix, lens = read_lens(where, whole, matrix, lens)
    camera = Camera(
        name=str(table.get("name", where.rpartition("[")[2].rstrip("]"))),
        size=whole,
        matrix=matrix,
        distortions=lens,
        rotation=matrix_from_rotvec(_read_numbers(where, table, "rotation", ((3,),))),
        translation=_read_numbers(where, table, "translation", ((3,),)),
        fisheye=fisheye,
    )
    check_camera(where, camera)
    return camera


def _read_numbers(where: str, table: dict[str, Any], key: str, shapes: tuple[tuple[int, ...], ...]) -> Floats:
    """Return `table[key]` as finite floats of one of the shapes; a row or a column is as good as a list."""
    wanted = format_shapes(shapes)
    if key not in table:
        raise FileFormatError(f"{where} lacks {key}; expected {wanted} numbers")
    flat = _flatten_lists(table[key])
    try:
        array = np.array(table[key], float)
    except (ValueError, TypeError):
        array = np.empty(0)
    if array.shape not in shapes and 1 in array.shape:
        array = array.ravel()
    if array.shape not in shapes or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in flat):
        raise FileFormatError(f"{where} {key} must be {wanted} numbers, got {table[key]!r}")
    if not np.all(np.isfinite(array)):
        raise FileFormatError(f"{where} {key} holds a number that is not finite: {table[key]!r}; calibrate again")
    return array


def _flatten_lists(value: object) -> list[object]:
    """Return the leaves of nested lists."""
    return [leaf for item in value for leaf in _flatten_lists(item)] if isinstance(value, list) else [value]


class RigMetadata(NamedTuple):
    """What a rig file says of all its cameras; fields as in `Rig` and `CameraFile`, after the cameras."""

    error_px: float
    floor_known: bool
    grade: str


def read_metadata(where: str, table: object) -> RigMetadata:
    """Return what a rig file's metadata say, with defaults for missing keys."""
    if not isinstance(table, dict):
        raise FileFormatError(f"{where} must be a table, got {table!r}")
    error, floor = table.get("error", float("nan")), table.get("floor_known", False)
    if isinstance(error, list) and error and all(isinstance(value, int | float) for value in error):
        error = float(np.sqrt(np.mean(np.square(error))))  # one for each camera
    if isinstance(error, bool) or not isinstance(error, int | float) or error < 0:
        raise FileFormatError(f"{where} error must be the reprojection RMS in pixels, got {error!r}")
    if not isinstance(floor, bool):
        raise FileFormatError(f"{where} floor_known must be true or false, got {floor!r}")
    grade = table.get("verdict", "")
    if not isinstance(grade, str):
        raise FileFormatError(f"{where} verdict must be a word such as pass or poor, got {grade!r}")
    return RigMetadata(float(error), floor, grade)


OURS = "metadata"


def read_camera_tables(path: Path) -> CameraFile:
    """Read all cameras in the file's order: tables with a matrix, or those within `[cameras]` (caliscope).

    Raises FileFormatError: no such file, no camera in it, or an incomplete one.
    """
    tables = read_toml_tables(path)
    within = tables.get("cameras")
    named = dict(within) if isinstance(within, dict) else {k: v for k, v in tables.items() if k != OURS}
    found = {name: table for name, table in named.items() if isinstance(table, dict) and "matrix" in table}
    if not found:
        raise FileFormatError(f"{path}: no camera in it; expected a table for each, such as [cam_0], with a matrix")
    known = read_metadata(f"{path}: [metadata]", tables.get(OURS, {}))
    cameras = tuple(
        FoundCamera(str(table.get("name") or name), partial(_read_camera, f"{path}: [{name}]", name, table))
        for name, table in found.items()
        if not table.get("ignore")
    )
    return CameraFile(cameras, *known)


def _read_camera(where: str, name: str, table: dict[str, Any]) -> Camera:
    """Return one camera; caliscope's rotation may be a matrix, and its images may be rotated."""
    if table["matrix"] in ("null", None, []):
        raise FileFormatError(f"{where} is not calibrated, its matrix is empty; choose other cameras, or calibrate it there")
    if table.get("rotation_count"):
        raise FileFormatError(
            f"{where} turns its images by {90 * table['rotation_count']} degrees; expected images as they are taken"
        )
    table = {"name": str(table.get("name") or name), **{key: value for key, value in table.items() if key != "name"}}
    if np.shape(table.get("rotation", ())) == (3, 3):
        table["rotation"] = rotvec_from_matrix(np.array(table["rotation"], float)).tolist()
    return camera_from_table(where, table)


def format_caliscope(rig: Rig) -> str:
    """Return the text of caliscope's camera_array.toml, `[cameras.N]`."""
    cameras = {}
    for n, camera in enumerate(rig.cameras):
        cameras[str(n)] = {"cam_id": n, "rotation_count": 0, "ignore": False, **table_from_camera(camera)}
        if np.isfinite(rig.error_px):
            cameras[str(n)]["error"] = float(rig.error_px)
    known = {"error": float(rig.error_px)} if np.isfinite(rig.error_px) else {}
    return tomli_w.dumps({"cameras": cameras, OURS: {"floor_known": rig.floor_known, **known}})
