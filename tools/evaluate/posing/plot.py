"""Figures of posing: errors as bars, and stick figures of true and found poses."""

from pathlib import Path

import matplotlib

from config.arrays import Floats

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from calibration.quality.picture import save_figure
from config.joints import JOINTS, PARENTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from tools.evaluate.posing.cases import KINDS, pose_query
from tools.evaluate.posing.measure import PosingOutcome
from tools.evaluate.posing.table import means

COLORS = {
    "mean": "#c9ccd1",
    "DLS": "#e8a33d",
    "NN": "#9aa0a6",
    "NN+DLS": "#5b8dd9",
    "local": "#3d9970",
    "sparse": "#8e5bd9",
    "style": "#c2334d",
}
SHOWN = ("style", "local", "sparse", "NN+DLS")
SIDE = {"left": "#1f77b4", "right": "#d1495b"}
ROWS = 4


def plot_outcomes(outcomes: list[PosingOutcome], folder: Path) -> list[Path]:
    """Draw `bars.png`, and `<behaviour>_<kind>.png` for every behaviour and kind of points; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [_bars(outcomes, folder / "bars.png")]
    for outcome in outcomes:
        for kind in dict.fromkeys(run.kind for run in outcome.runs):
            name = f"{outcome.behaviour}_{kind}.png".replace(" ", "_")
            files.append(_figures(outcome, kind, folder / name))
    return files


def _bars(outcomes: list[PosingOutcome], file: Path) -> Path:
    """Draw the mean position error of every behaviour and method, a panel for each kind of points."""
    kinds = list(KINDS)
    figure, axes = plt.subplots(len(kinds), 1, figsize=(9.0, 2.0 * len(kinds) + 0.8), sharex=True, layout="constrained")
    at, width = np.arange(len(outcomes)), 0.8 / len(COLORS)
    for axis, kind in zip(axes, kinds, strict=True):
        each = [means([run for run in outcome.runs if run.kind == kind], "position_mm") for outcome in outcomes]
        for k, (name, color) in enumerate(COLORS.items()):
            position = at + (k - 0.5 * (len(COLORS) - 1)) * width
            axis.bar(position, [mean[name] for mean in each], width * 0.92, color=color, label=name if kind == kinds[0] else None)
        axis.set_ylabel("mm per joint")
        axis.set_title(kind, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
    axes[-1].set_xticks(at, [outcome.behaviour for outcome in outcomes])
    figure.legend(loc="outside upper center", frameon=False, ncols=len(COLORS), fontsize=8)
    save_figure(figure, file, 110)
    plt.close(figure)
    return file


def _figures(outcome: PosingOutcome, kind: str, file: Path) -> Path:
    """Draw some poses, our worst among them: the true one, each method's over it, and the given joints as dots."""
    runs = {run.method: run for run in outcome.runs if run.kind == kind}
    chosen = _chosen(runs["style"].position_mm)
    figure, axes = plt.subplots(
        len(chosen), 1 + len(SHOWN), figsize=(11.0, 2.9 * len(chosen)), layout="constrained", squeeze=False
    )
    for line, n in zip(axes, chosen, strict=True):
        true_m = outcome.true.joint_m[n]
        given = pose_query(kind, true_m).joint
        _draw(line[0], outcome.skeleton, outcome.true.rotvec[n], outcome.true.root_m[n], true_m, None)
        line[0].set_title(f"true, pose {n}", fontsize=8)
        for axis, name in zip(line[1:], SHOWN, strict=True):
            _draw(axis, outcome.skeleton, runs[name].rotvec[n], runs[name].root_m[n], true_m, true_m)
            errors = runs[name].position_mm[n], runs[name].geodesic_deg[n]
            axis.set_title(f"{name}: {errors[0]:.0f} mm, {errors[1]:.1f} deg", fontsize=8)
        for axis in line:
            dots = _flat(true_m[given], true_m)
            axis.plot(dots[:, 0], dots[:, 1], "o", color="black", markersize=4, zorder=5)
    figure.suptitle(f"{outcome.behaviour}, {kind}: true pose grey; left blue, right red", fontsize=10)
    save_figure(figure, file, 90)
    plt.close(figure)
    return file


def _chosen(errors: Floats) -> list[int]:
    """Return poses at even ranks of our error, the worst last."""
    order = np.argsort(errors)
    return [int(order[rank]) for rank in np.unique(np.linspace(len(order) // 8, len(order) - 1, ROWS).round().astype(int))]


def _flat(points_m: Floats, true_m: Floats) -> Floats:
    """Project points as seen from the true pose's front left and slightly above, (P, 3) -> (P, 2)."""
    across = true_m[JOINTS.index("leftUpperLeg")] - true_m[JOINTS.index("rightUpperLeg")]
    angle = np.arctan2(-across[2], across[0]) + 0.9
    x, y, z = (points_m - true_m[0] * (1.0, 0.0, 1.0)).T
    right, ahead = np.cos(angle) * x - np.sin(angle) * z, np.sin(angle) * x + np.cos(angle) * z
    return np.stack([right, y - 0.2 * ahead], axis=1)


def _draw(axis: Axes, skeleton: Skeleton, rotvec: Floats, root_m: Floats, true_m: Floats, grey_m: Floats | None) -> None:
    """Draw one body over other joints in grey."""
    G, p = compute_forward_kinematics(skeleton, rotvec, root_m)
    ends = p + np.einsum("jik,jk->ji", G, skeleton.tails_m)
    flat, tips = _flat(p, true_m), _flat(ends, true_m)
    if grey_m is not None:
        grey = _flat(grey_m, true_m)
        for joint, parent in enumerate(PARENTS[1:], 1):
            axis.plot(*grey[[joint, parent]].T, color="#b8bcc2", linewidth=2.5, solid_capstyle="round")
    for joint, parent in enumerate(PARENTS):
        side = "left" if JOINTS[joint].startswith("left") else "right" if JOINTS[joint].startswith("right") else ""
        color = SIDE.get(side, "#444444")
        if parent >= 0:
            axis.plot(*flat[[joint, parent]].T, color=color, linewidth=1.5)
        if joint not in PARENTS:
            axis.plot(*np.stack([flat[joint], tips[joint]]).T, color=color, linewidth=1.5)
    axis.set_aspect("equal")
    axis.axis("off")
