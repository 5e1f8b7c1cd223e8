"""TRC, the marker table of OpenSim: joint positions in millimetres, world frame, time in seconds."""

from pathlib import Path

from config.files import atomic_write
from config.joints import JOINTS
from stream.export.take import Take, frame_period_s

MM_PER_M = 1000.0


def write_trc(file: Path, take: Take) -> None:
    """Write the joint positions of a take; a lost frame holds "nan", since OpenSim refuses a row whose last cell is blank."""
    atomic_write(file, trc_text(take, file.name))


def trc_text(take: Take, name: str) -> str:
    """Give a take as the text of a TRC file called `name`."""
    rate, count = f"{1.0 / frame_period_s(take.seconds):.6g}", len(take)
    header = [
        f"PathFileType\t4\t(X/Y/Z)\t{name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{rate}\t{rate}\t{count}\t{len(JOINTS)}\tmm\t{rate}\t1\t{count}",
        "Frame#\tTime\t" + "\t\t\t".join(JOINTS) + "\t\t",
        "\t\t" + "\t".join(f"X{i}\tY{i}\tZ{i}" for i in range(1, len(JOINTS) + 1)),
        "",
    ]
    return "\n".join(header + _rows(take)) + "\n"


def _rows(take: Take) -> list[str]:
    """Give one line a frame."""
    millimetres = take.positions_m().reshape(len(take), -1) * MM_PER_M
    rows = []
    for number, (seconds, lost, values) in enumerate(zip(take.seconds, take.lost, millimetres, strict=True), 1):
        cells = ["nan" if lost else f"{value:.4f}" for value in values]
        rows.append("\t".join([str(number), f"{seconds:.6f}", *cells]))
    return rows
