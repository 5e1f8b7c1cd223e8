"""Of several poses for every frame, those that make a motion: the path of least energy and movement (Viterbi 1967)."""

from collections.abc import Sequence

import numpy as np

from database.rotations import Floats, geodesic_rad, matrix_from_rotvec
from reconstruct.style.features import N_STATIC, static_features
from reconstruct.style.model import Style
from reconstruct.style.synthesis import Synthesis

ROOT_STEP_M, ROOT_STEP_RAD = 0.1, 0.15  # how far the root moves and turns within a step, of which styles say nothing
LEAST_SPREAD = 1e-4  # of a velocity that a style models


def best_path(
    candidates: Sequence[Sequence[Synthesis]], styles: Sequence[Style], shares: Sequence[Sequence[float]]
) -> list[Synthesis]:
    """Give one of the candidates of each frame.

    candidates: of N frames one or more; shares: of the styles in each frame. The cost of going from one to the next is
    |v|^2 / 2 in standard deviations of the style's velocities, on the scale of the energies, which are negative logarithms.
    """
    if not candidates:
        return []
    cost = _energies(candidates[0])
    came_from = []
    for n in range(1, len(candidates)):
        total = cost[:, None] + _moves(candidates[n - 1], candidates[n], styles, shares[n])
        came_from.append(total.argmin(axis=0))
        cost = total.min(axis=0) + _energies(candidates[n])
    rows = [int(cost.argmin())]
    for back in reversed(came_from):
        rows.append(int(back[rows[-1]]))
    return [frame[row] for frame, row in zip(candidates, reversed(rows), strict=True)]


def _energies(poses: Sequence[Synthesis]) -> Floats:
    """Give the energies of poses."""
    return np.array([pose.energy for pose in poses])


def _moves(before: Sequence[Synthesis], after: Sequence[Synthesis], styles: Sequence[Style], shares: Sequence[float]) -> Floats:
    """Give the cost of going from each pose to each, (B, A)."""
    precision = np.zeros(N_STATIC)
    for style, share in zip(styles, shares, strict=True):
        velocity = slice(N_STATIC, 2 * N_STATIC)
        precision += share * style.modelled[velocity] / np.maximum(style.spread[velocity], LEAST_SPREAD) ** 2
    first, second = (np.array([pose.rotvec for pose in poses]) for poses in (before, after))
    move = static_features(second)[None] - static_features(first)[:, None]
    cost = (move**2 * precision)[..., : N_STATIC - 3].sum(axis=-1)
    turn = geodesic_rad(matrix_from_rotvec(first[:, None, 0]), matrix_from_rotvec(second[None, :, 0]))
    place = np.array([pose.root_m for pose in after])[None] - np.array([pose.root_m for pose in before])[:, None]
    cost += (turn / ROOT_STEP_RAD) ** 2 + (place**2).sum(axis=-1) / ROOT_STEP_M**2
    return np.asarray(0.5 * cost)
