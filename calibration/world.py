"""The world: metres, right-handed, Y up, the floor at y = 0; and how a rig comes to stand in it.

A rig that was calibrated with a floor has it. Another one has it from the performer who was calibrated with it: the subject
knows the motion from the rig's frame to the world, and the cameras it holds for. Where there is neither, the rig is put upright
by its pictures, and the performer's first seconds level it (`compute_levelling_motion`): up is where the trunk points, refined
by the positions of standing feet, the floor is below their soles.
"""

import hashlib
import math
from dataclasses import dataclass, replace

import numpy as np

from calibration.camera import Camera, Rig
from config.arrays import Bools, Floats
from config.joints import JOINT_INDEX
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import rotation_between

UP = np.array([0.0, 1.0, 0.0])
BALL_M = 0.035  # height of the ball of a standing foot over its sole, as skeletons have it
FINGERPRINT_DIGITS = 16
LENGTH_STEP_M, ANGLE_STEP, PIXEL_STEP_PX = 1e-6, 1e-6, 1e-3  # files of any format keep cameras to these and better

USUAL_HEIGHT_M, USUAL_DISTANCE_M = 1.2, 2.5  # of cameras over the floor and from the performer, until the performer tells
MAX_IMAGE_TILT_RAD = 1.0  # between a known up and the pictures' own, beyond which it is of another rig
STANDING_M_S = 0.25
PATCH_M = 0.1
FLOOR_SIGMA_M = 0.03
TILT_SIGMA_RAD = 0.08  # of a T-pose's up direction
TRUNK_SIGMA_RAD = 0.2  # of the lean of the trunk while standing or walking
BALLS = [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]]


@dataclass(frozen=True, slots=True)
class World:
    """Where a performer found the world in the frame of a rig.

    from_rig: the motion to the world from the rig's frame; by: how it was found, in a few words; tilt_sigma_deg, height_sigma_mm:
    standard deviations of up and of the floor's height, infinite where nothing is known; cameras: fingerprints of those it holds
    for, empty where nobody knows.
    """

    from_rig: RigidMotion
    by: str
    tilt_sigma_deg: float
    height_sigma_mm: float
    cameras: tuple[str, ...]

    def holds_for(self, rig: Rig) -> bool:
        """Return whether every camera of a rig is one it was found with, calibrated as it was then."""
        return all(compute_camera_fingerprint(camera) in self.cameras for camera in rig.cameras)


def compute_camera_fingerprint(camera: Camera) -> str:
    """Return hexadecimal digits that are the same for equal lenses in equal places, from whatever file they were read."""
    distortions = np.zeros(5)
    distortions[: len(camera.distortions)] = camera.distortions
    parts = [
        np.array([*camera.size, camera.fisheye]),
        camera.matrix / PIXEL_STEP_PX,
        distortions / ANGLE_STEP,
        camera.rotation / ANGLE_STEP,
        camera.translation / LENGTH_STEP_M,
    ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.round(part).astype("<i8").tobytes())
    return digest.hexdigest()[:FINGERPRINT_DIGITS]


def move_rig(rig: Rig, motion: RigidMotion) -> Rig:
    """Return a rig whose frame is moved: a point x of the old one is at R x + t in the new one."""
    return replace(rig, cameras=tuple(_move_camera(camera, motion) for camera in rig.cameras))


def _move_camera(camera: Camera, motion: RigidMotion) -> Camera:
    """Return a camera in a frame that is moved: x_camera = A x + b becomes A R' x + (b - A R' t)."""
    rotation = np.ascontiguousarray(camera.rotation @ motion.rotation.T)
    return replace(camera, rotation=rotation, translation=camera.translation - rotation @ motion.translation_m)


def compute_motion_between(old: Camera, new: Camera) -> RigidMotion:
    """Return the motion of the frame that made a camera of an old one."""
    rotation = np.ascontiguousarray(new.rotation.T @ old.rotation)
    return RigidMotion(rotation, new.rotation.T @ (old.translation - new.translation))


def place_rig_in_world(rig: Rig, world: World | None) -> Rig:
    """Return a rig in its world; world: that of the performer, or None.

    Where neither rig nor performer know the floor, the rig is only upright by its pictures, or by an up that is known, and its
    `floor_known` stays false: whoever tracks with it levels it by the performer.
    """
    if rig.floor_known:
        return rig
    if world is not None and world.holds_for(rig):
        return replace(move_rig(rig, world.from_rig), floor_known=True, tilt_sigma_rad=math.radians(world.tilt_sigma_deg))
    return _turn_rig_upright(rig, world)


def _turn_rig_upright(rig: Rig, world: World | None) -> Rig:
    """Return a rig upright by an up of unknown cameras, if it agrees with the pictures, else by the pictures, at a usual height.

    The origin is where a performer may stand, who looks to the cameras along +Z.
    """
    up = compute_up_of_images(rig)
    if world is not None and not world.cameras and world.from_rig.rotation[1] @ up > np.cos(MAX_IMAGE_TILT_RAD):
        up = world.from_rig.rotation[1]
    back = project_to_floor(-rig.ahead, up)
    rotation = np.stack([np.cross(up, back), up, back])
    place_m = np.array([0.0, USUAL_HEIGHT_M, USUAL_DISTANCE_M])
    return move_rig(rig, RigidMotion(rotation, place_m - rotation @ rig.middle_m))


def compute_up_of_images(rig: Rig) -> Floats:
    """Return the mean of the cameras' image up directions, (3,), unit, in the rig's frame."""
    up = -np.sum([camera.rotation[1] for camera in rig.cameras], axis=0)
    return np.asarray(up / max(float(np.linalg.norm(up)), 1e-12))


def project_to_floor(direction: Floats, up: Floats) -> Floats:
    """Return the component of a direction within the floor as a unit vector, (3,); any such vector if there is none."""
    part = direction - up * (up @ direction)
    length = float(np.linalg.norm(part))
    if length < 1e-6:
        part = np.eye(3)[int(np.argmin(np.abs(up)))]
        part = part - up * (up @ part)
        length = float(np.linalg.norm(part))
    return np.asarray(part / length)


def compute_facing_motion(up: Floats, ahead: Floats, ground_m: Floats) -> RigidMotion:
    """Return the motion to a world that stands upright, in which the performer looks along +Z.

    Args:
        up: becomes +Y, (3,).
        ahead: looks along +Z, (3,).
        ground_m: becomes the origin, (3,) [m].
    """
    z = project_to_floor(ahead, up)
    rotation = np.stack([np.cross(up, z), up, z])
    return RigidMotion(rotation, -rotation @ ground_m)


def compute_recentre_motion(ahead: Floats, hips_m: Floats) -> RigidMotion:
    """Return the motion within the floor that puts hips, (3,) [m], over the origin, looking along +Z."""
    return compute_facing_motion(UP, ahead, hips_m * np.array([1.0, 0.0, 1.0]))


def compute_levelling_motion(
    joints_m: Floats, seconds: Floats, up: Floats | None = None, up_sigma_rad: float = TILT_SIGMA_RAD
) -> tuple[RigidMotion, float]:
    """Return the motion that levels tracked poses of a performer, so that standing soles are on the floor y = 0, and the standard
    deviation of its tilt [rad].

    Heading and place are kept. Where no foot ever stands, the lowest ball of a foot is taken for one that does.

    Args:
        joints_m: joints of each pose, (N, J, 3) [m], N >= 1.
        seconds: of each pose, (N,), increasing.
        up: what is known of up, (3,); None: the mean direction of the trunk.
        up_sigma_rad: how well it is known, a standard deviation [rad].
    """
    sigma_rad = TRUNK_SIGMA_RAD if up is None else up_sigma_rad
    first = rotation_between(estimate_trunk_up(joints_m) if up is None else up, UP)
    balls = joints_m[:, BALLS] @ first.T
    standing = balls[_find_standing(balls, seconds)]
    normal, sigma_rad = fit_floor_normal(standing, sigma_rad)
    second = rotation_between(normal, UP)
    heights = (standing if len(standing) else balls.reshape(-1, 3)) @ second[1]
    ball_m = float(np.median(heights)) if len(standing) else float(heights.min())
    return RigidMotion(np.ascontiguousarray(second @ first), np.array([0.0, BALL_M - ball_m, 0.0])), sigma_rad


def estimate_trunk_up(joints_m: Floats) -> Floats:
    """Return the mean direction from hips to chest, (3,), by iteratively reweighted means that reduce the weight of bends."""
    trunk = joints_m[:, JOINT_INDEX["upperChest"]] - joints_m[:, JOINT_INDEX["hips"]]
    trunk = trunk / np.maximum(np.linalg.norm(trunk, axis=1, keepdims=True), 1e-9)
    mean = np.median(trunk, axis=0)
    for _ in range(10):
        angle_rad = np.linalg.norm(trunk - mean, axis=1)
        mean = np.average(trunk, axis=0, weights=1.0 / (1.0 + (angle_rad / TRUNK_SIGMA_RAD) ** 2))
        mean = mean / np.linalg.norm(mean)
    return np.asarray(mean)


def _find_standing(balls_m: Floats, seconds: Floats) -> Bools:
    """Return which balls of the feet, (N, 2, 3) [m], stand: they hardly move and are the lower one then, (N, 2)."""
    stands = np.zeros(balls_m.shape[:2], bool)
    if len(balls_m) >= 3:
        speed = np.linalg.norm(balls_m[2:] - balls_m[:-2], axis=2) / (seconds[2:] - seconds[:-2])[:, None]
        stands[1:-1] = speed < STANDING_M_S
    return np.asarray(stands & (balls_m[..., 1] < balls_m[..., 1].min(axis=1, keepdims=True) + FLOOR_SIGMA_M))


def fit_floor_normal(points_m: Floats, tilt_sigma_rad: float = TILT_SIGMA_RAD) -> tuple[Floats, float]:
    """Return the normal of a nearly level plane y = c + a x + b z fitted to standing feet, (3,), and its deviation [rad].

    The slopes have a normal prior with `tilt_sigma_rad`, so that feet in one position leave the floor level; each patch of 10 cm
    counts once; Cauchy weights reduce the influence of feet in the air.
    """
    if not len(points_m):
        return UP, tilt_sigma_rad
    _, patch = np.unique(np.round(points_m[:, [0, 2]] / PATCH_M).astype(np.int64), axis=0, return_inverse=True)
    patch = patch.ravel()
    n = np.bincount(patch)
    mean = np.stack([np.bincount(patch, points_m[:, i]) / n for i in range(3)], axis=1)
    A = np.column_stack([mean[:, 0] - mean[:, 0].mean(), mean[:, 2] - mean[:, 2].mean(), np.ones(len(mean))])
    prior = np.diag([tilt_sigma_rad**-2.0, tilt_sigma_rad**-2.0, 0.0])
    weight = np.ones(len(mean))
    for _ in range(10):
        W = weight / FLOOR_SIGMA_M**2
        N = A.T @ (W[:, None] * A) + prior
        plane = np.linalg.solve(N, A.T @ (W * mean[:, 1]))
        weight = 1.0 / (1.0 + ((A @ plane - mean[:, 1]) / FLOOR_SIGMA_M) ** 2)
    normal = np.array([-plane[0], 1.0, -plane[1]])
    return np.asarray(normal / np.linalg.norm(normal)), float(np.sqrt(np.trace(np.linalg.inv(N)[:2, :2])))
