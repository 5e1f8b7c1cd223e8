"""Captured motion made physically sound (Wei et al. 2011, section 5.1): takes of any length, window by window.

Every window is solved as a whole (`spacetime`) with its first two frames as the window before left them, so that positions and
velocities go on; its last frames, which do not yet know what follows, are solved again in the next one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Bools, Floats
from config.errors import DuocapError
from config.words import format_count
from database.clips import find_runs
from reconstruct.models.physics.contacts import (
    ContactPlan,
    build_contact_plan,
    check_parts,
    compute_part_positions,
    find_contact_parts,
)
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.forces import FRICTION, compute_motion_forces
from reconstruct.models.physics.smoothing import smooth_motion
from reconstruct.models.physics.spacetime import SIGMAS, SpacetimeProblem, SpacetimeSigmas, minimise_motion

WINDOW_S, AHEAD_S = 2.5, 0.4
N_JOINED = 2  # frames that a window takes over from the one before
LEAST_FRAMES = 8
UNEXPLAINED = 0.5  # of the weight: a residual from which on something else than the feet bears the body
UNEXPLAINED_S = 0.12  # if it lasts for so long; shorter ones are contacts that begin a little late


@dataclass(frozen=True, slots=True)
class CleanOptions:
    """How a motion is made sound. parts: contacts that are given, (N, 2, 3), None to detect them."""

    friction: float = FRICTION
    parts: Bools | None = None
    sigmas: SpacetimeSigmas = SIGMAS


@dataclass(frozen=True, slots=True)
class CleanTask:
    """A motion prepared for cleaning: given (N, 95), smoothed (N, 95), and the plan of its contacts."""

    dynamics: Dynamics
    fps: float
    given: Floats
    smooth: Floats
    plan: ContactPlan
    options: CleanOptions


@dataclass(frozen=True, slots=True)
class MotionQuality:
    """How sound a motion is.

    Attributes:
        slide_mm: mean movement of standing parts from frame to frame [mm].
        float_mm: distance from where they should stand, mean.
        sunk_mm: the deepest point below the ground.
        jitter: RMS change of the force on the root from frame to frame, by weight.
        residual, residual_nm: RMS force, by weight, and torque that no contact gives [Nm], where nothing but the feet bears the
            body.
    """

    slide_mm: float
    float_mm: float
    sunk_mm: float
    jitter: float
    residual: float
    residual_nm: float


def prepare_motion(dynamics: Dynamics, q: Floats, fps: float, options: CleanOptions = CleanOptions()) -> CleanTask:
    """Prepare a motion at equal times, (N, 95). Raises DuocapError: too short, or not finite.

    Args:
        dynamics: the body's equations of motion.
        q: configurations at equal times, (N, 95).
        fps: frames a second.
        options: options of cleaning.
    """
    if len(q) < LEAST_FRAMES:
        raise DuocapError(
            f"a motion of {format_count(len(q), 'frame')} is too short to be cleaned; give at least {LEAST_FRAMES} frames"
        )
    if not np.isfinite(q).all():
        raise DuocapError("the motion holds numbers that are not finite; give one without gaps")
    smooth = smooth_motion(dynamics.body.skeleton, q, fps).q
    point_m = dynamics.contact_positions(smooth)
    parts = find_contact_parts(dynamics.points, point_m, fps) if options.parts is None else check_parts(options.parts, len(q))
    plan = build_contact_plan(dynamics.points, point_m, fps, parts)
    plan = replace(plan, borne=_find_borne_frames(dynamics, smooth, fps, plan, options.friction))
    return CleanTask(dynamics, fps, q, smooth, plan, options)


def clean_by_windows(task: CleanTask, done: Floats | None = None) -> Iterator[Floats]:
    """Yield all frames that are clean so far, (n, 95), after every window; done: frames of an earlier run, to go on from."""
    n = len(task.given)
    out = np.empty((0, task.given.shape[1])) if done is None else done
    window, ahead = max(round(WINDOW_S * task.fps), 4 * LEAST_FRAMES), max(round(AHEAD_S * task.fps), LEAST_FRAMES)
    while len(out) < n:
        first = max(len(out) - N_JOINED, 0)
        stop = min(first + window, n)
        stop = n if n - stop < ahead else stop
        n_fixed = len(out) - first
        start = task.smooth[first:stop].copy()
        start[:n_fixed] = out[first:]
        rows = slice(first, stop)
        sigmas, friction = task.options.sigmas, task.options.friction
        plan = task.plan.part(first, stop)
        problem = SpacetimeProblem(task.dynamics, task.fps, task.given[rows], task.smooth[rows], plan, friction, n_fixed, sigmas)
        q = minimise_motion(problem, start).q
        kept = len(q) if stop == n else len(q) - ahead
        out = np.concatenate([out, q[n_fixed:kept]])
        yield out


def measure_quality(task: CleanTask, q: Floats) -> MotionQuality:
    """Measure a motion, (N, 95), by the contacts of a task."""
    d, plan = task.dynamics, task.plan
    point_m = d.contact_positions(q)
    middle = compute_part_positions(d.points, point_m)
    still = plan.standing[1:] & plan.standing[:-1]
    slide = np.linalg.norm(np.diff(middle, axis=0), axis=-1)[still]
    off = np.abs(middle[..., 1] - plan.part_levels(d.points))[plan.standing]
    forces = compute_motion_forces(d, d.motion(q, 1.0 / task.fps), task.fps, plan.carrying, task.options.friction)
    known = plan.borne[1:-1]
    residual = forces.residual[1:-1][known] if known.any() else np.zeros((1, 6))
    change = np.diff(forces.u[1:-1, :3], axis=0) / forces.weight_n
    return MotionQuality(
        slide_mm=1e3 * float(slide.mean()) if len(slide) else 0.0,
        float_mm=1e3 * float(off.mean()) if len(off) else 0.0,
        sunk_mm=1e3 * float(np.maximum(plan.level_m - point_m[..., 1], 0.0).max()),
        jitter=_compute_rms(change),
        residual=_compute_rms(residual[:, :3]) / forces.weight_n,
        residual_nm=_compute_rms(residual[:, 3:]),
    )


def _find_borne_frames(dynamics: Dynamics, smooth: Floats, fps: float, plan: ContactPlan, friction: float) -> Bools:
    """Return the frames in which the feet, or flight, explain the motion, (N,)."""
    forces = compute_motion_forces(dynamics, dynamics.motion(smooth, 1.0 / fps), fps, plan.carrying, friction)
    unexplained = np.linalg.norm(forces.residual[:, :3], axis=1) > UNEXPLAINED * forces.weight_n
    out = np.ones(len(smooth), bool)
    margin = round(UNEXPLAINED_S * fps)
    for first, stop in find_runs(unexplained):
        if stop - first > margin:
            out[max(first - margin, 0) : stop + margin] = False
    return out


def _compute_rms(vectors: Floats) -> float:
    """Return the root mean square length of vectors, (N, 3)."""
    return float(np.sqrt((vectors**2).sum(axis=1).mean())) if len(vectors) else 0.0
