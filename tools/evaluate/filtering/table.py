"""Tables of filters, predictions and the smoother."""

import numpy as np

from tools.evaluate.filtering.measure import AHEAD_MS, WINDOWS_S, FilteringResult


def report(result: FilteringResult) -> list[str]:
    """Return the lines of all tables."""
    return [*filter_lines(result), *prediction_lines(result), *smoother_lines(result)]


def filter_lines(result: FilteringResult) -> list[str]:
    """Return the table of filters, then the filter in use by clip."""
    numbers = ("clips mm", "of none", "real mm", "of none", "delay ms", "error mm")
    lines = [
        "",
        "output filter: jitter standing still (RMS about the mean over 0.5 s); delay and error added in motion",
        f"{'filter':<18}{'strength':>9}" + "".join(f"{name:>10}" for name in numbers),
    ]
    none = result.runs[0]
    for run in result.runs:
        jitter, delay, error = run.means(real=False)
        real, _, _ = run.means(real=True)
        share, real_share = jitter / none.means(real=False)[0], real / none.means(real=True)[0]
        chosen = "  <- in use" if run.family == "ours" and run.strength == 1.0 else ""
        lines.append(
            f"{run.family:<18}{run.strength:>9g}{jitter:>10.2f}{share:>10.2f}{real:>10.2f}{real_share:>10.2f}{delay:>10.1f}"
            f"{error:>+10.2f}{chosen}"
        )
    used = next(run for run in result.runs if run.family == "ours" and run.strength == 1.0)
    lines += ["", f"{'in use, standing':<18}{'before mm':>10}{'after mm':>10}{'times less':>11}"]
    for name, after in used.jitter_mm.items():
        before = none.jitter_mm[name]
        lines.append(f"{name:<18}{before:>10.2f}{after:>10.2f}{before / after:>11.1f}")
    lines += ["", f"{'in use, moving':<18}{'delay ms':>10}{'error mm':>10}   added"]
    lines += [f"{name:<18}{used.delay_ms[name]:>10.2f}{used.error_mm[name]:>+10.2f}" for name in used.delay_ms]
    return lines


def prediction_lines(result: FilteringResult) -> list[str]:
    """Return the table of predictions."""
    columns = [f"{kind} {ahead:g}" for ahead in AHEAD_MS for kind in ("held", "predicted")]
    lines = [
        "",
        "prediction: error at the moment meant [mm], last pose held or predicted, ms ahead",
        f"{'':<18}" + "".join(f"{column:>14}" for column in columns),
    ]
    for name, errors in result.predictions.items():
        lines.append(f"{name:<18}" + "".join(f"{errors[column]:>14.1f}" for column in columns))
    mean = [float(np.mean([errors[column] for errors in result.predictions.values()])) for column in columns]
    return [*lines, f"{'mean':<18}" + "".join(f"{value:>14.1f}" for value in mean)]


def smoother_lines(result: FilteringResult) -> list[str]:
    """Return the table of the smoother."""
    columns = ["0", *(f"{window:g}" for window in WINDOWS_S)]
    heads = ["not smoothed", *(f"{column} s" for column in columns[1:])]
    lines = ["", "smoother: position mm / joint deg / jitter mm", f"{'':<18}" + "".join(f"{head:>22}" for head in heads)]
    for name, errors in result.smoother.items():
        cells = [" / ".join(f"{value:.2f}" if value == value else "-" for value in errors[column]) for column in columns]
        lines.append(f"{name:<18}" + "".join(f"{cell:>22}" for cell in cells))
    return lines
