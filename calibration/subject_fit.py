"""The skeleton and the marker offsets from a T-pose (Chai & Hodgins 2005, section 4).

The skeleton interpolates the database's skeletons: s = exp(mean + V b) over the logarithms of their bone lengths, with b
a priori standard normal. It is fitted together with the root and small deviations from the T-pose; the nominal offsets
are trusted to `OFFSET_SIGMA_M`. What is left over becomes the offset of each marker in its inboard joint's frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from calibration.subject import Subject
from config.errors import CalibrationError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS, mirrored
from config.markers import MarkerSet
from database.kinematics import charted, forward
from database.rigid import rigid_fit
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from database.skeleton import Skeleton

OFFSET_SIGMA_M = 0.025
N_SHAPES = 5
STRETCH_SIGMA = 0.06

# How far a joint may be from the T-pose, standard deviation by axis [rad]: x forward bend, y twist, z sideways.
DEVIATION_RAD = {
    "UpperLeg": (0.08, 0.05, 0.10),
    "LowerLeg": (0.08, 0.02, 0.02),
    "Foot": (0.10, 0.20, 0.05),
    "Shoulder": (0.05, 0.10, 0.12),
    "UpperArm": (0.10, 0.20, 0.25),
    "LowerArm": (0.05, 0.15, 0.15),
    "spine": (0.05, 0.03, 0.03),
    "chest": (0.05, 0.03, 0.03),
    "upperChest": (0.05, 0.03, 0.03),
    "neck": (0.08, 0.05, 0.05),
    "head": (0.10, 0.05, 0.05),
}
GROUPS = (
    ("leftUpperLeg", "rightUpperLeg"),
    ("leftLowerLeg", "rightLowerLeg"),
    ("leftFoot", "rightFoot"),
    ("leftToes", "rightToes"),
    ("spine", "chest", "upperChest", "neck", "upperNeck", "head"),
    ("leftShoulder", "rightShoulder", "leftUpperArm", "rightUpperArm"),
    ("leftLowerArm", "rightLowerArm"),
    ("leftHand", "rightHand"),
)


def _deviation_sigma(name: str) -> tuple[float, float, float]:
    """Give a joint's allowance, by its name without the side."""
    return DEVIATION_RAD.get(name, DEVIATION_RAD.get(name.removeprefix("left").removeprefix("right"), (0.0, 0.0, 0.0)))


SIGMA_RAD = np.array([_deviation_sigma(name) for name in JOINTS])
FREE = np.argwhere(SIGMA_RAD > 0)


@dataclass(frozen=True, slots=True)
class SkeletonSpace:
    """Skeletons of other people as a linear space: mean (F,), directions (F, S), in logarithms of symmetric lengths."""

    unit: Floats
    mean: Floats
    directions: Floats

    def skeleton(self, shape: Floats, stretch: Floats) -> Skeleton:
        """Give a skeleton: shape (S,) in standard deviations, stretch (G,) the logarithm by which each limb differs."""
        lengths = np.exp(self.mean + self.directions @ shape + GROUP_MATRIX @ stretch)
        vectors = self.unit * lengths[:, None]
        return Skeleton("calibrated", np.ascontiguousarray(vectors[:N_JOINTS]), np.ascontiguousarray(vectors[N_JOINTS:]))


def _group_matrix() -> Floats:
    """Give which limb stretches which offset and tail, (2 J, G)."""
    matrix = np.zeros((2 * N_JOINTS, len(GROUPS)))
    for g, names in enumerate(GROUPS):
        for name in names:
            matrix[JOINT_INDEX[name], g] = 1.0
            if name in LEAVES:
                matrix[N_JOINTS + JOINT_INDEX[name], g] = 1.0
    return matrix


LEAVES = tuple(name for index, name in enumerate(JOINTS) if index not in PARENTS)
GROUP_MATRIX = _group_matrix()
MIRROR = np.array([JOINT_INDEX[mirrored(name)] for name in JOINTS])


def _symmetric(skeleton: Skeleton) -> Floats:
    """Give offsets and tails averaged with their mirror image, (2 J, 3) [m]."""
    flip = np.array([-1.0, 1.0, 1.0])
    both = [0.5 * (a + a[MIRROR] * flip) for a in (skeleton.offsets_m, skeleton.tails_m)]
    return np.vstack(both)


def skeleton_space(skeletons: Sequence[Skeleton]) -> SkeletonSpace:
    """Learn the space of skeletons; with only one, all shapes but stretches are fixed.

    Raises CalibrationError: no skeletons.
    """
    if not skeletons:
        raise CalibrationError("the database holds no skeleton; build it from clips with `duocap database build`")
    vectors = np.stack([_symmetric(skeleton) for skeleton in skeletons])
    lengths = np.maximum(np.linalg.norm(vectors, axis=2), 1e-6)
    directions = (vectors / lengths[..., None]).mean(axis=0)
    norm = np.linalg.norm(directions, axis=1, keepdims=True)
    unit = np.where(norm > 1e-3, directions / np.maximum(norm, 1e-3), 0.0)
    log = np.log(lengths)
    mean = log.mean(axis=0)
    _, singular, Vt = np.linalg.svd(log - mean, full_matrices=False)
    n = min(N_SHAPES, len(skeletons) - 1)
    scale = singular[:n] / np.sqrt(max(len(skeletons) - 1, 1))
    return SkeletonSpace(unit, mean, Vt[:n].T * scale)


@dataclass(frozen=True, slots=True)
class TPose:
    """Labelled markers of the T-pose: point_m (M, 3) world, valid (M,), covariance_m2 (M, 3, 3), scatter_m (M,), frames used."""

    point_m: Floats
    valid: np.ndarray
    covariance_m2: Floats
    scatter_m: Floats
    n_frames: int


def fit_subject(
    name: str, markers: MarkerSet, tpose: TPose, skeletons: Sequence[Skeleton], standing: Floats | None = None
) -> Subject:
    """Fit skeleton, root and pose to the T-pose and read the marker offsets off.

    standing: how legs and trunk are held when standing, as rotation vectors from the rest pose, (J, 3) [rad]; default straight.

    The fit starts from the torso: from afar a whole-body fit sticks in a wrong valley.
    Raises CalibrationError: too few markers, or the fit leaves the markers implausibly far from their joints.
    """
    if int((tpose.valid & markers.torso).sum()) < 3:
        missing = ", ".join(n for n, ok in zip(markers.names, tpose.valid, strict=True) if not ok)
        raise CalibrationError(
            f"fewer than 3 torso markers are seen in the T-pose (missing: {missing}); check light and thresholds"
        )
    space = skeleton_space(skeletons)
    n_shape, n_group = space.directions.shape[1], len(GROUPS)
    standing = np.zeros((N_JOINTS, 3)) if standing is None else standing
    S = tpose.covariance_m2 + OFFSET_SIGMA_M**2 * np.eye(3)
    whiten = np.linalg.cholesky(np.linalg.inv(S)).swapaxes(1, 2)

    def residual(x: Floats, use: np.ndarray) -> Floats:
        point, _, _ = _markers(space, x, markers, standing)
        e = np.einsum("mij,mj->mi", whiten, point - tpose.point_m)[use].ravel()
        prior = np.concatenate([x[:n_shape], x[n_shape : n_shape + n_group] / STRETCH_SIGMA, x[n_shape + n_group + 6 :]])
        return np.concatenate([e, prior])

    torso = tpose.valid & markers.torso
    x = np.zeros(n_shape + n_group + 6 + len(FREE))
    nominal, _, _ = _markers(space, x, markers, standing)
    R, t = rigid_fit(nominal[torso], tpose.point_m[torso])
    x[n_shape + n_group : n_shape + n_group + 6] = np.concatenate([rotvec_from_matrix(R), t])
    for use in (torso, tpose.valid):
        x = least_squares(residual, x, args=(use,), loss="linear", method="trf", max_nfev=60).x
    _, G, p = _markers(space, x, markers, standing)
    skeleton = space.skeleton(x[:n_shape], x[n_shape : n_shape + n_group])
    offset = markers.offset_m.copy()
    local = np.einsum("mji,mj->mi", G[markers.joint], tpose.point_m - p[markers.joint])
    offset[tpose.valid] = local[tpose.valid]
    _check(markers, tpose, offset)
    skeleton = Skeleton(name, skeleton.offsets_m.copy(), skeleton.tails_m.copy())
    return Subject(name, skeleton, markers, offset, 1e3 * tpose.scatter_m, G[0][:, 1].copy())


def _markers(space: SkeletonSpace, x: Floats, markers: MarkerSet, standing: Floats) -> tuple[Floats, Floats, Floats]:
    """Give marker places, joint orientations and positions for parameters x = (shape, stretch, root, deviations)."""
    n_shape, n_group = space.directions.shape[1], len(GROUPS)
    skeleton = space.skeleton(x[:n_shape], x[n_shape : n_shape + n_group])
    root = x[n_shape + n_group : n_shape + n_group + 6]
    deviation = standing.copy()
    deviation[FREE[:, 0], FREE[:, 1]] += x[n_shape + n_group + 6 :] * SIGMA_RAD[FREE[:, 0], FREE[:, 1]]
    deviation[0] = root[:3]
    G, p = forward(skeleton, charted(matrix_from_rotvec(deviation)), root[3:])
    return p[markers.joint] + np.einsum("mij,mj->mi", G[markers.joint], markers.offset_m), G, p


def _check(markers: MarkerSet, tpose: TPose, offset: Floats) -> None:
    """Refuse a fit that puts a marker absurdly far from where the marker set says it sits."""
    moved = np.where(tpose.valid, np.linalg.norm(offset - markers.offset_m, axis=1), 0.0)
    worst = int(np.argmax(moved))
    if moved[worst] > 0.20:
        raise CalibrationError(
            f"no T-pose fits: marker {markers.names[worst]} came out {moved[worst] * 100:.0f} cm from its nominal place "
            "(at most 20 cm); "
            "stand with the arms level and check markers.toml"
        )
