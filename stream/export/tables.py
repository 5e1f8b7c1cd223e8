"""CSV: `frame,seconds,state,<joint>.x,<joint>.y,<joint>.z,...`, joint positions in metres, world frame."""

from pathlib import Path

from config.files import atomic_write
from config.joints import JOINTS
from stream.export.take import Take


def write_csv(file: Path, take: Take) -> None:
    """Write the joint positions of a take, one row a frame; a lost frame has empty cells after its state."""
    atomic_write(file, csv_text(take))


def csv_text(take: Take) -> str:
    """Give a take as the text of a CSV file."""
    lines = [",".join(["frame", "seconds", "state", *(f"{joint}.{axis}" for joint in JOINTS for axis in "xyz")])]
    positions = take.positions_m().reshape(len(take), -1)
    for frame, (seconds, state, lost, row) in enumerate(zip(take.seconds, take.states, take.lost, positions, strict=True)):
        cells = ("" if lost else f"{value:.6f}" for value in row)
        lines.append(",".join([str(frame), f"{seconds:.6f}", state.value, *cells]))
    return "\n".join(lines) + "\n"
