"""From styles and constraints to the arrays of the kernels, and how well a pose meets the constraints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from config.arrays import Bools, Floats
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.constraints import Constraints, RootConstraint
from reconstruct.models.style.features import N_STATIC
from reconstruct.models.style.model import Style, StyleEvaluator
from reconstruct.models.style.synthesis.arrays import (
    HandleTargets,
    LikelihoodModel,
    OrientationTargets,
    RootTarget,
    Targets,
    ViewArrays,
)
from reconstruct.models.style.synthesis.rows import MIN_DEPTH_M

FIXED_RAD = 0.03  # standard deviation of features that no style models
MAX_SIGMAS = 3.0  # of a constraint that is met
MET_M, MET_PX, MET_RAD = 0.01, 3.0, np.radians(5.0)  # and these always count as met


@dataclass(frozen=True, slots=True)
class SynthesisProblem:
    """The constraints of one pose, in their own form and as `Targets`.

    Attributes:
        weight, centre: weights and target values of the static features that are drawn to a value, (S,) each.
        offset: s - y of features whose previous poses are known, (F,).
    """

    constraints: Constraints
    targets: Targets
    weight: Floats
    centre: Floats
    offset: Floats | None

    @property
    def has_image_points(self) -> bool:
        """Whether any handle is known by image points alone."""
        handles = self.targets.handles
        return bool((handles.weight_px[:, ~find_points_in_space(handles)] > 0.0).any())


def find_points_in_space(handles: HandleTargets) -> Bools:
    """Return which handles have a target point in space, (N,)."""
    return np.asarray(handles.root_info[:, 0, 0] > 0.0)


def _copy_writable(values: ArrayLike) -> Floats:
    """Return an array of the one type that the kernels are compiled for."""
    return np.require(values, np.float64, ["C", "W"])


def build_likelihood_model(style: Style, evaluator: StyleEvaluator, moving: bool) -> LikelihoodModel:
    """Return a style's arrays; without `moving`, velocities and accelerations are left out, which marginalises them.

    Args:
        style: the style.
        evaluator: evaluator of its Gaussian process.
        moving: whether velocities and accelerations count.
    """
    column = np.flatnonzero(style.modelled)
    used = np.ones(len(column), bool) if moving else column < N_STATIC
    scale = np.ascontiguousarray(evaluator.scale[used])
    coefficients = np.ascontiguousarray(evaluator.coefficients[:, used] * scale)
    p = evaluator.parameters
    one_point = bool((np.ptp(evaluator.latent, axis=0) <= 1e-6 / np.sqrt(p.gamma)).all())
    # Around a single point s2 has a saddle that no search leaves; without gamma the pose is as at that point, whatever x is.
    parameters = np.array([p.alpha, 1.0 / p.beta, 0.0 if one_point else p.gamma, len(scale)])
    shift, static = scale * evaluator.mean[used], np.ascontiguousarray(column[used] % N_STATIC)
    return LikelihoodModel(evaluator.latent, evaluator.inverse, coefficients, shift, scale, static, parameters)


def stack_models(models: Sequence[LikelihoodModel]) -> LikelihoodModel:
    """Return several models as one, smaller ones padded with active points and features that have no effect."""
    return LikelihoodModel(*(_stack_arrays(parts) for parts in zip(*models, strict=True)))


def _stack_arrays(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays as one, the smaller ones padded with zeros."""
    shape = np.max([part.shape for part in parts], axis=0)
    return np.stack([np.pad(part, [(0, most - n) for most, n in zip(shape, part.shape, strict=True)]) for part in parts])


def weigh_unmodelled_features(styles: Sequence[Style], shares: Sequence[float]) -> tuple[Floats, Floats]:
    """Return weights and centres of static features, (S,): at the means of the styles that do not model them."""
    weight, weighted = np.zeros(N_STATIC), np.zeros(N_STATIC)
    for style, share in zip(styles, shares, strict=True):
        w = np.where(style.modelled[:N_STATIC], 0.0, share / FIXED_RAD**2)
        weight += w
        weighted += w * style.mean[:N_STATIC]
    return weight, weighted / np.maximum(weight, 1e-12)


def add_fixed_joints(weight: Floats, centre: Floats, constraints: Constraints) -> tuple[Floats, Floats]:
    """Return weights and centres with those of fixed joints added; values that are not finite are skipped.

    Args:
        weight: weights of the angles, (A,).
        centre: target values of the angles, (A,) [rad].
        constraints: constraints that the pose is to meet.
    """
    fixed = constraints.fixed
    added, weighted = weight.copy(), weight * centre
    for joint, rotvec, sigma in zip(fixed.joint, fixed.rotvec, fixed.sigma_rad, strict=True):
        if joint < 1 or not sigma > 0.0 or not np.isfinite(sigma) or not np.isfinite(rotvec).all():
            continue
        at = slice(3 * (joint - 1), 3 * joint)
        added[at] += 1.0 / sigma**2
        weighted[at] += rotvec / sigma**2
    return added, np.where(added > 0.0, weighted / np.maximum(added, 1e-12), centre)


def build_targets(constraints: Constraints) -> Targets:
    """Return constraints as the kernels take them; values that are not finite are no constraint."""
    c, orientations, seen = constraints, constraints.orientations, constraints.observations
    point, info, ideal, weight = seen.point_m, seen.root_info, seen.ideal, seen.weight_px
    bad3 = np.asarray(~(np.isfinite(point).all(axis=1) & np.isfinite(info).all(axis=(1, 2))))
    bad2 = np.asarray(~(np.isfinite(ideal).all(axis=2) & np.isfinite(weight)))
    if bad3.any() or bad2.any():
        point, info = np.where(bad3[:, None], 0.0, point), np.where(bad3[:, None, None], 0.0, info)
        ideal, weight = np.where(bad2[:, :, None], 0.0, ideal), np.where(bad2, 0.0, weight)
    views = ViewArrays(_copy_writable(seen.view_rotation), _copy_writable(seen.view_translation), _copy_writable(seen.view_focal))
    joint, offset_m = np.require(c.handles.joint, np.int64, ["C", "W"]), _copy_writable(c.handles.offset_m)
    observed = (_copy_writable(point), _copy_writable(info), _copy_writable(ideal), _copy_writable(weight))
    sigma = orientations.sigma_rad
    known = np.isfinite(orientations.rotation).all(axis=(1, 2)) & (sigma > 0.0) & np.isfinite(sigma)
    turned = OrientationTargets(
        orientations.joint[known].astype(np.int64), _copy_writable(orientations.rotation[known]), _copy_writable(sigma[known])
    )
    return Targets(
        HandleTargets(joint, offset_m, *observed, views), turned, _build_root_target(c.root), float(c.robust_sigmas) ** 2
    )


def _build_root_target(root: RootConstraint) -> RootTarget:
    """Return the root's prior with precisions; one that is not finite has none."""
    by_rotation = 1.0 / root.sigma_rad**2 if root.sigma_rad > 0.0 and np.isfinite(root.rotation).all() else 0.0
    by_position = 1.0 / root.sigma_m**2 if root.sigma_m > 0.0 and np.isfinite(root.position_m).all() else 0.0
    rotation = root.rotation if by_rotation > 0.0 else np.eye(3)
    position_m = root.position_m if by_position > 0.0 else np.zeros(3)
    return RootTarget(_copy_writable(rotation), _copy_writable(position_m), float(by_rotation), float(by_position))


class ConstraintErrors(NamedTuple):
    """Distances of handles from their points, (N,) [m], and image points, (2, N) [px], zero without a target.

    reached: whether all constraints but the root's are met: within 3 sigma, or 1 cm, 3 px or 5 degrees, whichever is more.
    """

    error_m: Floats
    error_px: Floats
    reached: bool


def measure_constraint_errors(
    skeleton: Skeleton, rotvec: Floats, root_m: Floats, constraints: Constraints, targets: Targets
) -> ConstraintErrors:
    """Return how well a pose meets its constraints.

    Args:
        skeleton: the skeleton.
        rotvec: rotation vectors of the joints, (J, 3) [rad].
        root_m: position of the root, (3,) [m].
        constraints: constraints that the pose is to meet.
        targets: the constraints.
    """
    G, p = compute_forward_kinematics(skeleton, rotvec, root_m)
    joint, offset_m = targets.handles.joint, targets.handles.offset_m
    x = p[joint] + np.einsum("pij,pj->pi", G[joint], offset_m)
    errors = measure_handle_errors(x, targets.handles, len(x) - constraints.n_kept)
    return errors._replace(reached=errors.reached and _are_rotations_met(G, rotvec, constraints, targets.orientations))


def measure_handle_errors(x: Floats, handles: HandleTargets, n_asked: int) -> ConstraintErrors:
    """Return how far handles are from their targets.

    Args:
        x: the handles, (N, 3) [m].
        handles: their targets.
        n_asked: number of handles, the first ones, that have to be met.
    """
    rotation, translation, focal = handles.views
    has3, weight = find_points_in_space(handles), handles.weight_px
    error_m = np.where(has3, np.linalg.norm(x - handles.point_m, axis=1), 0.0)
    sigmas = np.linalg.norm(np.einsum("pij,pj->pi", handles.root_info, x - handles.point_m), axis=1)
    met = bool((~has3 | (error_m <= MET_M) | (sigmas <= MAX_SIGMAS))[:n_asked].all())
    seen = (weight > 0.0) & ~has3
    if not seen.any():
        return ConstraintErrors(error_m, np.zeros(seen.shape), met)
    in_camera = np.einsum("cij,pj->cpi", rotation, x) + translation[:, None]
    depth = np.maximum(in_camera[..., 2], MIN_DEPTH_M)
    error = focal[:, None, None] * (in_camera[..., :2] / depth[..., None] - handles.ideal)
    error_px = np.where(seen, np.linalg.norm(error, axis=2), 0.0)
    near = error_px <= np.maximum(MET_PX, MAX_SIGMAS / np.sqrt(np.where(seen, weight, 1.0)))
    return ConstraintErrors(error_m, error_px, met and bool((near & (~seen | (in_camera[..., 2] > MIN_DEPTH_M))).all()))


def _are_rotations_met(G: Floats, rotvec: Floats, constraints: Constraints, orientations: OrientationTargets) -> bool:
    """Return whether orientations and fixed joints are met."""
    joint, fixed = orientations.joint, constraints.fixed
    met = not len(joint) or _is_within_tolerance(compute_geodesic_rad(G[joint], orientations.rotation), orientations.sigma_rad)
    if not len(fixed.joint):
        return met
    known = np.isfinite(fixed.rotvec).all(axis=1) & (fixed.joint > 0)
    target = REFERENCE[fixed.joint] @ matrix_from_rotvec(np.where(known[:, None], fixed.rotvec, 0.0))
    found = local_from_charted(rotvec)[fixed.joint]
    return met and _is_within_tolerance(np.where(known, compute_geodesic_rad(found, target), 0.0), fixed.sigma_rad)


def _is_within_tolerance(error_rad: Floats, sigma_rad: Floats) -> bool:
    """Return whether all angles are met."""
    return bool((error_rad <= np.maximum(MAX_SIGMAS * np.nan_to_num(sigma_rad, nan=np.inf), MET_RAD)).all())
