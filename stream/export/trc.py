"""TRC, the marker table of OpenSim: joint centres, then measured markers, in millimetres, world frame, time in seconds.

Rows are at equal times, at the rate in the header: readers go by either. Unknown values are "nan": blank cells would be gaps as
well, but OpenSim refuses a row whose last cell is blank.
"""

import re
from dataclasses import asdict
from pathlib import Path

from capture.rate import estimate_frame_period_s
from config.arrays import Floats
from config.files import write_atomically
from config.joints import N_JOINTS
from config.units import MM_PER_M
from database.geometry.joint_angles import UPRIGHT
from stream.export.points import PointTable, convert_to_ascii, points_from_take
from stream.take.resampling import resample_evenly
from stream.take.take import Take, find_software_version

# The joint centres that OpenSim's models have markers for, with L and R for the side.
OPENSIM_NAMES = {
    "UpperLeg": "HJC",
    "LowerLeg": "KJC",
    "Foot": "AJC",
    "UpperArm": "SJC",
    "LowerArm": "EJC",
    "Hand": "WJC",
}


def write_opensim_trc(file: Path, take: Take) -> None:
    """Write joint centres under OpenSim's names (RHJC, RKJC, ...) and measured markers, in a world in which one walks along X."""
    even = resample_evenly(take)
    points = points_from_take(even)
    named = {f"{side}{joint}": side[0].upper() + short for side in ("left", "right") for joint, short in OPENSIM_NAMES.items()}
    kept = [k for k, name in enumerate(points.names) if name in named or k >= N_JOINTS]
    chosen = PointTable(
        tuple(named.get(points.names[k], points.names[k]) for k in kept),
        tuple(points.descriptions[k] for k in kept),
        points.point_m[:, kept] @ UPRIGHT,
        points.valid[:, kept],
        points.cameras[:, kept],
        points.measured[:, kept],
    )
    write_atomically(file, _format_points(take, even, chosen, file.name))


def write_trc(file: Path, take: Take) -> None:
    """Write joint centres and measured markers of a take."""
    write_atomically(file, format_trc(take, file.name))


def format_trc(take: Take, name: str) -> str:
    """Return a take as the text of a TRC file called `name`."""
    even = resample_evenly(take)
    return _format_points(take, even, points_from_take(even), name)


def _format_points(take: Take, even: Take, points: PointTable, name: str) -> str:
    """Return points as the text of a TRC file called `name`.

    Args:
        take: as recorded.
        even: at equal times.
        points: at these times.
        name: of the file.
    """
    rate, count = f"{1.0 / estimate_frame_period_s(even.seconds):.9g}", len(even)
    fields = {
        "DataRate": rate,
        "CameraRate": rate,
        "NumFrames": count,
        "NumMarkers": len(points.names),
        "Units": "mm",
        "OrigDataRate": rate,
        "OrigDataStartFrame": 1,
        "OrigNumFrames": count,
    }
    header = [
        "\t".join(["PathFileType", "4", "(X/Y/Z)", _format_cell(name), *_format_origin(take)]),
        "\t".join(fields),
        "\t".join(str(value) for value in fields.values()),
        "Frame#\tTime\t" + "\t\t\t".join(points.names) + "\t\t",
        "\t\t" + "\t".join(f"X{i}\tY{i}\tZ{i}" for i in range(1, len(points.names) + 1)),
        "",
    ]
    return "\n".join(header + _format_rows(even.seconds, points)) + "\n"


def _format_origin(take: Take) -> list[str]:
    """Return the take's origin for the first line, after the file's name: OpenSim accepts no further fields below."""
    cells = {key: _format_cell(text) for key, text in asdict(take.info).items()}
    return [f"duocap={find_software_version()}", *(f"{key}={cell}" for key, cell in cells.items() if cell)]


def _format_cell(text: str) -> str:
    """Return a text without white space, in ASCII."""
    return re.sub(r"\s+", "_", convert_to_ascii(text).strip())


def _format_rows(seconds: Floats, points: PointTable) -> list[str]:
    """Return one line a frame."""
    rows = []
    for number, (second, positions, valid) in enumerate(zip(seconds, points.point_m * MM_PER_M, points.valid, strict=True), 1):
        cells = [
            f"{x:.4f}\t{y:.4f}\t{z:.4f}" if known else "nan\tnan\tnan"
            for (x, y, z), known in zip(positions.tolist(), valid, strict=True)
        ]
        rows.append("\t".join([str(number), f"{second:.6f}", *cells]))
    return rows
