"""Learn a force field of motions: states and forces by inverse dynamics (eq. 3), subspaces, process, first states."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.cluster.vq import kmeans2

from config.arrays import Bools, Floats, Ints
from config.errors import DuocapError
from config.words import format_count
from database.geometry.skeleton import Skeleton
from reconstruct.models.physics.body import Body, build_body
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics
from reconstruct.models.physics.field.examples import build_example_bank, compute_nearness
from reconstruct.models.physics.field.field import ExampleMotions, ForceField, fit_subspace
from reconstruct.models.physics.field.mixture import fit_mixture
from reconstruct.models.physics.field.process import SparseGaussianProcess, build_process, learn_process, predict_outputs
from reconstruct.models.physics.field.state import compute_states, compute_units

FPS = 60.0
MIN_FRAMES = 30
COMPONENTS = 8


class ForceFieldError(DuocapError):
    """A force field cannot be learned, read or used."""


@dataclass(frozen=True, slots=True)
class FieldMotion:
    """A motion to learn from, at `FPS`, its forces free of noise.

    Attributes:
        q: configurations, (N, 95), on a ground at height 0.
        parts: parts of the feet that carry weight, (N, 2, 3).
        level_m: height of each part of the feet when it stands, (2, 3) [m].
    """

    name: str
    skeleton: Skeleton
    mass_kg: float
    q: Floats
    parts: Bools
    level_m: Floats


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """Options of training a force field.

    Attributes:
        inducing: number of inducing inputs.
        learning: greatest number of frames that the length scales are learned on.
        steps: greatest number of L-BFGS steps.
    """

    inducing: int = 200
    learning: int = 2500
    steps: int = 60


def train_field(
    name: str,
    motions: Sequence[FieldMotion],
    options: FieldOptions = FieldOptions(),
    report: Callable[[int, int], None] = lambda done, total: None,
) -> ForceField:
    """Return the force field of motions. Raises ForceFieldError.

    Args:
        name: name of the field.
        motions: motions to learn from.
        options: options of training.
        report: called with the steps done and all steps.
    """
    if not motions:
        raise ForceFieldError("no motion to learn from; give at least one")
    total = len(motions) + options.steps
    states, forces = [], []
    for k, motion in enumerate(motions):
        if len(motion.q) < MIN_FRAMES:
            raise ForceFieldError(
                f"{motion.name}: {format_count(len(motion.q), 'frame')} at {FPS:g} Hz, too few; give at least {MIN_FRAMES}"
            )
        s, u = compute_state_and_force(build_body(motion.skeleton, motion.mass_kg), motion.q, FPS)
        states.append(s)
        forces.append(u)
        report(k + 1, total)
    S, U = np.concatenate(states), np.concatenate(forces)
    state, force = fit_subspace(S), fit_subspace(U)
    Y, z = state.coordinates(S), force.coordinates(U)
    Z = choose_inducing_inputs(Y, options.inducing)
    some = np.linspace(0, len(Y) - 1, min(len(Y), options.learning)).astype(int)
    start = np.full(Y.shape[1], np.sqrt(Y.shape[1]))
    learned = learn_process(Y[some], z[some], Z, start, options.steps, lambda step: report(len(motions) + step, total))
    of_motion = np.repeat(np.arange(len(motions)), [len(motion.q) for motion in motions])
    process = calibrate_variances(build_process(Y, z, Z, learned.length, learned.noise), Y, z, of_motion)
    report(total, total)
    main = max(motions, key=lambda motion: len(motion.q))
    sources = tuple(f"{motion.name}: {len(motion.q) / FPS:.1f} s" for motion in motions)
    examples = _build_example_motions(motions)
    return ForceField(name, main.skeleton, main.mass_kg, state, force, process, fit_mixture(Y, COMPONENTS), examples, sources)


def calibrate_variances(process: SparseGaussianProcess, Y: Floats, z: Floats, of_motion: Ints) -> SparseGaussianProcess:
    """Return a process whose variances c_k are those of motions that it does not know.

    The frames of a motion are alike, and neighbours of each other; the likelihood takes them for independent, and so takes the
    forces of the next performer for surer than they are. Each half of the motions is predicted by the other half; a
    single motion is halved in the middle.

    Args:
        process: the process as learned.
        Y: inputs, (N, D).
        z: outputs, (N, K).
        of_motion: number of the motion that each row is of, (N,).
    """
    if of_motion[-1] == 0:
        of_motion = np.arange(len(Y)) * 2 // len(Y)
    squares = np.zeros(z.shape[1])
    for half in (0, 1):
        known = of_motion % 2 == half
        other = build_process(Y[known], z[known], process.inducing, process.length, process.noise)
        got = predict_outputs(other, Y[~known])
        squares += ((z[~known] - got.mean) ** 2 / got.share[:, None]).sum(axis=0)
    return replace(process, variance=np.maximum(process.variance, squares / len(Y)))


def compute_state_and_force(body: Body, q: Floats, fps: float) -> tuple[Floats, Floats]:
    """Return states (N, 142) and forces (N, 72) of a motion on a ground at height 0, both in units, by eq. 3.

    Args:
        body: the body.
        q: configurations at equal times, (N, 95).
        fps: frames a second.
    """
    dynamics, units = Dynamics(body), compute_units(body)
    motion = dynamics.motion(q, 1.0 / fps)
    return compute_states(q, motion.v, 0.0, units), dynamics.generalized_forces(motion) / units.force


def choose_inducing_inputs(Y: Floats, count: int) -> Floats:
    """Return inducing inputs (M, D) of inputs (N, D): the centres of k-means from evenly spaced frames; no chance in it."""
    if len(Y) <= count:
        return Y.copy()
    start = Y[np.linspace(0, len(Y) - 1, count).astype(int)]
    centres, label = kmeans2(Y, start, iter=10, minit="matrix", missing="warn")
    return np.ascontiguousarray(centres[np.unique(label)])


def _build_example_motions(motions: Sequence[FieldMotion]) -> ExampleMotions:
    """Return the motions as they stay with the field."""
    start: Ints = np.concatenate([[0], np.cumsum([len(motion.q) for motion in motions])]).astype(np.int64)
    q = np.concatenate([motion.q for motion in motions]).astype(np.float32)
    parts = np.concatenate([motion.parts for motion in motions])
    levels = np.array([motion.level_m for motion in motions])
    found = ExampleMotions(q, start, parts, levels, np.eye(N_TANGENT), FPS)
    main = max(motions, key=lambda motion: len(motion.q))
    body = build_body(main.skeleton, main.mass_kg)
    dynamics, performers = Dynamics(body), [motion.skeleton.name for motion in motions]
    bank = build_example_bank(found, dynamics, compute_units(body))
    return replace(found, nearness=compute_nearness(bank, performers, dynamics))
