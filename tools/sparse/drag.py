"""Free dragging (Lai et al. 2012, section 4.4, M = I): any joints are moved anywhere, bones of any length; then a natural pose.

All points of the dragged pose count alike. Those restored get bones of the right length, and joint angles are solved for; the
root stays. The fewer atoms, the less a drag is followed that no natural pose allows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.models.sparse.body import normalise_bone_lengths
from reconstruct.models.sparse.dictionary import RestoreOptions, restore_poses
from reconstruct.models.sparse.model import read_dictionary
from stream.take.take import Take
from tools.export import TakeResult
from tools.sparse.denoise import RestoredPoints, solve_rotvec

ATOMS, DRAG_M = 6, 0.02  # of a pose, and how exactly its points are meant


def parse_moves(words: Sequence[str]) -> dict[int, Floats]:
    """Return by joint how far it is dragged, (3,) [m], from words such as leftHand=0.1,0,0. Raises DuocapError."""
    moves = dict[int, Floats]()
    for word in words:
        name, _, numbers = word.partition("=")
        try:
            move = np.array([float(number) for number in numbers.split(",")])
        except ValueError:
            move = np.zeros(0)
        if name not in JOINTS[1:] or move.shape != (3,) or not np.isfinite(move).all():
            raise DuocapError(f"--move {word}: expected a joint but the hips and metres, such as leftHand=0.1,0.2,0")
        moves[JOINT_INDEX[name]] = move
    return moves


def drag_pose(
    take: Take, second: float, moves: Mapping[int, Floats], dictionary: Path, n_nonzero: int | None = None
) -> TakeResult:
    """Return the natural pose nearest to a dragged one.

    Args:
        take: the motion.
        second: time of the pose that is dragged.
        moves: by joint, how far it is dragged in the world, (3,) [m].
        dictionary: file of a pose dictionary.
        n_nonzero: atoms of the pose, None: six.
    Raises DuocapError: no pose at that time, or no dictionary.
    """
    if not 0.0 <= second <= take.seconds[-1]:
        raise DuocapError(f"--at {second:g}: the take has {take.seconds[-1]:.2f} s; give a time within it")
    row = int(np.argmin(np.abs(take.seconds - second)))
    model, R = read_dictionary(dictionary), matrix_from_rotvec(take.rotvec[row, 0])
    body = model.points
    was = body.vectors(model.skeleton, take.rotvec[row : row + 1]).reshape(-1, 3)
    dragged = was.copy()
    for joint, move in moves.items():
        dragged[body.joint == joint] += move @ R
    options = RestoreOptions(n_nonzero or ATOMS, DRAG_M)
    near = restore_poses(model.dictionary, dragged.reshape(1, -1), None, options).reshape(1, -1, 3)
    local_m = normalise_bone_lengths(near, body, body.lengths_m(model.skeleton))
    free = np.ones((1, len(body.joint)), bool)
    rotvec = solve_rotvec(model, take, row, RestoredPoints(local_m, free, DRAG_M), 0)
    found = body.vectors(model.skeleton, rotvec[None]).reshape(-1, 3)
    pose = Take(take.skeleton, np.zeros(1), take.states[row : row + 1], rotvec[None], take.root_m[row : row + 1].copy())
    return TakeResult(pose, _format_drags(moves, found - was), ())


def _format_drags(moves: Mapping[int, Floats], moved_m: Floats) -> tuple[str, ...]:
    """Return in words how far joints were dragged and went; moved_m: of points in the root's frame, (P, 3)."""
    went_mm = 1e3 * np.linalg.norm(moved_m, axis=1)
    lines = [
        f"{JOINTS[joint]:<14}dragged by {1e3 * np.linalg.norm(move):.0f} mm, went {went_mm[joint - 1]:.0f}"
        for joint, move in moves.items()
    ]
    others = [k for k in range(len(JOINTS) - 1) if k + 1 not in moves]
    return (*lines, f"other joints went {went_mm[others].mean():.0f} mm, at most {went_mm[others].max():.0f}")
