"""The simulated performer: a motion with worn markers and cameras, at any time.

The stage (scene frame) has Y up, its floor at 0 and the middle of the motion at the origin; the performer faces +Z, where the
cameras stand. A given rig keeps its world: the stage is moved in front of it, and all truth is in the rig's world.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera, Rig
from calibration.formats.rig_file import read_rig
from calibration.placement import (
    add_cameras_around,
    find_distance_in_view,
    find_distances_around,
    is_all_in_view,
    make_facing_rig,
)
from calibration.world import UP, compute_up_of_images, project_to_floor
from capture.sources.simulated.body import ConeBody, add_props, build_body_around, draw_worn_offsets
from capture.sources.simulated.scene import SimulatedScene
from config.arrays import Floats
from config.errors import CalibrationError, FileFormatError
from config.joints import N_JOINTS
from config.markers import MarkerSet, read_marker_set
from database.builtin.catalog import make_builtin_clip
from database.builtin.performance import make_demo_performance
from database.clips import Clip, slice_clip
from database.files.read import SUFFIXES, read_clip
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics, local_from_charted
from database.geometry.rotations import matrix_from_rotvec, quaternion_from_matrix

BLEND_S = 1.2  # from the T-pose to the motion's first pose
TURN_S_PER_RAD = 0.6  # added for the rotation to the motion's first heading


def slerp_to_rotvecs(first: Floats, second: Floats, u: Floats) -> Floats:
    """Return rotation vectors between unit quaternions of one hemisphere, (S, J, 3) [rad].

    Args:
        first, second: xyzw, (S, J, 4).
        u: share of the way from first to second, (S, 1).
    """
    angle = np.arccos(np.clip(np.sum(first * second, axis=-1), -1.0, 1.0))
    small = angle < 1e-4
    sine = np.where(small, 1.0, np.sin(angle))
    a = np.where(small, 1.0 - u, np.sin((1.0 - u) * angle) / sine)[..., None]
    b = np.where(small, u, np.sin(u * angle) / sine)[..., None]
    q = a * first + b * second
    q = np.where(q[..., 3:] < 0.0, -q, q)
    norm = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(norm, q[..., 3:])
    return np.asarray(q[..., :3] * np.where(norm < 1e-9, 2.0, angle / np.where(norm < 1e-9, 1.0, norm)))


def align_quaternion_signs(matrices: Floats) -> Floats:
    """Return quaternions whose neighbours in time lie in one hemisphere, (N, J, 3, 3) -> (N, J, 4)."""
    q = quaternion_from_matrix(matrices)
    flips = np.sum(q[1:] * q[:-1], axis=-1) < 0.0
    sign = np.where(np.concatenate([np.zeros((1, flips.shape[1]), bool), np.cumsum(flips, axis=0) % 2 == 1]), -1.0, 1.0)
    return np.ascontiguousarray(q * sign[..., None])


def move_clip(clip: Clip, R: Floats, t: Floats) -> Clip:
    """Return a clip moved by x -> R x + t.

    Args:
        R, t: rotation, (3, 3), and translation, (3,) [m].
    """
    rotvec = clip.rotvec.copy()
    local = local_from_charted(rotvec)[:, 0]
    full = np.broadcast_to(np.eye(3), (len(rotvec), N_JOINTS, 3, 3)).copy()
    full[:, 0] = R @ local
    rotvec[:, 0] = charted_from_local(full)[:, 0]
    return replace(clip, rotvec=rotvec, root_m=np.ascontiguousarray(clip.root_m @ R.T + t))


def _measure_facing_rad(clip: Clip) -> float:
    """Return the mean heading of the hips, from +Z towards +X; the first pose's where the headings cancel out."""
    ahead = local_from_charted(clip.rotvec)[:, 0, :, 2]
    mean = ahead.mean(axis=0)
    x, _, z = mean if math.hypot(mean[0], mean[2]) > 0.3 else ahead[0]
    return math.atan2(x, z)


def _measure_lowest(clip: Clip, body: ConeBody) -> Floats:
    """Return the height of the body's lowest point in at most 200 poses, (S,)."""
    frames = np.unique(np.linspace(0, clip.n_frames - 1, min(clip.n_frames, 200)).astype(np.int64))
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec[frames], clip.root_m[frames])
    lowest = []
    for k in range(len(frames)):
        cones = body.posed(G[k], p[k])
        lowest.append(min((cones.a[:, 1] - cones.radii[:, 0]).min(), (cones.b[:, 1] - cones.radii[:, 1]).min()))
    return np.array(lowest)


def place_on_stage(clip: Clip, body: ConeBody, turn_rad: float) -> Clip:
    """Return a clip rotated to face +Z on average, its floor at 0 and its middle at the origin.

    Args:
        body: the body around it.
        turn_rad: further rotation about the vertical.
    """
    clip = move_clip(clip, matrix_from_rotvec([0.0, turn_rad - _measure_facing_rad(clip), 0.0]), np.zeros(3))
    _, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)
    middle = 0.5 * (p.min(axis=(0, 1)) + p.max(axis=(0, 1)))
    # Feet sink a little into every captured floor: the second percentile is the floor.
    floor = float(np.percentile(_measure_lowest(clip, body), 2.0))
    return move_clip(clip, np.eye(3), np.array([-middle[0], -floor, -middle[2]]))


def prepend_tpose(clip: Clip, body: ConeBody, tpose_s: float) -> Clip:
    """Return a clip on the stage with a T-pose that faces the cameras, and a blend to the first pose, before it.

    Args:
        body: the body around it.
        tpose_s: duration of the T-pose.
    """
    if tpose_s <= 0.0:
        return clip
    pose = charted_from_local(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))
    ahead = local_from_charted(clip.rotvec[:1])[0, 0, :, 2]
    blend_s = BLEND_S + TURN_S_PER_RAD * abs(math.atan2(ahead[0], ahead[2]))
    standing = replace(clip, rotvec=np.ascontiguousarray(pose[None]), root_m=np.zeros((1, 3)))
    root = np.array([clip.root_m[0, 0], -_measure_lowest(standing, body)[0], clip.root_m[0, 2]])
    hold, blend = round(tpose_s * clip.fps), max(round(blend_s * clip.fps), 1)
    u = np.clip((np.arange(hold + blend) - hold) / blend, 0.0, 1.0)
    u = (u**3 * (10.0 - 15.0 * u + 6.0 * u**2))[:, None]  # no velocity or acceleration at either end
    ends = align_quaternion_signs(matrix_from_rotvec(np.stack([pose, clip.rotvec[0]])))
    first, second = (np.broadcast_to(q, (len(u), *q.shape)) for q in ends)
    rotvec = np.concatenate([slerp_to_rotvecs(first, second, u), clip.rotvec])
    root_m = np.concatenate([root + u * (clip.root_m[0] - root), clip.root_m])
    return replace(clip, rotvec=np.ascontiguousarray(rotvec), root_m=np.ascontiguousarray(root_m))


def sample_extent(clip: Clip) -> Floats:
    """Return the joints and the ends of the bones over the whole motion, about ten poses a second, (S, 3) [m]."""
    frames = np.arange(0, clip.n_frames, max(round(clip.fps / 10.0), 1))
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec[frames], clip.root_m[frames])
    tips = p + np.einsum("sjab,jb->sja", G, clip.skeleton.tails_m)
    return np.concatenate([p, tips]).reshape(-1, 3)


def place_stage(rig: Rig, points_m: Floats, distance_m: float) -> tuple[Floats, Floats]:
    """Return rotation and translation of the stage in the world of a rig: upright in its images, facing its first two cameras,
    all in view.

    Args:
        points_m: that the motion reaches, (S, 3), scene.
        distance_m: from the cameras; 0: the least at which they see all.
    """
    facing = rig.cameras[:2]
    up = UP if rig.floor_known else compute_up_of_images(Rig(facing))
    ahead = np.sum([camera.rotation[2] for camera in facing], axis=0)
    level = project_to_floor(ahead, up)
    R = np.stack([np.cross(up, -level), up, -level], axis=1)
    middle = np.mean([camera.center_m for camera in facing], axis=0)
    for candidate in [distance_m] if distance_m > 0 else np.arange(0.5, 25.0, 0.1):
        position = middle + candidate * ahead / np.linalg.norm(ahead)
        position[1] = 0.0 if rig.floor_known else position[1]
        t = position if rig.floor_known else position - 0.9 * up
        if distance_m > 0 or is_all_in_view(rig, points_m @ R.T + t, 4.0):
            return np.ascontiguousarray(R), t
    raise CalibrationError(
        "the motion does not fit into the view of this rig at any distance; use a part of it (--start, --seconds) or place a rig"
    )


HIDE_S = 0.5  # how long a marker stays hidden on purpose
DEMO = "demo"  # a built-in performance of everything, by a performer who is in no database


@dataclass(frozen=True, slots=True)
class Performer:
    """A motion in the rig's world, at any time.

    clip: with the T-pose in front; quaternions: of each joint's charted rotation, neighbours in one hemisphere,
    (N, J, 4) xyzw; markers: the set worn; offset_m: true offsets, joint frame, (M, 3) [m]; body: with props;
    stage_rotation, stage_translation: scene frame to world, (3, 3) and (3,) [m].
    """

    scene: SimulatedScene
    rig: Rig
    clip: Clip
    quaternions: Floats
    markers: MarkerSet
    offset_m: Floats
    body: ConeBody
    stage_rotation: Floats
    stage_translation: Floats

    @property
    def radius_m(self) -> float:
        """Radius of the markers."""
        return 0.0005 * self.scene.marker_mm

    @property
    def duration_s(self) -> float:
        """Time of the last pose."""
        return self.scene.empty_s + (self.clip.n_frames - 1) / self.clip.fps

    @property
    def tpose_s(self) -> tuple[float, float]:
        """When the T-pose begins and ends."""
        return self.scene.empty_s, self.scene.empty_s + self.scene.tpose_s

    @property
    def distance_m(self) -> float:
        """From the middle of the motion to the middle between the first two cameras, along the floor."""
        centers_m = [self.camera_on_stage(camera).center_m for camera in self.rig.cameras[:2]]
        x, _, z = np.mean(centers_m, axis=0)
        return float(np.hypot(x, z))

    def poses_at(self, seconds: Floats) -> tuple[Floats, Floats]:
        """Return rotvec (S, J, 3) [rad] and root (S, 3) [m] at any times, (S,) [s]: slerp between poses, constant beyond them."""
        position = np.clip((np.asarray(seconds, float) - self.scene.empty_s) * self.clip.fps, 0.0, self.clip.n_frames - 1)
        first = np.minimum(position.astype(np.int64), max(self.clip.n_frames - 2, 0))
        second = np.minimum(first + 1, self.clip.n_frames - 1)
        u = (position - first)[:, None]
        rotvec = slerp_to_rotvecs(self.quaternions[first], self.quaternions[second], u)
        return rotvec, (1.0 - u) * self.clip.root_m[first] + u * self.clip.root_m[second]

    def joints_at(self, seconds: Floats) -> tuple[Floats, Floats]:
        """Return orientations (S, J, 3, 3) and positions (S, J, 3) [m] of the joints, world."""
        rotvec, root_m = self.poses_at(seconds)
        return compute_forward_kinematics(self.clip.skeleton, rotvec, root_m)

    def markers_of(self, G: Floats, p: Floats) -> Floats:
        """Return marker centres (S, M, 3) [m] from the joints' orientations and positions."""
        joint = self.markers.joint
        return np.asarray(p[:, joint] + np.einsum("smij,mj->smi", G[:, joint], self.offset_m))

    def hidden_at(self, seconds: float, camera: int = 0) -> NDArray[np.bool_]:
        """Return which markers are hidden from a camera on purpose, (M,): a share `occlude`, others every half second.

        All are before the start.
        """
        if seconds < self.scene.empty_s:
            return np.ones(len(self.markers), bool)
        hidden = np.zeros(len(self.markers), bool)
        if self.scene.occlude > 0.0 and seconds >= self.tpose_s[1]:
            count = max(round(self.scene.occlude * len(hidden)), 1)
            period = int(seconds / HIDE_S)
            each = (camera,) if self.scene.occlude_each else ()
            hidden[np.random.default_rng((self.scene.seed, period, 23, *each)).permutation(len(hidden))[:count]] = True
        return hidden

    def camera_on_stage(self, camera: Camera) -> Camera:
        """Return a camera in the scene's frame."""
        R, t = self.stage_rotation, self.stage_translation
        return replace(camera, rotation=camera.rotation @ R, translation=camera.rotation @ t + camera.translation)


def load_motion(scene: SimulatedScene) -> Clip:
    """Return the motion of a scene: a BVH or AMC file, else a built-in motion or `demo`.

    Raises FileFormatError: no such file or built-in motion.
    """
    path = Path(scene.motion)
    if path.suffix.lower() in SUFFIXES or path.exists():
        return read_clip(path)
    if scene.motion == DEMO:
        return make_demo_performance(seconds=scene.start_s + scene.seconds if scene.seconds > 0 else None)
    return make_builtin_clip(scene.motion, None, 60.0, scene.seed, **scene.parameters)


def make_scene_performer(scene: SimulatedScene, clip: Clip | None = None) -> Performer:
    """Return the performer of a scene, with markers and cameras placed.

    clip: used instead of the scene's motion. Raises FileFormatError, CalibrationError: no motion, marker set or rig, or a motion
    that does not fit into the view.
    """
    markers = read_marker_set(scene.markers)
    clip = _slice_clip(load_motion(scene) if clip is None else clip, scene)
    body = build_body_around(clip.skeleton, scene.look == "person")
    radius_m = 0.0005 * scene.marker_mm
    offset_m = draw_worn_offsets(clip.skeleton, body, markers, radius_m, 0.001 * scene.placement_mm, scene.seed)
    clip = prepend_tpose(place_on_stage(clip, body, math.radians(scene.turn_deg)), body, scene.tpose_s)
    body = add_props(clip.skeleton, body, markers, offset_m, radius_m)
    rig, R, t = _find_rig_and_stage(scene, sample_extent(clip))
    clip = move_clip(clip, R, t)
    return Performer(scene, rig, clip, align_quaternion_signs(matrix_from_rotvec(clip.rotvec)), markers, offset_m, body, R, t)


def _slice_clip(clip: Clip, scene: SimulatedScene) -> Clip:
    """Return the part of the clip that the scene uses."""
    start = round(scene.start_s * clip.fps)
    stop = min(clip.n_frames, start + round(scene.seconds * clip.fps) + 1) if scene.seconds > 0 else clip.n_frames
    if stop - start < 2:
        raise FileFormatError(
            f"{clip.name} lasts {clip.seconds:.2f} s, too short to begin at {scene.start_s:g} s; give a smaller --start"
        )
    return slice_clip(clip, start, stop)


def _find_rig_and_stage(scene: SimulatedScene, points_m: Floats) -> tuple[Rig, Floats, Floats]:
    """Return the rig, and rotation and translation of the stage in its world."""
    if scene.rig:
        rig = read_rig(scene.rig)
        R, t = place_stage(rig, points_m, scene.distance_m)
        return rig, R, t
    size, fov_deg, height_m, given = scene.size, scene.fov_deg, scene.camera_height_m, scene.distance_m
    distance_m = given or find_distance_in_view(size, fov_deg, scene.baseline_m, height_m, points_m)
    pair = make_facing_rig(size, fov_deg, distance_m, scene.baseline_m, height_m)
    around_m = [given] * (scene.views - 2) if given else find_distances_around(size, fov_deg, height_m, scene.views, points_m)
    return add_cameras_around(pair, scene.views, scene.fov_deg, around_m, height_m), np.eye(3), np.zeros(3)
