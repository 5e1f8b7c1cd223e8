"""The figures of `duocap evaluate forces` as a table."""

from collections.abc import Iterator

import numpy as np

from tools.evaluate.forces.measure import ForcesReport, MethodErrors

SIDE = ("left", "right")
HEAD = ("", "vertical RMS %", "impulse %", "forward RMS %", "pressure mm", "residual %", "Nm")


def report(found: ForcesReport) -> Iterator[str]:
    """Yield the lines that are printed: each figure step by step, then the mean."""
    yield (
        f"{found.mass_kg:.1f} kg, {found.height_m:.2f} m; residual analysis: {found.cutoff_hz:.1f} Hz; "
        "steps " + ", ".join(f"{SIDE[s.foot]} {s.begin_s:.2f} s" for s in found.methods[0].steps)
    )
    yield from found.notes
    rows = [HEAD, *(_format_cells(method) for method in found.methods)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    for name, *cells in rows:
        yield name.ljust(widths[0]) + "".join(f"   {cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
    yield "aims: vertical 8 % of body weight, impulse 2 %, centre of pressure 30 mm"


def _format_cells(method: MethodErrors) -> tuple[str, ...]:
    """Return the cells of one row, each as wide as its steps ask for."""
    columns = (
        [100 * s.rms_share for s in method.steps],
        [100 * s.impulse_share for s in method.steps],
        [100 * s.forward_share for s in method.steps],
        [s.center_mm for s in method.steps],
    )
    cells = [method.method]
    for k, values in enumerate(columns):
        digits = 0 if k == 3 else 1
        mean = float(np.mean(np.abs(values)))
        cells.append(f"{' '.join(f'{v:.{digits}f}' for v in values)} = {mean:.{digits}f}")
    return (*cells, f"{100 * method.residual_share:.1f}", f"{method.residual_nm:.1f}")
