"""A pose dictionary as a pose model (Lai et al. 2012): what it makes of the points that are known, as a Gaussian over the joints.

The solved pose's points are restored, each weighted by how well it is known: the joints' variances through its derivatives.
Where a point is not known, the dictionary alone says where it is. Gauss-Newton leads from the points to the joints.
"""

import numpy as np

from config.arrays import Floats
from database.geometry.kinematics import compute_markers_and_jacobian
from database.geometry.skeleton import Skeleton
from reconstruct.body_state import BodyState
from reconstruct.missing.pose_model import PartialFrame, PoseGaussian
from reconstruct.models.local.model import DOFS, FULL
from reconstruct.models.sparse.body import build_body_points
from reconstruct.models.sparse.dictionary import RestoreOptions, restore_poses
from reconstruct.models.sparse.model import PoseDictionary

FLOOR_M = 0.01  # standard deviation of a known coordinate, at least
MODEL_M = 0.03  # of a restored one
SEEN_M, UNKNOWN_M = 0.03, 0.1  # deviations below which a coordinate counts as seen, and above which as not known at all
LEVEL_RAD = 0.3  # standard deviation of the joints about the solved pose, for what the points leave open
N_NONZERO, N_CODES, STEPS = 6, 3, 2


class SparsePoseModel:
    """Predicts by a dictionary; has no past."""

    def __init__(self, model: PoseDictionary, skeleton: Skeleton) -> None:
        self._model, self._skeleton = model, skeleton
        self._points = build_body_points(skeleton)
        self._scale = skeleton.height_m / model.skeleton.height_m
        mean = model.dictionary.mean[None]
        restore_poses(
            model.dictionary, mean, None, RestoreOptions(N_NONZERO, FLOOR_M, N_CODES)
        )  # compiles, before any frame waits

    def predict(self, frame: PartialFrame, held_out: bool = False) -> PoseGaussian | None:
        """Return the Gaussian over the joints that the dictionary has for the points of a frame's pose."""
        joints = frame.state.joints.copy()
        joints[0] = 0.0
        points, J = self._linearised(joints)
        sigma = np.sqrt(J**2 @ frame.variance + FLOOR_M**2)
        weight = np.where(sigma < UNKNOWN_M, FLOOR_M / sigma, 0.0)
        options = RestoreOptions(N_NONZERO, FLOOR_M, N_CODES)
        near = restore_poses(self._model.dictionary, points[None] / self._scale, weight, options)[0] * self._scale
        seen = sigma < SEEN_M
        surprise = float(np.mean(((near - points)[seen] / MODEL_M) ** 2)) if seen.any() else 0.0
        level = np.eye(DOFS) / LEVEL_RAD**2
        for _ in range(STEPS):
            points, J = self._linearised(joints)
            back = (frame.state.joints - joints)[1:].ravel() / LEVEL_RAD**2
            step = np.linalg.solve(J.T @ J / MODEL_M**2 + level, J.T @ (near - points) / MODEL_M**2 + back)
            joints[1:] += step.reshape(-1, 3)
        return PoseGaussian(joints[1:].ravel(), J.T @ J / MODEL_M**2, surprise)

    def _linearised(self, joints: Floats) -> tuple[Floats, Floats]:
        """Return the points of a pose, (3 P,) [m], and their derivatives by the joint coordinates, (3 P, D)."""
        points, J = compute_markers_and_jacobian(self._skeleton, joints, FULL, self._points.joint, self._points.offset_m)
        return points.ravel(), J.reshape(-1, DOFS)

    def accept(self, state: BodyState) -> None:
        """Do nothing: a dictionary knows no past."""

    def forget(self) -> None:
        """Do nothing."""
