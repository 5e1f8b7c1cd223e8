"""The table of dimensionality: dimensions for less than a degree, and errors at a few numbers of dimensions."""

from collections.abc import Sequence

import numpy as np

from tools.evaluate.dimensionality.curves import ErrorCurve
from tools.evaluate.dimensionality.measure import FigurePanel


def table(panels: Sequence[FigurePanel]) -> list[str]:
    """Return the lines of the table."""
    lines = [
        "poses after B dimensions and back, degrees per joint angle: mean of absolute errors; RMS where said and after the slash",
        f"{'database':<10}{'poses':>8}{'tests':>13}  {'method':<32}{'B < 1 deg':>10}{'paper':>7}{'RMS < 1':>9}"
        f"{'B = 2':>14}{'B = 5':>14}{'B = 7':>14}{'B = 20':>14}  ",
    ]
    for each in panels:
        for c in each.curves:
            needed = (
                str(c.dimensions_under() or "-"),
                str(each.case.paper.get(c.method, "-")),
                str(c.dimensions_under(rms=True) or "-"),
            )
            errors = "".join(_error(c, b).rjust(14) for b in (2, 5, 7, 20))
            tests = f"{each.n_tests} {each.kind}"
            lines.append(
                f"{each.case.name:<10}{each.n_poses:>8}{tests:>13}  {c.method:<32}{needed[0]:>10}{needed[1]:>7}{needed[2]:>9}"
                f"{errors}  {c.note}"
            )
    lines.append("paper: 700, 71,597 and 433,622 poses at 120 Hz; its GPLVM has 2.7 degrees in two dimensions on walking")
    return lines


def _error(c: ErrorCurve, dimensions: int) -> str:
    """Return both errors at a number of dimensions, a dash where it was not measured."""
    at = np.flatnonzero(c.dimensions == dimensions)
    return f"{c.mean_deg[at[0]]:.2f} / {c.rms_deg[at[0]]:.2f}" if len(at) else "-"
