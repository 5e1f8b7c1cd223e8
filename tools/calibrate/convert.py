"""Convert calibrations: the world as the other program expects it, and what was read in words."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from calibration.camera import Rig
from calibration.formats.camera_file import Z_UP_TO_Y_UP, in_world


def turned_for(rig: Rig, form: str, up: str) -> Rig:
    """Return the rig in a world whose axis `up` points up; Qualisys' files are turned when they are written."""
    if up == "y" or form == "qualisys":
        return rig
    left = in_world(rig.left, Z_UP_TO_Y_UP.T)
    # What is left has Z up: our own readers must not take it for a floor at y = 0.
    return replace(rig, left=left, right=left if rig.is_monocular else in_world(rig.right, Z_UP_TO_Y_UP.T), floor_known=False)


def converted_lines(rig: Rig, written: Sequence[Path]) -> list[str]:
    """Say what was read and where it went."""
    lines = [
        f"{camera.name}: {camera.size[0]}x{camera.size[1]}, focal length {camera.focal_px:.1f} px"
        for camera in rig.cameras[: 1 if rig.is_monocular else 2]
    ]
    if not rig.is_monocular:
        lines.append(f"{1e3 * rig.baseline_m:.1f} mm apart; floor {'known' if rig.floor_known else 'not known'}")
    return [*lines, f"written to {' and '.join(str(path) for path in written)}"]
