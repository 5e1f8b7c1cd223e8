"""Joint moments: their signs in poses whose moments are known, and their power."""

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.bodies import build_person_skeleton
from database.geometry.joint_angles import compute_joint_angles
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import rotation_about
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.dynamics import Dynamics, configurations_from_poses, find_joint_rows
from reconstruct.models.physics.forces import ContactForces, compute_motion_forces
from tools.physics.moments import OF_JOINTS, compute_joint_moments

BODY = build_body(build_person_skeleton(1.75), 70.0)


def held(turns: dict[str, tuple[tuple[float, float, float], float]]) -> ContactForces:
    """Return the forces of a body that hangs by its hips, joints turned from the T-pose about an axis [degrees]."""
    local = np.broadcast_to(np.eye(3), (3, N_JOINTS, 3, 3)).copy()
    for joint, (axis, degrees) in turns.items():
        local[:, JOINT_INDEX[joint]] = rotation_about(axis, np.radians(degrees))
    dynamics = Dynamics(BODY)
    q = configurations_from_poses(charted_from_local(local), np.tile([0.0, 1.5, 0.0], (3, 1)))
    return compute_motion_forces(dynamics, dynamics.motion(q, 0.01), 100.0, np.zeros((3, 2, 3), bool))


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_raised_leg_is_held_by_hip_flexors_and_a_hanging_shank_by_knee_extensors(side: str) -> None:
    thigh, shank = JOINT_INDEX[f"{side}UpperLeg"], JOINT_INDEX[f"{side}LowerLeg"]
    moments = compute_joint_moments(BODY, held({f"{side}UpperLeg": ((1.0, 0.0, 0.0), -90.0)}))
    feet = [JOINT_INDEX[f"{side}{name}"] for name in ("Foot", "Toes")]
    kg, reach = BODY.mass_kg, BODY.skeleton.offsets_m
    knee = kg[shank] * -BODY.center_m[shank, 1] + sum(
        kg[row] * (-reach[shank + 1, 1] - BODY.center_m[row, 1] - (reach[row, 1] if row == feet[1] else 0.0)) for row in feet
    )
    hip = kg[thigh] * -BODY.center_m[thigh, 1] + knee - kg[[shank, *feet]].sum() * reach[shank, 1]
    assert moments.find(f"hip_flexion_{side[0]}") == pytest.approx([9.81 * hip] * 3, rel=1e-3)
    assert moments.find(f"knee_flexion_{side[0]}") == pytest.approx([-9.81 * knee] * 3, rel=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_foot_that_hangs_level_is_held_by_dorsiflexors_and_a_leg_at_the_side_by_abductors(side: str) -> None:
    moments = compute_joint_moments(BODY, held({}))
    assert (moments.find(f"ankle_dorsiflexion_{side[0]}") > 0.1).all()
    outwards = -60.0 if side == "right" else 60.0
    moments = compute_joint_moments(BODY, held({f"{side}UpperLeg": ((0.0, 0.0, 1.0), outwards)}))
    assert (moments.find(f"hip_adduction_{side[0]}") < -10.0).all()


def test_moments_times_rates_are_the_power_of_a_joint() -> None:
    rng, dt = np.random.default_rng(4), 1e-4
    dynamics = Dynamics(BODY)
    poses = charted_from_local(np.broadcast_to(np.eye(3), (1, N_JOINTS, 3, 3))) + rng.normal(0.0, 0.4, (1, N_JOINTS, 3))
    poses = poses + np.array([-dt, 0.0, dt])[:, None, None] * rng.normal(0.0, 1.0, (1, N_JOINTS, 3))
    motion = dynamics.motion(configurations_from_poses(poses, np.zeros((3, 3))), dt)
    forces = compute_motion_forces(dynamics, motion, 1.0 / dt, np.zeros((3, 2, 3), bool))
    angles = compute_joint_angles(BODY.skeleton, poses, OF_JOINTS)
    rate = (angles.angle_rad[2] - angles.angle_rad[0]) / (2.0 * dt)
    moments = compute_joint_moments(BODY, forces)
    for joint in ("rightUpperLeg", "leftLowerLeg", "leftFoot", "rightLowerArm", "leftHand"):
        row = JOINT_INDEX[joint]
        columns = [k for k, of in enumerate(angles.joint) if of == row]
        power = forces.torque[1, find_joint_rows(row)] @ motion.v[1, find_joint_rows(row)]
        assert moments.moment_nm[1, columns] @ rate[columns] == pytest.approx(power, rel=1e-4)
