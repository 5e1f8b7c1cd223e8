"""Random calibrations with known truth, made and fitted once for all tests."""

from functools import cache

from benchmarks.calibration import truth
from benchmarks.calibration.scene import CalibrationScene, draw_random_scene
from calibration.solve.solution import LensModel, RigSolution

GOOD = 19  # 29 views with noise of 0.1 px, cameras 46 cm apart


@cache
def scene(index: int = GOOD, adversity: str = "none") -> CalibrationScene:
    """Return what both cameras saw."""
    return draw_random_scene(index, adversity=adversity)


@cache
def fitted(index: int = GOOD, adversity: str = "none", lens: LensModel | None = None) -> RigSolution:
    """Return the scene's solution, fitted from the truth on."""
    return truth.fit_scene(scene(index, adversity), lens)
