"""A motion of any length: without physics, then with it (Wei et al. 2011, section 7), in windows that overlap."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from config.arrays import Floats
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.synthesis.problem import KeyPath, KeyPose, MotionProblem
from reconstruct.models.physics.synthesis.solve import SolveOptions, solve_motion

WINDOW_S, OVERLAP_S = 2.0, 0.4
LONGEST_S = 2.6  # that is solved as a whole
PINNED = 3  # frames of the window before that a window begins with: poses, velocities and accelerations
Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class AnimateOptions:
    """statistics, physics: steps of the search without and with physics, at most, in each window; 0 leaves one out."""

    statistics: int = 25
    physics: int = 30


@dataclass(frozen=True, slots=True)
class AnimatedMotion:
    """start: as the search began, without physics but with statistics, (N, 95); q: the result; seconds: of processor time, for
    both; interrupted: by Ctrl-C, what comes after is as it was before."""

    start: Floats
    q: Floats
    seconds: tuple[float, float]
    interrupted: bool


def animate_motion(
    problem: MotionProblem,
    first: Floats,
    options: AnimateOptions = AnimateOptions(),
    report: Report = lambda done, total: None,
) -> AnimatedMotion:
    """Return the motion of a problem near a first one, (N, 95).

    Args:
        problem: constraints and weights of the motion.
        first: motion to begin with, (N, 95).
        options: options of windows and steps.
        report: called with the steps done and at most to do.
    """
    windows = split_windows(problem.n_frames, problem.fps)
    per_window = options.statistics + options.physics
    start, q = first.copy(), first.copy()
    spent, dynamics, solved_to = [0.0, 0.0], problem.dynamics(), 0
    for k, (a, b) in enumerate(windows):
        for stage, steps in enumerate((options.statistics, options.physics)):
            motion, fresh = (start, first) if stage == 0 else (q, start)
            motion[a:b] = join_windows(dynamics, motion[a:solved_to], fresh[a:b])
            if steps == 0 or (stage == 0 and problem.field is None):
                continue
            weights = problem.weights if stage else replace(problem.weights, physics=0.0)
            part = build_window_problem(replace(problem, weights=weights), a, b, motion)
            done = k * per_window + stage * options.statistics
            began = time.process_time()
            told = partial(_report_step, report, done, per_window * len(windows))
            got = solve_motion(part, motion[a:b].copy(), SolveOptions(steps, report=told, held=PINNED if k else 0))
            spent[stage] += time.process_time() - began
            motion[a:b] = got.q
            if got.interrupted:
                if stage == 0:
                    q[a:b] = join_windows(dynamics, q[a:solved_to], start[a:b])
                return AnimatedMotion(start, q, (spent[0], spent[1]), True)
        solved_to = b
    return AnimatedMotion(start, q, (spent[0], spent[1]), False)


def join_windows(dynamics: Dynamics, solved: Floats, fresh: Floats) -> Floats:
    """Return a window's first motion, (n, 95): as the window before has it, then smoothly on to its own.

    Args:
        dynamics: the body's equations of motion.
        solved: the frames as the window before has them, (m, 95).
        fresh: the window's own first motion, (n, 95).
    """
    out = fresh.copy()
    m = len(solved)
    if m > PINNED:
        share = np.clip((np.arange(m) - PINNED + 1.0) / (m - PINNED), 0.0, 1.0)
        keep = 1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        out[:m] = dynamics.integrate(fresh[:m], keep[:, None] * dynamics.difference(fresh[:m], solved))
        out[:PINNED] = solved[:PINNED]
    return out


def _report_step(report: Report, done: int, total: int, step: int, energy: float) -> None:
    """Pass on a step of the search."""
    report(done + step, total)


def split_windows(n_frames: int, fps: float) -> list[tuple[int, int]]:
    """Return half-open ranges of frames that are solved one after the other."""
    if n_frames <= LONGEST_S * fps:
        return [(0, n_frames)]
    length, step = round(WINDOW_S * fps), round((WINDOW_S - OVERLAP_S) * fps)
    n = int(np.ceil((n_frames - length) / step)) + 1
    return [(k * step, min(k * step + length, n_frames)) for k in range(n)]


def build_window_problem(problem: MotionProblem, a: int, b: int, motion: Floats) -> MotionProblem:
    """Return the problem of a window of frames; it begins as a motion does there, and ends as it ends where a key is far.

    Args:
        problem: problem of the whole motion.
        a: first frame of the window.
        b: frame after the last.
        motion: motion that the window begins with, (N, 95).
    """
    if a == 0 and b == problem.n_frames:
        return problem
    pinned = range(PINNED if a else 0)
    keys = [KeyPose(k, motion[a + k]) for k in pinned]
    keys += [replace(key, frame=key.frame - a) for key in problem.keys if a + len(pinned) <= key.frame < b]
    if b < problem.n_frames and all(key.frame != b - 1 - a for key in keys):
        keys.append(KeyPose(b - 1 - a, motion[b - 1]))
    paths = []
    for path in problem.paths:
        inside = (path.frames >= a) & (path.frames < b)
        if inside.any():
            paths.append(KeyPath(path.joint, path.frames[inside] - a, path.position_m[inside], path.axes))
    external = tuple(replace(force, first=force.first - a, stop=force.stop - a) for force in problem.external)
    weights = problem.weights if a == 0 else replace(problem.weights, first=0.0)
    return replace(
        problem,
        parts=problem.parts[a:b],
        example=None if problem.example is None else problem.example[a:b],
        keys=tuple(keys),
        paths=tuple(paths),
        external=external,
        weights=weights,
    )
