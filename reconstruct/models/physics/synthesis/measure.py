"""How well a motion obeys eq. 1, its contacts, friction and what was asked of it."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from reconstruct.models.physics.friction import measure_cone_excess_n
from reconstruct.models.physics.synthesis.energy import MotionEnergy
from reconstruct.models.physics.synthesis.kinematics import compute_joint_positions
from reconstruct.models.physics.synthesis.problem import KeyPose, MotionProblem


@dataclass(frozen=True, slots=True)
class MotionFigures:
    """Figures of a motion.

    Attributes:
        residual_force: force that no contact gives, on the root, RMS, as a share of the weight.
        residual_torque: torque that no contact gives, RMS, as a share of the weight times the height.
        largest_force: largest of the residual forces, as a share of the weight.
        slide_m: mean movement of points in contact from frame to frame [m].
        float_m: mean distance of points in contact from the ground [m].
        sunk_m: depth of the deepest point below the ground [m].
        outside_cone: share of the frames whose force leaves the round friction cone.
        jerk: RMS of the joints' jerk [m/s^3].
        peak: largest vertical force on both feet, as a share of the weight.
        key_m, path_m: largest distance of joints from key poses, and from paths beyond twice what these allow [m].
    """

    residual_force: float
    residual_torque: float
    largest_force: float
    slide_m: float
    float_m: float
    sunk_m: float
    outside_cone: float
    jerk: float
    peak: float
    key_m: float
    path_m: float


def measure_motion(problem: MotionProblem, q: Floats) -> MotionFigures:
    """Return the figures of a motion (N, 95), its contact forces being the best for it."""
    energy = MotionEnergy(problem)
    motion = energy.kinematics(q)
    loads, unit = energy.loads(motion)
    wrench = loads.residual * unit / problem.weight_n
    force, torque = np.linalg.norm(wrench[:, :3], axis=1), np.linalg.norm(wrench[:, 3:], axis=1)
    height = problem.body.skeleton.height_m
    p = motion.point_m[:, : energy.n_points]
    over = energy.heights_over(p)[0]
    both = energy.still[1:] & energy.still[:-1]
    slide = np.linalg.norm(np.diff(p, axis=0), axis=2)[both]
    forces_n = energy.forces_n(loads)
    leaves = measure_cone_excess_n(forces_n, problem.surroundings.friction, energy.normal) > 1e-6 * problem.weight_n
    joints = compute_joint_positions(energy.dynamics, q)
    jerk = np.linalg.norm(np.diff(joints, 3, axis=0), axis=2) * problem.fps**3 if len(q) > 3 else np.zeros((1, 1))
    keys = [
        _measure_key_distance(key, compute_joint_positions(energy.dynamics, key.q[None])[0], joints[key.frame])
        for key in problem.keys
    ]
    paths = [
        np.linalg.norm(path.axes * (joints[path.frames, path.joint] - path.position_m), axis=1).max() - 2.0 * path.within_m
        for path in problem.paths
    ]
    return MotionFigures(
        float(np.sqrt((force**2).mean())),
        float(np.sqrt((torque**2).mean()) / height),
        float(force.max()),
        float(slide.mean()) if len(slide) else 0.0,
        float(np.abs(over[energy.still]).mean()) if energy.still.any() else 0.0,
        float(max(0.0, -over.min())),
        float(leaves.any(axis=1).mean()),
        float(np.sqrt((jerk**2).mean())),
        float((forces_n @ energy.normal).sum(axis=1).max() / problem.weight_n),
        max((float(np.linalg.norm(each, axis=1).max()) for each in keys), default=0.0),
        max(0.0, *paths) if paths else 0.0,
    )


def _measure_key_distance(key: KeyPose, wanted: Floats, got: Floats) -> Floats:
    """Return how far joints (J, 3) are from a key pose, its place at the hips where that is free."""
    off = got - wanted
    return off - off[0] * (1.0, 0.0, 1.0) if key.free_place else off
