"""TOML of aniposelib, Pose2Sim and caliscope, whatever its tables are called and however many cameras it has."""

from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from calibration.camera import Camera, Rig
from calibration.formats.camera_file import CameraFile
from calibration.rig_toml import camera_from_table, camera_table, metadata_of, read_tables
from config.errors import FileFormatError
from database.rotations import rotvec_from_matrix

OURS = "metadata"


def read_camera_tables(path: Path) -> CameraFile:
    """Read all cameras in the file's order: tables with a matrix, or those within `[cameras]` (caliscope).

    Raises FileFormatError: no such file, no camera in it, or one that lacks something.
    """
    tables = read_tables(path)
    within = tables.get("cameras")
    named = dict(within) if isinstance(within, dict) else {k: v for k, v in tables.items() if k != OURS}
    found = {name: table for name, table in named.items() if isinstance(table, dict) and "matrix" in table}
    if not found:
        raise FileFormatError(f"{path}: no camera in it; expected a table for each, such as [cam_0], with a matrix")
    error_px, floor_known, verdict = metadata_of(f"{path}: [metadata]", tables.get(OURS, {}))
    cameras = tuple(_camera(f"{path}: [{name}]", name, table) for name, table in found.items() if not table.get("ignore"))
    return CameraFile(cameras, error_px, floor_known, verdict)


def _camera(where: str, name: str, table: dict[str, Any]) -> Camera:
    """Give one camera; caliscope's rotation may be a matrix, and it may turn the images first."""
    if table.get("rotation_count"):
        raise FileFormatError(
            f"{where} turns its images by {90 * table['rotation_count']} degrees; expected images as they are taken"
        )
    table = {"name": str(table.get("name") or name), **{key: value for key, value in table.items() if key != "name"}}
    if np.shape(table.get("rotation", ())) == (3, 3):
        table["rotation"] = rotvec_from_matrix(np.array(table["rotation"], float)).tolist()
    if np.shape(table.get("distortions", ())) == (1, 5):
        table["distortions"] = table["distortions"][0]
    return camera_from_table(where, table)


def caliscope_text(rig: Rig) -> str:
    """Give the text of caliscope's camera_array.toml, `[cameras.N]`."""
    cameras = {}
    for n, camera in enumerate(rig.cameras[: 1 if rig.is_lone else 2]):
        cameras[str(n)] = {"cam_id": n, "rotation_count": 0, "ignore": False, **camera_table(camera)}
        if np.isfinite(rig.error_px):
            cameras[str(n)]["error"] = float(rig.error_px)
    known = {"error": float(rig.error_px)} if np.isfinite(rig.error_px) else {}
    return tomli_w.dumps({"cameras": cameras, OURS: {"floor_known": rig.floor_known, **known}})
