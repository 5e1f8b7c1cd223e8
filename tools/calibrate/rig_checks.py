"""What a rig is checked against beside its own views: lenses from earlier, a tape, and the rig it takes the place of."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig
from calibration.formats.rig_file import read_rig
from calibration.quality.report import Finding, Grade
from calibration.solve.solution import RigSolution
from config.arrays import Floats
from config.errors import CalibrationError, FileFormatError
from config.words import format_count

TAPE_M, TAPE_SHARE = 0.006, 0.02  # how well a baseline is known by tape: nobody sees where in a lens its centre is
WORTH_TELLING = 0.005


def read_intrinsics(files: Sequence[Path], names: Sequence[str]) -> tuple[Camera, ...]:
    """Read the lenses of cameras: from a rig's file, by name or else in its order, or from one file a camera.

    Raises FileFormatError; CalibrationError: more or fewer than there are cameras.
    """
    if len(files) > 1:
        if len(files) != len(names):
            which = "two cameras; give one rig, or one file a camera, left first"
            which = which if len(names) == 2 else f"{len(names)} cameras; give one rig, or one file a camera, in their order"
            raise CalibrationError(f"{format_count(len(files), 'file')} of --intrinsics for {which}")
        return tuple(read_rig(file).cameras[0] for file in files)
    cameras = read_rig(files[0]).cameras
    by_name = {camera.name: camera for camera in cameras}
    if all(name in by_name for name in names):
        return tuple(by_name[name] for name in names)
    if len(cameras) != len(names):
        raise CalibrationError(
            f"{files[0]}: holds {format_count(len(cameras), 'camera')}, {format_count(len(names), 'is', 'are')} to be "
            "calibrated; give a rig of the same ones, or one "
            "file a camera"
        )
    return cameras


def compute_refinement_sigma(camera: Camera) -> Floats:
    """Return how far a lens from earlier may be off where it is to be refined, (9,) in the order of INTRINSICS.

    A refocused lens changes its focal length by a percent or two; its centre and distortion hardly.
    """
    focal, side = 0.02 * camera.focal_px, 0.01 * max(camera.size)
    lens = [0.02, 0.02, 0.02, 0.02, 0.0] if camera.fisheye else [0.05, 0.1, 0.002, 0.002, 0.1]
    return np.array([focal, focal, side, side, *lens])


def compare_with_tape(solution: RigSolution, tape_m: float) -> tuple[Finding, ...]:
    """Compare the distance of the first two cameras with a tape: the only check here that sees a wrong square size."""
    first, second = solution.rig.cameras[:2]
    solved_m = float(np.linalg.norm(first.center_m - second.center_m))
    ratio = tape_m / solved_m
    which = "the cameras" if len(solution.rig) == 2 else f"{first.name} and {second.name}"
    words = f"{which} are {1e3 * solved_m:.0f} mm apart by the board and {1e3 * tape_m:.0f} mm by your tape"
    if abs(solved_m - tape_m) <= max(TAPE_M, TAPE_SHARE * tape_m):
        return (Finding(Grade.PASS, f"{words}: the squares are as large as said"),)
    said_mm = 1e3 * solution.board.square_m
    fix = (
        f"everything is {ratio:.3f} times as large, so squares of {ratio * said_mm:.2f} mm would fit, not {said_mm:g} mm; "
        "measure ten squares in a row, give their size with --board, and measure the baseline from lens to lens"
    )
    return (Finding(Grade.FAIL, words, fix),)


def compare_with_earlier_rig(out: Path, rig: Rig) -> list[str]:
    """Compare with the rig that is replaced, if there is one: cameras that nobody moved are as far apart as before."""
    try:
        before = read_rig(out) if out.exists() and not rig.is_monocular else None
    except FileFormatError:
        return []
    if before is None or len(before) != len(rig):
        return []
    ratio = rig.baseline_m / before.baseline_m
    words = f"baseline {1e3 * rig.baseline_m:.1f} mm; in the rig that was in {out} it was {1e3 * before.baseline_m:.1f} mm"
    if abs(ratio - 1.0) < WORTH_TELLING:
        return [words]
    return [f"{words}, {ratio:.3f} times: if no camera was moved, one of the two was given a wrong square size"]
