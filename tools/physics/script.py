"""Scripts of `duocap physics animate`: what a motion should be, as TOML; docs/animate.md describes it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from config.arrays import Floats
from config.errors import DuocapError
from config.files import read_toml
from reconstruct.models.physics.contacts import PART_NAMES
from reconstruct.models.physics.synthesis.problem import Mound, SynthesisWeights
from tools.style.values import (
    MOST_M,
    MOST_OFFSET_M,
    check_keys,
    check_numbers,
    read_joint_name,
    read_number_key,
    read_numbers_key,
    read_word_key,
)

KEYS = (
    "field",
    "seconds",
    "fps",
    "tempo",
    "key",
    "path",
    "foothold",
    "contacts",
    "contact",
    "environment",
    "obstacle",
    "body",
    "segment",
    "load",
    "force",
    "weights",
)
FEET = ("left", "right")
LONGEST_S = 120.0
EDGE_M = 0.03  # how round the edges of an obstacle are
MOST_FRICTION, MOST_SLOPE_DEG, MOST_NEWTON, MOST_ABOVE_M = 10.0, 45.0, 1e5, 5.0


@dataclass(frozen=True, slots=True)
class KeyAsked:
    """A key pose that a script asks for.

    Attributes:
        time_s: time in the motion [s].
        file: file that the pose is from.
        at_s: time in that file [s].
        place_m: place to which the pose is moved, (2,) [m]; None to leave it.
        turn_deg: angle by which it is turned about the vertical [deg].
        above_m: height of the lowest foot above the ground, for a file that holds a pose and no motion [m].
        free_place: whether the place is only a guess, which the motion may leave.
    """

    time_s: float
    file: str
    at_s: float
    place_m: Floats | None
    turn_deg: float
    above_m: float
    free_place: bool


@dataclass(frozen=True, slots=True)
class PathAsked:
    """A joint follows that of a file from `from_s` of it on, or goes through points between two times of the motion.

    Attributes:
        points: times [s] and places [m], (K, 4), or places in the plane, x and z, (K, 3).
        within_m: how far off it may be [m].
    """

    joint: int
    file: str
    from_s: float
    first_s: float
    last_s: float
    points: Floats | None = None
    within_m: float = 0.0


@dataclass(frozen=True, slots=True)
class FootholdAsked:
    """The ball of a foot, 0 left or 1 right, is at a place of the ground, (2,) [m], between two times."""

    foot: int
    place_m: Floats
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True)
class SegmentAsked:
    """The segment of a joint has another mass [kg]."""

    joint: int
    mass_kg: float


@dataclass(frozen=True, slots=True)
class ContactAsked:
    """A part of a foot, (foot, part), carries weight between two times."""

    part: tuple[int, int]
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True)
class ForceAsked:
    """A force on a point of a joint, constant [N] or a spring of a stiffness [N/m] to an anchor, between two times."""

    joint: int
    at_m: Floats
    first_s: float
    last_s: float
    newton: Floats
    stiffness: float
    anchor_m: Floats


Timed = TypeVar("Timed", PathAsked, FootholdAsked, ContactAsked, ForceAsked)


@dataclass(frozen=True, slots=True)
class LoadAsked:
    """A load that a joint carries [kg]."""

    joint: int
    kg: float


@dataclass(frozen=True, slots=True)
class MotionScript:
    """A motion script.

    Attributes:
        tempo: all times are those of the file over it, None: to be sought.
        contacts: a file and the seconds of it that last as long as the motion, None: not from a file.
    """

    file: Path
    field: str
    seconds: float
    fps: float
    tempo: float | None
    keys: tuple[KeyAsked, ...]
    paths: tuple[PathAsked, ...]
    footholds: tuple[FootholdAsked, ...]
    contacts: tuple[str, float, float] | None
    parts: tuple[ContactAsked, ...]
    gravity: float
    friction: float
    slope: Floats
    mounds: tuple[Mound, ...]
    mass_kg: float | None
    segments: tuple[SegmentAsked, ...]
    loads: tuple[LoadAsked, ...]
    forces: tuple[ForceAsked, ...]
    weights: SynthesisWeights

    def at_tempo(self, tempo: float) -> "MotionScript":
        """Return the script with all times over a tempo."""

        def later(each: Timed) -> Timed:
            return replace(each, first_s=each.first_s / tempo, last_s=each.last_s / tempo)

        paths = tuple(
            path if path.points is None else replace(path, points=path.points / np.r_[tempo, np.ones(path.points.shape[1] - 1)])
            for path in self.paths
        )
        return replace(
            self,
            tempo=tempo,
            seconds=self.seconds / tempo,
            keys=tuple(replace(key, time_s=key.time_s / tempo) for key in self.keys),
            paths=tuple(map(later, paths)),
            footholds=tuple(map(later, self.footholds)),
            parts=tuple(map(later, self.parts)),
            forces=tuple(map(later, self.forces)),
        )


def read_script(file: Path) -> MotionScript:
    """Read a script. Raises DuocapError: it cannot be read, or asks for something impossible."""
    table = read_toml(file, DuocapError, "the script", "it is TOML as in docs/animate.md")
    where = str(file)
    check_keys(where, table, KEYS)
    keys = tuple(_parse_key(f"{where}: key {k + 1}", each) for k, each in enumerate(_parse_tables(where, table, "key")))
    if not keys:
        raise DuocapError(f"{where}: no [[key]]; give at least two poses, such as the first and the last")
    times = sorted(key.time_s for key in keys)
    if len(set(times)) < len(times) or len(times) < 2:
        raise DuocapError(
            f"{where}: keys at the times {', '.join(f'{t:g}' for t in times)} s; give two at least, at different times"
        )
    last = times[-1]
    seconds = read_number_key(where, table, "seconds", last, above=0.0, most=LONGEST_S)
    if last > seconds + 1e-9:
        raise DuocapError(f"{where}: a key at {last:g} s is after the end at {seconds:g} s; give a larger seconds")
    environment = check_keys(f"{where}: [environment]", table.get("environment", {}), ("gravity", "friction", "slope_deg"))
    rise = (
        read_numbers_key(f"{where}: [environment]", environment, "slope_deg", 2, MOST_SLOPE_DEG)
        if "slope_deg" in environment
        else np.zeros(2)
    )
    body = check_keys(f"{where}: [body]", table.get("body", {}), ("mass_kg",))
    script = MotionScript(
        file,
        parse_file_name(where, table, "field"),
        seconds,
        read_number_key(where, table, "fps", 60.0, above=10.0, most=240.0),
        _parse_tempo(where, table),
        keys,
        tuple(_parse_path(f"{where}: path {k + 1}", each, seconds) for k, each in enumerate(_parse_tables(where, table, "path"))),
        tuple(
            _parse_foothold(f"{where}: foothold {k + 1}", e, seconds)
            for k, e in enumerate(_parse_tables(where, table, "foothold"))
        ),
        _parse_contacts(where, table, seconds),
        tuple(
            _parse_contact(f"{where}: contact {k + 1}", each, seconds)
            for k, each in enumerate(_parse_tables(where, table, "contact"))
        ),
        read_number_key(f"{where}: [environment]", environment, "gravity", 9.81, above=-1e-9, most=100.0),
        read_number_key(f"{where}: [environment]", environment, "friction", 0.8, above=-1e-9, most=MOST_FRICTION),
        np.tan(np.radians(rise)),
        tuple(
            _parse_obstacle(f"{where}: obstacle {k + 1}", each) for k, each in enumerate(_parse_tables(where, table, "obstacle"))
        ),
        read_number_key(f"{where}: [body]", body, "mass_kg", 70.0, most=400.0) if "mass_kg" in body else None,
        tuple(_parse_segment(f"{where}: segment {k + 1}", each) for k, each in enumerate(_parse_tables(where, table, "segment"))),
        tuple(_parse_load(f"{where}: load {k + 1}", each) for k, each in enumerate(_parse_tables(where, table, "load"))),
        tuple(
            _parse_force(f"{where}: force {k + 1}", each, seconds) for k, each in enumerate(_parse_tables(where, table, "force"))
        ),
        _parse_weights(f"{where}: [weights]", table.get("weights", {})),
    )
    return script if script.tempo is None else script.at_tempo(script.tempo)


def _parse_tempo(where: str, table: Mapping[str, Any]) -> float | None:
    """Return the tempo, 1 where it is absent, None where it is "free". Raises DuocapError."""
    return None if table.get("tempo") == "free" else read_number_key(where, table, "tempo", 1.0, above=0.1, most=10.0)


def _parse_weights(where: str, value: object) -> SynthesisWeights:
    """Return the weights of the terms, the usual ones where they are absent. Raises DuocapError."""
    usual = asdict(SynthesisWeights())
    table = check_keys(where, value, tuple(usual))
    return SynthesisWeights(
        **{name: read_number_key(where, table, name, weight, above=-1e-9, most=1e6) for name, weight in usual.items()}
    )


def parse_file_name(where: str, table: Mapping[str, Any], key: str) -> str:
    """Return the text of a key, as the name of a file.

    Args:
        where: the place in the file, for messages.
        table: table of the file as read.
        key: key of the value.
    Raises: DuocapError.
    """
    if not isinstance(table.get(key), str) or not table[key]:
        raise DuocapError(f"{where} lacks {key}; give the name of a file in quotes")
    return str(table[key])


def _parse_tables(where: str, table: Mapping[str, Any], key: str) -> list[Any]:
    """Return the tables of `[[key]]`. Raises DuocapError: it is something else."""
    value = table.get(key, [])
    if not isinstance(value, list):
        raise DuocapError(f"{where}: {key} must be given as [[{key}]], once for each")
    return value


def _parse_key(where: str, value: object) -> KeyAsked:
    table = check_keys(where, value, ("time", "file", "at", "place_m", "turn_deg", "above_m", "free_place"))
    place = read_numbers_key(where, table, "place_m", 2, MOST_M) if "place_m" in table else None
    turn = read_number_key(where, table, "turn_deg", 0.0, above=-360.0, most=360.0)
    at, time_s = (read_number_key(where, table, key, 0.0, above=-1e-9, most=1e5) for key in ("at", "time"))
    above = read_number_key(where, table, "above_m", 0.0, above=-1e-9, most=MOST_ABOVE_M)
    free = table.get("free_place", False)
    if not isinstance(free, bool):
        raise DuocapError(f"{where}: free_place must be true or false, got {free!r}")
    return KeyAsked(time_s, parse_file_name(where, table, "file"), at, place, turn, above, free)


def _parse_time_span(where: str, table: Mapping[str, Any], seconds: float) -> tuple[float, float]:
    """Return from and to, the whole motion where they are absent. Raises DuocapError: to is not after from."""
    first = read_number_key(where, table, "from", 0.0, above=-1e-9, most=seconds)
    last = read_number_key(where, table, "to", seconds, above=-1e-9, most=seconds)
    if not last > first:
        raise DuocapError(f"{where}: from {first:g} to {last:g} s is no time; to must be after from")
    return first, last


def _parse_path(where: str, value: object, seconds: float) -> PathAsked:
    table = check_keys(where, value, ("joint", "file", "at", "from", "to", "points", "within_m"))
    within = read_number_key(where, table, "within_m", 0.0, above=-1e-9, most=MOST_M)
    if ("points" in table) == ("file" in table):
        raise DuocapError(f"{where}: give either file, whose joint is followed, or points of [time, x, y, z]")
    if "points" in table:
        points = _parse_points(where, table["points"], seconds)
        return PathAsked(read_joint_name(where, table), "", 0.0, float(points[0, 0]), float(points[-1, 0]), points, within)
    at = read_number_key(where, table, "at", 0.0, above=-1e-9, most=1e5)
    from_s, to_s = _parse_time_span(where, table, seconds)
    return PathAsked(read_joint_name(where, table), parse_file_name(where, table, "file"), at, from_s, to_s, within_m=within)


def _parse_points(where: str, value: object, seconds: float) -> Floats:
    """Return the points of a path, (K, 4) or (K, 3), in the order of time. Raises DuocapError."""
    if not isinstance(value, list) or len(value) < 2:
        raise DuocapError(f"{where} points: give two at least, each [time, x, y, z], or [time, x, z]")
    count = 3 if isinstance(value[0], list) and len(value[0]) == 3 else 4
    rows = [check_numbers(f"{where} point {k + 1}", row, count, max(MOST_M, LONGEST_S)) for k, row in enumerate(value)]
    points = np.array(sorted(rows, key=lambda row: float(row[0])))
    if points[0, 0] < 0.0 or points[-1, 0] > seconds or not (np.diff(points[:, 0]) > 0.0).all():
        raise DuocapError(f"{where} points: expected different times from 0 to {seconds:g} s")
    return points


def _parse_foothold(where: str, value: object, seconds: float) -> FootholdAsked:
    table = check_keys(where, value, ("foot", "place_m", "from", "to"))
    foot = FEET.index(read_word_key(where, table, "foot", FEET))
    from_s, to_s = _parse_time_span(where, table, seconds)
    return FootholdAsked(foot, read_numbers_key(where, table, "place_m", 2, MOST_M), from_s, to_s)


def _parse_contacts(where: str, table: Mapping[str, Any], seconds: float) -> tuple[str, float, float] | None:
    if "contacts" not in table:
        return None
    if "contact" in table:
        raise DuocapError(f"{where}: contacts are given by [contacts] of a file and by [[contact]]; give one of them")
    inside = f"{where}: [contacts]"
    own = check_keys(inside, table["contacts"], ("file", "at", "to"))
    at = read_number_key(inside, own, "at", 0.0, above=-1e-9, most=1e5)
    return parse_file_name(inside, own, "file"), at, read_number_key(inside, own, "to", at + seconds, above=at, most=1e5)


def _parse_contact(where: str, value: object, seconds: float) -> ContactAsked:
    table = check_keys(where, value, ("part", "from", "to"))
    row = PART_NAMES.index(read_word_key(where, table, "part", PART_NAMES))
    from_s, to_s = _parse_time_span(where, table, seconds)
    return ContactAsked((row // 3, row % 3), from_s, to_s)


def _parse_obstacle(where: str, value: object) -> Mound:
    table = check_keys(where, value, ("place_m", "size_m", "height_m", "edge_m"))
    size = read_numbers_key(where, table, "size_m", 2, MOST_M)
    if not (size > 0.0).all():
        raise DuocapError(f"{where}: size_m must be above 0 along x and z, got {size[0]:g} and {size[1]:g}")
    height = read_number_key(where, table, "height_m", -1.0, above=-1e-9, most=MOST_ABOVE_M)
    edge = read_number_key(where, table, "edge_m", EDGE_M, above=0.0, most=MOST_M)
    return Mound(read_numbers_key(where, table, "place_m", 2, MOST_M), size, height, edge)


def _parse_segment(where: str, value: object) -> SegmentAsked:
    table = check_keys(where, value, ("joint", "mass_kg"))
    return SegmentAsked(read_joint_name(where, table), read_number_key(where, table, "mass_kg", 0.0, most=200.0))


def _parse_load(where: str, value: object) -> LoadAsked:
    table = check_keys(where, value, ("joint", "kg"))
    return LoadAsked(read_joint_name(where, table), read_number_key(where, table, "kg", -1.0, above=-1e-9, most=200.0))


def _parse_force(where: str, value: object, seconds: float) -> ForceAsked:
    table = check_keys(where, value, ("joint", "at_m", "newton", "stiffness", "anchor_m", "from", "to"))
    at = read_numbers_key(where, table, "at_m", 3, MOST_OFFSET_M) if "at_m" in table else np.zeros(3)
    if ("newton" in table) == ("stiffness" in table):
        raise DuocapError(f"{where}: give either newton, a constant force, or stiffness and anchor_m of a spring")
    first, last = _parse_time_span(where, table, seconds)
    if "newton" in table:
        force = read_numbers_key(where, table, "newton", 3, MOST_NEWTON)
        return ForceAsked(read_joint_name(where, table), at, first, last, force, 0.0, np.zeros(3))
    anchor = read_numbers_key(where, table, "anchor_m", 3, MOST_M)
    stiffness = read_number_key(where, table, "stiffness", 0.0, most=MOST_NEWTON)
    return ForceAsked(read_joint_name(where, table), at, first, last, np.zeros(3), stiffness, anchor)
