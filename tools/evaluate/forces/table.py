"""The figures of `duocap evaluate forces` as a table."""

from collections.abc import Iterator

import numpy as np

from tools.evaluate.forces.measure import ForcesReport, MethodErrors

SIDE = ("left", "right")


def report(found: ForcesReport) -> Iterator[str]:
    """Yield the lines that are printed: each figure step by step, then the mean."""
    yield (
        f"{found.mass_kg:.1f} kg, {found.height_m:.2f} m; residual analysis: {found.cutoff_hz:.1f} Hz; "
        "steps " + ", ".join(f"{SIDE[s.foot]} {s.begin_s:.2f} s" for s in found.methods[0].steps)
    )
    yield f"{'':<40}{'vertical RMS %':>24}{'impulse %':>24}{'forward RMS %':>24}{'pressure mm':>24}{'residual %':>12}{'Nm':>6}"
    for method in found.methods:
        yield _line(method)
    yield "aims: vertical 8 % of body weight, impulse 2 %, centre of pressure 30 mm"


def _line(method: MethodErrors) -> str:
    """Return one row."""
    columns = (
        [100 * s.rms_share for s in method.steps],
        [100 * s.impulse_share for s in method.steps],
        [100 * s.forward_share for s in method.steps],
        [s.center_mm for s in method.steps],
    )
    cells = []
    for k, values in enumerate(columns):
        digits = 0 if k == 3 else 1
        mean = float(np.mean(np.abs(values)))
        cells.append(f"{' '.join(f'{v:.{digits}f}' for v in values)} = {mean:.{digits}f}")
    line = f"{method.method:<40}" + "".join(f"{cell:>24}" for cell in cells)
    return line + f"{100 * method.residual_share:>12.1f}{method.residual_nm:>6.1f}"
