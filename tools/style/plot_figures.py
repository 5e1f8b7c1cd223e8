"""Stick figures of a style's poses, all seen from the side that shows most of the movement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibration.quality.picture import INK, LEFT, RIGHT
from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import rotation_between, rotvec_from_matrix
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import N_ANGLES, N_STATIC, UP
from reconstruct.models.style.model import Style, StyleEvaluator, predict_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAVES = tuple(JOINT_INDEX[name] for name in ("leftHand", "rightHand", "leftToes", "rightToes"))
HEAD = JOINT_INDEX["head"]
HEAD_SHARE = 0.042  # of the length of all bones
SIDEWAYS = 0.25  # weight of the body's own extent, against movement, in where to look from


def compute_bone_segments(skeleton: Skeleton, static: Floats) -> Floats:
    """Return where bones begin and end, (N, J + 4, 2, 3) [m], hips at the origin, upright, of static features (N, S).

    Bone j > 0 goes from its parent to joint j; row 0 from the head's joint to its top; after them the leaves' own bones.
    """
    rotvec = np.zeros((len(static), N_JOINTS, 3))
    rotvec[:, 1:] = static[:, :N_ANGLES].reshape(-1, N_JOINTS - 1, 3)
    rotvec[:, 0] = [rotvec_from_matrix(rotation_between(_normalize_direction(up), UP)) for up in static[:, N_ANGLES:]]
    G, p = compute_forward_kinematics(skeleton, rotvec, np.zeros((len(static), 3)))
    ends = p + np.einsum("njik,jk->nji", G, skeleton.tails_m)
    inner = [(p[:, PARENTS[j]], p[:, j]) for j in range(1, N_JOINTS)]
    pairs = [(p[:, HEAD], ends[:, HEAD]), *inner, *((p[:, j], ends[:, j]) for j in LEAVES)]
    return np.stack([np.stack(pair, axis=1) for pair in pairs], axis=1)


def _normalize_direction(vector: Floats) -> Floats:
    """Return a direction; upright where there is none."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 1e-6 else UP)


def predict_static_features(style: Style, level: StyleEvaluator, x: Floats) -> Floats:
    """Return the static features that a style predicts at latent points, (P, Q) -> (P, S); of what it does not model the mean.

    Args:
        style: the style.
        level: model at one level of annealing.
        x: latent points, (P, Q).
    """
    features = np.tile(style.mean, (len(x), 1))
    features[:, style.modelled] = predict_features(level, x)[0]
    return features[:, :N_STATIC]


def choose_view_direction(places: Floats) -> Floats:
    """Return the horizontal direction along which bones, (N, B, 2, 3), move and reach most, (3,), pointing to the left or ahead.

    The figures are drawn along it: someone who walks is seen from the side, someone who spreads the arms from the front.
    """
    flat = places[..., [0, 2]].reshape(len(places), -1, 2)
    moving = (flat - flat.mean(axis=0)).reshape(-1, 2)
    reach = flat.reshape(-1, 2) * SIDEWAYS
    spread, axes = np.linalg.eigh(moving.T @ moving + reach.T @ reach)
    across = axes[:, int(spread.argmax())]
    across = across * np.sign(across[np.abs(across).argmax()])
    return np.array([across[0], 0.0, across[1]])


def draw_figure(ax: Axes, places: Floats, across: Floats, at: Floats, scale: float, color: str | None = None) -> None:
    """Draw one figure, bones (B, 2, 3) [m], with its middle at a point of the axis.

    Left limbs are blue, right ones orange, or all of one color; those farther away are drawn first.

    Args:
        ax: the axes.
        places: ends of the bones, (B, 2, 3) [m].
        across: direction that runs across the drawing, (3,).
        at: middle of the figure, (2,).
        scale: length of one metre on the axis.
        color: None: by side.
    """
    from matplotlib.collections import LineCollection

    flat = np.stack([places @ across, places[..., 1]], axis=-1)
    middle = 0.5 * (flat.reshape(-1, 2).min(axis=0) + flat.reshape(-1, 2).max(axis=0))
    lines = at + scale * (flat - middle)
    nearness = (places[1:] @ np.cross(across, UP)).mean(axis=1)
    order = 1 + np.argsort(nearness)
    colors = [color or _choose_bone_color(int(k)) for k in order]
    ax.add_collection(LineCollection(list(lines[order]), colors=colors, linewidths=2.0, capstyle="round", zorder=6))
    _draw_head(
        ax, lines[0], scale * HEAD_SHARE * float(np.linalg.norm(places[1:, 1] - places[1:, 0], axis=1).sum()), color or INK
    )


def _choose_bone_color(bone: int) -> str:
    """Return the colour of a bone: of the side of the body it is on."""
    joint = bone if bone < N_JOINTS else LEAVES[bone - N_JOINTS]
    name = JOINTS[joint] if bone else ""
    return LEFT if name.startswith("left") else RIGHT if name.startswith("right") else INK


def _draw_head(ax: Axes, line: Floats, size: float, color: str) -> None:
    """Draw the head as an egg along its bone, (2, 2), from the neck on."""
    from matplotlib.patches import Ellipse

    length = float(np.linalg.norm(line[1] - line[0]))
    way = (line[1] - line[0]) / length if length > 1e-9 else np.array([0.0, 1.0])
    middle = line[0] + 0.45 * size * way
    tilt = float(np.degrees(np.arctan2(way[1], way[0])))
    ax.add_patch(Ellipse((float(middle[0]), float(middle[1])), size, 0.78 * size, angle=tilt, facecolor=color, lw=0, zorder=7))
