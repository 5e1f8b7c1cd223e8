"""The world by a performer who holds the T-pose: up by the body, the floor by its soles, +Z where it looks.

Three things tell up, each to some degrees: the hips are level, the body's centre of mass (Winter 2009, table 4.1) is over its
feet as it is in the rest pose, and both feet stand equally high. Their mean is weighted by how well each is known, sideways and
forwards apart. The floor is below the ankles and the balls of the feet by what feet and soles measure there.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibration.camera import Rig
from calibration.subject.fit import SubjectFit
from calibration.subject.motion import MotionFrame
from calibration.world import (
    BALL_M,
    UP,
    World,
    compute_camera_fingerprint,
    compute_facing_motion,
    compute_levelling_motion,
    compute_recentre_motion,
)
from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rigid import RigidMotion

# Shares of the body's mass between two joints, and where between them its centre is.
SEGMENTS = (
    ("neck", "head", 0.081, 1.0),
    ("hips", "neck", 0.497, 0.5),
    *((side + a, side + b, mass, at) for side in ("left", "right") for a, b, mass, at in (
        ("UpperArm", "LowerArm", 0.028, 0.436),
        ("LowerArm", "Hand", 0.022, 0.682),
        ("UpperLeg", "LowerLeg", 0.100, 0.433),
        ("LowerLeg", "Foot", 0.0465, 0.433),
        ("Foot", "Toes", 0.0145, 0.5),
    )),
)  # fmt: skip
SUPPORT = 0.4  # of the way from ankle to ball, where the weight rests
# Standard deviations of what tells up [rad], sideways and forwards.
HIPS_RAD = np.array([0.04, 0.055])
BALANCE_RAD = np.array([0.025, 0.08])
SOLES_M = 0.012  # of the height of one foot over the other
FOOT_SIGMA_M, UNSEEN_SIGMA_M = 0.020, 0.030  # of the height of a foot's joints over the floor, with and without a marker on it
LIFTED_M = 0.04  # a foot this much higher than the other does not stand
FEET = tuple((JOINT_INDEX[side + "Foot"], JOINT_INDEX[side + "Toes"]) for side in ("left", "right"))


def find_world(fit: SubjectFit, rig: Rig) -> World:
    """Return the world of a fitted performer in a rig's frame; of a rig that knows the floor, its own."""
    cameras = tuple(sorted({compute_camera_fingerprint(camera) for camera in rig.cameras}))
    if rig.floor_known:
        return World(RigidMotion(np.eye(3), np.zeros(3)), "the floor of the rig", 0.0, 0.0, cameras)
    G, p = fit.pose
    skeleton = fit.subject.skeleton
    up, sigma_rad = find_up(G[0], p, skeleton.rest_positions_m())
    soles_m = compute_sole_heights_m(p, up, skeleton.offsets_m)
    floor_m = float(soles_m.mean()) if np.ptp(soles_m) < LIFTED_M else float(soles_m.min())
    motion = compute_facing_motion(up, G[0][:, 2], p[0] + (floor_m - up @ p[0]) * up)
    seen = bool(np.isin(fit.subject.joint[fit.seen], np.array(FEET).ravel()).any())
    height_sigma_mm = 1e3 * (FOOT_SIGMA_M if seen else UNSEEN_SIGMA_M)
    return World(motion, "the T-pose", float(np.degrees(sigma_rad)), height_sigma_mm, cameras)


def refine_world(world: World, fit: SubjectFit, frames: Sequence[MotionFrame]) -> World:
    """Return a performer's world levelled by the feet that stand during free movement.

    Args:
        world: as the T-pose has it.
        fit: the performer.
        frames: in the rig's frame, in order.
    """
    if world.tilt_sigma_deg == 0.0 or not frames:
        return world
    rotvec, root_m = np.stack([frame.rotvec for frame in frames]), np.stack([frame.root_m for frame in frames])
    joints_m = world.from_rig.move(compute_forward_kinematics(fit.subject.skeleton, rotvec, root_m)[1])
    level, sigma_rad = compute_levelling_motion(joints_m, np.array([frame.seconds for frame in frames]), UP)
    motion = level.after(world.from_rig)
    G, p = fit.pose
    centred = compute_recentre_motion(motion.rotation @ G[0][:, 2], motion.move(p[0])).after(motion)
    tilt_deg = min(float(np.degrees(sigma_rad)), world.tilt_sigma_deg)
    return replace(world, from_rig=centred, by="the T-pose and the steps of the movement", tilt_sigma_deg=tilt_deg)


def find_up(hips: Floats, joint_m: Floats, rest_m: Floats) -> tuple[Floats, float]:
    """Return the direction up by a standing body, (3,), and its standard deviation [rad].

    Args:
        hips: orientation of the root, (3, 3).
        joint_m: the joints, (J, 3) [m].
        rest_m: the joints in the rest pose, (J, 3) [m].
    """
    side, up, ahead = hips.T
    balance = compute_lean(joint_m @ hips) - compute_lean(rest_m)
    apart, standing = (np.subtract(*(joints[list(foot)].mean(axis=0) for foot in FEET)) for joints in (joint_m, rest_m))
    soles = np.array([-(apart @ up - standing[1]) / max(abs(apart @ side), 1e-3), 0.0])
    soles_rad = np.array([SOLES_M / max(abs(apart @ side), 1e-3), np.inf])
    weights = np.stack([HIPS_RAD, BALANCE_RAD, soles_rad]) ** -2.0
    slopes = (weights * np.stack([np.zeros(2), balance, soles])).sum(axis=0) / weights.sum(axis=0)
    found = up + slopes[0] * side + slopes[1] * ahead
    return np.asarray(found / np.linalg.norm(found)), float(np.sqrt((1.0 / weights.sum(axis=0)).sum()))


def compute_lean(joint_m: Floats) -> Floats:
    """Return the slopes, to +X and to +Z, of the line from where a body stands to its centre of mass, (2,)."""
    x, y, z = compute_centre_of_mass_m(joint_m) - np.mean([compute_support_m(joint_m, foot) for foot in FEET], axis=0)
    return np.array([x / y, z / y])


def compute_centre_of_mass_m(joint_m: Floats) -> Floats:
    """Return the centre of mass of a body, (3,) [m]."""
    total, mass = np.zeros(3), 0.0
    for begin, end, share, at in SEGMENTS:
        a, b = joint_m[JOINT_INDEX[begin]], joint_m[JOINT_INDEX[end]]
        total, mass = total + share * (a + at * (b - a)), mass + share
    return total / mass


def compute_support_m(joint_m: Floats, foot: tuple[int, int]) -> Floats:
    """Return where the weight rests on a foot, (3,) [m]."""
    ankle, ball = foot
    return np.asarray(joint_m[ankle] + SUPPORT * (joint_m[ball] - joint_m[ankle]))


def compute_sole_heights_m(joint_m: Floats, up: Floats, offsets_m: Floats) -> Floats:
    """Return the heights of the soles by ankle and ball of each foot, left and right, (2,) [m].

    Args:
        joint_m: the joints, (J, 3) [m].
        up: unit vector, (3,).
        offsets_m: of the skeleton's joints, (J, 3).
    """
    return np.array([
        0.5 * (joint_m[ankle] @ up - BALL_M + offsets_m[ball, 1]) + 0.5 * (joint_m[ball] @ up - BALL_M) for ankle, ball in FEET
    ])  # fmt: skip
