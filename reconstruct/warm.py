"""Views and markers of the T-pose, to run every kernel once before a process says that it is ready."""

from dataclasses import replace

import numpy as np

from calibration.camera import Rig
from calibration.subject import Subject
from capture.packets import Blobs, Floats, MarkerFrame, PairedBlobs, lone_pair
from config.joints import N_JOINTS
from database.kinematics import charted, local_markers
from database.rotations import rotation_between
from reconstruct.estimator import Estimator
from reconstruct.fill_in import Filler
from reconstruct.fill_in_style import warm_style_model
from reconstruct.history import History, Moment
from reconstruct.local_model import DOFS
from reconstruct.pose_model import Guess, Seen

FRAME_NS = 16_666_667


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


def warm_estimator(estimator: Estimator, rig: Rig, filling: bool = True) -> None:
    """Solve the T-pose from both views, the next frame, one view alone, and with filling in; look for likelier labels; forget."""
    axis = rig.left.rotation[2] + rig.right.rotation[2]
    place = 0.5 * (rig.left.center_m + rig.right.center_m) + 3.0 * axis / np.linalg.norm(axis)
    moment = Moment(0, charted(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3))), rotation_between([0.0, 0.0, 1.0], -axis), place)
    frame = _frame(rig, estimator.world(moment))
    estimator.history = History()
    for k in range(3):
        estimate = estimator.estimate(replace(frame, t_capture_ns=k * FRAME_NS), moment if k == 0 else None)
        if estimate is not None:
            estimator.accept(estimate)
            root = (estimate.moment.rotation, estimate.moment.position_m)
            unlike = replace(frame, point_m=frame.point_m[::-1])
            estimator.may_be_likelier(unlike, frame, root, estimate.near.rows, (0, 1))
            estimator.likelier(frame, frame, root)
    nowhere = np.zeros(len(frame.valid), bool)
    estimator.estimate(replace(frame, t_capture_ns=3 * FRAME_NS, valid=nowhere, seen=np.stack([~nowhere, nowhere])))
    if filling:
        _warm_filling(estimator, frame, moment)
    estimator.history = History()


class _Anything:
    """A pose model that says next to nothing."""

    def guess(self, seen: Seen, rehearsal: bool = False) -> Guess:
        """Expect the pose there is."""
        return Guess(seen.pose.joints[1:].ravel(), 1e-3 * np.eye(DOFS), 0.0)

    def accept(self, moment: Moment) -> None:
        """Remember nothing."""

    def forget(self) -> None:
        """There is nothing to forget."""


def _warm_filling(estimator: Estimator, frame: MarkerFrame, moment: Moment) -> None:
    """Solve the T-pose, rehearse, and solve it with a marker missing that is filled in; find a style's x."""
    warm_style_model()
    used, estimator.filler = estimator.filler, Filler(_Anything(), estimator.subject, every_frames=1)
    estimator.history = History()
    shown = np.arange(len(frame.valid)) > 0
    for k, seen in enumerate((shown | True, shown, shown)):
        now = replace(frame, t_capture_ns=k * FRAME_NS, valid=seen, seen=np.stack([seen, seen]))
        estimate = estimator.estimate(now, moment if k == 0 else None)
        if estimate is not None:
            estimator.accept(estimate)
    estimator.filler = used


def _frame(rig: Rig, marker_m: Floats) -> MarkerFrame:
    """Give a frame in which both views show all markers, (M, 3) [m]."""
    n = len(marker_m)
    image_px = np.stack([np.nan_to_num(camera.project(marker_m)) for camera in rig.cameras])
    covariance_m2, shown = np.tile(1e-5 * np.eye(3), (n, 1, 1)), np.ones(n, bool)
    seen, sigma_px = np.ones((2, n), bool), np.full((2, n), 0.3)
    return MarkerFrame(0, 0, 0, shown, marker_m, covariance_m2, seen, image_px, sigma_px, np.zeros(n), np.zeros((0, 3)))


def _blobs(camera: int, points_px: Floats) -> Blobs:
    """Give well-seen blobs at image points."""
    points = points_px[np.isfinite(points_px).all(axis=1)]
    n = len(points)
    return Blobs(camera, 0, 0, points, np.full(n, 20.0), np.full((n, 3), 200.0), np.full(n, 0.3))
