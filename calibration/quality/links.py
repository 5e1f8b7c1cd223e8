"""How well the views of a calibration link any two cameras of a rig to each other."""

from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig, compute_relative_pose
from calibration.solve.single_camera import find_spanning_links
from calibration.solve.solution import RigSolution
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

STEP = 1e-6  # [rad, m]


@dataclass(frozen=True, slots=True)
class CameraLink:
    """Two cameras that share views.

    first, second: their indices; n_shared: number of shared views; sigma_m, sigma_rad: standard deviations of the distance and of
    the angle between them, all views of all cameras taken together.
    """

    first: int
    second: int
    n_shared: int
    sigma_m: float
    sigma_rad: float

    def words(self, rig: Rig) -> str:
        """Return the names of both cameras."""
        return f"{rig.cameras[self.first].name} and {rig.cameras[self.second].name}"


def measure_camera_link(solution: RigSolution, first: int, second: int) -> CameraLink:
    """Return how well two cameras are linked.

    Args:
        solution: the calibration.
        first, second: indices of the cameras.
    """
    sees = np.asarray(solution.used.any(axis=2))
    J = _compute_pair_derivatives(solution.rig, first, second)
    C = J @ solution.pose_covariance @ J.T
    sigma_m, *_ = np.sqrt(np.maximum(np.diag(C), 0.0))
    sigma_rad = float(np.sqrt(max(float(np.linalg.eigvalsh(C[1:, 1:])[-1]), 0.0)))
    return CameraLink(first, second, int((sees[first] & sees[second]).sum()), float(sigma_m), sigma_rad)


def find_weakest_link(solution: RigSolution) -> CameraLink:
    """Return the link that is known worst of those that hold the rig together.

    These are the pairs of cameras that share most views (a spanning tree); worst is the largest angle's error.
    """
    names = [camera.name for camera in solution.rig.cameras]
    links = [measure_camera_link(solution, a, b) for a, b in find_spanning_links(np.asarray(solution.used.any(axis=2)), names)]
    return max(links, key=lambda link: link.sigma_rad)


def _compute_pair_derivatives(rig: Rig, first: int, second: int) -> Floats:
    """Return the derivatives of the distance of two cameras and of their turn to each other, a small vector, (4, 6 C - 6).

    By rotation vectors and translations of all cameras but the first of the rig, as in `RigSolution.pose_covariance`.
    """
    world = rig.cameras[0]
    poses = [compute_relative_pose(world, camera) for camera in rig.cameras]
    vectors = np.concatenate([np.concatenate([rotvec_from_matrix(R), t]) for R, t in poses[1:]])

    def pair(step: Floats) -> tuple[float, Floats]:
        moved = (vectors + step).reshape(-1, 6)
        R = np.concatenate([np.eye(3)[None], matrix_from_rotvec(moved[:, :3])])
        t = np.concatenate([np.zeros((1, 3)), moved[:, 3:]])
        centers = [-R[c].T @ t[c] for c in (first, second)]
        return float(np.linalg.norm(centers[0] - centers[1])), R[second] @ R[first].T

    J = np.zeros((4, len(vectors)))
    for column in range(len(vectors)):
        step = np.zeros(len(vectors))
        step[column] = STEP
        (far, turned), (near, back) = pair(step), pair(-step)
        J[0, column] = (far - near) / (2.0 * STEP)
        J[1:, column] = rotvec_from_matrix(turned @ back.T) / (2.0 * STEP)
    return J
