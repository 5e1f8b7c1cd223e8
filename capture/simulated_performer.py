"""The simulated performer: a motion, with markers worn and cameras in place, that can be asked for any moment."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera, Rig
from calibration.placement import distance_in_view, facing_rig
from calibration.rig_file import read_rig
from capture.render_body import Body, body_of, with_props, worn_offsets
from capture.simulated_scene import SimulatedScene
from capture.simulated_stage import continuous, extent, moved, on_stage, slerped, stage_before, with_tpose
from config.errors import FileFormatError
from config.markers import MarkerSet, read_marker_set
from database.builtin.catalog import builtin_clip
from database.builtin.performance import demo_performance
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.read import read_clip
from database.rotations import Floats, matrix_from_rotvec

HIDE_S = 0.5  # a marker hidden on purpose stays so this long
DEMO = "demo"  # the built-in round of everything, by a performer whom no database holds
MOTION_FILES = (".bvh", ".amc")


@dataclass(frozen=True, slots=True)
class Performer:
    """A motion in the rig's world, ready to be asked for any moment.

    clip: with the T-pose in front; quaternions: of each joint's charted rotation, neighbours in one hemisphere,
    (N, J, 4) xyzw; markers: the set worn; offset_m: where it is really worn, joint frame, (M, 3) [m]; body: with props;
    stage_rotation, stage_translation: scene frame to world, (3, 3) and (3,) [m].
    """

    scene: SimulatedScene
    rig: Rig
    clip: Clip
    quaternions: Floats
    markers: MarkerSet
    offset_m: Floats
    body: Body
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
        """From the middle of the motion to the middle between the cameras, along the floor."""
        cameras = [self.camera_on_stage(camera).center_m for camera in self.rig.cameras]
        return float(np.hypot(*(0.5 * (cameras[0] + cameras[1]))[[0, 2]]))

    def poses_at(self, seconds: Floats) -> tuple[Floats, Floats]:
        """Give rotvec (S, J, 3) [rad] and root (S, 3) [m] at any moments, (S,) [s]: slerp between poses, ends held."""
        place = np.clip((np.asarray(seconds, float) - self.scene.empty_s) * self.clip.fps, 0.0, self.clip.n_frames - 1)
        first = np.minimum(place.astype(np.int64), max(self.clip.n_frames - 2, 0))
        second = np.minimum(first + 1, self.clip.n_frames - 1)
        u = (place - first)[:, None]
        rotvec = slerped(self.quaternions[first], self.quaternions[second], u)
        return rotvec, (1.0 - u) * self.clip.root_m[first] + u * self.clip.root_m[second]

    def joints_at(self, seconds: Floats) -> tuple[Floats, Floats]:
        """Give orientations (S, J, 3, 3) and positions (S, J, 3) [m] of the joints, world."""
        return forward(self.clip.skeleton, *self.poses_at(seconds))

    def markers_of(self, G: Floats, p: Floats) -> Floats:
        """Give marker centres (S, M, 3) [m] from the joints' orientations and positions."""
        joint = self.markers.joint
        return np.asarray(p[:, joint] + np.einsum("smij,mj->smi", G[:, joint], self.offset_m))

    def hidden_at(self, seconds: float) -> NDArray[np.bool_]:
        """Give which markers are hidden on purpose, (M,): as many as `occlude` says, others every half second; all while away."""
        if seconds < self.scene.empty_s:
            return np.ones(len(self.markers), bool)
        hidden = np.zeros(len(self.markers), bool)
        if self.scene.occlude > 0.0 and seconds >= self.tpose_s[1]:
            count = max(round(self.scene.occlude * len(hidden)), 1)
            turn = int(seconds / HIDE_S)
            hidden[np.random.default_rng((self.scene.seed, turn, 23)).permutation(len(hidden))[:count]] = True
        return hidden

    def camera_on_stage(self, camera: Camera) -> Camera:
        """Give a camera in the scene's frame."""
        R, t = self.stage_rotation, self.stage_translation
        return replace(camera, rotation=camera.rotation @ R, translation=camera.rotation @ t + camera.translation)


def load_motion(scene: SimulatedScene) -> Clip:
    """Give the motion a scene names: a BVH or AMC file, else a built-in motion or `demo`.

    Raises FileFormatError: no such file or built-in motion.
    """
    path = Path(scene.motion)
    if path.suffix.lower() in MOTION_FILES or path.exists():
        return read_clip(path)
    if scene.motion == DEMO:
        return demo_performance(seconds=scene.start_s + scene.seconds if scene.seconds > 0 else None)
    return builtin_clip(scene.motion, None, 60.0, scene.seed, **scene.parameters)


def performer_from_scene(scene: SimulatedScene, clip: Clip | None = None) -> Performer:
    """Put a motion on the stage, dress the performer, place the cameras.

    clip: instead of the one the scene names. Raises FileFormatError, CalibrationError: no motion, marker set or rig,
    a motion that does not fit into the view.
    """
    markers = read_marker_set(scene.markers)
    clip = _part(load_motion(scene) if clip is None else clip, scene)
    body = body_of(clip.skeleton)
    radius_m = 0.0005 * scene.marker_mm
    offset_m = worn_offsets(clip.skeleton, body, markers, radius_m, 0.001 * scene.placement_mm, scene.seed)
    clip = with_tpose(on_stage(clip, body, math.radians(scene.turn_deg)), body, scene.tpose_s)
    body = with_props(clip.skeleton, body, markers, offset_m, radius_m)
    rig, R, t = _rig_and_stage(scene, extent(clip))
    clip = moved(clip, R, t)
    return Performer(scene, rig, clip, continuous(matrix_from_rotvec(clip.rotvec)), markers, offset_m, body, R, t)


def _part(clip: Clip, scene: SimulatedScene) -> Clip:
    """Cut out what the scene asks for."""
    start = round(scene.start_s * clip.fps)
    stop = min(clip.n_frames, start + round(scene.seconds * clip.fps) + 1) if scene.seconds > 0 else clip.n_frames
    if stop - start < 2:
        raise FileFormatError(
            f"{clip.name} lasts {clip.seconds:.2f} s, too short to begin at {scene.start_s:g} s; give a smaller --start"
        )
    return clip_slice(clip, start, stop)


def _rig_and_stage(scene: SimulatedScene, points_m: Floats) -> tuple[Rig, Floats, Floats]:
    """Give the rig and the stage's place in its world."""
    if scene.rig:
        rig = read_rig(scene.rig)
        return rig, *stage_before(rig, points_m, scene.distance_m)
    placed = (scene.size, scene.fov_deg)
    distance_m = scene.distance_m or distance_in_view(*placed, scene.baseline_m, scene.camera_height_m, points_m)
    return facing_rig(*placed, distance_m, scene.baseline_m, scene.camera_height_m), np.eye(3), np.zeros(3)
