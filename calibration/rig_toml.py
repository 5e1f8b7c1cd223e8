"""rig.toml in the schema of aniposelib, Pose2Sim and caliscope, with `floor_known` and `verdict` of our own in `[metadata]`.

Tables `[cam_0]` (left) and `[cam_1]` (right): `name`, `size` [px], `matrix` (3, 3) [px], `distortions` (4 or 5: k1, k2,
p1, p2[, k3]), `rotation` (Rodrigues vector, world to camera), `translation` (world to
camera) [m]; `[metadata]` with `adjusted`, `error` [px].
"""

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from calibration.camera import Camera, Rig
from calibration.rig_checks import MAX_SIDE_PX, check_baseline, check_camera
from config.errors import FileFormatError, reason
from config.files import atomic_write
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix

CAMERA_TABLES = ("cam_0", "cam_1")
# A rotation goes vector -> matrix -> vector; rounding away the last bits gives back the digits that were read.
ROTATION_DECIMALS = 14


def read_tables(path: str | Path) -> dict[str, Any]:
    """Read a rig.toml as tables. Raises FileFormatError: no such file, not TOML."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(
            f"{path}: cannot read the rig ({reason(error)}); give one of aniposelib, Pose2Sim, caliscope or `duocap simulate`"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{path}: not valid TOML: {error}") from error


def read_lone_camera(path: str | Path, table: str = CAMERA_TABLES[0]) -> Rig:
    """Read one camera of a rig.toml, of one or of two cameras, as a rig of one camera.

    table: `cam_0` or `cam_1`. Raises FileFormatError: no such file, not TOML, the camera or a key missing, a value of the wrong
    kind or implausible.
    """
    tables = read_tables(path)
    if not isinstance(tables.get(table), dict):
        listed = ", ".join(f"[{name}]" for name, t in tables.items() if isinstance(t, dict) and name != "metadata") or "no camera"
        raise FileFormatError(f"{path}: the camera [{table}] is missing; expected it to be the one camera, got {listed}")
    camera = camera_from_table(f"{path}: [{table}]", tables[table])
    return Rig(camera, camera, *metadata_of(f"{path}: [metadata]", tables.get("metadata", {})))


def read_rig(path: str | Path) -> Rig:
    """Read a rig of two cameras.

    Raises FileFormatError: no such file, not TOML, a camera or key missing, a value of the wrong kind or implausible.
    """
    tables = read_tables(path)
    found = [name for name, table in tables.items() if isinstance(table, dict) and name != "metadata"]
    for name in CAMERA_TABLES:
        if name not in found:
            listed = ", ".join(f"[{table}]" for table in found) or "no camera"
            raise FileFormatError(
                f"{path}: the camera [{name}] is missing; expected [cam_0] (left) and [cam_1] (right), got {listed}"
            )
    if len(found) > 2:
        raise FileFormatError(f"{path}: {len(found)} cameras, expected two: keep [cam_0] (left) and [cam_1] (right)")
    left, right = (camera_from_table(f"{path}: [{name}]", tables[name]) for name in CAMERA_TABLES)
    rig = Rig(left, right, *metadata_of(f"{path}: [metadata]", tables.get("metadata", {})))
    check_baseline(str(path), rig)
    return rig


def write_rig(path: str | Path, rig: Rig) -> None:
    """Write a rig, one camera alone as `[cam_0]` only; the file is complete or, on any failure, as it was before.

    Raises FileFormatError: the folder cannot be written to.
    """
    metadata: dict[str, Any] = {"adjusted": False, "floor_known": rig.floor_known}
    if not math.isnan(rig.error_px):
        metadata["error"] = float(rig.error_px)
    if rig.verdict:
        metadata["verdict"] = rig.verdict
    cameras = rig.cameras[:1] if rig.is_lone else rig.cameras
    tables = {name: camera_table(camera) for name, camera in zip(CAMERA_TABLES, cameras, strict=False)}
    text = "# x_camera = R(rotation) x_world + translation; metres, pixels\n" + tomli_w.dumps({**tables, "metadata": metadata})
    atomic_write(Path(path), text)


def camera_table(camera: Camera) -> dict[str, Any]:
    """Give the TOML table of a camera."""
    return {
        "name": camera.name,
        "size": list(camera.size),
        "matrix": camera.matrix.tolist(),
        "distortions": camera.distortions.tolist(),
        "rotation": (np.round(rotvec_from_matrix(camera.rotation), ROTATION_DECIMALS) + 0.0).tolist(),
        "translation": camera.translation.tolist(),
    }


def camera_from_table(where: str, table: dict[str, Any]) -> Camera:
    """Check one camera's table and turn it into a Camera."""
    if table.get("fisheye"):
        raise FileFormatError(
            f"{where} is a fisheye camera; expected the pinhole model with k1, k2, p1, p2[, k3]: calibrate again"
        )
    size = _numbers(where, table, "size", ((2,),))
    if not (np.all(size == np.round(size)) and np.all((size >= 16) & (size <= MAX_SIDE_PX))):
        raise FileFormatError(f"{where} size must be width and height in whole pixels, 16 to {MAX_SIDE_PX}, got {table['size']}")
    camera = Camera(
        name=str(table.get("name", where.rpartition("[")[2].rstrip("]"))),
        size=(int(size[0]), int(size[1])),
        matrix=_numbers(where, table, "matrix", ((3, 3),)),
        distortions=_numbers(where, table, "distortions", ((4,), (5,))),
        rotation=matrix_from_rotvec(_numbers(where, table, "rotation", ((3,),))),
        translation=_numbers(where, table, "translation", ((3,),)),
    )
    check_camera(where, camera)
    return camera


def _numbers(where: str, table: dict[str, Any], key: str, shapes: tuple[tuple[int, ...], ...]) -> Floats:
    """Give `table[key]` as finite floats of one of the shapes."""
    wanted = " or ".join(" x ".join(str(n) for n in shape) for shape in shapes)
    if key not in table:
        raise FileFormatError(f"{where} lacks {key}; expected {wanted} numbers")
    flat = _flat(table[key])
    try:
        array = np.array(table[key], float)
    except (ValueError, TypeError):
        array = np.empty(0)
    if array.shape not in shapes or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in flat):
        raise FileFormatError(f"{where} {key} must be {wanted} numbers, got {table[key]!r}")
    if not np.all(np.isfinite(array)):
        raise FileFormatError(f"{where} {key} holds a number that is not finite: {table[key]!r}; calibrate again")
    return array


def _flat(value: object) -> list[object]:
    """Give the leaves of nested lists."""
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, list) else [value]


def metadata_of(where: str, table: object) -> tuple[float, bool, str]:
    """Give error [px], floor_known and verdict, with defaults for what is absent."""
    if not isinstance(table, dict):
        raise FileFormatError(f"{where} must be a table, got {table!r}")
    error, floor = table.get("error", float("nan")), table.get("floor_known", False)
    if isinstance(error, bool) or not isinstance(error, int | float) or error < 0:
        raise FileFormatError(f"{where} error must be the reprojection RMS in pixels, got {error!r}")
    if not isinstance(floor, bool):
        raise FileFormatError(f"{where} floor_known must be true or false, got {floor!r}")
    verdict = table.get("verdict", "")
    if not isinstance(verdict, str):
        raise FileFormatError(f"{where} verdict must be a word such as pass or poor, got {verdict!r}")
    return float(error), floor, verdict
