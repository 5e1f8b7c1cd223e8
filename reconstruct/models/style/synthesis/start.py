"""Where synthesis starts without a previous pose: the style's active poses that, aligned, meet the constraints best."""

from collections.abc import Sequence

import numpy as np

from config.arrays import Floats, Ints
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints, Handles
from reconstruct.models.style.features import N_ANGLES, N_STATIC
from reconstruct.models.style.model import Style
from reconstruct.models.style.synthesis.alignment import TurnedHandles, align_poses, prepare_turned_handles
from reconstruct.models.style.synthesis.arrays import SynthesisState
from reconstruct.models.style.synthesis.problem import SynthesisProblem, find_points_in_space

MAX_HEADING_RAD = 0.7  # of a root constraint whose heading is used
APART = 0.5  # latent length scales between starts


class ActivePoses:
    """The active poses of styles, with x in every style: in other styles that of their most similar active pose.

    apart: least distance between two starts in x.
    """

    def __init__(self, styles: Sequence[Style], shares: Sequence[float], skeleton: Skeleton) -> None:
        """Prepare the poses of all styles that have a share."""
        self.skeleton = skeleton
        use = [k for k in range(len(styles)) if shares[k] > 0.0]
        self.rotvec = np.concatenate([_unwrap_active_poses(styles[k]) for k in use])
        static = [style.features[style.active, :N_STATIC] for style in styles]
        own = np.concatenate([static[k] for k in use])
        self.latent = np.concatenate(
            [style.latent[style.active][_find_most_similar(own, static[k])] for k, style in enumerate(styles)], axis=1
        )
        self.rotation = matrix_from_rotvec(self.rotvec[:, 0])
        self.apart = APART / np.sqrt(max(style.learned.gamma for style in styles))
        self._last: tuple[tuple[bytes, ...], TurnedHandles] | None = None

    def starts(self, problem: SynthesisProblem, up: Floats, count: int) -> list[SynthesisState]:
        """Return the best poses, the best first and apart from each other in x, aligned with the constraints.

        Args:
            problem: constraints of the pose and the styles.
            up: the world's vertical, (3,).
            count: greatest number of poses.
        """
        constraints, targets = problem.constraints, problem.targets
        yaws = self._yaws(targets.root.rotation, up) if targets.root.rotation_precision > MAX_HEADING_RAD**-2 else None
        if yaws is None and not problem.has_image_points and not find_points_in_space(targets.handles).any():
            yaws = np.zeros(len(self.rotvec))
        cost, yaw, shift = align_poses(self._turned(constraints.handles, up), yaws, targets.handles, targets.root)
        cost = 0.5 * cost + 0.5 * (self.latent**2).sum(axis=1) + self._fixed_energy(constraints)
        chosen = self._lowest_apart(cost, count)
        turns = matrix_from_rotvec(yaw[chosen, None] * up)
        return [
            SynthesisState(
                self.rotvec[i].copy(), np.ascontiguousarray(turns[k] @ self.rotation[i]), shift[i].copy(), self.latent[i].copy()
            )
            for k, i in enumerate(chosen)
        ]

    def _turned(self, handles: Handles, up: Floats) -> TurnedHandles:
        """Return the handles of the poses at the origin, rotated as their roots were; the last ones are cached."""
        key = (handles.joint.tobytes(), handles.offset_m.tobytes(), up.tobytes())
        if self._last is None or key != self._last[0]:
            G, p = compute_forward_kinematics(self.skeleton, self.rotvec, np.zeros((len(self.rotvec), 3)))
            on_joint = np.einsum("npij,pj->npi", G[:, handles.joint], handles.offset_m)
            self._last = key, prepare_turned_handles(p[:, handles.joint] + on_joint, up)
        return self._last[1]

    def _yaws(self, rotation: Floats, up: Floats) -> Floats:
        """Return the rotations about up that bring the poses' roots nearest to a rotation, (N,)."""
        C = np.einsum("ij,nkj->nik", rotation, self.rotation)  # R R_n'
        sine = np.einsum("k,nk->n", up, np.stack([C[:, 2, 1] - C[:, 1, 2], C[:, 0, 2] - C[:, 2, 0], C[:, 1, 0] - C[:, 0, 1]], 1))
        cosine = np.trace(C, axis1=1, axis2=2) - np.einsum("i,nij,j->n", up, C, up)
        return np.asarray(np.arctan2(sine, cosine))

    def _fixed_energy(self, constraints: Constraints) -> Floats:
        """Return half the squared distances of the poses' joints from fixed ones, (N,)."""
        fixed = constraints.fixed
        if not len(fixed.joint):
            return np.zeros(len(self.rotvec))
        error = (self.rotvec[:, fixed.joint] - fixed.rotvec) / fixed.sigma_rad[:, None]
        return np.asarray(0.5 * (np.nan_to_num(error, nan=0.0, posinf=0.0, neginf=0.0) ** 2).sum(axis=(1, 2)))

    def _lowest_apart(self, cost: Floats, count: int) -> list[int]:
        """Return the poses of least cost that are apart from each other in x."""
        left, chosen = np.nan_to_num(cost, nan=1e300), list[int]()
        for _ in range(count):
            best = int(left.argmin())
            if left[best] == np.inf:
                break
            chosen.append(best)
            left[((self.latent - self.latent[best]) ** 2).sum(axis=1) <= self.apart**2] = np.inf
        return chosen


def _unwrap_active_poses(style: Style) -> Floats:
    """Return the active poses, (M, J, 3), their joints as in the features, beyond pi where the motion is."""
    rotvec = style.rotvec[style.active].copy()
    rotvec[:, 1:] = style.features[style.active, :N_ANGLES].reshape(len(rotvec), -1, 3)
    return rotvec


def _find_most_similar(poses: Floats, others: Floats) -> Ints:
    """Return for each pose, (N, S), the row of the nearest of others, (M, S)."""
    distance2 = (poses**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * poses @ others.T
    return np.asarray(np.argmin(distance2, axis=1))
