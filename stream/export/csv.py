"""CSV: `frame,seconds,state,<joint>.x,<joint>.y,<joint>.z,...`, joint positions in metres, world frame; markers likewise.

Where it is known how far off the joints may be, `<joint>.error` follows for each, in metres.
"""

from collections.abc import Iterable, Sequence
from math import isinf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.errors import DuocapError
from config.files import write_atomically
from config.joints import JOINTS
from stream.take.take import Take


def write_csv(file: Path, take: Take) -> None:
    """Write the joint positions of a take, one row a frame; the cells of a lost frame are empty."""
    write_atomically(file, format_csv(take))


def write_markers_csv(file: Path, take: Take) -> None:
    """Write the measured markers, in the rows of `write_csv`; the cells of a marker that was not measured are empty.

    Raises DuocapError: the take has no markers.
    """
    write_atomically(file, format_markers_csv(take))


def format_csv(take: Take) -> str:
    """Return a take as the text of a CSV file."""
    known = np.repeat(~take.lost[:, None], len(JOINTS), axis=1)
    table = _format_point_table(take, JOINTS, take.positions_m(), known)
    if take.error_m is None:
        return table
    head, *rows = table.splitlines()
    lines = [",".join([head, *(f"{name}.error" for name in JOINTS)])]
    for row, error_m, lost in zip(rows, take.error_m.tolist(), take.lost, strict=True):
        lines.append(",".join([row, *("" if lost or isinf(error) else f"{error:.4f}" for error in error_m)]))
    return "\n".join(lines) + "\n"


def format_markers_csv(take: Take) -> str:
    """Return the markers of a take as the text of a CSV file."""
    if take.markers is None:
        raise DuocapError("this take holds no measured markers; export joint positions (--format csv)")
    return _format_point_table(take, take.markers.names, take.markers.point_m, take.markers.valid)


def _format_point_table(take: Take, names: Sequence[str], point_m: Floats, valid: NDArray[np.bool_]) -> str:
    """Return one row a frame: number, time, state, and x, y, z of every point, empty where not valid."""
    rows = (
        [f"{x:.6f},{y:.6f},{z:.6f}" if there else ",," for (x, y, z), there in zip(points.tolist(), known, strict=True)]
        for points, known in zip(point_m, valid, strict=True)
    )
    return format_table(take, [f"{name}.{axis}" for name in names for axis in "xyz"], rows)


def format_table(take: Take, names: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return one row a frame: number, time, state, and cells.

    Args:
        take: the motion.
        names: of the columns of cells.
        rows: cells of each frame.
    """
    lines = [",".join(["frame", "seconds", "state", *names])]
    for frame, (seconds, state, cells) in enumerate(zip(take.seconds, take.states, rows, strict=True)):
        lines.append(",".join([str(frame), f"{seconds:.6f}", state.value, *cells]))
    return "\n".join(lines) + "\n"
