"""Styles of built-in motions and what is asked of their poses, for the tests of synthesis."""

from dataclasses import replace
from functools import cache

import numpy as np

from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.catalog import builtin_clip
from database.clips import Clip
from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec
from reconstruct.observations import Observations
from reconstruct.style.constraints import Constraints, FixedJoints, Handles, Orientations, RootPrior, points
from reconstruct.style.features import N_ANGLES, some, static_features, training_poses
from reconstruct.style.learn import LearnOptions, learn
from reconstruct.style.model import Style
from reconstruct.style.synthesis import Past, Synthesis, Synthesizer
from reconstruct.style.synthesis_energy_kernels import _evaluate
from reconstruct.style.synthesis_rows_kernels import Asked, Linear, Prior, State, _linear, _most_rows

NAMES = ("leftHand", "rightHand", "leftFoot", "rightFoot", "head", "hips")
HANDLES = np.array([JOINT_INDEX[name] for name in NAMES])
MEAN_M = 0.02  # of the joints' places, where the motion itself is asked for


@cache
def clip(name: str = "walk") -> Clip:
    return builtin_clip(name, fps=30.0)


@cache
def style(name: str = "walk", n: int = 30) -> Style:
    options = LearnOptions(latent=2, active=n, method="direct", steps=30)
    return learn(some(training_poses([clip(name)]), n), clip().skeleton, name, options)


def places(rotvec: Floats, root_m: Floats) -> Floats:
    return forward(clip().skeleton, rotvec, root_m)[1]


def truth(row: int, name: str = "walk") -> Floats:
    return places(clip(name).rotvec[row], clip(name).root_m[row])


def asked(row: int, n: int = 4, sigma_m: float = 0.005) -> Constraints:
    return points(HANDLES[:n], np.zeros((n, 3)), truth(row)[HANDLES[:n]], sigma_m)


def in_picture(world: Floats) -> Constraints:
    """Ask for image points of a camera before the performer, 1 px each; a second camera sees nothing."""
    n = len(world)
    rotation = matrix_from_rotvec([0.1, 3.0, 0.0])
    translation = np.array([0.0, 0.0, 3.5]) - rotation @ world.mean(axis=0)
    seen = world @ rotation.T + translation
    ideal = np.stack([seen[:, :2] / seen[:, 2:], np.zeros((n, 2))])
    weight = np.stack([np.ones(n), np.zeros(n)])
    views = (np.stack([rotation, np.eye(3)]), np.stack([translation, np.zeros(3)]), np.full(2, 600.0))
    observations = Observations(np.zeros((n, 3)), np.zeros((n, 3, 3)), ideal, weight, *views)
    return Constraints(Handles(HANDLES[:n], np.zeros((n, 3))), observations)


def mean_off_m(found: Synthesis, row: int) -> float:
    return float(np.linalg.norm(places(found.rotvec, found.root_m) - truth(row), axis=1).mean())


def problem(rng: np.random.Generator) -> tuple[Prior, Asked, State]:
    """Ask for a bit of everything, of a pose that is near none of it."""
    world = truth(20)[HANDLES] + 0.05 * rng.normal(size=(6, 3))
    line = in_picture(world)
    both = points(HANDLES, 0.1 * rng.normal(size=(6, 3)), world, 0.02)
    observations = replace(line.observations, point_m=world, root_info=both.observations.root_info.copy())
    observations.root_info[::2] = 0.0
    constraints = Constraints(
        both.handles,
        observations,
        Orientations(np.array([0, 14]), matrix_from_rotvec(rng.normal(size=(2, 3))), np.array([0.1, 0.2])),
        FixedJoints(np.array([4]), rng.normal(size=(1, 3)), np.array([0.1])),
        RootPrior(matrix_from_rotvec(rng.normal(size=3)), rng.normal(size=3), 0.3, 0.2),
        3.0,
    )
    s = static_features(clip().rotvec[10:12])
    synthesizer = Synthesizer([style(n=20), style("jump", 20)], (0.3, 0.7))
    told = synthesizer._problem(constraints, Past(s[1], s[0]))
    prior, arrays = synthesizer._prior(told, 2), told.asked
    pose = clip().rotvec[12] + 0.1 * rng.normal(size=(N_JOINTS, 3))
    return prior, arrays, (pose, matrix_from_rotvec(rng.normal(size=3)), world.mean(axis=0), rng.normal(size=4))


def evaluated(state: State, prior: Prior, arrays: Asked) -> tuple[float, Linear, int]:
    lin, rows = _linear(_most_rows(arrays[0], arrays[1]), N_ANGLES, 10), np.zeros(1, np.int64)
    energy = _evaluate(state, prior, Synthesizer([style()])._body, arrays, lin, np.empty((2, 2)), rows)
    return energy, lin, int(rows[0])
