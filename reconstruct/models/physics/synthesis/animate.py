"""A motion of any length: without physics, then with it (Wei et al. 2011, section 7), in windows that overlap.

Contacts are sought in between (`stances`), and again while a motion does not obey eq. 1: they are kept where the energy is less.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from config.arrays import Bools, Floats
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.field.state import compute_similar_tempo
from reconstruct.models.physics.synthesis.energy import MotionEnergy
from reconstruct.models.physics.synthesis.measure import measure_motion
from reconstruct.models.physics.synthesis.problem import KeyPath, KeyPose, MotionProblem
from reconstruct.models.physics.synthesis.solve import SolveOptions, SynthesizedMotion, solve_motion
from reconstruct.models.physics.synthesis.stances import seek_contacts

WINDOW_S, OVERLAP_S = 2.0, 0.4
LONGEST_S = 2.6  # that is solved as a whole
OBEYS = 0.01  # of the weight: with a smaller residual contacts are left as they are
PINNED = 3  # frames of the window before that a window begins with: poses, velocities and accelerations
Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class AnimateOptions:
    """How a motion is searched for in each window.

    Attributes:
        statistics, physics: steps of the search without and with physics, at most; 0 leaves one out.
        contacts: how often contacts are sought, at most; 0 leaves them as they are.
    """

    statistics: int = 25
    physics: int = 30
    contacts: int = 3


@dataclass(frozen=True, slots=True)
class AnimatedMotion:
    """Result of a search for a motion of N frames.

    Attributes:
        start: motion that the search began with, without physics but with statistics, (N, 95).
        q: resulting motion, (N, 95).
        parts: parts of the feet that carry weight in it, (N, 2, 3).
        seconds: processor time of both [s].
        interrupted: whether Ctrl-C ended the search; frames not reached are as they were before.
    """

    start: Floats
    q: Floats
    parts: Bools
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
    gravity = float(np.linalg.norm(problem.surroundings.gravity_m_s2))
    windows = split_windows(problem.n_frames, problem.fps / compute_similar_tempo(gravity))
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
            search = SolveOptions(steps, report=told, held=PINNED if k else 0)
            rounds = options.contacts if stage and weights.physics > 0.0 else 0
            part, got = _solve_window(part, motion[a:b].copy(), search, rounds)
            spent[stage] += time.process_time() - began
            motion[a:b] = got.q
            problem = replace(problem, parts=np.concatenate([problem.parts[:a], part.parts, problem.parts[b:]]))
            if got.interrupted:
                if stage == 0:
                    q[a:b] = join_windows(dynamics, q[a:solved_to], start[a:b])
                return AnimatedMotion(start, q, problem.parts, (spent[0], spent[1]), True)
        solved_to = b
    return AnimatedMotion(start, q, problem.parts, (spent[0], spent[1]), False)


def _solve_window(
    problem: MotionProblem, first: Floats, options: SolveOptions, rounds: int
) -> tuple[MotionProblem, SynthesizedMotion]:
    """Return the motion of a window, and its problem with the contacts that were found: its own where it obeys with them.

    Args:
        problem: problem of the window.
        first: motion to begin with, (n, 95).
        options: options of the search.
        rounds: how often contacts are sought, at most.
    """
    got = solve_motion(problem, first, options)
    for _ in range(rounds):
        if got.interrupted or measure_motion(problem, got.q).residual_force < OBEYS:
            break
        again = replace(problem, parts=seek_contacts(MotionEnergy(problem), got.q, options.held))
        if (again.parts == problem.parts).all():
            break
        other = solve_motion(again, got.q, options)
        if other.found.energy >= got.found.energy:
            break
        problem, got = again, other
    return problem, got


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
    """Return half-open ranges of frames that are solved one after the other, of one length, shared out evenly.

    fps: frames in which a body does what takes it a second on earth.
    """
    if n_frames <= LONGEST_S * fps:
        return [(0, n_frames)]
    length, step = round(WINDOW_S * fps), round((WINDOW_S - OVERLAP_S) * fps)
    n = int(np.ceil((n_frames - length) / step)) + 1
    firsts = np.rint(np.linspace(0.0, n_frames - length, n)).astype(int)
    return [(first, first + length) for first in firsts.tolist()]


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
        example=None if problem.example is None else problem.example.cut(slice(a, b)),
        keys=tuple(keys),
        paths=tuple(paths),
        external=external,
        weights=weights,
    )
