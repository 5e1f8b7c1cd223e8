"""Styles of built-in motions and constraints on their poses, for the tests of synthesis."""

from dataclasses import replace
from functools import cache

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.catalog import make_builtin_clip
from database.clips import Clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import PARENT_ARRAY, REFERENCE
from reconstruct.constraints import Constraints, FixedJoints, Handles, Orientations, RootConstraint, build_point_handles
from reconstruct.models.style.features import N_ANGLES, build_training_poses, compute_static_features, subsample_poses
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.models.style.model import Style
from reconstruct.models.style.synthesis.arrays import JointTree, Linearisation, SynthesisPrior, SynthesisState, Targets
from reconstruct.models.style.synthesis.energy import evaluate_synthesis_energy
from reconstruct.models.style.synthesis.rows import allocate_linearisation, count_max_rows
from reconstruct.models.style.synthesis.synthesizer import PastFeatures, Synthesis, Synthesizer
from reconstruct.observations import Observations

NAMES = ("leftHand", "rightHand", "leftFoot", "rightFoot", "head", "hips")
HANDLES = np.array([JOINT_INDEX[name] for name in NAMES])
MEAN_M = 0.02  # of the joints' places, where the motion itself is asked for


@cache
def clip(name: str = "walk") -> Clip:
    return make_builtin_clip(name, fps=30.0)


@cache
def style(name: str = "walk", n: int = 30) -> Style:
    options = LearnOptions(latent=2, active=n, method="direct", steps=30)
    return fit_style(subsample_poses(build_training_poses([clip(name)]), n), clip().skeleton, name, options)


def places(rotvec: Floats, root_m: Floats) -> Floats:
    return compute_forward_kinematics(clip().skeleton, rotvec, root_m)[1]


def truth(row: int, name: str = "walk") -> Floats:
    return places(clip(name).rotvec[row], clip(name).root_m[row])


def constraints_at(row: int, n: int = 4, sigma_m: float = 0.005) -> Constraints:
    return build_point_handles(HANDLES[:n], np.zeros((n, 3)), truth(row)[HANDLES[:n]], sigma_m)


def in_image(world: Floats) -> Constraints:
    """Return constraints on image points of a camera before the performer, 1 px each; a second camera sees nothing."""
    n = len(world)
    rotation = matrix_from_rotvec([0.1, 3.0, 0.0])
    translation = np.array([0.0, 0.0, 3.5]) - rotation @ world.mean(axis=0)
    seen = world @ rotation.T + translation
    ideal = np.stack([seen[:, :2] / seen[:, 2:], np.zeros((n, 2))])
    weight = np.stack([np.ones(n), np.zeros(n)])
    views = (np.stack([rotation, np.eye(3)]), np.stack([translation, np.zeros(3)]), np.full(2, 600.0))
    observations = Observations(np.zeros((n, 3)), np.zeros((n, 3, 3)), ideal, weight, *views)
    return Constraints(Handles(HANDLES[:n], np.zeros((n, 3))), observations)


def mean_error_m(found: Synthesis, row: int) -> float:
    return float(np.linalg.norm(places(found.rotvec, found.root_m) - truth(row), axis=1).mean())


def problem(rng: np.random.Generator) -> tuple[SynthesisPrior, Targets, SynthesisState]:
    """Return constraints of all kinds, and a pose that is far from all of them."""
    world = truth(20)[HANDLES] + 0.05 * rng.normal(size=(6, 3))
    line = in_image(world)
    both = build_point_handles(HANDLES, 0.1 * rng.normal(size=(6, 3)), world, 0.02)
    observations = replace(line.observations, point_m=world, root_info=both.observations.root_info.copy())
    observations.root_info[::2] = 0.0
    constraints = Constraints(
        both.handles,
        observations,
        Orientations(np.array([0, 14]), matrix_from_rotvec(rng.normal(size=(2, 3))), np.array([0.1, 0.2])),
        FixedJoints(np.array([4]), rng.normal(size=(1, 3)), np.array([0.1])),
        RootConstraint(matrix_from_rotvec(rng.normal(size=3)), rng.normal(size=3), 0.3, 0.2),
        3.0,
    )
    s = compute_static_features(clip().rotvec[10:12])
    synthesizer = Synthesizer([style(n=20), style("jump", 20)], (0.3, 0.7))
    whole = synthesizer._problem(constraints, PastFeatures(s[1], s[0]))
    prior = synthesizer._prior(whole, 2)
    pose = clip().rotvec[12] + 0.1 * rng.normal(size=(N_JOINTS, 3))
    rotation = matrix_from_rotvec(rng.normal(size=3))
    return prior, whole.targets, SynthesisState(pose, rotation, world.mean(axis=0), rng.normal(size=4))


def evaluated(state: SynthesisState, prior: SynthesisPrior, targets: Targets) -> tuple[float, Linearisation]:
    """Return the energy and its linearisation, residuals without the rows that are not used."""
    rows = np.zeros(1, np.int64)
    lin = allocate_linearisation(count_max_rows(targets.handles, targets.orientations), N_ANGLES, 10)
    tree = JointTree(PARENT_ARRAY, clip().skeleton.offsets_m, REFERENCE)
    energy = evaluate_synthesis_energy(state, prior, tree, targets, lin, np.empty((2, 2)), rows)
    n = int(rows[0])
    return energy, lin._replace(rows_a=lin.rows_a[:n], rows_p=lin.rows_p[:n], residual=lin.residual[:n])
