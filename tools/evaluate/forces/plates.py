"""Force plates of any laboratory: readings of plates, and whose foot was on which, by where the feet are.

A MOT or STO file of OpenSim has columns of force and centre of pressure for every plate, however they are called. Which foot trod
on a plate is told by the markers: the one whose sole was nearest to the centre of pressure while the plate was loaded.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.text import read_lines
from database.clips import find_runs

TOUCH_N = 20.0
LEAST_STEP_S = 0.3
FAR_M = 0.3  # a centre of pressure so far from both soles is of somebody else, or of nobody
ONE_FOOT = 0.8  # share of a plate's load that is nearest to one foot, or both were on it
# How laboratories call a column: words before, what it is, axis, number behind.
COLUMN = re.compile(r"(?P<stem>.*?)_?(?P<kind>cop|grf|force|[vfp])_?(?P<axis>[xyz])_?(?P<number>\d*)", re.IGNORECASE)
POINT_KINDS = ("p", "cop")


@dataclass(frozen=True, slots=True)
class PlateReadings:
    """What P plates measured, in the file's axes.

    Attributes:
        names: of the plates.
        seconds: times, (N,) [s].
        force_n: force on the body, (N, P, 3) [N].
        center_m: centres of pressure, (N, P, 3) [m], of no meaning where nothing is on a plate.
    """

    names: tuple[str, ...]
    seconds: Floats
    force_n: Floats
    center_m: Floats

    def turned(self, turn: Floats) -> "PlateReadings":
        """Return the readings turned to y up, and forces that push the body up: files have either sign.

        turn: from the file's axes, a rotation, (3, 3).
        """
        force_n = self.force_n @ turn.T
        sign = np.where(force_n[..., 1].sum(axis=0) < 0.0, -1.0, 1.0)
        return replace(self, force_n=sign[:, None] * force_n, center_m=self.center_m @ turn.T)


@dataclass(frozen=True, slots=True)
class PlateForces:
    """Forces that plates measured on the left and the right foot.

    Attributes:
        seconds: times, (N,) [s].
        force_n: forces, (N, 2, 3) [N].
        center_m: centres of pressure, (N, 2, 3) [m], of no meaning where nothing is on the plate.
    """

    seconds: Floats
    force_n: Floats
    center_m: Floats

    def at(self, seconds: Floats) -> "PlateForces":
        """Return the forces at other times."""
        columns = [
            np.stack([[np.interp(seconds, self.seconds, values[:, f, k]) for k in range(3)] for f in range(2)]).transpose(2, 0, 1)
            for values in (self.force_n, self.center_m)
        ]
        return PlateForces(seconds, *columns)

    def steps(self) -> list[tuple[int, float, float]]:
        """Return foot, first and last time [s] of every step on the plates, in the order of time."""
        found = []
        for foot in range(2):
            for first, stop in find_runs(self.force_n[:, foot, 1] > TOUCH_N):
                begin, end = float(self.seconds[first]), float(self.seconds[stop - 1])
                if end - begin > LEAST_STEP_S:
                    found.append((foot, begin, end))
        return sorted(found, key=lambda step: step[1])

    def mass_kg(self) -> float:
        """Return the mass that the impulse of a stride bears, from one step's middle to the middle of that foot's next step.

        Over a stride of steady walking the body's momentum is the same at both ends. Raises FileFormatError: no such stride.
        """
        for (foot, begin, end), (other, begin_2, end_2) in pairwise(sorted(self.steps())):
            if foot == other:
                rows = (self.seconds >= 0.5 * (begin + end)) & (self.seconds < 0.5 * (begin_2 + end_2))
                return float(self.force_n[rows, :, 1].sum(axis=1).mean() / 9.81)
        raise FileFormatError("the plates hold no two steps of one foot, from which the mass follows; give it by --mass")


def read_plate_table(file: Path) -> PlateReadings:
    """Read the plates of a MOT or STO file, in the file's axes. Raises FileFormatError: it has none, or cannot be read."""
    lines = read_lines(file)
    ends = [n for n, line in enumerate(lines) if line.strip().lower() == "endheader"]
    if not ends or len(lines) < ends[0] + 3:
        raise FileFormatError(f"{file}: no MOT file of OpenSim; expected a line endheader, names, and rows")
    names = lines[ends[0] + 1].split()
    try:
        values = np.array([[float(cell) for cell in line.split()] for line in lines[ends[0] + 2 :] if line.strip()])
    except ValueError as error:
        raise FileFormatError(f"{file}: {error}; expected numbers, as many in every row as there are names") from error
    plates = _find_columns(names)
    if "time" not in names or not plates or values.shape[1:] != (len(names),):
        raise FileFormatError(
            f"{file}: no plates; expected time, and for each plate three columns of force and three of its place, such as "
            f"ground_force_vx, ground_force_px; found {', '.join(names[:8])}, ..."
        )
    columns = np.stack([values[:, rows] for rows in plates.values()], axis=1)
    force_n, center_m = np.nan_to_num(columns[..., :3]), np.nan_to_num(columns[..., 3:])
    return PlateReadings(tuple(plates), values[:, names.index("time")], force_n, center_m)


def _find_columns(names: list[str]) -> dict[str, list[int]]:
    """Return the columns of force x, y, z and place x, y, z of every plate that has all six."""
    found: dict[str, dict[str, int]] = {}
    for k, name in enumerate(names):
        parts = COLUMN.fullmatch(name)
        if parts is not None:
            kind = "p" if parts["kind"].lower() in POINT_KINDS else "f"
            found.setdefault(f"{parts['stem']}{parts['number']}", {})[kind + parts["axis"].lower()] = k
    wanted = [kind + axis for kind in "fp" for axis in "xyz"]
    return {plate: [rows[key] for key in wanted] for plate, rows in found.items() if set(wanted) <= set(rows)}


def assign_plates(plates: PlateReadings, heel_m: Floats, tip_m: Floats, seconds: Floats) -> PlateForces:
    """Return the forces on either foot, by which sole was nearest to the centre of pressure. Raises FileFormatError: none was.

    Args:
        plates: with y up, upward forces positive.
        heel_m: of the feet, left first, (F, 2, 3) [m].
        tip_m: likewise.
        seconds: times of these, (F,) [s].
    """
    heel, tip = (
        np.stack([np.interp(plates.seconds, seconds, at[:, f, k]) for f in range(2) for k in range(3)], axis=1).reshape(-1, 2, 3)
        for at in (heel_m, tip_m)
    )
    seen = (plates.seconds >= seconds[0]) & (plates.seconds <= seconds[-1])
    away = [_measure_distance(scale * plates.center_m, heel, tip) for scale in (1.0, 1e-3)]
    loaded = (plates.force_n[..., 1] > TOUCH_N) & seen[:, None]
    # Places are in metres or millimetres: in the unit in which they are under the feet.
    unit = int(np.argmin([each.min(axis=2)[loaded].sum() for each in away]))
    center_m, distance = (1.0, 1e-3)[unit] * plates.center_m, away[unit]
    foot_of = np.full(loaded.shape, -1)
    for plate in range(loaded.shape[1]):
        for first, stop in find_runs(loaded[:, plate]):
            rows = slice(first, stop)
            foot_of[rows, plate] = _choose_foot(distance[rows, plate], plates.force_n[rows, plate, 1])
        # What is below the threshold before and after belongs to the same foot.
        if loaded[:, plate].any():
            foot_of[:, plate] = foot_of[_find_nearest_rows(loaded[:, plate]), plate]
    if not (foot_of >= 0).any():
        raise FileFormatError(
            "no foot is over a plate that bears something; expected plates and markers of one world and one time"
        )
    on = foot_of[..., None] == np.arange(2)
    force_n = np.einsum("npf,npk->nfk", on, plates.force_n)
    load = np.einsum("npf,np->nf", on, plates.force_n[..., 1])
    center = np.einsum("npf,np,npk->nfk", on, plates.force_n[..., 1], center_m) / np.maximum(load, TOUCH_N)[..., None]
    return PlateForces(plates.seconds, force_n, _hold_centers(center, load))


def _measure_distance(center_m: Floats, heel_m: Floats, tip_m: Floats) -> Floats:
    """Return the level distance of centres of pressure (N, P, 3) from either sole's middle line, (N, P, 2) [m]."""
    level = [0, 2]
    start, along = heel_m[:, None][..., level], (tip_m - heel_m)[:, None][..., level]
    to = center_m[:, :, None][..., level] - start
    share = np.clip((to * along).sum(axis=-1) / np.maximum((along**2).sum(axis=-1), 1e-9), 0.0, 1.0)
    return np.asarray(np.linalg.norm(to - share[..., None] * along, axis=-1))


def _choose_foot(distance_m: Floats, load_n: Floats) -> int:
    """Return the foot that was on a plate, -1 for none or both; distance_m: (n, 2) [m], load_n: (n,) [N]."""
    weight = load_n / load_n.sum()
    shares = [float(weight[distance_m[:, foot] <= distance_m[:, 1 - foot]].sum()) for foot in range(2)]
    foot = int(np.argmax(shares))
    near = float(weight @ distance_m[:, foot]) < FAR_M
    return foot if near and shares[foot] > ONE_FOOT else -1


def _hold_centers(center_m: Floats, load_n: Floats) -> Floats:
    """Return centres of pressure that stay where they were while nothing is on a plate, (N, 2, 3)."""
    out = center_m.copy()
    for foot in range(2):
        rows: Bools = load_n[:, foot] > TOUCH_N
        if rows.any():
            out[:, foot] = center_m[_find_nearest_rows(rows), foot]
    return out


def _find_nearest_rows(which: Bools) -> Ints:
    """Return for every row the nearest one of some, (N,) -> (N,)."""
    at = np.flatnonzero(which)
    after = np.clip(np.searchsorted(at, np.arange(len(which))), 0, len(at) - 1)
    before = np.maximum(after - 1, 0)
    n = np.arange(len(which))
    return np.asarray(np.where(np.abs(at[before] - n) < np.abs(at[after] - n), at[before], at[after]))
