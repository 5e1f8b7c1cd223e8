"""The pose packet: a solved or held pose with what it is made of, joint by joint and marker by marker."""

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from calibration.subject import Subject
from capture.packets import Bools, Floats, MarkerFrame
from config.joints import N_JOINTS, PARENTS
from database.rotations import rotvec_from_matrix
from reconstruct.history import Moment
from reconstruct.pose import JointSource, Pose, State

FAR_M = 0.1  # a marker so far from its point halves the confidence of the joints it moves with
BOTH, ONE, INFERRED, COASTING = 0.9, 0.7, 0.5, 0.2  # confidence; one camera alone knows little of a joint's depth


def pose_packet(
    frame: MarkerFrame,
    state: State,
    moment: Moment,
    marker_m: Floats,
    rig: Rig,
    subject: Subject,
    sigma_m: Floats | None = None,
) -> Pose:
    """Build the packet of a frame.

    frame: the markers that were used; moment: the pose; marker_m: the markers as it has them, (M, 3) [m] world; sigma_m: how sure
    these places are where they were filled in, (M,) [m], or None.
    """
    rotvec = moment.joints.copy()
    rotvec[0] = rotvec_from_matrix(moment.rotation)
    residual_m = np.where(frame.valid, np.linalg.norm(marker_m - frame.point_m, axis=1), 0.0)
    source, confidence = provenance(frame, state, subject, residual_m, sigma_m)
    residual_px = np.zeros(frame.seen.shape)
    for c, camera in enumerate(rig.cameras):
        error = np.linalg.norm(camera.project(marker_m) - frame.image_px[c], axis=1)
        residual_px[c] = np.where(frame.seen[c] & np.isfinite(error), error, 0.0)
    return Pose(
        frame.index,
        frame.t_capture_ns,
        frame.skew_ns,
        state,
        rotvec,
        moment.position_m,
        source,
        confidence,
        marker_m,
        frame.valid,
        residual_m,
        frame.seen,
        residual_px,
        {},
        point_m=frame.point_m,
    )


def provenance(
    frame: MarkerFrame, state: State, subject: Subject, residual_m: Floats, sigma_m: Floats | None = None
) -> tuple[NDArray[np.uint8], Floats]:
    """Give where each joint's rotation comes from, JointSource (J,), and how far to believe it, 0..1, (J,).

    residual_m: how far every marker of the pose is from its point, (M,); where all are far, the unmeasured joints suffer too;
    sigma_m: how sure the pose is of a missing marker, (M,) [m]: joints that it would have measured are believed accordingly.
    """
    if state is not State.TRACKING:
        held = np.full(N_JOINTS, JointSource.HELD, np.uint8)
        return held, np.full(N_JOINTS, COASTING if state is State.COASTING else 0.0)
    measured = measured_joints(np.asarray(frame.seen.any(axis=0)), subject)
    source = np.where(measured, JointSource.MEASURED, JointSource.INFERRED).astype(np.uint8)
    confidence = np.where(measured, ONE, INFERRED)
    confidence[measured_joints(frame.valid, subject)] = BOTH
    if sigma_m is not None:
        for m in np.flatnonzero(~frame.seen.any(axis=0)):
            guessed = measured_joints(np.arange(len(frame.valid)) == m, subject) & ~measured
            confidence[guessed] = np.minimum(confidence[guessed], INFERRED / (1.0 + (sigma_m[m] / FAR_M) ** 2))
    if frame.valid.any():
        worst_m = np.full(N_JOINTS, np.median(residual_m[frame.valid]))
        for m in np.flatnonzero(frame.valid):
            joints = measured_joints(np.arange(len(frame.valid)) == m, subject)
            worst_m[joints] = np.maximum(worst_m[joints], residual_m[m])
        confidence = np.maximum(confidence / (1.0 + (worst_m / FAR_M) ** 2), COASTING)
    return source, confidence


def measured_joints(seen: Bools, subject: Subject) -> Bools:
    """Tell which joints carry one of the markers seen, (M,), or lead to one that does, (J,)."""
    result = np.zeros(N_JOINTS, bool)
    for joint in subject.joint[seen]:
        result[joint] = True
        if PARENTS[joint] >= 0:
            result[PARENTS[joint]] = True
    return result
