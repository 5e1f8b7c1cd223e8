"""The latent plane of a style: the two directions in which its poses differ most, and the pose at each point of it."""

from dataclasses import dataclass

import cv2
import numpy as np

from config.arrays import Floats, Image
from config.joints import JOINT_INDEX
from database.geometry.rotations import matrix_from_rotvec, rotation_between, rotvec_from_matrix
from database.geometry.skeleton import REFERENCE
from reconstruct.models.style.features import N_ANGLES, N_STATIC, UP
from reconstruct.models.style.model import Style, StyleEvaluator, build_evaluator, predict_features
from reconstruct.models.style.synthesis.synthesizer import Synthesis
from reconstruct.posing.protocol import FoundPose, Poser
from reconstruct.posing.style import StylePoser
from stream.posing.document import Document, StoredPose, compute_joint_positions_m

MARGIN, USUAL = 1.15, 2.0  # of the plane around the training poses, and of those it shows to the 95th percentile
GRID, PIXELS = 72, 360
KNOWN, UNKNOWN, DOT = (64, 96, 130), (40, 42, 48), (150, 190, 225)


@dataclass(frozen=True, slots=True)
class PoseMap:
    """A plane in the latent space of one of the mixed styles.

    Attributes:
        row: number of the style.
        centre: (Q,).
        axes: rows of length 1, (2, Q).
        half: half the side of the square that is shown.
    """

    style: Style
    row: int
    evaluator: StyleEvaluator
    centre: Floats
    axes: Floats
    half: float

    def at(self, latent: Floats) -> Floats:
        """Return where a latent point, (Q,), lies in the square, (2,), -1 to 1 within it."""
        return np.asarray(self.axes @ (latent - self.centre) / self.half)

    def latent(self, at: Floats) -> Floats:
        """Return the latent point, (Q,), of a point of the square, (2,), drawn to its edge where it lies beyond."""
        return np.asarray(self.centre + self.half * np.clip(at, -1.0, 1.0) @ self.axes)


def build_pose_map(poser: Poser) -> PoseMap | None:
    """Return the plane of the style with the largest share; None of what has no styles."""
    if not isinstance(poser, StylePoser):
        return None
    row = int(np.argmax(poser.synthesizer.shares))
    style = poser.synthesizer.styles[row]
    centre = style.latent.mean(axis=0)
    axes = np.linalg.svd(style.latent - centre, full_matrices=False)[2][:2]
    if len(axes) < 2:
        axes = np.vstack([axes, np.zeros((2 - len(axes), style.n_latent))])
    spread = np.abs((style.latent - centre) @ axes.T)
    usual = USUAL * float(np.percentile(spread, 95))  # a few poses far from all others would leave no room for these
    half = MARGIN * max(min(float(spread.max()), usual), 1e-6)
    return PoseMap(style, row, build_evaluator(style, style.learned), centre, axes, half)


def predict_start_pose(plane: PoseMap, at: Floats, poser: Poser, document: Document, found: FoundPose | None) -> Synthesis:
    """Return the pose that the style predicts at a point of the square, (2,), as what a style begins from.

    It stands where the document's pose stands and faces where that faces; the other styles keep their latent points.

    Args:
        plane: the style's latent space.
        at: the point, (2,).
        poser: poser of the mixed styles.
        document: document with the place and the heading of the body.
        found: the pose found last; None: none yet.
    """
    assert isinstance(poser, StylePoser)
    x = plane.latent(at)
    features = plane.style.mean.copy()
    mean, variance = predict_features(plane.evaluator, x)
    features[plane.style.modelled] = mean[0]
    rotvec = np.vstack([_turn_to_facing(document.pose, features), features[:N_ANGLES].reshape(-1, 3)])
    latent = [style.latent.mean(axis=0) for style in poser.synthesizer.styles]
    if isinstance(found, Synthesis) and [len(each) for each in found.latent] == [len(each) for each in latent]:
        latent = list(found.latent)
    latent[plane.row] = x
    pose = StoredPose(np.ascontiguousarray(rotvec), document.pose.root_m.copy())
    parameters = plane.evaluator.parameters
    relative = float(variance[0] / (parameters.alpha + 1.0 / parameters.beta))
    none = np.zeros(0)
    root_m = pose.root_m + _compute_standing_shift_m(poser, document, pose)
    return Synthesis(pose.rotvec.copy(), root_m, tuple(latent), 0.0, 0.0, relative, none, np.zeros((2, 0)), True, True)


def _turn_to_facing(pose: StoredPose, features: Floats) -> Floats:
    """Return the root's rotation vector, (3,), that faces where a pose faces, with the vertical of features: R' e_up = up."""
    rotation = REFERENCE[0] @ matrix_from_rotvec(pose.rotvec[0])
    up = features[N_ANGLES:N_STATIC]
    vertical = rotation.T @ np.array(UP)
    turned = rotation @ rotation_between(up / max(float(np.linalg.norm(up)), 1e-9), vertical)
    return np.asarray(rotvec_from_matrix(REFERENCE[0].T @ turned))


def _compute_standing_shift_m(poser: Poser, document: Document, pose: StoredPose) -> Floats:
    """Return the shift, (3,) [m], by which a pose meets what is held as a whole; else its lowest joint keeps its height."""
    joint_m = compute_joint_positions_m(poser.skeleton, pose)
    if document.pins:
        misses_m = np.array([np.array(at) - joint_m[JOINT_INDEX[name]] for name, at in document.pins.items()])
        return np.asarray(misses_m.mean(axis=0))
    before_m = compute_joint_positions_m(poser.skeleton, document.pose)
    return np.array([0.0, float(before_m[:, 1].min() - joint_m[:, 1].min()), 0.0])


def draw_pose_map(plane: PoseMap) -> Image:
    """Return the square as a picture, (P, P, 3) RGB: bright where the style knows poses, with its training poses as dots."""
    ticks = np.linspace(-1.0, 1.0, GRID)
    across, up = np.meshgrid(ticks, -ticks)
    points = plane.centre + plane.half * np.stack([across.ravel(), up.ravel()], axis=1) @ plane.axes
    parameters = plane.evaluator.parameters
    known = 1.0 - predict_features(plane.evaluator, points)[1] / (parameters.alpha + 1.0 / parameters.beta)
    shade = np.clip(known, 0.0, 1.0).reshape(GRID, GRID, 1) ** 2
    small = np.asarray(np.array(UNKNOWN) + shade * (np.array(KNOWN) - np.array(UNKNOWN)), np.uint8)
    image = np.ascontiguousarray(cv2.resize(small, (PIXELS, PIXELS), interpolation=cv2.INTER_LINEAR))
    for latent in plane.style.latent:
        x, y = plane.at(latent)
        cv2.circle(image, (round(0.5 * PIXELS * (1.0 + x)), round(0.5 * PIXELS * (1.0 - y))), 2, DOT, -1, cv2.LINE_AA)
    return image
