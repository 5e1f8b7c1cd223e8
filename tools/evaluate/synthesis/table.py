"""Tables of synthesis errors."""

from collections.abc import Iterator

import numpy as np

from tools.evaluate.synthesis.measure import VICON, SynthesisRun

# Chai & Hodgins 2005, Figure 6: degrees per joint angle of nearest neighbour, weighted regression and their method.
PAPER = {"boxing": (7.67, 6.15, 2.31), "walking": (4.46, 3.32, 1.30)}
MEASURES = {
    "asf_deg": ("degrees per joint angle (angles of the ASF skeleton, all its degrees of freedom: the paper's measure)", 2),
    "component_deg": ("degrees per moving component of the charted rotation vectors", 2),
    "geodesic_deg": ("geodesic degrees per joint", 2),
    "position_mm": ("millimetres per joint (23 joints)", 1),
}
WHAT = {
    "exact": "exact markers",
    "noise": "5 mm noise in every coordinate",
    "missing": "two markers hidden, others every second",
    "six": "six markers: hands, feet, shoulders",
    VICON: "real Vicon markers, as many as the marker set has; offsets from its first second, of a given file from all",
}


METHODS = {
    "NN": "nearest neighbour: the pose of the database that fits the markers best",
    "LWR": "locally weighted regression over the nearest poses",
    "average": "weighted average of the 100 nearest poses",
    "paper": "Chai & Hodgins 2005, its weights in cm and degrees",
    "paper-si": "the same, its weights in m and rad",
    "ours": "the local model that duocap uses by default",
}


def behaviour_mean(runs: list[SynthesisRun], behaviour: str, method: str, measure: str) -> float:
    """Return the mean over the frames of a behaviour's clips; NaN without any."""
    chosen = [run for run in runs if run.behaviour == behaviour and run.method == method]
    if not chosen:
        return float("nan")
    return float(np.average([run.means[measure] for run in chosen], weights=[run.frames for run in chosen]))


def table(runs: list[SynthesisRun], measure: str) -> list[str]:
    """Return the lines of one table: behaviours down, methods across, the ratio of ours to weighted regression, the paper's."""
    methods = list(dict.fromkeys(run.method for run in runs))
    ratio = {"ours", "LWR"} <= set(methods)
    digits = MEASURES[measure][1]
    paper = measure == "asf_deg"
    head = f"{'behaviour':<16}{'clips':>6}{'frames':>8}" + "".join(f"{name:>9}" for name in methods)
    lines = [head + ("   ours/LWR" if ratio else "") + ("   paper: NN / LWR / theirs, theirs/LWR" if paper else "")]
    behaviours = list(dict.fromkeys(run.behaviour for run in runs))
    for behaviour in behaviours:
        same = [run for run in runs if run.behaviour == behaviour and run.method == methods[0]]
        means = {name: behaviour_mean(runs, behaviour, name, measure) for name in methods}
        line = f"{behaviour:<16}{len(same):>6}{sum(run.frames for run in same):>8}"
        line += "".join(f"{means[name]:>9.{digits}f}" for name in methods)
        if ratio:
            line += f"{means['ours'] / means['LWR']:>11.2f}"
        if paper and behaviour in PAPER:
            nn, lwr, theirs = PAPER[behaviour]
            line += f"{nn:>13.2f} / {lwr:.2f} / {theirs:.2f}, {theirs / lwr:.2f}"
        lines.append(line)
    if len(behaviours) > 1:
        means = {name: float(np.mean([behaviour_mean(runs, b, name, measure) for b in behaviours])) for name in methods}
        line = f"{'mean of these':<30}" + "".join(f"{means[name]:>9.{digits}f}" for name in methods)
        lines.append(line + (f"{means['ours'] / means['LWR']:>11.2f}" if ratio else ""))
    return lines


def report(runs: list[SynthesisRun], elapsed_s: float) -> Iterator[str]:
    """Yield the lines of all tables: every measure of every variant, and the time of a frame."""
    yield "errors of reconstructed poses, the mean over all frames; methods:"
    yield from (f"  {name}: {METHODS[name]}" for name in dict.fromkeys(run.method for run in runs) if name in METHODS)
    for variant in dict.fromkeys(run.variant for run in runs):
        part = [run for run in runs if run.variant == variant]
        yield f"\n== {WHAT.get(variant, variant)} =="
        for measure, (what, _) in MEASURES.items():
            yield f"\n{what}"
            yield from table(part, measure)
        if variant == VICON:
            yield "\n" + _predicted_markers(part)
    yield "\nmilliseconds of work a frame: " + ", ".join(
        f"{name} {_mean_ms(runs, name):.1f}" for name in dict.fromkeys(run.method for run in runs)
    )
    yield f"\n{elapsed_s:.0f} s in all"


def _predicted_markers(runs: list[SynthesisRun]) -> str:
    """Return the line on the real markers that the methods were not given."""
    errors = ", ".join(f"{run.method} {run.means['others_mm']:.1f}" for run in runs)
    true = runs[0].means["others_true_pose_mm"]
    return f"mm from the other markers: {errors}; with the pose of the motion file itself {true:.1f}"


def _mean_ms(runs: list[SynthesisRun], method: str) -> float:
    """Return a method's mean time of a frame."""
    return float(np.mean([run.means["frame_ms"] for run in runs if run.method == method]))
