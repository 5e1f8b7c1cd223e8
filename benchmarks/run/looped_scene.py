"""A rendered performance that ends as it begins, so that it can be played for hours without a jump."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.formats.rig_toml import write_rig_toml
from calibration.subject.subject import write_subject
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.simulated.performer import Performer, align_quaternion_signs, make_scene_performer
from config.arrays import Floats
from config.settings import Settings
from database.builtin import make_demo_performance
from database.clips import Clip
from database.geometry.rotations import matrix_from_rotvec
from tests.support.cameras.mjpeg import encoded
from tools.demo.demo import SCENE, calibrate_demo_subject

BEGIN_S, REACH_S = 2.0, 3.0  # of the demo: from the T-pose into the first moves, and back
SKEW_S = 0.005  # by which the right camera is later, as one that is not synchronised


@dataclass(frozen=True, slots=True)
class LoopedScene:
    """The cameras' images of one round, (V,) tuples, and the files a run needs; performer: who goes round."""

    jpegs: tuple[tuple[bytes, ...], ...]
    rig: Path
    subject: Path
    fps: float
    performer: Performer

    @property
    def round_s(self) -> float:
        """Duration of a round."""
        return len(self.jpegs[0]) / self.fps

    def joints_at(self, seconds: Floats) -> Floats:
        """Return where the joints are so long after the begin of a round, (N,) -> (N, J, 3) [m]."""
        return self.performer.joints_at(np.mod(seconds, self.round_s))[1]


def build_looped_scene(
    size: tuple[int, int], database: Path, folder: Path, reach_s: float = REACH_S, n_views: int = 2, every: int = 1
) -> LoopedScene:
    """Calibrate the performer, draw a round and write the files into a folder.

    Args:
        size: of the images [px].
        database: the motion database.
        folder: where files are written.
        reach_s: seconds of the performance.
        n_views: cameras.
        every: of the scene's frames only each so many is shown.
    """
    scene = replace(SCENE, width_px=size[0], height_px=size[1], skew_ms=1e3 * SKEW_S, views=n_views)
    performer = make_scene_performer(scene, make_demo_performance(scene.fps, BEGIN_S + reach_s + 1.0))
    subject = calibrate_demo_subject(performer, database, Settings())
    rig, person = folder / "rig.toml", folder / "subject.toml"
    write_rig_toml(rig, performer.rig)
    write_subject(person, subject)
    going = _build_round_trip(performer, reach_s)
    n_frames = (going.clip.n_frames - 2) // every * every
    cameras = [SimulatedCamera(scene, camera, going) for camera in range(n_views)]
    jpegs = tuple(tuple(encoded(camera.frame_at(k).image) for k in range(0, n_frames, every)) for camera in cameras)
    return LoopedScene(jpegs, rig, person, scene.fps / every, going)


def _build_round_trip(performer: Performer, reach_s: float) -> Performer:
    """Return the performer going forth and back, slow at the ends and never faster than the motion; two poses more."""
    fps = performer.scene.fps
    n_frames = round(np.pi * reach_s * fps)
    phase = 2.0 * np.pi * np.arange(n_frames + 2) / n_frames
    rotvec, root = performer.poses_at(BEGIN_S + 0.5 * reach_s * (1.0 - np.cos(phase)))
    clip = Clip("round", performer.clip.skeleton, fps, np.ascontiguousarray(rotvec), np.ascontiguousarray(root))
    return replace(performer, clip=clip, quaternions=align_quaternion_signs(matrix_from_rotvec(clip.rotvec)))
