"""Poses by a sparse dictionary (Lai et al. 2012, section 3.3).

    minimise |W (R D a + t - p)|^2 + ridge |a|^2 + |(R u - up) / sigma_u|^2  subject to  |a|_0 <= T

alternately over the code a, with the points brought into the root's frame, and over the root's rotation R and position t, in
closed form. Entries that no constraint tells keep to the last pose with little weight. Then every bone gets its length, chain by
chain. About this pose the atoms near it span a Gaussian, linearised in the joint angles; with it as the prior these and the root
are solved for together, within the joints' limits and with the constraints themselves as targets.
"""

from dataclasses import replace

import numpy as np

from calibration.world import UP
from config.arrays import Floats
from database.geometry.kinematics import compute_forward_kinematics, compute_markers_and_jacobian
from database.geometry.rotations import find_nearest_rotation
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints
from reconstruct.models.local.model import DOFS, FULL, LocalModel
from reconstruct.models.sparse.body import normalise_bone_lengths
from reconstruct.models.sparse.dictionary import RestoreOptions, compute_covariance_at, restore_poses
from reconstruct.models.sparse.model import PoseDictionary
from reconstruct.posing.fit import PoseResult, PoseStart, fit_pose
from reconstruct.posing.local import start_from_found
from reconstruct.posing.placement import PlacementTargets, PosePlacements, compute_placement_targets, place_poses
from reconstruct.posing.protocol import FoundPose
from reconstruct.solve.limits import Limits

NEIGHBOURS, ROUNDS = 30, 2  # examples whose mean is the start, and alternations from there
KEPT_M = 0.05  # standard deviation of points that no constraint tells, around the last pose
KNOWN_M = 0.02  # and of those that one does, at least
NEAR_ATOMS, SPREAD = 100, 3.0  # atoms along which the pose may still vary, and how far, by their examples' own spread
FIT_M = 0.03  # standard deviation of a restored point apart from that
LEVEL_RAD = 0.3  # of joint angles about those of the example, where points leave them open
FIT_STEPS = 3
FAR_M = 0.05  # error of the code at which a pose counts as unknown
RESTORE = RestoreOptions(n_nonzero=6, sigma=0.02)
JUDGE = RestoreOptions(n_nonzero=12, sigma=0.02)


class SparsePoser:
    """Poses a skeleton by a dictionary, the dictionary's own skeleton if None."""

    def __init__(
        self,
        model: PoseDictionary,
        skeleton: Skeleton | None = None,
        restoring: RestoreOptions = RESTORE,
    ) -> None:
        self.model, self._restoring = model, restoring
        self._skeleton = model.skeleton if skeleton is None else skeleton
        self._body = model.points
        self._lengths_m = self._body.lengths_m(self._skeleton)
        self._scale = self._skeleton.height_m / model.skeleton.height_m
        self._limits = Limits(model.low, model.high)

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that is posed."""
        return self._skeleton

    def pose(self, constraints: Constraints, start: FoundPose | None = None) -> PoseResult:
        """Return the pose; from a start a few alternations from there, else from the examples that fit best."""
        if start is not None:
            return self._posed(constraints, start_from_found(start))
        near = place_poses(self._skeleton, self.model.examples, constraints)
        return self._posed(constraints, self._mean_start(near))

    def _mean_start(self, near: PosePlacements) -> PoseStart:
        """Return the mean of the examples that fit best, nearer ones counting more, where the best is."""
        weights = np.exp(-0.5 * (near.error2[:NEIGHBOURS] - near.error2[0]))
        joints = np.einsum("n,nji->ji", weights / weights.sum(), self.model.examples[near.row[:NEIGHBOURS]])
        return PoseStart(joints, near.rotation[0], near.root_m[0])

    def _posed(self, constraints: Constraints, begin: PoseStart) -> PoseResult:
        """Return the pose found from one start."""
        sight = compute_placement_targets(constraints, KNOWN_M)
        now, vector = begin, self._vector(begin)
        for _ in range(ROUNDS):
            target, weight = self._targets(constraints, sight, now, vector)
            vector = self._restored(target, weight)
            now = self._aligned(constraints, sight, now, vector)
        prior = self._prior(begin.joints, vector)
        now = replace(now, joints=prior.mean.copy())
        found = fit_pose(self._skeleton, prior, self._limits, constraints, now)
        return replace(found, variance=self._unknown(found))

    def _prior(self, joints: Floats, vector: Floats) -> LocalModel:
        """Return the Gaussian over the joints of the poses about restored points, (3 P,) [m]."""
        points = normalise_bone_lengths(vector.reshape(1, -1, 3), self._body, self._lengths_m)[0].ravel()
        joints = joints.copy()
        joints[0] = 0.0
        start = joints.copy()
        level = np.eye(DOFS) / LEVEL_RAD**2
        for _ in range(FIT_STEPS):
            now, J = self._linearised(joints)
            back = (start - joints)[1:].ravel() / LEVEL_RAD**2
            step = np.linalg.solve(J.T @ J / FIT_M**2 + level, J.T @ (points - now) / FIT_M**2 + back)
            joints[1:] += step.reshape(-1, 3)
        _, J = self._linearised(joints)
        C = SPREAD**2 * self._scale**2 * compute_covariance_at(self.model.dictionary, vector / self._scale, NEAR_ATOMS)
        C += FIT_M**2 * np.eye(len(C))
        precision = J.T @ np.linalg.solve(C, J) + np.eye(DOFS) / LEVEL_RAD**2
        return LocalModel(joints, FULL, np.zeros(DOFS), precision)

    def _linearised(self, joints: Floats) -> tuple[Floats, Floats]:
        """Return the points of a pose, (3 P,) [m], and their derivatives by the joint coordinates, (3 P, D)."""
        points, J = compute_markers_and_jacobian(self._skeleton, joints, FULL, self._body.joint, self._body.offset_m)
        return points.ravel(), J.reshape(-1, DOFS)

    def _vector(self, start: PoseStart) -> Floats:
        """Return the body's points relative to the unrotated root, (3 P,) [m]."""
        return np.asarray(self._body.vectors(self._skeleton, start.joints[None])[0])

    def _targets(
        self, constraints: Constraints, sight: PlacementTargets, now: PoseStart, vector: Floats
    ) -> tuple[Floats, Floats]:
        """Return where points should be, in the root's frame, and their weights, (3 P,) each."""
        target, sigma = vector.reshape(-1, 3).copy(), np.full(vector.size // 3, KEPT_M)
        handles = constraints.handles
        for p in range(len(handles.joint)):
            if handles.joint[p] == 0 or not sight.information[p].any():
                continue
            row = int(handles.joint[p]) - 1
            here = now.rotation @ vector.reshape(-1, 3)[row] + now.root_m
            arm = self._arm(now, int(handles.joint[p]), handles.offset_m[p])
            there = _find_handle_target(sight, p, here + arm) - arm
            target[row] = now.rotation.T @ (there - now.root_m)
            sigma[row] = np.sqrt(1.0 / max(float(np.linalg.eigvalsh(sight.information[p])[-1]), 1e-9))
        return target.ravel(), np.repeat(RESTORE.sigma / sigma, 3)

    def _arm(self, now: PoseStart, joint: int, offset_m: Floats) -> Floats:
        """Return a handle from its joint in the world, (3,) [m]."""
        if not offset_m.any():
            return np.zeros(3)
        pose = now.joints.copy()
        pose[0] = 0.0
        G = compute_forward_kinematics(self._skeleton, pose, np.zeros(3))[0]
        return np.asarray(now.rotation @ G[0].T @ G[joint] @ offset_m)

    def _restored(self, target: Floats, weight: Floats) -> Floats:
        """Return the pose that the dictionary knows nearest to a target, of the skeleton's size, (3 P,) [m]."""
        return np.asarray(
            restore_poses(self.model.dictionary, target[None] / self._scale, weight, self._restoring)[0] * self._scale
        )

    def _aligned(self, constraints: Constraints, sight: PlacementTargets, now: PoseStart, vector: Floats) -> PoseStart:
        """Return the root where the points of a pose meet their targets best, and its up direction the world's."""
        handles = constraints.handles
        local, world, weight = [], [], []
        for p in range(len(handles.joint)):
            if not sight.information[p].any():
                continue
            x = np.zeros(3) if handles.joint[p] == 0 else vector.reshape(-1, 3)[handles.joint[p] - 1]
            arm = self._arm(now, int(handles.joint[p]), handles.offset_m[p])
            local.append(x + now.rotation.T @ arm)
            world.append(_find_handle_target(sight, p, now.rotation @ local[-1] + now.root_m))
            weight.append(float(np.trace(sight.information[p])) / 3.0)
        if not local:
            return now
        x, y, w = np.array(local), np.array(world), np.array(weight)
        middle, target = w @ x / w.sum(), w @ y / w.sum()
        B = np.einsum("p,pi,pj->ij", w, y - target, x - middle)
        B += np.outer(UP, self.model.up_mean / self.model.up_sigma**2)
        R = find_nearest_rotation(B)
        if np.isfinite(constraints.root.sigma_rad):
            R = constraints.root.rotation
        return PoseStart(now.joints, R, target - R @ middle)

    def _unknown(self, found: PoseResult) -> float:
        """Return how far a pose is from those that the dictionary knows: 0 beside them, 1 far from all."""
        pose = found.rotvec.copy()
        pose[0] = 0.0
        vector = self._body.vectors(self._skeleton, pose[None])[0] / self._scale
        near = restore_poses(self.model.dictionary, vector[None], None, JUDGE)[0]
        return float(min(1.0, np.sqrt(((vector - near) ** 2).mean()) / FAR_M))


def _find_handle_target(sight: PlacementTargets, p: int, point: Floats) -> Floats:
    """Return where handle p should be: at its target, or on its ray nearest to a point, (3,) [m]."""
    ray = sight.direction[p]
    if not ray.any():
        return np.asarray(sight.at_m[p])
    return np.asarray(sight.at_m[p] + max(float(ray @ (point - sight.at_m[p])), 0.3) * ray)
