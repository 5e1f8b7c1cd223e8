"""What the local model costs: each part against the plain way, in one run, on problems made of a motion database.

    python -m benchmarks.local_model [--database DB] [--frames N] [--json F]

Cross-validation: the closed form against fitting again without each example. Synthesis: our Levenberg-Marquardt against
scipy.optimize.least_squares(method="lm") with the same compiled kinematics, residuals and Jacobian. PCA: against numpy's svd.
Times are medians of one thread; set OPENBLAS_NUM_THREADS=1. What counts are the ratios.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from calibration.placement import facing_rig
from calibration.subject import Subject
from capture.packets import MarkerFrame
from config.jit import kernel
from config.joints import N_JOINTS
from config.markers import read_marker_set
from database.clips import Clip
from database.kinematics import _chain, _markers_and_jacobian, _rodrigues, forward
from database.rotations import Floats, matrix_from_rotvec
from database.store import PoseDatabase
from reconstruct.cross_validation import COUNTS, cross_validated_pca, loo_errors
from reconstruct.local_model import LocalModel
from reconstruct.local_pca import pca
from reconstruct.observations import Observations, observations_from_markers
from reconstruct.solve import Body, RootPrior, solve
from tools.databases import open_or_default

DIMENSIONS = 7
ROBUST_SIGMAS = 3.0
MARKERS = "boxing"  # 9 markers
NOISE_M = 0.005
MODEL_M = 0.008  # how far markers may be from where the model has them
REPEATS = 20


def median_us(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """Give the median time of a call [us]."""
    function()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter_ns()
        function()
        times.append(time.perf_counter_ns() - begun)
    return float(np.median(times)) * 1e-3


def refitted_errors(examples: Floats, counts: Sequence[int], max_dimensions: int) -> Floats:
    """Give what `loo_errors` gives by fitting again without each example."""
    errors = np.empty((len(counts), max_dimensions))
    for row, count in enumerate(counts):
        left = np.empty((count, max_dimensions))
        for i in range(count):
            others = np.delete(examples[:count], i, axis=0)
            mean = others.mean(axis=0)
            directions = np.linalg.svd(others - mean, full_matrices=False)[2][:max_dimensions]
            e = examples[i] - mean
            left[i] = e @ e - np.cumsum((directions @ e) ** 2)
        errors[row] = np.sqrt(left.mean(axis=0))
    return errors


@dataclass(frozen=True, slots=True)
class Problem:
    """One frame to be solved, as `reconstruct.solve.solve` takes it; nearest: the examples of its local model, (K, D) [rad]."""

    subject: Subject
    nearest: Floats
    model: LocalModel
    root: tuple[Floats, Floats]
    prior: RootPrior
    observations: Observations


def problem(clip: Clip, frame: int, poses: Floats, rng: np.random.Generator) -> Problem:
    """Ask for a pose of a clip with 5 mm noise, the root 3 cm and 3 degrees off, by the PCA of its nearest examples."""
    worn = read_marker_set(MARKERS)
    n_markers = len(worn)
    subject = Subject("performer", clip.skeleton, worn, worn.offset_m, np.zeros(n_markers), np.array([0.0, 1.0, 0.0]))
    G, p = forward(clip.skeleton, clip.rotvec[frame], clip.root_m[frame])
    marker_m = p[worn.joint] + np.einsum("mij,mj->mi", G[worn.joint], worn.offset_m)
    pose = clip.rotvec[frame, 1:].ravel()
    distance = np.sum((poses - pose) ** 2, axis=1)
    # The pose itself and its next moments stay out.
    nearest = poses[np.argsort(distance, kind="stable")[5:205]]
    chosen = cross_validated_pca(nearest, max_dimensions=DIMENSIONS)
    mean, directions = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3, chosen.directions.shape[1]))
    mean[1:], directions[1:] = chosen.mean.reshape(-1, 3), chosen.directions.reshape(N_JOINTS - 1, 3, -1)
    precision = np.diag(1.0 / np.maximum(chosen.variances, 1e-10))
    model = LocalModel(mean, directions, np.zeros(len(precision)), precision)
    R, t = matrix_from_rotvec(clip.rotvec[frame, 0]), clip.root_m[frame]
    root = (matrix_from_rotvec(0.05 * rng.normal(size=3)) @ R, t + 0.03 * rng.normal(size=3))
    seen = _frame(marker_m + NOISE_M * rng.normal(size=marker_m.shape))
    observations = observations_from_markers(seen, facing_rig((640, 480), 60.0, 4.0, 1.0, 1.0), np.full(n_markers, MODEL_M))
    return Problem(subject, nearest, model, root, RootPrior(root[0], root[1], 0.05, 0.03), observations)


def _frame(marker_m: Floats) -> MarkerFrame:
    """Give markers (M, 3) [m] that both cameras see."""
    n = len(marker_m)
    covariance = np.tile(NOISE_M**2 * np.eye(3), (n, 1, 1))
    seen, pixels, sigma = np.ones((2, n), bool), np.zeros((2, n, 2)), np.ones((2, n))
    return MarkerFrame(0, 0, 0, np.ones(n, bool), marker_m, covariance, seen, pixels, sigma, np.zeros(n), np.zeros((0, 3)))


@kernel
def _residuals(
    x: Floats,
    model: tuple[Floats, Floats, Floats],
    root: tuple[Floats, Floats, Floats],
    body: Body,
    markers: tuple[NDArray[np.int64], Floats],
    points: tuple[Floats, Floats],
    residual: Floats,
    jacobian: Floats,
) -> None:
    """Write the residuals of the solver's energy E = |r|^2 / 2, and their derivatives by (w, d, s).

    model: mean, U and the roots of the prior's precisions; root: R_0, place and the prior's inverse deviations (6,); the loss is
    pseudo-Huber, taken into the residuals.
    """
    mean, U, root_precision = model
    R0, place, inverse = root
    joint, offset_m = markers
    point, root_info = points
    n_joints, n_w = U.shape[0], U.shape[2]
    pose = mean.copy()
    for j in range(1, n_joints):
        for i in range(3):
            for b in range(n_w):
                pose[j, i] += U[j, i, b] * x[b]
    work = (np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((n_joints, 3, n_w)), np.empty((n_joints, 3, n_w)))
    y, Jy = np.empty((joint.shape[0], 3)), np.empty((joint.shape[0], 3, n_w))
    _markers_and_jacobian(pose, U, body, joint, offset_m, work, y, Jy)
    turn, left = np.empty((3, 3)), np.empty((3, 3))
    _rodrigues(x[n_w : n_w + 3], turn, left)
    R = turn @ R0
    jacobian[:] = 0.0
    full, cross, scale2 = np.zeros((3, n_w + 6)), np.zeros((3, 3)), ROBUST_SIGMAS * ROBUST_SIGMAS
    for m in range(joint.shape[0]):
        a = R @ y[m]
        cross[0, 1], cross[0, 2], cross[1, 2] = a[2], -a[1], a[0]
        cross[1, 0], cross[2, 0], cross[2, 1] = -a[2], a[1], -a[0]
        full[:, :n_w] = R @ Jy[m]
        full[:, n_w : n_w + 3] = cross @ left
        for i in range(3):
            full[i, n_w + 3 + i] = 1.0
        e, De = root_info[m] @ (a + x[n_w + 3 :] - point[m]), root_info[m] @ full
        s = max(e @ e, 1e-12)
        bend = math.sqrt(1.0 + s / scale2)
        rho = scale2 * (bend - 1.0)
        share = math.sqrt(2.0 * rho / s)
        residual[3 * m : 3 * m + 3] = share * e
        slope = (0.5 / bend * s - rho) / (s * s * share)
        jacobian[3 * m : 3 * m + 3] = share * De + 2.0 * slope * np.outer(e, e @ De)
    first = 3 * joint.shape[0]
    for b in range(n_w):
        residual[first + b] = root_precision[b] * x[b]
        jacobian[first + b, b] = root_precision[b]
    for i in range(6):
        centre = place[i - 3] if i >= 3 else 0.0
        residual[first + n_w + i] = inverse[i] * (x[n_w + i] - centre)
        jacobian[first + n_w + i, n_w + i] = inverse[i]


class ScipyProblem:
    """The same problem as scipy takes it."""

    def __init__(self, given: Problem) -> None:
        n_w, n_markers = len(given.model.precision), len(given.observations.point_m)
        subject = given.subject
        self.start = np.concatenate([given.model.center, np.zeros(3), given.root[1]])
        self._model = (given.model.mean, given.model.directions, np.sqrt(np.diag(given.model.precision)))
        inverse = np.repeat([1.0 / given.prior.sigma_rad, 1.0 / given.prior.sigma_m], 3)
        self._root = (np.ascontiguousarray(given.root[0]), given.prior.position_m, inverse)
        self._body, self._markers = _chain(subject.skeleton), (subject.joint, subject.offset_m)
        self._points = (given.observations.point_m, given.observations.root_info)
        self._out = np.empty(3 * n_markers + n_w + 6), np.empty((3 * n_markers + n_w + 6, n_w + 6))

    def residuals(self, x: Floats) -> Floats:
        """Give r(x)."""
        _residuals(x, self._model, self._root, self._body, self._markers, self._points, *self._out)
        return self._out[0].copy()

    def jacobian(self, x: Floats) -> Floats:
        """Give dr/dx."""
        _residuals(x, self._model, self._root, self._body, self._markers, self._points, *self._out)
        return self._out[1].copy()

    def solve(self, tolerance: float) -> tuple[Floats, float]:
        """Give the minimum and its energy."""
        found = least_squares(self.residuals, self.start, self.jacobian, method="lm", ftol=tolerance, xtol=1e-8, gtol=1e-8)
        return found.x, float(found.cost)


def ours(given: Problem) -> tuple[Floats, float]:
    """Give the joints and the energy of our minimum."""
    subject = given.subject
    markers = (subject.joint, subject.offset_m)
    solution = solve(
        subject.skeleton, markers, given.model, given.root, given.prior, given.observations, robust_sigmas=ROBUST_SIGMAS
    )
    return solution.joints, float(solution.energies[-1])


def synthesis(problems: Sequence[Problem]) -> dict[str, float]:
    """Time both solvers on every problem and compare their minima."""
    rows = []
    for given in problems:
        theirs = ScipyProblem(given)
        joints, energy = ours(given)
        x, best = theirs.solve(1e-12)
        best_joints = given.model.mean + given.model.directions @ x[: len(given.model.precision)]
        apart_deg = float(np.degrees(np.abs(joints - best_joints)[1:]).max())
        times = median_us(partial(ours, given)), median_us(partial(theirs.solve, 1e-4))
        rows.append((*times, energy / best - 1.0, apart_deg))
    table = np.array(rows)
    return {
        "ours_us": float(np.median(table[:, 0])),
        "scipy_us": float(np.median(table[:, 1])),
        "ratio": float(np.median(table[:, 1] / table[:, 0])),
        "energy_above_minimum": float(table[:, 2].max()),
        "largest_angle_from_minimum_deg": float(table[:, 3].max()),
    }


def cross_validation(problems: Sequence[Problem]) -> dict[str, float]:
    """Time the closed form and the refit, over all candidates and for one K."""
    examples = problems[0].nearest
    closed, fitted = (f(examples, COUNTS, DIMENSIONS) for f in (loo_errors, refitted_errors))
    apart = 0.0
    for p in problems[:8]:
        both = loo_errors(p.nearest, (100,), DIMENSIONS), refitted_errors(p.nearest, (100,), DIMENSIONS)
        apart = max(apart, float(np.abs(both[0] / both[1] - 1.0).max()))
    ours_us = median_us(lambda: loo_errors(examples, COUNTS, DIMENSIONS))
    refit_us = median_us(lambda: refitted_errors(examples, COUNTS, DIMENSIONS), 3)
    return {
        "ours_us": ours_us,
        "one_count_us": median_us(lambda: loo_errors(examples, (100,), DIMENSIONS)),
        "judged_on_20_us": median_us(lambda: loo_errors(examples, COUNTS, DIMENSIONS, 20)),
        "refit_us": refit_us,
        "ratio": refit_us / ours_us,
        "relative_difference": max(apart, float(np.abs(closed / fitted - 1.0).max())),
    }


def decomposition(problems: Sequence[Problem], count: int) -> dict[str, float]:
    """Time the principal components of `count` examples."""
    examples = problems[0].nearest[:count]
    ours_us = median_us(lambda: pca(examples), 100)
    svd_us = median_us(lambda: np.linalg.svd(examples - examples.mean(axis=0), full_matrices=False), 100)
    return {"ours_us": ours_us, "svd_us": svd_us, "ratio": svd_us / ours_us}


def made_problems(database: PoseDatabase, n_frames: int) -> list[Problem]:
    """Take poses evenly from the captured clips of a database."""
    rng = np.random.default_rng(1)
    poses = np.asarray(database.rotvec[:, 1:], np.float64).reshape(database.n_poses, -1)
    rows = np.linspace(0, database.n_poses - 1, n_frames).astype(int)
    problems = []
    for row in rows:
        index = int(database.clip_of(int(row)))
        problems.append(problem(database.clip(index), int(row - database.clip_start[index]), poses, rng))
    return problems


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.local_model", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--database", type=Path, help="motion database; default the built-in motions")
    parser.add_argument("--frames", type=int, default=30, help="problems for the solver (default 30)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    problems = made_problems(open_or_default(options.database), options.frames)
    found = {
        f"cross-validation, K of {COUNTS}, B = 1 to 7": cross_validation(problems),
        "Levenberg-Marquardt, B = 7, 9 markers": synthesis(problems),
        "PCA of 100 examples": decomposition(problems, 100),
        "PCA of 200 examples": decomposition(problems, 200),
    }
    for name, figures in found.items():
        print(name)
        print("".join(f"    {key:<32}{value:>12.4g}\n" for key, value in figures.items()), end="")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
