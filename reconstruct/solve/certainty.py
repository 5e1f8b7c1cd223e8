"""The uncertainty of a solved pose: Laplace's approximation, a Gaussian with the curvature of the energy at the minimum."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats
from config.joints import N_JOINTS
from numerics.definite import mirror_triangle
from reconstruct.models.local.model import FULL_SPAN, find_direction_span
from reconstruct.solve.energy import Energy, compute_energy, compute_joint_sigmas
from reconstruct.solve.solver import FrameProblem, Solution

# error^2 = laplace^2 (FAMILIAR + BY_STRANGENESS strangeness)^2 + LASTING^2 lasting^2, in metres and 1/rad.
FAMILIAR, BY_STRANGENESS, LASTING = 0.8, 5.0, 1.0
MAX_ERROR_M: Final = 1.0
CALIBRATION_M: Final = 0.024  # what a calibration in the T-pose leaves of errors in lengths and markers' places, at the joints


def compute_information(problem: FrameProblem, solution: Solution) -> Floats:
    """Return the inverse covariance of joints, rotation vector of the root about the world's axes and its position.

    problem: its local model over all coordinates. Returns (D + 6, D + 6).
    """
    n = len(problem.model.center) + 6
    A, g = np.empty((n, n)), np.empty(n)
    w = (solution.joints - problem.model.mean)[1:].ravel()
    compute_energy(np.concatenate([w, np.zeros(3), solution.position_m]), problem.energy(solution.rotation), A, g)
    return mirror_triangle(A)


@dataclass(frozen=True, slots=True)
class Minimum:
    """A solved pose as the variables x = (w, d, s) of its energy's terms, and the energy there, with gradient and Hessian."""

    x: Floats
    terms: Energy
    energy: float
    gradient: Floats
    hessian: Floats


def build_minimum(problem: FrameProblem, solution: Solution) -> Minimum:
    """Return the minimum that a problem's solution is."""
    model, terms = problem.model, problem.energy(solution.rotation)
    n = len(model.center) + 6
    w = (solution.joints - model.mean)[1:].ravel()
    if find_direction_span(model.directions) is not FULL_SPAN:
        w = model.directions[1:].reshape(-1, n - 6).T @ w
    x, A, g = np.concatenate([w, np.zeros(3), solution.position_m]), np.empty((n, n)), np.empty(n)
    return Minimum(x, terms, compute_energy(x, terms, A, g), g, A)


def add_calibration_error(error_m: Floats, subject: Subject) -> Floats:
    """Return expected errors, (..., J) [m], with the part of the calibration added."""
    if not subject.is_calibrated:
        return error_m
    return np.asarray(np.minimum(np.hypot(error_m, CALIBRATION_M), MAX_ERROR_M))


def estimate_joint_error_m(minimum: Minimum, solved: Floats, lasting: Floats, strange_rad: float) -> Floats:
    """Return how far from the truth the joints of a solved pose may be, (J,) [m]: 68 % of them are nearer, 95 % twice as near.

    Laplace's sigma takes the errors of consecutive frames for independent. What neighbours are wrong about lasts: both count.
    The constants are a quantile regression over the tuning clips (`benchmarks.reconstruct.expected_errors --fit`).

    Args:
        minimum: the solved pose.
        solved: its covariance by Laplace, (V, V).
        lasting: its covariance by what neighbours are wrong about all the time, (V, V).
        strange_rad: root mean square of its joint coordinates' distance from the nearest example.
    """
    laplace_m, lasting_m = np.empty(N_JOINTS), np.empty(N_JOINTS)
    compute_joint_sigmas(minimum.x, minimum.terms, solved, laplace_m)
    compute_joint_sigmas(minimum.x, minimum.terms, lasting, lasting_m)
    error_m = np.hypot(laplace_m * (FAMILIAR + BY_STRANGENESS * strange_rad), LASTING * lasting_m)
    return np.asarray(np.minimum(error_m, MAX_ERROR_M))
