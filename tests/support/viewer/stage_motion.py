"""The demo's performer as messages of the stream, with the truth in place of an estimate, for tests of the viewer."""

from dataclasses import replace
from functools import cache

import numpy as np

from calibration.subject.subject import Subject
from capture.sources.simulated.performer import Performer
from database.contacts import CONTACT_JOINTS
from reconstruct.pose import JointSource, Pose, TrackingState
from stream.protocol.compose import compose_pose_message, compose_rig_message, compose_skeleton_message
from stream.protocol.messages import PoseMessage, RigMessage, SkeletonMessage
from tools.demo.demo import stage_demo

FPS = 60


@cache
def performer(seconds: float = 20.0) -> Performer:
    """Return the demo's performer."""
    return stage_demo(seconds)


def skeleton_and_rig(person: Performer) -> tuple[SkeletonMessage, RigMessage]:
    """Return what the stream says of a performer and the cameras."""
    n_markers = len(person.markers)
    subject = Subject("truth", person.clip.skeleton, person.markers, person.offset_m, np.zeros(n_markers))
    return compose_skeleton_message(subject), compose_rig_message(person.rig, "truth")


def poses_of(person: Performer, first_s: float, seconds: float) -> list[PoseMessage]:
    """Return the poses of a part of the performance; every fourth marker is seen by one camera, every seventh by none."""
    skeleton, _ = skeleton_and_rig(person)
    times_s = first_s + np.arange(round(seconds * FPS)) / FPS
    rotvec, root_m = person.poses_at(times_s)
    markers_m = person.markers_of(*person.joints_at(times_s))
    n_markers, n_joints = len(person.markers), rotvec.shape[1]
    seen = np.ones((2, n_markers), bool)
    seen[1, ::4] = False
    seen[:, 3::7] = False
    source = np.where(np.arange(n_joints) % 5 == 4, JointSource.INFERRED, JointSource.MEASURED).astype(np.uint8)
    messages = []
    for n, t_s in enumerate(times_s):
        pose = Pose(
            index=n,
            t_capture_ns=round(t_s * 1e9),
            skew_ns=0,
            state=TrackingState.TRACKING,
            rotvec=rotvec[n],
            root_m=root_m[n],
            joint_source=source,
            confidence=np.linspace(0.3, 1.0, n_joints),
            marker_m=markers_m[n],
            measured=seen.all(axis=0),
            residual_m=np.zeros(n_markers),
            seen=seen,
            residual_px=np.zeros((2, n_markers)),
            latency_ns={},
            contacts=np.arange(len(CONTACT_JOINTS)) < 2,
            point_m=markers_m[n] + 0.01,
        )
        messages.append(compose_pose_message(pose, skeleton, "truth", n, 0))
    return messages


def as_state(pose: PoseMessage, state: TrackingState) -> PoseMessage:
    """Return a pose in another state."""
    return replace(pose, state=state)
