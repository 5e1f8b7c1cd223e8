"""Where synthesis starts that knows nothing of before: the style's poses that, laid on what is asked, do it best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec
from database.skeleton import Skeleton
from reconstruct.style.constraints import Constraints, Handles
from reconstruct.style.features import N_ANGLES, N_STATIC
from reconstruct.style.model import Style
from reconstruct.style.synthesis_lay import Turning, lay, turning
from reconstruct.style.synthesis_problem import Problem

SURE_RAD = 0.7  # of a root prior whose heading is taken over
APART = 0.5  # latent length scales between starts


@dataclass(frozen=True, slots=True)
class Start:
    """A pose to start from: rotation vectors (J, 3), the root's rotation (3, 3) and place (3,), x of all styles, (sum Q,)."""

    rotvec: Floats
    rotation: Floats
    root_m: Floats
    latent: Floats


class Examples:
    """The active poses of styles, with x of every style: of the other styles that of their likest active pose."""

    def __init__(self, styles: Sequence[Style], shares: Sequence[float], skeleton: Skeleton) -> None:
        """Prepare the poses of all styles that have a share."""
        self.skeleton = skeleton
        use = [k for k in range(len(styles)) if shares[k] > 0.0]
        self.rotvec = np.concatenate([_poses(styles[k]) for k in use])
        static = [style.features[style.active, :N_STATIC] for style in styles]
        own = np.concatenate([static[k] for k in use])
        self.latent = np.concatenate(
            [style.latent[style.active][_likest(own, static[k])] for k, style in enumerate(styles)], axis=1
        )
        self.rotation = matrix_from_rotvec(self.rotvec[:, 0])
        gamma = max(style.learned.gamma for style in styles)
        self.apart = APART / np.sqrt(gamma)
        self._kept: tuple[tuple[bytes, ...], Turning] | None = None

    def turning(self, handles: Handles, up: Floats) -> Turning:
        """Give the handles of the poses, turned as their roots were, at the origin; those asked for last are kept."""
        key = (handles.joint.tobytes(), handles.offset_m.tobytes(), up.tobytes())
        if self._kept is None or key != self._kept[0]:
            G, p = forward(self.skeleton, self.rotvec, np.zeros((len(self.rotvec), 3)))
            on_joint = np.einsum("npij,pj->npi", G[:, handles.joint], handles.offset_m)
            self._kept = key, turning(p[:, handles.joint] + on_joint, up)
        return self._kept[1]

    def starts(self, problem: Problem, up: Floats, most: int) -> list[Start]:
        """Give the best poses, likeliest first, unlike each other, laid on what is asked."""
        constraints, (handled, _, rooted, _) = problem.constraints, problem.asked
        yaws = self._yaws(rooted[0], up) if rooted[2] > SURE_RAD**-2 else None
        if yaws is None and not problem.lines and not (handled[3][:, 0, 0] > 0.0).any():
            yaws = np.zeros(len(self.rotvec))
        cost, yaw, shift = lay(self.turning(constraints.handles, up), yaws, handled, rooted)
        cost = 0.5 * cost + 0.5 * (self.latent**2).sum(axis=1) + self._fixed(constraints)
        chosen = self._apart(cost, most)
        turns = matrix_from_rotvec(yaw[chosen, None] * up)
        return [
            Start(
                self.rotvec[i].copy(), np.ascontiguousarray(turns[k] @ self.rotation[i]), shift[i].copy(), self.latent[i].copy()
            )
            for k, i in enumerate(chosen)
        ]

    def _yaws(self, rotation: Floats, up: Floats) -> Floats:
        """Give the turns about up that bring the poses' roots nearest to a rotation, (N,)."""
        C = np.einsum("ij,nkj->nik", rotation, self.rotation)  # R R_n'
        sine = np.einsum("k,nk->n", up, np.stack([C[:, 2, 1] - C[:, 1, 2], C[:, 0, 2] - C[:, 2, 0], C[:, 1, 0] - C[:, 0, 1]], 1))
        cosine = np.trace(C, axis1=1, axis2=2) - np.einsum("i,nij,j->n", up, C, up)
        return np.asarray(np.arctan2(sine, cosine))

    def _fixed(self, constraints: Constraints) -> Floats:
        """Give half the squares of how far the poses' joints are from those that are held, (N,)."""
        fixed = constraints.fixed
        if not len(fixed.joint):
            return np.zeros(len(self.rotvec))
        off = (self.rotvec[:, fixed.joint] - fixed.rotvec) / fixed.sigma_rad[:, None]
        return np.asarray(0.5 * (np.nan_to_num(off, nan=0.0, posinf=0.0, neginf=0.0) ** 2).sum(axis=(1, 2)))

    def _apart(self, cost: Floats, most: int) -> list[int]:
        """Give the cheapest poses that are a way from each other in latent space."""
        left, chosen = np.nan_to_num(cost, nan=1e300), list[int]()
        for _ in range(most):
            best = int(left.argmin())
            if left[best] == np.inf:
                break
            chosen.append(best)
            left[((self.latent - self.latent[best]) ** 2).sum(axis=1) <= self.apart**2] = np.inf
        return chosen


def _poses(style: Style) -> Floats:
    """Give the active poses, (M, J, 3), their joints as in the features, which go beyond pi where the motion does."""
    rotvec = style.rotvec[style.active].copy()
    rotvec[:, 1:] = style.features[style.active, :N_ANGLES].reshape(len(rotvec), -1, 3)
    return rotvec


def _likest(poses: Floats, others: Floats) -> NDArray[np.int64]:
    """Give for each pose, (N, S), the row of the nearest of others, (M, S)."""
    distance2 = (poses**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * poses @ others.T
    return np.asarray(np.argmin(distance2, axis=1))
