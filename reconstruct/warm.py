"""A pair of views of the T-pose, to run every kernel once before a process says that it is ready."""

import numpy as np

from calibration.camera import Rig
from calibration.subject import Subject
from capture.packets import Blobs, Floats, PairedBlobs, lone_pair
from config.joints import N_JOINTS
from database.kinematics import charted, local_markers
from database.rotations import rotation_between


def tpose_pair(rig: Rig, subject: Subject) -> PairedBlobs:
    """Project the subject's T-pose, 3 m in front of the cameras and facing them, to blobs."""
    joints = charted(np.broadcast_to(np.eye(3), (1, N_JOINTS, 3, 3)))
    local = local_markers(subject.skeleton, joints, subject.joint, subject.offset_m)[0]
    left, right = rig.cameras
    axis = left.rotation[2] + right.rotation[2]
    middle = 0.5 * (left.center_m + right.center_m) + 3.0 * axis / np.linalg.norm(axis)
    world = local @ rotation_between([0.0, 0.0, 1.0], -axis).T + middle
    pair = PairedBlobs(_blobs(0, left.project(world)), _blobs(1, right.project(world)))
    return lone_pair(pair.left) if rig.is_lone else pair


def _blobs(camera: int, points_px: Floats) -> Blobs:
    """Give well-seen blobs at image points."""
    points = points_px[np.isfinite(points_px).all(axis=1)]
    n = len(points)
    return Blobs(camera, 0, 0, points, np.full(n, 20.0), np.full((n, 3), 200.0), np.full(n, 0.3))
