"""What a rig is checked against beside its own views: lenses from earlier, a tape, and the rig it takes the place of."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig
from calibration.formats.rig_file import read_one_camera, read_rig
from calibration.quality.report import Finding, Grade
from calibration.solve.solution import RigSolution
from config.arrays import Floats
from config.errors import CalibrationError, FileFormatError

TAPE_M, TAPE_SHARE = 0.006, 0.02  # how well a baseline is known by tape: nobody sees where in a lens its centre is
WORTH_TELLING = 0.005


def read_intrinsics(files: Sequence[Path]) -> tuple[Camera, Camera]:
    """Read both cameras' lenses: from a rig's file, or from one file a camera, left first.

    Raises FileFormatError; CalibrationError: more files than cameras.
    """
    if len(files) > 2:
        raise CalibrationError(
            f"{len(files)} files of --intrinsics for two cameras; give one rig, or one file a camera, left first"
        )
    if len(files) == 1:
        rig = read_rig(files[0])
        return rig.left, rig.right
    left, right = (read_one_camera(file, 0).left for file in files)
    return left, right


def refined_sigma(intrinsics: tuple[Camera, ...]) -> Floats:
    """Return how far lenses from earlier may be off where they are to be refined, (2, 9) in the order of INTRINSICS.

    A refocused lens changes its focal length by a percent or two; its centre and distortion hardly.
    """
    return np.array(
        [
            [0.02 * camera.focal_px, 0.02 * camera.focal_px, 0.01 * max(camera.size), 0.01 * max(camera.size)]
            + ([0.02, 0.02, 0.02, 0.02, 0.0] if camera.fisheye else [0.05, 0.1, 0.002, 0.002, 0.1])
            for camera in intrinsics
        ]
    )


def tape_findings(solution: RigSolution, tape_m: float) -> tuple[Finding, ...]:
    """Compare the baseline with what a tape says: the only thing here that sees a wrong square size."""
    solved_m = solution.rig.baseline_m
    ratio = tape_m / solved_m
    words = f"the cameras are {1e3 * solved_m:.0f} mm apart by the board and {1e3 * tape_m:.0f} mm by your tape"
    if abs(solved_m - tape_m) <= max(TAPE_M, TAPE_SHARE * tape_m):
        return (Finding(Grade.PASS, f"{words}: the squares are as large as said"),)
    said_mm = 1e3 * solution.board.square_m
    fix = (
        f"everything is {ratio:.3f} times as large, so squares of {ratio * said_mm:.2f} mm would fit, not {said_mm:g} mm; "
        "measure ten squares in a row, give their size with --board, and measure the baseline from lens to lens"
    )
    return (Finding(Grade.FAIL, words, fix),)


def earlier_words(out: Path, rig: Rig) -> list[str]:
    """Compare with the rig that is replaced, if there is one: cameras that nobody moved are as far apart as before."""
    try:
        before = read_rig(out) if out.exists() and not rig.is_monocular else None
    except FileFormatError:
        return []
    if before is None:
        return []
    ratio = rig.baseline_m / before.baseline_m
    words = f"baseline {1e3 * rig.baseline_m:.1f} mm; in the rig that was in {out} it was {1e3 * before.baseline_m:.1f} mm"
    if abs(ratio - 1.0) < WORTH_TELLING:
        return [words]
    return [f"{words}, {ratio:.3f} times: if no camera was moved, one of the two was given a wrong square size"]
