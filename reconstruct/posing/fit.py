"""Joint angles that meet constraints, by the solver of live capture: Levenberg-Marquardt within the joints' limits.

Orientations become points beside the joint, fixed joints a narrow Gaussian, and what a model expects of the body further points.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats, Ints
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import rotvec_from_matrix
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.constraints import Constraints
from reconstruct.models.local.model import FULL, LocalModel
from reconstruct.models.style.synthesis.problem import build_targets, measure_constraint_errors
from reconstruct.solve.limits import NO_LIMITS, Limits
from reconstruct.solve.root import RootPrior
from reconstruct.solve.solver import FrameProblem, Solution, solve_pose

LEVER_M = 0.2  # of the points that stand for an orientation
ROUNDS = 3  # of orientations, whose points move with their joint
FREE_RAD, FREE_M = 10.0, 100.0  # standard deviations of a root that nothing is said of
TILT_RAD = 0.08  # but of its inclination, from that of the start
MAX_ITERATIONS = 40
TOLERANCE = 1e-6  # of the energy's last decrease, relative, where the minimum is found


@dataclass(frozen=True, slots=True)
class PoseResult:
    """A pose that was found; fields as in `FoundPose`. energy: of the solver."""

    rotvec: Floats
    root_m: Floats
    variance: float
    error_m: Floats
    error_px: Floats
    reached: bool
    converged: bool
    energy: float


@dataclass(frozen=True, slots=True)
class ExpectedPoints:
    """Points of the body where a model expects them: joint (P,), offset (P, 3) [m], world (P, 3) [m], deviation (P,) [m]."""

    joint: Ints
    offset_m: Floats
    at_m: Floats
    sigma_m: Floats


@dataclass(frozen=True, slots=True)
class PoseStart:
    """Where the solver starts: joint coordinates (J, 3) [rad], the root's rotation (3, 3) and position (3,) [m]."""

    joints: Floats
    rotation: Floats
    root_m: Floats


def fit_pose(
    skeleton: Skeleton,
    model: LocalModel,
    limits: Limits | None,
    constraints: Constraints,
    start: PoseStart,
    expected: ExpectedPoints | None = None,
) -> PoseResult:
    """Return the pose that meets constraints and expectations best; `variance` is 1, for the model to judge.

    Args:
        skeleton: the skeleton.
        model: local model of the joints.
        limits: limits of the joints, or None.
        constraints: constraints that the pose is to meet.
        start: pose that the solver begins with.
        expected: points that are expected, or None.
    """
    model, now = _add_fixed_joints(model, constraints), start
    for _ in range(ROUNDS if len(constraints.orientations.joint) else 1):
        parts = [_build_handle_points(constraints), _build_orientation_points(skeleton, constraints, now)]
        if expected is not None:
            parts.append(expected)
        solution = _solve_pose(skeleton, model, limits, constraints, now, parts)
        now = PoseStart(solution.joints, solution.rotation, solution.position_m)
    rotvec = solution.joints.copy()
    rotvec[0] = rotvec_from_matrix(REFERENCE[0].T @ solution.rotation)
    errors = measure_constraint_errors(skeleton, rotvec, solution.position_m, constraints, build_targets(constraints))
    e = solution.energies
    converged = len(e) <= MAX_ITERATIONS or bool(e[-2] - e[-1] <= TOLERANCE * max(float(e[-1]), 1.0))
    return PoseResult(rotvec, solution.position_m.copy(), 1.0, *errors, converged, float(e[-1]))


def _solve_pose(
    skeleton: Skeleton,
    model: LocalModel,
    limits: Limits | None,
    constraints: Constraints,
    start: PoseStart,
    parts: Sequence[ExpectedPoints],
) -> Solution:
    """Solve for one pose: the first part are the handles, as observed, the others points alone."""
    n, seen = len(parts[0].joint), constraints.observations
    joint, offset_m, at_m, sigma_m = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("joint", "offset_m", "at_m", "sigma_m")
    )
    info = np.eye(3) / np.where(np.isfinite(sigma_m), sigma_m, 1.0)[:, None, None]
    in_space = np.asarray(np.isfinite(seen.root_info).all(axis=(1, 2)) & np.isfinite(seen.point_m).all(axis=1))
    info[:n] = np.where(in_space[:, None, None], seen.root_info, 0.0)
    ideal, weight = np.zeros((2, len(joint), 2)), np.zeros((2, len(joint)))
    ideal[:, :n] = np.nan_to_num(seen.ideal)
    weight[:, :n] = np.where(np.isfinite(seen.ideal).all(axis=2), np.nan_to_num(seen.weight_px), 0.0)
    observations = replace(seen, point_m=np.nan_to_num(at_m), root_info=info, ideal=ideal, weight_px=weight)
    r = constraints.root
    known = np.isfinite(r.sigma_rad), np.isfinite(r.sigma_m)
    root = RootPrior(
        r.rotation if known[0] else start.rotation,
        r.position_m if known[1] else start.root_m,
        r.sigma_rad if known[0] else FREE_RAD,
        r.sigma_m if known[1] else FREE_M,
        None if known[0] else TILT_RAD,
    )
    problem = FrameProblem(
        skeleton,
        (joint, np.ascontiguousarray(offset_m)),
        model,
        root,
        observations,
        constraints.robust_sigmas,
        NO_LIMITS if limits is None else limits,
    )
    w = (start.joints - model.mean)[1:].ravel()
    return solve_pose(problem, (start.rotation, start.root_m), start=w, max_iterations=MAX_ITERATIONS)


def _build_handle_points(constraints: Constraints) -> ExpectedPoints:
    """Return the handles."""
    handles = constraints.handles
    return ExpectedPoints(handles.joint, handles.offset_m, constraints.observations.point_m, np.full(len(handles.joint), np.inf))


def _build_orientation_points(skeleton: Skeleton, constraints: Constraints, now: PoseStart) -> ExpectedPoints:
    """Return points that have a joint's orientation where that joint now is."""
    asked = constraints.orientations
    pose = now.joints.copy()
    pose[0] = rotvec_from_matrix(REFERENCE[0].T @ now.rotation)
    p = compute_forward_kinematics(skeleton, pose, now.root_m)[1]
    axes = LEVER_M * np.concatenate([np.eye(3), -np.eye(3)])
    at_m = [p[j] + axes @ R.T for j, R in zip(asked.joint, asked.rotation, strict=True)]
    sigma_m = np.repeat(LEVER_M * asked.sigma_rad, len(axes))
    offset_m = np.tile(axes, (len(asked.joint), 1))
    return ExpectedPoints(np.repeat(asked.joint, len(axes)), offset_m, np.reshape(at_m, (-1, 3)), sigma_m)


def _add_fixed_joints(model: LocalModel, constraints: Constraints) -> LocalModel:
    """Return a model over all coordinates with fixed joints at their rotation; values that are not finite are skipped."""
    fixed = constraints.fixed
    if not len(fixed.joint):
        return model
    precision, pull = model.precision.copy(), model.precision @ model.center
    for joint, rotvec, sigma in zip(fixed.joint, fixed.rotvec, fixed.sigma_rad, strict=True):
        if joint < 1 or not sigma > 0.0 or not np.isfinite(sigma) or not np.isfinite(rotvec).all():
            continue
        rows = np.arange(3 * (joint - 1), 3 * joint)
        precision[rows, rows] += sigma**-2.0
        pull[rows] += sigma**-2.0 * (rotvec - model.mean[joint])
    return replace(model, center=np.asarray(np.linalg.solve(precision, pull), np.float64), precision=precision)


def build_pose_gaussian(mean: Floats, covariance: Floats) -> LocalModel:
    """Return a Gaussian over all joint coordinates: mean (J, 3) [rad], covariance (D, D) [rad^2]."""
    joints = mean.copy()
    joints[0] = 0.0
    return LocalModel(joints, FULL, np.zeros(len(covariance)), np.asarray(np.linalg.inv(covariance), np.float64))
