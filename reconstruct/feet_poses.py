"""Contacts and held feet of poses as they leave reconstruction: what `reconstruct.feet` needs, taken from the packet."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from config.settings import FeetSettings
from database.contacts import database_contacts
from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec
from database.store import PoseDatabase
from reconstruct.contacts import N_POINTS, Bools, label_share
from reconstruct.examples import PoseTable
from reconstruct.feet import FOOT_JOINTS, FeetLock, Floor, known_floor
from reconstruct.feet_leg import leg_to
from reconstruct.pose import Pose, State

UNKNOWN = np.full(N_POINTS, np.nan)
UNKNOWN.setflags(write=False)


class PoseFeet:
    """The feet of one subject's poses, as they come.

    labels: contacts of the database's poses, (N, 4) (`database.contacts`), None where they are unknown; floor: where it is known.
    """

    def __init__(
        self, subject: Subject, labels: NDArray[np.uint8] | None, settings: FeetSettings, floor: Floor | None = None
    ) -> None:
        self._subject, self._labels = subject, labels
        self._lock = FeetLock(subject.skeleton, settings, floor)

    def forget(self) -> None:
        """Start anew with the next pose."""
        self._lock.forget()

    def warm(self, pose: Pose) -> None:
        """Turn both legs of a pose once, to compile what that takes."""
        _, joints = forward(self._subject.skeleton, pose.rotvec, pose.root_m)
        hips = (matrix_from_rotvec(pose.rotvec[0]), pose.root_m)
        for side, points in enumerate(FOOT_JOINTS):
            leg_to(self._subject.skeleton, pose.rotvec, hips, side, joints[list(points)] + 0.01)

    def step(self, pose: Pose, rows: NDArray[Any] | None = None, weights: Floats | None = None) -> Pose:
        """Give the pose with its contacts, and its feet and their markers where they are held.

        rows: the pose's nearest poses in the database, (K,); weights: theirs, (K,), default alike. Residuals stay what the solver
        left. While the performer is lost there are no contacts.
        """
        if pose.state is State.LOST:
            self.forget()
            return replace(pose, contacts=np.zeros(N_POINTS, bool))
        share = UNKNOWN
        if rows is not None and self._labels is not None:
            share = label_share(self._labels, rows, np.ones(len(rows)) if weights is None else weights)
        step = self._lock.step(pose.t_capture_ns, pose.rotvec, pose.root_m, share, feet_in_sight(self._subject, pose.seen))
        if step.rotvec is pose.rotvec:
            return replace(pose, contacts=step.touching)
        marker_m = markers_in_world(self._subject, step.rotvec, pose.root_m)
        return replace(pose, rotvec=step.rotvec, marker_m=marker_m, contacts=step.touching)


def pose_feet(subject: Subject, table: PoseTable, settings: FeetSettings, floor_known: bool) -> PoseFeet:
    """Give the feet of a subject for a database; poses without clips' floors and skeletons have no labels.

    floor_known: the world has Y up and its floor at 0.
    """
    labels = database_contacts(table) if isinstance(table, PoseDatabase) else None
    return PoseFeet(subject, labels, settings, known_floor() if floor_known else None)


def feet_in_sight(subject: Subject, seen: Bools) -> Bools:
    """Tell whether a camera saw a marker of the left and the right foot, (2,): seen (2, M)."""
    shown = subject.joint[seen.any(axis=0)]
    return np.array([np.isin(shown, joints).any() for joints in FOOT_JOINTS])


def markers_in_world(subject: Subject, rotvec: Floats, root_m: Floats) -> Floats:
    """Give every marker of a pose, (M, 3) [m]: rotvec (J, 3) [rad], root_m (3,) [m]."""
    G, p = forward(subject.skeleton, rotvec, root_m)
    return np.asarray(p[subject.joint] + np.einsum("mij,mj->mi", G[subject.joint], subject.offset_m))
