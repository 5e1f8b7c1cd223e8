"""Tables of missing markers by marker set and length of gaps, with methods across; and which clips meet the aim."""

from collections.abc import Iterator, Sequence

import numpy as np

from tools.evaluate.missing.measure import MissingRun
from tools.evaluate.queries import NOISE_M
from tools.evaluate.states import STATES_LEGEND, states_table

MEASURES = {
    "marker_mm": ("missing markers: distance from their true places [mm]", 1),
    "position_mm": ("joints: distance from their true places [mm]", 1),
    "geodesic_deg": ("joints: geodesic degrees", 2),
}
AIM_RATIO, AIM_SHARE = 1.3, "50 %"
AIM_MEASURES = ("position_mm", "geodesic_deg")
WORSE = 1.02  # ratio from which a method counts as worse than the local model
KNOWN_DEG = 6.0  # largest distance from the learned poses at which a style knows a motion


def knows(run: MissingRun) -> bool:
    """Return whether the style of a run was learned from similar motion."""
    return run.strange_deg <= KNOWN_DEG


def mean(runs: list[MissingRun], measure: str, whole: bool = False) -> float:
    """Return the mean of a measure over runs, NaN of none; whole: whether the errors are those with no marker missing."""
    values = [getattr(run.whole if whole else run.errors, measure) for run in runs]
    return float(np.mean(values)) if values else float("nan")


def table(runs: list[MissingRun], measure: str) -> list[str]:
    """Return the lines of one table: cases down, methods across, each also as a multiple of the error with none missing."""
    methods = list(dict.fromkeys(run.method for run in runs))
    digits = MEASURES[measure][1]
    lines = [f"{'missing':<12}{'clips':>6}{'share':>7}{'none':>9}" + "".join(f"{name:>15}" for name in methods)]
    for case in dict.fromkeys(run.case for run in runs):
        same = [run for run in runs if run.case == case]
        first = [run for run in same if run.method == methods[0]]
        base = mean(first, measure, whole=True)
        share = 100.0 * float(np.mean([run.missing for run in first]))
        line = f"{case.what:<12}{len(first):>6}{share:>6.0f}%{base:>9.{digits}f}"
        for name in methods:
            value = mean([run for run in same if run.method == name], measure)
            line += f"{value:>8.{digits}f} x{value / base:>5.2f}"
        lines.append(line)
    return lines


def knowledge(run: MissingRun) -> str:
    """Return in words whether the style of a run knows the motion."""
    if run.style == "none":
        return "without a style"
    return "the style knows the motion" if knows(run) else "the style does not know the motion"


def parts(runs: list[MissingRun]) -> list[tuple[str, list[MissingRun]]]:
    """Split runs by marker set, by whether the style knows the motion, and by gap; each part with its title."""
    found = []
    for markers in dict.fromkeys(run.markers for run in runs):
        for title in ("the style knows the motion", "the style does not know the motion", "without a style"):
            for gap in dict.fromkeys(run.case.gap_s for run in runs):
                part = [r for r in runs if r.markers == markers and knowledge(r) == title and r.case.gap_s == gap]
                if part:
                    found.append((f"{markers}, gaps of {gap:g} s, {title}", part))
    return found


def report(runs: list[MissingRun], exact: bool, elapsed_s: float) -> Iterator[str]:
    """Yield the sources of the styles, every table, and clip by clip whether the aim is met."""
    yield from sources(runs)
    for title, part in parts(runs):
        yield f"\n== {title} =="
        for measure, (what, _) in MEASURES.items():
            yield f"\n{what}; x: of the error with none missing"
            yield from table(part, measure)
        cells = dict.fromkeys((run.case, run.method) for run in part)
        yield ""
        yield from states_table(
            (f"{case}, {name}", [run.poses for run in part if (run.case, run.method) == (case, name)]) for case, name in cells
        )
    yield f"\n{STATES_LEGEND}\n"
    yield from aims(runs)
    yield "\nms a frame: " + ", ".join(
        f"{name} {np.mean([run.frame_ms for run in runs if run.method == name]):.2f}"
        for name in dict.fromkeys(run.method for run in runs)
    )
    noise = "exact markers" if exact else f"{1e3 * NOISE_M:g} mm of noise in every coordinate"
    yield f"\n{noise}; {elapsed_s:.0f} s in all"


def sources(runs: list[MissingRun]) -> list[str]:
    """Return a line for every style: the motion it was learned from, and the distance of the query from that."""
    runs = [run for run in runs if run.style != "none"]
    if not runs:
        return []
    lines = [f"{'clip':<8}{'behaviour':<14}{'style':<9}{'from it':>9}  learned from"]
    for run in {(run.clip, run.style): run for run in runs}.values():
        lines.append(f"{run.clip:<8}{run.behaviour:<14}{run.style:<9}{run.strange_deg:>5.1f} deg  {run.source}")
    return lines


def aims(runs: list[MissingRun]) -> list[str]:
    """Return for which clips errors with half the markers missing meet the aim, and where a style is worse than none."""
    named = [
        name
        for name in ("offline", "choice", "style", "sparse", "fixed", "synthesis", "local")
        if any(run.method == name for run in runs)
    ]
    lines = [
        f"at {AIM_SHARE} missing, joints as a multiple of the error with none missing, in mm and in degrees; aim {AIM_RATIO:g}:"
    ]
    keys = dict.fromkeys(
        (r.markers, r.case.gap_s, r.clip, r.style) for r in runs if r.case.what == AIM_SHARE and r.method in named
    )
    for key in keys:
        same = [r for r in runs if (r.markers, r.case.gap_s, r.clip, r.style) == key and r.case.what == AIM_SHARE]
        ratio = {r.method: [getattr(r.errors, m) / getattr(r.whole, m) for m in AIM_MEASURES] for r in same}
        best = ratio[next(name for name in named if name in ratio)]
        known = same[0].style if same[0].style == "none" else "known" if knows(same[0]) else "unknown"
        values = "".join(f"{name:>8}{ratio[name][0]:>6.2f}{ratio[name][1]:>6.2f}" for name in named if name in ratio)
        verdict = "holds" if max(best) <= AIM_RATIO else "holds in degrees" if best[1] <= AIM_RATIO else "missed"
        lines.append(f"{key[0]:<12}{key[1]:>4g} s  {key[2]:<8}{known:<9}{values}   {verdict}")
    filled = [name for name in ("fixed", "style", "sparse", "choice") if name in named]
    return [*lines, *over_local(runs, filled), *(line for name in filled for line in worse_than_local(runs, name))]


def over_local(runs: list[MissingRun], names: Sequence[str]) -> list[str]:
    """Return every method's errors as a multiple of the local model's, the mean over all cells."""
    local = {(r.markers, r.clip, r.style, r.case): r.errors for r in runs if r.method == "local"}
    if not names or not local:
        return []
    lines = ["\nmean over all cells of the error over that of the local model; aim 0.85:"]
    for name in names:
        cells = [(r.errors, local[r.markers, r.clip, r.style, r.case]) for r in runs if r.method == name]
        ratios = {m: np.mean([getattr(mine, m) / getattr(alone, m) for mine, alone in cells]) for m in MEASURES}
        lines.append(f"  {name:<8}" + ", ".join(f"{m} x{ratio:.3f}" for m, ratio in ratios.items()))
    return lines


def worse_than_local(runs: list[MissingRun], name: str) -> list[str]:
    """Return where a method with a style is worse than the local model alone, in any measure."""
    local = {(r.markers, r.clip, r.case): r for r in runs if r.method == "local"}
    with_style = [r for r in runs if r.method == name and (r.markers, r.clip, r.case) in local]
    if not with_style:
        return []
    lines, count = [], 0
    for run in with_style:
        alone = local[run.markers, run.clip, run.case].errors
        ratio = {m: getattr(run.errors, m) / getattr(alone, m) for m in MEASURES}
        if max(ratio.values()) > WORSE:
            count += 1
            worse = ", ".join(f"{m} x{value:.2f}" for m, value in ratio.items() if value > WORSE)
            lines.append(f"  {run.markers}, {run.clip}, {run.style} style, {run.case}: {worse}")
    return [f"\n{name} worse than local by more than {100 * (WORSE - 1):.0f} % in {count} of {len(with_style)}:", *lines]
