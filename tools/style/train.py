"""Learn a style from motions, write it, and say how it went.

The picture of learning: how the objective fell.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from calibration.quality.picture import LEFT, open_figure, save_figure
from config.errors import DuocapError
from config.words import format_count
from reconstruct.models.style.features import RATE_HZ, TrainingPoses, build_training_poses, subsample_poses
from reconstruct.models.style.file import StyleOrigin, write_style
from reconstruct.models.style.learn.train import MIN_POSES, LearnOptions, fit_style
from reconstruct.models.style.model import Style
from stream.take.take import find_software_version
from tools.progress import open_progress_bar
from tools.style.sources import MotionSource, StyleSources, find_main_skeleton, read_motion_sources


def draw_objective(learned: Style, path: Path) -> Path:
    """Draw L_GP over the steps as PNG, and as an inset its last half. Raises FileFormatError: it cannot be written."""
    with open_figure(6.4, 3.8) as figure:
        ax = figure.add_axes((0.16, 0.14, 0.80, 0.74))
        steps = range(len(learned.objective))
        ax.plot(steps, learned.objective, color=LEFT, lw=1.6)
        ax.set_xlabel("step")
        ax.set_ylabel("objective $L_{GP}$, lower is better")
        ax.set_title(f"learning {learned.name}: {len(learned.features)} poses, {learned.n_latent} latent dimensions")
        ax.grid(True)
        half = len(learned.objective) // 2
        if half >= 3:
            close = ax.inset_axes((0.45, 0.4, 0.52, 0.52))
            close.plot(steps[half:], learned.objective[half:], color=LEFT, lw=1.4)
            close.set_title("the last half", weight="normal", size=8)
            close.tick_params(labelsize=7)
            close.grid(True)
        return save_figure(figure, path)


COLUMN = 11


@dataclass(frozen=True, slots=True)
class TrainTask:
    """Sources and options of learning a style, and its file.

    Attributes:
        frames: greatest number of poses to learn.
        plot: PNG of the objective, or None.
    """

    wanted: StyleSources
    options: LearnOptions
    frames: int
    name: str
    out: Path
    plot: Path | None = None


def train_style(task: TrainTask, tell: Callable[[str], None]) -> Style:
    """Learn and write a style. Raises DuocapError: nothing can be learned from these motions, or the files cannot be written."""
    with open_progress_bar("reading"):
        sources = read_motion_sources(task.wanted)
    skeleton, n_skeletons = find_main_skeleton(sources)
    every = build_training_poses([clip for source in sources for clip in source.clips])
    _check_length(every, sources)
    chosen = subsample_poses(every, task.frames)
    began = perf_counter()
    with open_progress_bar("learning") as show:
        style = fit_style(chosen, skeleton, task.name, task.options, lambda done, total, L: show(done, total, f"L_GP {L:.0f}"))
    seconds = perf_counter() - began
    write_style(task.out, style, _build_origin(task, sources))
    if task.plot is not None:
        draw_objective(style, task.plot)
    tell(f"{'poses':<{COLUMN}} {_format_source_names(sources)}; {len(chosen)} of {len(every)} at {RATE_HZ:g} Hz learned")
    if n_skeletons > 1:
        tell(f"{'skeleton':<{COLUMN}} of {n_skeletons} bodies; it poses the one seen longest, {skeleton.height_m:.2f} m tall")
    for line in _format_results(style, seconds, task):
        tell(line)
    return style


def _check_length(poses: TrainingPoses, sources: list[MotionSource]) -> None:
    """Raise DuocapError for motions too short to have enough poses."""
    if len(poses) < MIN_POSES:
        seconds, needed = sum(source.seconds for source in sources), (MIN_POSES + 2) / RATE_HZ
        raise DuocapError(
            f"{format_count(len(poses), 'pose')} in {seconds:.2f} s of motion, too few to learn a style from; expected "
            f"{needed:.1f} s or more"
        )


def _format_source_names(sources: list[MotionSource]) -> str:
    """Name the motions, the first ones if they are many."""
    names = ", ".join(source.name for source in sources[:4]) + (f" and {len(sources) - 4} more" if len(sources) > 4 else "")
    return f"{sum(source.seconds for source in sources):.1f} s of {names}"


def _build_origin(task: TrainTask, sources: list[MotionSource]) -> StyleOrigin:
    """Return where the style comes from."""
    asked = {"frames": task.frames, "from_s": task.wanted.from_s}
    if np.isfinite(task.wanted.to_s):
        asked["to_s"] = task.wanted.to_s
    chosen = {name: value for name, value in asdict(task.options).items() if value is not None}
    return StyleOrigin(tuple(source.name for source in sources), chosen | asked, find_software_version())


def _format_results(style: Style, seconds: float, task: TrainTask) -> list[str]:
    """Return in words what was learned and what can be done with it."""
    p, L = style.learned, style.objective
    rows = {
        "features": f"{int(style.modelled.sum())} of {len(style.modelled)} move and are modelled",
        "model": f"{style.n_latent} latent dimensions, active set of {len(style.active)}",
        "objective": f"L_GP from {L[0]:.0f} to {L[-1]:.0f} in {len(L)} steps, {seconds:.1f} s",
        "parameters": f"alpha {p.alpha:.3g}, beta {p.beta:.3g}, gamma {p.gamma:.3g}",
        "style": f"{task.out}, {task.out.stat().st_size / 1e6:.1f} MB"
        + ("" if task.plot is None else f"; objective {task.plot}"),
    }
    picture = task.out.with_suffix(".png").name
    lines = [f"{name:<{COLUMN}} {value}" for name, value in rows.items()]
    return [
        *lines,
        f"{'look':<{COLUMN}} duocap style plot {task.out} --out {picture}",
        f"{'pose':<{COLUMN}} duocap style pose {task.out} --constraints POSE.toml --out pose.bvh",
    ]
