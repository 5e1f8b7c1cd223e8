"""Lenses of other people: calibrations of two cameras with a board, corners with noise, from views to grade."""

import math

from calibration.camera import Rig
from tests.zoo.calibrations import calibrates, camera, pair_of
from tests.zoo.specimen import Specimen

HALF_TURN = (0.0, 0.0, 0.5 * math.pi)


def fisheyes(lens: tuple[float, ...] = (-0.02, 0.006, -0.003, 0.0005), size: tuple[int, int] = (1280, 960)) -> Rig:
    """Return two cameras that see 120 degrees across, half a metre apart, toed in."""
    focal = 0.5 * size[0] / math.radians(60.0)
    left = camera("left", size, focal, lens, (0.0, -0.1, 0.0), fisheye=True)
    right = camera("right", size, 1.02 * focal, lens, (0.02, 0.15, 0.03), (0.5, 0.02, -0.01), fisheye=True)
    return Rig((left, right))


LENS = (-0.1, 0.05, 0.0, 0.0, 0.0)
BARREL = pair_of((1280, 720), (800.0, 820.0), (-0.36, 0.2, 0.001, -0.0008, -0.05), (0.0, 0.2, 0.02), (0.4, 0.01, 0.0))
ZOOMED = pair_of((1920, 1080), (7200.0, 7000.0), (0.05, 0.3, 0.0, 0.0, 0.0), (0.0, 0.2, 0.0), (1.5, 0.0, 0.0))
ROLLED = pair_of((640, 480), (550.0, 560.0), LENS, HALF_TURN, (0.35, 0.0, 0.0), HALF_TURN)
ONE_ROLLED = pair_of((640, 480), (550.0, 560.0), LENS, HALF_TURN, (0.35, 0.0, 0.0))

SPECIMENS: tuple[Specimen, ...] = (
    Specimen("strong barrel", calibrates(BARREL, 24, 2), "pass: .*pinhole", 1.0, "%", slow=True),
    Specimen("fisheye of 120 degrees", calibrates(fisheyes(), 24, 1), "pass: .*fisheye", 1.0, "%", slow=True),
    Specimen("zoomed in, 15 degrees across", calibrates(ZOOMED, 24, 3, share=(0.14, 0.22)), "pass|poor", 1.0, "%", slow=True),
    Specimen("both cameras rolled by 90 degrees", calibrates(ROLLED, 20, 4), "pass", 1.0, "%", slow=True),
    Specimen("one camera rolled by 90 degrees", calibrates(ONE_ROLLED, 20, 5), "pass", 1.0, "%", slow=True),
)
