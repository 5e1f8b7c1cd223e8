"""Learn a style from motions, write it, and say how it went."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from config.errors import DuocapError
from reconstruct.style.features import RATE_HZ, TrainingPoses, some, training_poses
from reconstruct.style.learn import LEAST_POSES, LearnOptions, learn
from reconstruct.style.model import Style
from reconstruct.style.style_file import Origin, write_style
from stream.export.take import software_version
from tools.progress import progress_bar
from tools.style_train_sources import Source, Wanted, main_skeleton, read_sources

COLUMN = 11


@dataclass(frozen=True, slots=True)
class TrainTask:
    """What to learn, how, and where it goes. frames: at most so many poses are learned; plot: PNG of the objective, or None."""

    wanted: Wanted
    options: LearnOptions
    frames: int
    name: str
    out: Path
    plot: Path | None = None


def train_style(task: TrainTask, tell: Callable[[str], None]) -> Style:
    """Learn and write a style. Raises DuocapError: nothing can be learned from these motions, or the files cannot be written."""
    with progress_bar("reading"):
        sources = read_sources(task.wanted)
    skeleton, n_skeletons = main_skeleton(sources)
    every = training_poses([clip for source in sources for clip in source.clips])
    _check_length(every, sources)
    chosen = some(every, task.frames)
    began = perf_counter()
    with progress_bar("learning") as show:
        style = learn(chosen, skeleton, task.name, task.options, lambda done, total, L: show(done, total, f"L_GP {L:.0f}"))
    seconds = perf_counter() - began
    write_style(task.out, style, _origin(task, sources))
    if task.plot is not None:
        from tools.style_train_plot import draw_objective

        draw_objective(style, task.plot)
    tell(f"{'poses':<{COLUMN}} {_what(sources)}; {len(chosen)} of {len(every)} at {RATE_HZ:g} Hz learned")
    if n_skeletons > 1:
        tell(f"{'skeleton':<{COLUMN}} of {n_skeletons} bodies; it poses the one seen longest, {skeleton.height_m:.2f} m tall")
    for line in _results(style, seconds, task):
        tell(line)
    return style


def _check_length(poses: TrainingPoses, sources: list[Source]) -> None:
    """Raise DuocapError for motions too short to have enough poses."""
    if len(poses) < LEAST_POSES:
        seconds, needed = sum(source.seconds for source in sources), (LEAST_POSES + 2) / RATE_HZ
        raise DuocapError(
            f"{len(poses)} poses in {seconds:.2f} s of motion are too few to learn a style from; expected {needed:.1f} s or more"
        )


def _what(sources: list[Source]) -> str:
    """Name the motions, the first ones if they are many."""
    names = ", ".join(source.name for source in sources[:4]) + (f" and {len(sources) - 4} more" if len(sources) > 4 else "")
    return f"{sum(source.seconds for source in sources):.1f} s of {names}"


def _origin(task: TrainTask, sources: list[Source]) -> Origin:
    """Say where the style comes from."""
    asked = {"frames": task.frames, "from_s": task.wanted.from_s}
    if np.isfinite(task.wanted.to_s):
        asked["to_s"] = task.wanted.to_s
    chosen = {name: value for name, value in asdict(task.options).items() if value is not None}
    return Origin(tuple(source.name for source in sources), chosen | asked, software_version())


def _results(style: Style, seconds: float, task: TrainTask) -> list[str]:
    """Say what was learned and what can be done with it."""
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
