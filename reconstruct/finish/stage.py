"""The last stage of the pipeline: poses are filtered, limbs nobody sees are smoothed, feet held, before they are published.

The estimator continues from its own poses; only what leaves the pipeline is changed.
"""

from dataclasses import replace

import numpy as np

from calibration.subject.subject import Subject
from calibration.world import BALL_M
from config.arrays import Bools, Bytes, Floats, Ints
from config.joints import N_JOINTS, mirror_joint_name
from config.settings import FeetSettings, Settings
from database.contacts import CONTACT_JOINTS, label_database_contacts
from database.geometry.kinematics import compute_forward_kinematics, compute_world_markers
from database.geometry.rotations import matrix_from_rotvec
from database.store import PoseDatabase
from reconstruct.finish.contacts import N_POINTS, compute_contact_share
from reconstruct.finish.foot_lock import FOOT_JOINTS, FeetLock
from reconstruct.finish.leg import solve_leg
from reconstruct.finish.output_filter import OutputFilter
from reconstruct.finish.unseen_limbs import UnseenChains
from reconstruct.pose import Pose, TrackingState
from reconstruct.search.examples import PoseTable, is_mirrored

UNKNOWN = np.full(N_POINTS, np.nan)
UNKNOWN.setflags(write=False)
OTHER_FOOT = [CONTACT_JOINTS.index(mirror_joint_name(name)) for name in CONTACT_JOINTS]  # contacts of a mirror image


class PoseFeet:
    """The feet of one subject's poses in their order.

    labels: contacts of the database's poses, (N, 4) (`database.contacts`), or None.
    """

    def __init__(self, subject: Subject, labels: Bytes | None, settings: FeetSettings) -> None:
        self._subject, self._labels = subject, labels
        self._lock = FeetLock(subject.skeleton, settings, BALL_M)

    def forget(self) -> None:
        """Start again with the next pose."""
        self._lock.forget()

    def warm(self, pose: Pose) -> None:
        """Compile the kernels of the legs."""
        _, joints = compute_forward_kinematics(self._subject.skeleton, pose.rotvec, pose.root_m)
        rotation = matrix_from_rotvec(pose.rotvec[0])
        for side, points in enumerate(FOOT_JOINTS):
            solve_leg(self._subject.skeleton, pose.rotvec, rotation, pose.root_m, side, joints[list(points)] + 0.01)

    def step(self, pose: Pose, rows: Ints | None = None, weights: Floats | None = None) -> Pose:
        """Return the pose with its contacts, its feet held where they are in contact, and its markers accordingly.

        Residuals stay those of the solver. While the performer is lost there are no contacts.

        Args:
            pose: the pose as solved.
            rows: the pose's nearest poses in the database, (K,).
            weights: theirs, (K,), equal if None.
        """
        if pose.state is TrackingState.LOST:
            self.forget()
            return replace(pose, contacts=np.zeros(N_POINTS, bool))
        share = UNKNOWN
        if rows is not None and self._labels is not None:
            share = compute_contact_share(self._labels, rows, np.ones(len(rows)) if weights is None else weights)
        subject = self._subject
        step = self._lock.step(pose.t_capture_ns, pose.rotvec, pose.root_m, share, find_seen_feet(subject, pose.seen))
        marker_m = compute_world_markers(subject.skeleton, step.rotvec, pose.root_m, subject.joint, subject.offset_m)
        return replace(pose, rotvec=step.rotvec, marker_m=marker_m, contacts=step.contact)


def build_pose_feet(subject: Subject, table: PoseTable, settings: FeetSettings) -> PoseFeet:
    """Return the feet of a subject.

    Args:
        subject: the performer.
        table: the known poses; only a `PoseDatabase` has labels of contacts.
        settings: thresholds of contacts.
    """
    labels = label_database_contacts(table) if isinstance(table, PoseDatabase) else None
    if labels is not None and is_mirrored(table):
        labels = np.concatenate([labels, labels[:, OTHER_FOOT]])
    return PoseFeet(subject, labels, settings)


def find_seen_feet(subject: Subject, seen: Bools) -> Bools:
    """Return whether a camera saw a marker of the left and the right foot, (2,): seen (V, M)."""
    shown = np.zeros(N_JOINTS, bool)
    shown[subject.joint[seen.any(axis=0)]] = True
    of_foot = shown[FOOT_JOINTS]
    return of_foot[:, 0] | of_foot[:, 1]


class Finish:
    """Filters the poses of one subject, smooths chains without a marker, holds feet; by the settings `filter` and `feet`."""

    def __init__(self, subject: Subject, table: PoseTable, settings: Settings) -> None:
        self._filter = OutputFilter(settings.filter, subject)
        self._unseen = UnseenChains(subject, table)
        self._feet = build_pose_feet(subject, table, settings.feet)

    def forget(self) -> None:
        """Start again with the next pose."""
        self._filter.forget()
        self._unseen.forget()
        self._feet.forget()

    def warm(self, pose: Pose) -> None:
        """Compile all kernels; to be followed by `forget`."""
        self._filter.warm(pose)
        self._unseen.warm()
        self.step(pose, None, None)
        self._feet.warm(pose)

    def step(self, pose: Pose, rows: Ints | None, weights: Floats | None) -> Pose:
        """Finish one pose.

        Args:
            pose: the pose as solved.
            rows: rows of its nearest poses in the database, (K,), or None.
            weights: weights of these, (K,); None for equal ones.
        """
        pose = self._unseen.step(self._filter.step(pose), rows)
        if pose.state is not TrackingState.TRACKING:
            rows = weights = None
        return self._feet.step(pose, rows, weights)
