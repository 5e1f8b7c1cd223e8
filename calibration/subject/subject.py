"""A subject: one performer's skeleton, where the markers sit on it, and the world it stood in; subject.toml.

subject.toml is written after the T-pose and read by every session. Its table `[world]`, of `calibration.world.World`, holds the
motion from the rig's frame to the world: `rotation`, a rotation vector [rad], and `translation` [m]. Files of before have `up`
instead, the direction in the frame of a rig that nobody noted.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from calibration.world import UP, World
from config.arrays import Floats
from config.errors import FileFormatError
from config.files import read_toml, write_atomically
from config.joints import JOINTS, N_JOINTS
from config.landmarks import LANDMARKS
from config.markers import KEYS, MarkerSet, marker_set_from_tables
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import matrix_from_rotvec, rotation_between, rotvec_from_matrix
from database.geometry.skeleton import Skeleton


@dataclass(frozen=True, slots=True)
class Subject:
    """A calibrated performer.

    skeleton: bone lengths; markers: the set worn (offset_m there is nominal); offset_m: calibrated place of every marker
    in its joint's frame, (M, 3) [m]; residual_mm: marker residual of the T-pose fit, (M,); length_sigma_m: how well each length
    is known, as standard deviations of the skeleton's offsets and tails, (2, J) [m], None where nobody knows; world: found in
    the T-pose, None where it was not.
    """

    name: str
    skeleton: Skeleton
    markers: MarkerSet
    offset_m: Floats
    residual_mm: Floats
    length_sigma_m: Floats | None = None
    world: World | None = None

    def __post_init__(self) -> None:
        for array in (self.offset_m, self.residual_mm):
            array.setflags(write=False)

    @property
    def is_calibrated(self) -> bool:
        """Whether lengths and offsets were measured and have errors, rather than being known exactly as in simulations."""
        return self.length_sigma_m is not None

    @property
    def joint(self) -> NDArray[np.int64]:
        """Inboard joint of each marker, (M,)."""
        return self.markers.joint


SCHEMA = "duocap-subject-1"
PARTS = ("offsets", "tails")
ROTATION_DECIMALS = 14  # rounding away the last bits gives back the digits that were read
UP_SIGMA_DEG = 5.0  # of the up of files of before: that of the hips alone


def write_subject(path: Path, subject: Subject) -> None:
    """Write a subject, whole or not at all."""
    skeleton, markers = subject.skeleton, subject.markers
    tables: dict[str, Any] = {}
    for m, name in enumerate(markers.names):
        tables[name] = {"joint": JOINTS[markers.joint[m]], "torso": bool(markers.torso[m])}
        if markers.has_color[m]:
            tables[name]["color_rgb"] = markers.color_rgb[m].tolist()
        if markers.landmark[m] >= 0:
            tables[name]["landmark"] = LANDMARKS[markers.landmark[m]]
            tables[name]["landmark_sigma_m"] = float(markers.landmark_sigma_m[m])
        if not math.isnan(markers.grip_m[m]):
            tables[name]["grip_m"] = float(markers.grip_m[m])
        tables[name]["nominal_offset_m"] = markers.offset_m[m].tolist()
        tables[name]["offset_m"] = subject.offset_m[m].tolist()
        tables[name]["residual_mm"] = round(float(subject.residual_mm[m]), 3)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "name": subject.name,
        "units": "m",
        "skeleton": {
            "name": skeleton.name,
            "offsets": {name: skeleton.offsets_m[j].tolist() for j, name in enumerate(JOINTS)},
            "tails": {name: skeleton.tails_m[j].tolist() for j, name in enumerate(JOINTS)},
        },
        "markers": tables,
    }
    if subject.world is not None:
        document["world"] = _table_from_world(subject.world)
    if subject.length_sigma_m is not None:
        document["skeleton"]["length_sigma_mm"] = {
            part: {name: round(1e3 * float(sigma[j]), 2) for j, name in enumerate(JOINTS)}
            for part, sigma in zip(PARTS, subject.length_sigma_m, strict=True)
        }
    write_atomically(path, tomli_w.dumps(document))


def _table_from_world(world: World) -> dict[str, Any]:
    """Return the table of a world; an infinite deviation is left out."""
    sigmas = {"tilt_sigma_deg": world.tilt_sigma_deg, "height_sigma_mm": world.height_sigma_mm}
    return {
        "rotation": (np.round(rotvec_from_matrix(world.from_rig.rotation), ROTATION_DECIMALS) + 0.0).tolist(),
        "translation": world.from_rig.translation_m.tolist(),
        "by": world.by,
        **{name: round(sigma, 3) for name, sigma in sigmas.items() if np.isfinite(sigma)},
        "cameras": list(world.cameras),
    }


def _read_world(document: dict[str, Any]) -> World | None:
    """Return the world of a document; of one of before, its up alone, for whatever rig."""
    table = document.get("world")
    if table is None and "up" not in document:
        return None
    if table is None:
        up = np.array(document["up"], float)
        rotation = rotation_between(up, UP)
        return World(RigidMotion(rotation, np.zeros(3)), "the up of an older subject", UP_SIGMA_DEG, math.inf, ())
    rotvec, translation = (np.array(table[name], float) for name in ("rotation", "translation"))
    if rotvec.shape != (3,) or translation.shape != (3,) or not np.isfinite([rotvec, translation]).all():
        raise ValueError("the world needs three finite numbers of rotation and of translation")
    tilt_deg, height_mm = (float(table.get(name, math.inf)) for name in ("tilt_sigma_deg", "height_sigma_mm"))
    motion = RigidMotion(matrix_from_rotvec(rotvec), translation)
    return World(motion, str(table["by"]), tilt_deg, height_mm, tuple(str(camera) for camera in table["cameras"]))


def read_subject(path: Path) -> Subject:
    """Read a subject.

    Raises FileFormatError: not such a file, another schema, joints missing, or lengths that are not those of a person in metres.
    """
    document = read_toml(Path(path), what="the subject", advice="make it with `duocap calibrate subject`")
    if document.get("schema") != SCHEMA:
        came = document.get("schema", "no schema")
        raise FileFormatError(
            f"{path}: a subject has schema {SCHEMA!r}, this has {came!r}; make it anew with `duocap calibrate subject`"
        )
    try:
        return _subject_from_document(path, document)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: damaged subject ({error!r}); make it anew with `duocap calibrate subject`") from error


def _subject_from_document(path: Path, document: dict[str, Any]) -> Subject:
    """Turn a checked document into arrays."""
    tables = document["markers"]
    plain = {
        name: {key: table[key] for key in KEYS if key in table} | {"offset_m": table["nominal_offset_m"]}
        for name, table in tables.items()
    }
    markers: MarkerSet = marker_set_from_tables(str(path), plain)
    offsets_m, tails_m = (_read_joint_vectors(document["skeleton"][part]) for part in PARTS)
    skeleton = Skeleton(str(document["skeleton"]["name"]), offsets_m, tails_m)
    offset = np.array([table["offset_m"] for table in tables.values()], float).reshape(-1, 3)
    residual = np.array([table["residual_mm"] for table in tables.values()], float)
    if not (np.isfinite(offset).all() and 0.5 < skeleton.height_m < 2.6):
        raise ValueError(f"a height of {skeleton.height_m:.2f} m")
    sigma_m = _read_length_sigma_m(document["skeleton"].get("length_sigma_mm"))
    return Subject(str(document["name"]), skeleton, markers, offset, residual, sigma_m, _read_world(document))


def _read_length_sigma_m(tables: dict[str, Any] | None) -> Floats | None:
    """Return how well the lengths are known, (2, J) [m]; None where the file does not say."""
    if tables is None:
        return None
    sigma_mm = np.array([[tables[part][name] for name in JOINTS] for part in PARTS], float)
    if not (np.isfinite(sigma_mm).all() and (sigma_mm >= 0).all()):
        raise ValueError("length_sigma_mm must be numbers from 0")
    return 1e-3 * sigma_mm


def _read_joint_vectors(table: dict[str, Any]) -> Floats:
    """Return one vector for every joint, (J, 3)."""
    vectors = np.array([table[name] for name in JOINTS], float)
    if vectors.shape != (N_JOINTS, 3) or not np.isfinite(vectors).all():
        raise ValueError("three finite numbers are needed for every joint")
    return vectors
