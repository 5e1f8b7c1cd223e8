"""Tables of posing errors."""

from collections.abc import Iterator

import numpy as np

from tools.evaluate.posing.cases import WHAT
from tools.evaluate.posing.measure import PosingOutcome, PosingRun

AIM, PEER = 0.75, "NN+DLS"  # share of the error of the best peer, the nearest pose and damped least squares
MODELS = ("local", "sparse", "style", "choice", "average")
MEASURES = {"position_mm": ("mm per joint", 1), "geodesic_deg": ("geodesic degrees per joint", 2)}


def means(runs: list[PosingRun], measure: str) -> dict[str, float]:
    """Return the mean error of every method over all poses of some runs."""
    names = dict.fromkeys(run.method for run in runs)
    return {name: float(np.concatenate([getattr(run, measure) for run in runs if run.method == name]).mean()) for name in names}


def table(runs: list[PosingRun], measure: str) -> list[str]:
    """Return the lines of a table of runs of one kind: behaviours down, methods across, ratios of the models to the peer."""
    what, digits = MEASURES[measure]
    methods = list(dict.fromkeys(run.method for run in runs))
    head = f"{what:<28}{'poses':>6}" + "".join(f"{name:>9}" for name in methods)
    models = [name for name in MODELS if name in methods]
    lines = [head + "".join(f"{name + '/' + PEER:>14}" for name in models)]
    behaviours = list(dict.fromkeys(run.behaviour for run in runs))
    rows = [(behaviour, [run for run in runs if run.behaviour == behaviour]) for behaviour in behaviours]
    for name, part in [*rows, *([("mean of these", [])] if len(rows) > 1 else [])]:
        each = [means(one, measure) for _, one in rows] if not part else [means(part, measure)]
        errors = {method: float(np.mean([mean[method] for mean in each])) for method in methods}
        count = sum(len(run.position_mm) for run in (part or runs) if run.method == methods[0])
        line = f"{name:<28}{count:>6}" + "".join(f"{error:>9.{digits}f}" for error in errors.values())
        lines.append(line + "".join(f"{errors[name] / errors[PEER]:>14.2f}" for name in models))
    return lines


def aim_line(runs: list[PosingRun]) -> str:
    """Return for how many behaviours each model's error is at most three quarters of the peer's."""
    behaviours = list(dict.fromkeys(run.behaviour for run in runs))
    counts = []
    for name in dict.fromkeys(run.method for run in runs if run.method in MODELS):
        met = []
        for behaviour in behaviours:
            mean = means([run for run in runs if run.behaviour == behaviour], "position_mm")
            met.append(mean[name] <= AIM * mean[PEER])
        counts.append(f"{name} in {sum(met)} of {len(met)}")
    return f"at most {AIM:g} of the error in mm of {PEER}: " + ", ".join(counts)


def report(outcomes: list[PosingOutcome]) -> Iterator[str]:
    """Yield both measures of every kind of points, how well the targets are met, and the time of a pose and of learning."""
    runs = [run for outcome in outcomes for run in outcome.runs]
    for kind in dict.fromkeys(run.kind for run in runs):
        part = [run for run in runs if run.kind == kind]
        yield f"\n== {kind}: {WHAT[kind]} =="
        for measure in MEASURES:
            yield from table(part, measure)
        yield aim_line(part)
        off = means(part, "off_mm")
        yield "mm between joints told of and where they are: " + ", ".join(f"{name} {mm:.1f}" for name, mm in off.items())
        met = {name: np.mean([run.met for run in part if run.method == name]) for name in MODELS}
        yield "reached and converged: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in met.items())
        ms = {name: np.mean([run.pose_ms for run in part if run.method == name]) for name in off}
        yield "ms a pose: " + ", ".join(f"{name} {each:.2f}" for name, each in ms.items())
    whole = ", ".join(f"{each.behaviour} {each.whole_mm:.1f}" for each in outcomes)
    yield f"\nmm of the nearest neighbour by all 23 joints: {whole}"
    yield "learned of: " + ", ".join(f"{each.behaviour} {each.learned} poses in {each.learning_s:.1f} s" for each in outcomes)
