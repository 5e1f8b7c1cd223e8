"""Views and markers of the T-pose, to run every kernel once before a process says that it is ready."""

from dataclasses import replace
from functools import partial

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import Blobs, Landmarks, MarkerFrame, Views
from config.arrays import Floats
from config.landmarks import LANDMARKS
from config.markers import MarkerSet
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import rotation_between
from reconstruct.body_state import BodyState, build_tpose
from reconstruct.missing.fill_in import FillIn
from reconstruct.missing.pose_model import PartialFrame, PoseGaussian
from reconstruct.missing.style import compile_style_model
from reconstruct.models.local.model import DOFS
from reconstruct.track.estimator import Estimator

FRAME_NS = 16_666_667


def project_tpose(rig: Rig, subject: Subject) -> Views:
    """Project the subject's T-pose, 3 m in front of the cameras and facing them, to blobs."""
    local = compute_local_markers(subject.skeleton, build_tpose()[None], subject.joint, subject.offset_m)[0]
    world = local @ rotation_between([0.0, 0.0, 1.0], -rig.ahead).T + rig.middle_m + 3.0 * rig.ahead
    markers, views = subject.markers, []
    for c, camera in enumerate(rig.cameras):
        image_px = camera.project(world)
        views.append(_build_blobs(c, image_px[markers.worn]))
        if not markers.worn.all():
            views[c] = replace(views[c], landmarks=_build_landmarks(image_px, markers))
    return Views(tuple(views))


def repeat_views(views: Views, count: int) -> list[Views]:
    """Return views in so many moments that follow each other; one camera sees one blob more, which is of no marker."""
    stray = _build_blobs(0, np.ones((1, 2)))

    def later(k: int, camera: int, blobs: Blobs) -> Blobs:
        """Return the blobs of a camera in a moment."""
        if camera == 0:
            pairs = ((each.points_px, each.area_px, each.color_rgb, each.sigma_px) for each in (blobs, stray))
            points_px, area_px, color_rgb, sigma_px = map(np.concatenate, zip(*pairs, strict=True))
            blobs = replace(blobs, points_px=points_px, area_px=area_px, color_rgb=color_rgb, sigma_px=sigma_px)
        return replace(blobs, t_capture_ns=k * FRAME_NS)

    return [views.changed(partial(later, k)) for k in range(count)]


def warm_estimator(estimator: Estimator, rig: Rig, fills_in: bool) -> None:
    """Solve the T-pose from all views, the next frames, from one view, with a pose model; forget it.

    Args:
        estimator: estimator to warm.
        rig: the cameras, in the world.
        fills_in: whether a pose model is warmed too.
    """
    position_m = rig.middle_m + 3.0 * rig.ahead
    state = BodyState(0, build_tpose(), rotation_between([0.0, 0.0, 1.0], -rig.ahead), position_m)
    frame = _build_frame(rig, estimator.world(state))
    estimator.belief = None
    for k in range(3):
        estimate = estimator.estimate(replace(frame, t_capture_ns=k * FRAME_NS), state if k == 0 else None)
        if estimate is not None:
            estimator.accept(estimate)
    nowhere = np.zeros(len(frame.valid), bool)
    one = np.zeros(frame.seen.shape, bool)
    one[0] = True
    estimator.estimate(replace(frame, t_capture_ns=3 * FRAME_NS, valid=nowhere, seen=one))
    if fills_in:
        _warm_fill_in(estimator, frame, state)
    estimator.belief = None


class _VaguePoseModel:
    """A pose model that predicts next to nothing."""

    def predict(self, frame: PartialFrame, held_out: bool = False) -> PoseGaussian:
        """Predict the pose there is, with a large covariance."""
        return PoseGaussian(frame.state.joints[1:].ravel(), 1e-3 * np.eye(DOFS), 0.0)

    def accept(self, state: BodyState) -> None:
        """Do nothing."""

    def forget(self) -> None:
        """Do nothing."""


def _warm_fill_in(estimator: Estimator, frame: MarkerFrame, state: BodyState) -> None:
    """Solve the T-pose, check a pose model on hidden markers, solve with a marker missing; find a style's x."""
    compile_style_model()
    filler, estimator.filler = estimator.filler, FillIn({"any": _VaguePoseModel()}, estimator.subject, every_frames=1)
    estimator.belief = None
    shown = np.arange(len(frame.valid)) > 0
    for k, seen in enumerate((shown | True, shown, shown)):
        now = replace(frame, t_capture_ns=k * FRAME_NS, valid=seen, seen=np.broadcast_to(seen, frame.seen.shape).copy())
        estimate = estimator.estimate(now, state if k == 0 else None)
        if estimate is not None:
            estimator.accept(estimate)
    estimator.filler = filler


def _build_frame(rig: Rig, marker_m: Floats) -> MarkerFrame:
    """Return a frame in which all views show all markers, (M, 3) [m]."""
    n = len(marker_m)
    image_px = np.stack([np.nan_to_num(camera.project(marker_m)) for camera in rig.cameras])
    covariance_m2, shown = np.tile(1e-5 * np.eye(3), (n, 1, 1)), np.ones(n, bool)
    seen, sigma_px = np.ones((len(rig), n), bool), np.full((len(rig), n), 0.3)
    return MarkerFrame(0, 0, 0, shown, marker_m, covariance_m2, seen, image_px, sigma_px, np.zeros(n), np.zeros((0, 3)))


def _build_landmarks(image_px: Floats, markers: MarkerSet) -> Landmarks:
    """Return landmarks at the image points of markers, (M, 2), each of which is well seen."""
    px, score, which = np.zeros((len(LANDMARKS), 2)), np.zeros(len(LANDMARKS)), ~markers.worn
    px[markers.landmark[which]], score[markers.landmark[which]] = np.nan_to_num(image_px[which]), 1.0
    return Landmarks(px, score, 1.0)


def _build_blobs(camera: int, points_px: Floats) -> Blobs:
    """Return well-seen blobs at image points."""
    points = points_px[np.isfinite(points_px).all(axis=1)]
    n = len(points)
    return Blobs(camera, 0, 0, points, np.full(n, 20.0), np.full((n, 3), 200.0), np.full(n, 0.3))
