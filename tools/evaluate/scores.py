"""Errors of reconstructed poses against the truth: positions, joint angles, labels."""

from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats
from config.joints import JOINTS
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import compute_geodesic_rad

WRONG_M = 0.08  # a label is wrong on a point farther than this from its marker
MIN_SPREAD_DEG = 0.5  # components that spread less in the truth are no degree of freedom of their joint


def position_errors_mm(estimated_m: Floats, true_m: Floats) -> Floats:
    """Return the distance of every joint from its true position, (N, J, 3) [m] twice -> (N, J) [mm]."""
    return np.asarray(1e3 * np.linalg.norm(estimated_m - true_m, axis=-1))


def angle_errors_deg(estimated: Floats, true: Floats) -> Floats:
    """Return the absolute errors of the rotation vectors of all joints but the root, (N, J, 3) [rad] -> (N, J - 1, 3) [deg].

    r and r - 2 pi r / |r| are the same rotation; of the estimate's two forms the one nearer to the truth is taken.
    """
    e, t = estimated[:, 1:], true[:, 1:]
    angle = np.linalg.norm(e, axis=-1, keepdims=True)
    twin = e * (1.0 - 2.0 * np.pi / np.maximum(angle, 1e-9))
    nearer = np.linalg.norm(twin - t, axis=-1, keepdims=True) < np.linalg.norm(e - t, axis=-1, keepdims=True)
    return np.asarray(np.degrees(np.abs(np.where(nearer & (angle > 1e-6), twin, e) - t)))


def moving_angles(rotvec: Floats) -> Bools:
    """Return which rotation-vector components of the joints but the root move, (N, J, 3) [rad] -> (J - 1, 3).

    A hinge has one angle, not three: counting components that never move would lower the mean error.
    """
    return np.asarray(np.degrees(rotvec[:, 1:].std(axis=0)) > MIN_SPREAD_DEG)


def geodesic_errors_deg(estimated: Floats, true: Floats) -> Floats:
    """Return the angle between estimated and true rotation of all joints but the root, (N, J, 3) [rad] -> (N, J - 1) [deg]."""
    return np.degrees(compute_geodesic_rad(local_from_charted(estimated)[:, 1:], local_from_charted(true)[:, 1:]))


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """Labels of one frame against the truth, all (M,) bool.

    Attributes:
        seen: labelled in two views, or the only one.
        wrong: labelled in a view, far from the marker's image there.
        shown: visible to two cameras, or the only one.
    """

    seen: Bools
    wrong: Bools
    shown: Bools


def check_labels(frame: MarkerFrame, rig: Rig, true_m: Floats, shown: Bools) -> LabelCheck:
    """Compare the labels of a frame with the markers' true positions, (M, 3) [m]; shown: as in the result, (M,).

    Distances are measured across the ray, in each view at the marker's depth: along the ray, two cameras side by side may be
    wrong by the distance of two markers although all labels are right.
    """
    wrong = np.zeros(len(true_m), bool)
    for camera, seen, image_px in zip(rig.cameras, frame.seen, frame.image_px, strict=True):
        across_m = np.linalg.norm(image_px - camera.project(true_m), axis=1) * camera.to_camera(true_m)[:, 2] / camera.focal_px
        wrong |= seen & (across_m > WRONG_M)
    return LabelCheck(frame.seen[0] if rig.is_monocular else frame.valid, wrong, shown)


@dataclass(frozen=True, slots=True)
class PoseScore:
    """Scores of one run.

    Attributes:
        frames: number scored.
        tracked: share of them in state tracking.
        position_mm, angle_deg, geodesic_deg: mean and p95 over the tracked frames.
        all_position_mm: mean over all frames, coasting ones included.
        in_view: share of markers that every camera sees.
        labelled: share of markers labelled in every view.
        wrong_frames: share of frames with a wrong label.
        by_joint_mm, by_joint_deg: mean of each joint.
        by_marker_wrong: share of frames in which the marker's label is wrong.
    """

    frames: int
    tracked: float
    position_mm: tuple[float, float]
    angle_deg: tuple[float, float]
    geodesic_deg: tuple[float, float]
    all_position_mm: float
    in_view: float
    labelled: float
    wrong_frames: float
    by_joint_mm: dict[str, float]
    by_joint_deg: dict[str, float]
    by_marker_wrong: dict[str, float]


@dataclass(frozen=True, slots=True)
class ScoredMotion:
    """Poses of one skeleton: rotvec (N, J, 3) charted [rad] and joint_m (N, J, 3) [m], world."""

    rotvec: Floats
    joint_m: Floats


def score(
    estimated: ScoredMotion, true: ScoredMotion, tracked: Bools, labels: list[LabelCheck], markers: tuple[str, ...]
) -> PoseScore:
    """Score N frames. tracked: (N,); labels: one a frame; without a tracked frame the errors are NaN."""
    position = position_errors_mm(estimated.joint_m, true.joint_m)
    angle = angle_errors_deg(estimated.rotvec, true.rotvec)[:, moving_angles(true.rotvec)]
    geodesic = geodesic_errors_deg(estimated.rotvec, true.rotvec)
    wrong = np.array([check.wrong for check in labels])
    return PoseScore(
        len(tracked),
        float(tracked.mean()),
        _mean_p95(position[tracked]),
        _mean_p95(angle[tracked]),
        _mean_p95(geodesic[tracked]),
        float(position.mean()),
        float(np.mean([check.shown for check in labels])),
        float(np.mean([check.seen for check in labels])),
        float(wrong.any(axis=1).mean()),
        _named(JOINTS, position[tracked]),
        _named(JOINTS[1:], geodesic[tracked]),
        _named(markers, wrong.astype(float)),
    )


def _mean_p95(values: Floats) -> tuple[float, float]:
    """Return mean and 95th percentile of all values."""
    return (float(values.mean()), float(np.percentile(values, 95))) if values.size else (float("nan"), float("nan"))


def _named(names: tuple[str, ...], values: Floats) -> dict[str, float]:
    """Return the mean of each column by name."""
    return {name: float(values[:, k].mean()) for k, name in enumerate(names)} if len(values) else {}
