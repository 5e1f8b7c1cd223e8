"""Marker sets: which markers a performer wears and where, read from markers.toml or a preset."""

import tomllib
from dataclasses import dataclass, field, fields
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np

from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.files import read_toml
from config.joints import CHAINS, JOINT_INDEX, JOINTS
from config.landmarks import LANDMARK_INDEX, LANDMARKS
from config.words import format_count

KEYS = ("joint", "torso", "offset_m", "color_rgb", "landmark", "landmark_sigma_m", "grip_m")
HANDS = ("leftHand", "rightHand")
NO_LANDMARK = -1
NO_MARKERS: Final = "none"  # the preset of the landmarks alone


@dataclass(frozen=True, slots=True)
class MarkerSet:
    """The control markers of a performer.

    names: M; joint: index of the inboard joint, (M,) int64; torso: the markers that determine the root, (M,) bool;
    offset_m: nominal position relative to the joint in the T-pose, (M, 3) [m], x to the performer's left, y up, z forward;
    color_rgb: expected colour 0-255, (M, 3), used where has_color (M,) bool.
    landmark: number of the landmark in `config.landmarks.LANDMARKS` where a marker is not worn but found in the picture of the
    body, (M,) int64, NO_LANDMARK elsewhere; landmark_sigma_m: how far it is found from its place, across the line of sight, (M,)
    [m], 0 elsewhere. grip_m: of a marker on a prop that its joint's hand holds, how far behind that hand the other one holds it,
    0: not at all, (M,) [m]; NaN for a marker on the body.
    """

    names: tuple[str, ...]
    joint: Ints
    torso: Bools
    offset_m: Floats
    color_rgb: Floats
    has_color: Bools
    landmark: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    landmark_sigma_m: Floats = field(default_factory=lambda: np.zeros(0))
    grip_m: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        count = len(self.names)
        if len(self.landmark) != count:
            object.__setattr__(self, "landmark", np.full(count, NO_LANDMARK))
            object.__setattr__(self, "landmark_sigma_m", np.zeros(count))
        if len(self.grip_m) != count:
            object.__setattr__(self, "grip_m", np.full(count, np.nan))
        for each in fields(self)[1:]:
            array: np.ndarray = getattr(self, each.name)
            array.setflags(write=False)

    @property
    def worn(self) -> Bools:
        """Which are markers that the performer wears, not landmarks, (M,)."""
        return np.asarray(self.landmark < 0)

    def __len__(self) -> int:
        return len(self.names)


def find_unmarked_chains(joint: Ints) -> list[str]:
    """Return the chains (`config.joints.CHAINS`) without a marker, by their first joints.

    joint: the joints that the markers are on, (M,).
    """
    return list(_search_unmarked_chains(joint.tobytes()))


@lru_cache(maxsize=64)
def _search_unmarked_chains(joints: bytes) -> tuple[str, ...]:
    """Return the chains without a marker for markers on some joints, int64."""
    marked = {JOINTS[j] for j in np.frombuffer(joints, np.int64)}
    return tuple(first for first, chain in CHAINS.items() if marked.isdisjoint(chain))


def list_preset_names() -> list[str]:
    """Return the names of the marker sets that come with duocap."""
    folder = resources.files("config") / "presets"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def read_marker_set(source: str | Path) -> MarkerSet:
    """Read a preset by its name or a markers.toml by its path.

    Raises FileFormatError: no such file or preset, not TOML, unknown key or joint, fewer than three torso markers.
    """
    presets = list_preset_names()
    if str(source) in presets:
        tables = tomllib.loads((resources.files("config") / "presets" / f"{source}.toml").read_text("utf-8"))
    else:
        advice = f"give a markers.toml or a preset: {', '.join(presets)}"
        tables = read_toml(Path(source), what="the marker set", advice=advice)
    return marker_set_from_tables(str(source), tables)


def marker_set_from_tables(source: str, tables: dict[str, Any]) -> MarkerSet:
    """Return the marker set of a marker file's tables. Raises FileFormatError, which names `source`, as `read_marker_set`."""
    for name, table in tables.items():
        _check_marker(source, name, table)
    colors = [table.get("color_rgb") for table in tables.values()]
    result = MarkerSet(
        names=tuple(tables),
        joint=np.array([JOINT_INDEX[table["joint"]] for table in tables.values()], np.int64),
        torso=np.array([bool(table.get("torso", False)) for table in tables.values()]),
        offset_m=np.array([table.get("offset_m", (0.0, 0.0, 0.0)) for table in tables.values()], float).reshape(-1, 3),
        color_rgb=np.array([(0, 0, 0) if color is None else color for color in colors], float).reshape(-1, 3),
        has_color=np.array([color is not None for color in colors]),
        landmark=np.array([LANDMARK_INDEX.get(table.get("landmark"), NO_LANDMARK) for table in tables.values()], np.int64),
        landmark_sigma_m=np.array([float(table.get("landmark_sigma_m", 0.0)) for table in tables.values()]),
        grip_m=np.array([float(table.get("grip_m", np.nan)) for table in tables.values()]),
    )
    if int(result.torso.sum()) < 3:
        raise FileFormatError(
            f"{source}: {format_count(int(result.torso.sum()), 'marker has', 'markers have')} torso = true, at least 3 are "
            "needed to place the root; "
            "mark those on shoulders, chest and waist"
        )
    return result


def _check_marker(source: str, name: str, table: object) -> None:
    """Raise FileFormatError unless `table` describes one marker."""
    if not isinstance(table, dict) or "joint" not in table:
        raise FileFormatError(f'{source}: [{name}] needs joint = "..." with one of: {", ".join(JOINTS)}')
    if not isinstance(table["joint"], str) or table["joint"] not in JOINT_INDEX:
        raise FileFormatError(f"{source}: [{name}] names the unknown joint {table['joint']!r}; known: {', '.join(JOINTS)}")
    for key in table:
        if key not in KEYS:
            raise FileFormatError(f"{source}: [{name}] has the unknown key {key!r}; known: {', '.join(KEYS)}")
    if not isinstance(table.get("torso", False), bool):
        raise FileFormatError(f"{source}: [{name}] torso must be true or false, got {table['torso']!r}")
    for key in ("offset_m", "color_rgb"):
        value = table.get(key, [0, 0, 0])
        if not (isinstance(value, list) and len(value) == 3 and all(isinstance(v, int | float) for v in value)):
            raise FileFormatError(f"{source}: [{name}] {key} must be three numbers, got {value!r}")
    color = np.asarray(table.get("color_rgb", [0.0]), float)
    if not np.all((color >= 0) & (color <= 255)):
        raise FileFormatError(f"{source}: [{name}] color_rgb must be from 0 to 255, got {table['color_rgb']!r}")
    landmark, sigma_m = table.get("landmark"), table.get("landmark_sigma_m", 0.05)
    if ("landmark_sigma_m" in table or landmark is not None) and landmark not in LANDMARK_INDEX:
        raise FileFormatError(f"{source}: [{name}] landmark must be one of {', '.join(LANDMARKS)}, got {landmark!r}")
    if not isinstance(sigma_m, float) or not 0.0 < sigma_m <= 1.0:
        raise FileFormatError(f"{source}: [{name}] landmark_sigma_m must be metres, above 0 and at most 1, got {sigma_m!r}")
    grip_m = table.get("grip_m", 0.0)
    if not isinstance(grip_m, int | float) or not 0.0 <= grip_m <= 1.0 or ("grip_m" in table and table["joint"] not in HANDS):
        raise FileFormatError(
            f"{source}: [{name}] grip_m is for a prop on {' or '.join(HANDS)}: metres from that hand back to the other, 0 to 1 "
            f"(0: held by one hand), got {grip_m!r} on {table['joint']}"
        )
    offset = np.abs(table.get("offset_m", [0.0]))
    if not np.all(offset <= 1.5):
        raise FileFormatError(
            f"{source}: [{name}] offset_m is {offset.max():g} m from its joint; offsets are in metres, at most 1.5"
        )
