"""The forces of a motion from a script, as takes carry them and strips show them."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from config.joints import JOINTS
from reconstruct.models.physics.synthesis.energy import MotionEnergy
from reconstruct.models.physics.synthesis.problem import MotionProblem
from stream.take.ground import GroundForces, forces_from_points


@dataclass(frozen=True, slots=True)
class MotionForces:
    """Forces of a motion of N frames.

    Attributes:
        ground: forces of the ground on the feet.
        external_n: E external forces of the script, (N, E, 3) [N] world.
        external_m: points at which they act, (N, E, 3) [m] world.
        residual_n: force on the hips that none of these gives, (N, 3) [N] world.
    """

    ground: GroundForces
    external_n: Floats
    external_m: Floats
    residual_n: Floats


def evaluate_motion_forces(problem: MotionProblem, q: Floats) -> MotionForces:
    """Return the forces that explain a motion best; q: its configurations, (N, 95).

    The first and the last frame have no accelerations; they get the forces of the frames next to them.
    """
    energy = MotionEnergy(problem)
    motion = energy.kinematics(q)
    loads, unit = energy.loads(motion)
    points = problem.body.contacts
    padded = ((1, 1), (0, 0), (0, 0))
    force_n = np.pad(energy.forces_n(loads), padded, mode="edge")
    ground = forces_from_points(
        force_n, motion.point_m[:, : len(points)], [JOINTS[j] for j in points.joint], problem.body.total_kg
    )
    local = np.pad((loads.residual * unit)[:, :3], padded[:2], mode="edge")
    external_m = motion.point_m[:, len(points) :]
    external_n = np.zeros(external_m.shape)
    for k, force in enumerate(problem.external):
        rows = slice(force.first, force.stop)
        external_n[rows, k] = force.force_n + force.stiffness * (force.anchor_m - external_m[rows, k])
    return MotionForces(ground, external_n, external_m, np.einsum("nij,nj->ni", motion.root, local))
