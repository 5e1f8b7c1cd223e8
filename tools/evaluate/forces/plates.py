"""Force plates: a MOT file of OpenSim with the force on each foot, its point and its torque."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError, describe_reason
from database.clips import find_runs

SIDES = ("l", "r")  # our order of feet
TOUCH_N = 20.0
LEAST_STEP_S = 0.3


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


def read_plates(file: Path) -> PlateForces:
    """Read a MOT file. Raises FileFormatError: it has other columns, or cannot be read."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{file}: cannot be read ({describe_reason(error)})") from error
    ends = [n for n, line in enumerate(lines) if line.strip().lower() == "endheader"]
    if not ends or len(lines) < ends[0] + 3:
        raise FileFormatError(f"{file}: no MOT file of OpenSim; expected a line endheader, names, and rows")
    names = lines[ends[0] + 1].split()
    wanted = [f"ground_force_{side}_{kind}{axis}" for kind in "vp" for side in SIDES for axis in "xyz"]
    missing = [name for name in ("time", *wanted) if name not in names]
    if missing:
        raise FileFormatError(f"{file}: no column {missing[0]}; expected forces of both feet as ground_force_r_vx, _px and so on")
    values = np.array([[float(cell) for cell in line.split()] for line in lines[ends[0] + 2 :] if line.strip()])
    columns = values[:, [names.index(name) for name in wanted]].reshape(len(values), 2, 2, 3)
    return PlateForces(values[:, names.index("time")], columns[:, 0].copy(), columns[:, 1].copy())
