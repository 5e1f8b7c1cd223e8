"""Scripts of `duocap physics animate`: what a motion should be, as TOML; docs/animate.md describes it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from config.arrays import Floats
from config.errors import DuocapError
from config.files import read_toml
from reconstruct.models.physics.contacts import PART_NAMES
from reconstruct.models.physics.synthesis.problem import Mound, SynthesisWeights
from tools.style.values import MOST_M, MOST_OFFSET_M, AskedTable, check_numbers, check_table

ENTRIES = {
    "key": ("time", "file", "at", "place_m", "turn_deg", "above_m", "free_place"),
    "path": ("joint", "file", "at", "from", "to", "points", "within_m"),
    "foothold": ("foot", "place_m", "from", "to"),
    "contact": ("part", "from", "to"),
    "obstacle": ("place_m", "size_m", "height_m", "edge_m"),
    "segment": ("joint", "mass_kg"),
    "load": ("joint", "kg"),
    "force": ("joint", "at_m", "newton", "stiffness", "anchor_m", "from", "to"),
}  # tables of which there may be several
TABLES = {"contacts": ("file", "at", "to"), "environment": ("gravity", "friction", "slope_deg"), "body": ("mass_kg",)}
KEYS = ("field", "seconds", "fps", "tempo", "weights", *ENTRIES, *TABLES)
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
class MassAsked:
    """The segment of a joint has another mass, or carries a load [kg]."""

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


Entry = TypeVar("Entry")
Timed = TypeVar("Timed", PathAsked, FootholdAsked, ContactAsked, ForceAsked)


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
    segments: tuple[MassAsked, ...]
    loads: tuple[MassAsked, ...]
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
    where = str(file)
    top = check_table(where, read_toml(file, DuocapError, "the script", "it is TOML as in docs/animate.md"), KEYS)
    keys = _parse_entries(top, "key", _parse_key)
    if not keys:
        raise DuocapError(f"{where}: no [[key]]; give at least two poses, such as the first and the last")
    times = sorted(key.time_s for key in keys)
    if len(set(times)) < len(times) or len(times) < 2:
        raise DuocapError(
            f"{where}: keys at the times {', '.join(f'{t:g}' for t in times)} s; give two at least, at different times"
        )
    last = times[-1]
    seconds = top.read_number("seconds", last, above=0.0, most=LONGEST_S)
    if last > seconds + 1e-9:
        raise DuocapError(f"{where}: a key at {last:g} s is after the end at {seconds:g} s; give a larger seconds")
    environment, body = (top.read_table(key, TABLES[key]) for key in ("environment", "body"))
    script = MotionScript(
        file,
        _read_file_name(top, "field"),
        seconds,
        top.read_number("fps", 60.0, above=10.0, most=240.0),
        None if top.values.get("tempo") == "free" else top.read_number("tempo", 1.0, above=0.1, most=10.0),
        keys,
        _parse_entries(top, "path", partial(_parse_path, seconds=seconds)),
        _parse_entries(top, "foothold", partial(_parse_foothold, seconds=seconds)),
        _parse_contacts(top, seconds),
        _parse_entries(top, "contact", partial(_parse_contact, seconds=seconds)),
        environment.read_number("gravity", 9.81, above=-1e-9, most=100.0),
        environment.read_number("friction", 0.8, above=-1e-9, most=MOST_FRICTION),
        np.tan(np.radians(environment.read_numbers("slope_deg", 2, MOST_SLOPE_DEG, [0, 0]))),
        _parse_entries(top, "obstacle", _parse_obstacle),
        body.read_number("mass_kg", 70.0, most=400.0) if "mass_kg" in body else None,
        _parse_entries(top, "segment", _parse_segment),
        _parse_entries(top, "load", _parse_load),
        _parse_entries(top, "force", partial(_parse_force, seconds=seconds)),
        _parse_weights(top),
    )
    return script if script.tempo is None else script.at_tempo(script.tempo)


def _parse_entries(top: AskedTable, key: str, parse: Callable[[AskedTable], Entry]) -> tuple[Entry, ...]:
    """Parse the tables of `[[key]]`, each with its place in the file."""
    return tuple(map(parse, top.list_tables(key, ENTRIES[key])))


def _parse_weights(top: AskedTable) -> SynthesisWeights:
    """Return the weights of the terms, the usual ones where they are absent. Raises DuocapError."""
    usual = asdict(SynthesisWeights())
    table = top.read_table("weights", tuple(usual))
    return SynthesisWeights(**{name: table.read_number(name, weight, above=-1e-9) for name, weight in usual.items()})


def _read_file_name(table: AskedTable, key: str) -> str:
    """Return the name of a file. Raises DuocapError."""
    name = table.values.get(key)
    if not isinstance(name, str) or not name:
        raise DuocapError(f"{table.where} lacks {key}; give the name of a file in quotes")
    return name


def _parse_key(table: AskedTable) -> KeyAsked:
    place = table.read_numbers("place_m", 2, MOST_M) if "place_m" in table else None
    turn = table.read_number("turn_deg", 0.0, above=-360.0, most=360.0)
    at, time_s = (table.read_number(key, 0.0, above=-1e-9, most=1e5) for key in ("at", "time"))
    above = table.read_number("above_m", 0.0, above=-1e-9, most=MOST_ABOVE_M)
    return KeyAsked(time_s, _read_file_name(table, "file"), at, place, turn, above, table.read_flag("free_place"))


def _read_time_span(table: AskedTable, seconds: float) -> tuple[float, float]:
    """Return from and to, the whole motion where they are absent. Raises DuocapError: to is not after from."""
    first = table.read_number("from", 0.0, above=-1e-9, most=seconds)
    last = table.read_number("to", seconds, above=-1e-9, most=seconds)
    if not last > first:
        raise DuocapError(f"{table.where}: from {first:g} to {last:g} s is no time; to must be after from")
    return first, last


def _parse_path(table: AskedTable, seconds: float) -> PathAsked:
    within = table.read_number("within_m", 0.0, above=-1e-9, most=MOST_M)
    if ("points" in table) == ("file" in table):
        raise DuocapError(f"{table.where}: give either file, whose joint is followed, or points of [time, x, y, z]")
    if "points" in table:
        points = _parse_points(table, seconds)
        return PathAsked(table.read_joint(), "", 0.0, float(points[0, 0]), float(points[-1, 0]), points, within)
    at = table.read_number("at", 0.0, above=-1e-9, most=1e5)
    from_s, to_s = _read_time_span(table, seconds)
    return PathAsked(table.read_joint(), _read_file_name(table, "file"), at, from_s, to_s, within_m=within)


def _parse_points(table: AskedTable, seconds: float) -> Floats:
    """Return the points of a path, (K, 4) or (K, 3), in the order of time. Raises DuocapError."""
    where, value = table.where, table.values["points"]
    if not isinstance(value, list) or len(value) < 2:
        raise DuocapError(f"{where} points: give two at least, each [time, x, y, z], or [time, x, z]")
    count = 3 if isinstance(value[0], list) and len(value[0]) == 3 else 4
    rows = [check_numbers(f"{where} point {k + 1}", row, count, max(MOST_M, LONGEST_S)) for k, row in enumerate(value)]
    points = np.array(sorted(rows, key=lambda row: float(row[0])))
    if points[0, 0] < 0.0 or points[-1, 0] > seconds or not (np.diff(points[:, 0]) > 0.0).all():
        raise DuocapError(f"{where} points: expected different times from 0 to {seconds:g} s")
    return points


def _parse_foothold(table: AskedTable, seconds: float) -> FootholdAsked:
    foot = FEET.index(table.read_word("foot", FEET))
    from_s, to_s = _read_time_span(table, seconds)
    return FootholdAsked(foot, table.read_numbers("place_m", 2, MOST_M), from_s, to_s)


def _parse_contacts(top: AskedTable, seconds: float) -> tuple[str, float, float] | None:
    if "contacts" not in top:
        return None
    if "contact" in top:
        raise DuocapError(f"{top.where}: contacts are given by [contacts] of a file and by [[contact]]; give one of them")
    own = top.read_table("contacts", TABLES["contacts"])
    at = own.read_number("at", 0.0, above=-1e-9, most=1e5)
    return _read_file_name(own, "file"), at, own.read_number("to", at + seconds, above=at, most=1e5)


def _parse_contact(table: AskedTable, seconds: float) -> ContactAsked:
    row = PART_NAMES.index(table.read_word("part", PART_NAMES))
    from_s, to_s = _read_time_span(table, seconds)
    return ContactAsked((row // 3, row % 3), from_s, to_s)


def _parse_obstacle(table: AskedTable) -> Mound:
    size = table.read_numbers("size_m", 2, MOST_M)
    if not (size > 0.0).all():
        raise DuocapError(f"{table.where}: size_m must be above 0 along x and z, got {size[0]:g} and {size[1]:g}")
    height = table.read_number("height_m", -1.0, above=-1e-9, most=MOST_ABOVE_M)
    edge = table.read_number("edge_m", EDGE_M, above=0.0, most=MOST_M)
    return Mound(table.read_numbers("place_m", 2, MOST_M), size, height, edge)


def _parse_segment(table: AskedTable) -> MassAsked:
    return MassAsked(table.read_joint(), table.read_number("mass_kg", 0.0, most=200.0))


def _parse_load(table: AskedTable) -> MassAsked:
    return MassAsked(table.read_joint(), table.read_number("kg", -1.0, above=-1e-9, most=200.0))


def _parse_force(table: AskedTable, seconds: float) -> ForceAsked:
    at = table.read_numbers("at_m", 3, MOST_OFFSET_M, [0, 0, 0])
    if ("newton" in table) == ("stiffness" in table):
        raise DuocapError(f"{table.where}: give either newton, a constant force, or stiffness and anchor_m of a spring")
    first, last = _read_time_span(table, seconds)
    if "newton" in table:
        return ForceAsked(table.read_joint(), at, first, last, table.read_numbers("newton", 3, MOST_NEWTON), 0.0, np.zeros(3))
    anchor = table.read_numbers("anchor_m", 3, MOST_M)
    stiffness = table.read_number("stiffness", 0.0, most=MOST_NEWTON)
    return ForceAsked(table.read_joint(), at, first, last, np.zeros(3), stiffness, anchor)
