"""Poses by the local model (Chai & Hodgins 2005, sections 3 and 4): a Gaussian of the known poses that meet constraints best."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.constraints import Constraints
from reconstruct.models.local.gaussian import fit_local_gaussian
from reconstruct.models.local.model import LocalModel
from reconstruct.posing.fit import PoseResult, PoseStart, fit_pose
from reconstruct.posing.placement import PosePlacements, place_poses
from reconstruct.posing.protocol import FoundPose
from reconstruct.solve.limits import Limits, compute_limits

NEIGHBOURS = 100
BACKGROUND, FLOOR_RAD, SHRINKAGE = 0.1, 0.05, 0.2
MAX_POSES = 4_000
LIVE_POSES = 500  # that are searched while a handle is dragged


class LocalPoser:
    """Poses a skeleton among known poses, (N, J, 3) [rad]; many are thinned evenly."""

    def __init__(self, skeleton: Skeleton, poses: ArrayLike) -> None:
        every = np.asarray(poses)
        rows = np.unique(np.linspace(0, len(every) - 1, min(MAX_POSES, len(every))).round().astype(np.int64))
        self._poses = every[rows].astype(np.float64)
        self._live = self._poses[:: -(-len(self._poses) // LIVE_POSES)]
        self._skeleton = skeleton
        angles = self._poses[:, 1:].reshape(len(self._poses), -1)
        self._limits: Limits = compute_limits(angles.astype(np.float32))
        self._covariance = np.cov(angles.T) if len(angles) > 1 else np.eye(angles.shape[1])

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that is posed."""
        return self._skeleton

    def pose(self, constraints: Constraints, start: FoundPose | None = None) -> PoseResult:
        """Return the pose; from a start the solver goes on from there, among the neighbours of the constraints."""
        poses = self._poses if start is None else self._live
        near = place_poses(self._skeleton, poses, constraints)
        model = self._model(poses, near)
        best = PoseStart(poses[near.row[0]], near.rotation[0], near.root_m[0])
        begin = best if start is None else start_from_found(start)
        found = fit_pose(self._skeleton, model, self._limits, constraints, begin)
        return replace(found, variance=float(min(1.0, near.error2[0] / max(len(constraints.handles.joint), 1))))

    def _model(self, poses: Floats, near: PosePlacements) -> LocalModel:
        """Return the Gaussian of the nearest poses, nearer ones counting more."""
        rows, error2 = near.row[:NEIGHBOURS], near.error2[:NEIGHBOURS]
        weights = np.exp(-0.5 * (error2 - error2[0]))
        angles = poses[rows, 1:].reshape(len(rows), -1)
        background: Floats = BACKGROUND * self._covariance
        return fit_local_gaussian(angles, weights, background, floor_rad=FLOOR_RAD, shrinkage=SHRINKAGE)


def start_from_found(found: FoundPose) -> PoseStart:
    """Return where the solver starts from a pose that was found."""
    return PoseStart(found.rotvec.copy(), np.asarray(REFERENCE[0] @ matrix_from_rotvec(found.rotvec[0])), found.root_m.copy())
