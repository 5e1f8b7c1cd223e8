"""What the local model costs: each part against the plain way, in one run, on problems made of a motion database.

    python -m benchmarks.local_model [--database DB] [--frames N] [--json F]

Cross-validation: the closed form against fitting again without each example. Synthesis: our Levenberg-Marquardt against
scipy.optimize.least_squares(method="lm") with the same compiled kinematics, residuals and Jacobian. PCA: against numpy's svd.
Times are processor time of one thread; set OPENBLAS_NUM_THREADS=1. What counts are the ratios.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.synthesis_problem import DIMENSIONS, ROBUST_SIGMAS, Problem, ScipyProblem, problem
from database.kinematics import _chain
from database.rotations import Floats
from database.store import PoseDatabase
from reconstruct.cross_validation import COUNTS, loo_errors
from reconstruct.local_pca import pca
from reconstruct.solve import solve
from reconstruct.solve_kernels import _levenberg_marquardt
from tools.databases import open_or_default

REPEATS, RUNS = 20, 5
# Windows counts processor time in steps of 16 ms.
CLOCK_NS = time.process_time_ns if time.get_clock_info("process_time").resolution < 1e-5 else time.perf_counter_ns


def call_us(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """Give the processor time of a call [us]: the least mean of five runs, as other programs on the machine only add to it."""
    function()
    means = []
    for _ in range(RUNS):
        begun = CLOCK_NS()
        for _ in range(repeats):
            function()
        means.append((CLOCK_NS() - begun) / repeats)
    return min(means) * 1e-3


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


def ours(given: Problem) -> tuple[Floats, float]:
    """Give the joints and the energy of our minimum."""
    subject = given.subject
    markers = (subject.joint, subject.offset_m)
    solution = solve(
        subject.skeleton, markers, given.model, given.root, given.prior, given.observations, robust_sigmas=ROBUST_SIGMAS
    )
    return solution.joints, float(solution.energies[-1])


def kernel_only(given: Problem) -> Callable[[], object]:
    """Give a call of the compiled solver alone, its arguments made beforehand."""
    center = np.concatenate([np.zeros(3), given.prior.position_m])
    precision = np.repeat([given.prior.sigma_rad**-2.0, given.prior.sigma_m**-2.0], 3)
    m = given.model
    start = np.concatenate([m.center, np.zeros(3), given.root[1]])
    terms = (m.mean, m.directions, m.center, m.precision, np.ascontiguousarray(given.root[0]), center, precision)
    body, markers = _chain(given.subject.skeleton), (given.subject.joint, given.subject.offset_m)
    observed, energies = given.observations.arrays(), np.zeros(13)
    return lambda: _levenberg_marquardt(start.copy(), terms, body, markers, observed, ROBUST_SIGMAS**2, 12, energies)


def synthesis(problems: Sequence[Problem]) -> dict[str, float]:
    """Time both solvers on every problem and compare their minima."""
    rows = []
    for given in problems:
        theirs = ScipyProblem(given)
        joints, energy = ours(given)
        x, best = theirs.solve(1e-12)
        best_joints = given.model.mean + given.model.directions @ x[: len(given.model.precision)]
        apart_deg = float(np.degrees(np.abs(joints - best_joints)[1:]).max())
        times = call_us(partial(ours, given)), call_us(kernel_only(given)), call_us(partial(theirs.solve, 1e-4))
        rows.append((*times, energy / best - 1.0, apart_deg))
    table = np.array(rows)
    return {
        "ours_us": float(np.median(table[:, 0])),
        "ours_kernel_us": float(np.median(table[:, 1])),
        "scipy_us": float(np.median(table[:, 2])),
        "ratio": float(np.median(table[:, 2] / table[:, 0])),
        "ratio_kernel": float(np.median(table[:, 2] / table[:, 1])),
        "energy_above_minimum": float(table[:, 3].max()),
        "largest_angle_from_minimum_deg": float(table[:, 4].max()),
    }


def cross_validation(problems: Sequence[Problem]) -> dict[str, float]:
    """Time the closed form and the refit, over all candidates and for one K."""
    examples = problems[0].nearest
    closed, fitted = (f(examples, COUNTS, DIMENSIONS) for f in (loo_errors, refitted_errors))
    apart = 0.0
    for p in problems[:8]:
        both = loo_errors(p.nearest, (100,), DIMENSIONS), refitted_errors(p.nearest, (100,), DIMENSIONS)
        apart = max(apart, float(np.abs(both[0] / both[1] - 1.0).max()))
    ours_us = call_us(lambda: loo_errors(examples, COUNTS, DIMENSIONS))
    refit_us = call_us(lambda: refitted_errors(examples, COUNTS, DIMENSIONS), 1)
    return {
        "ours_us": ours_us,
        "one_count_us": call_us(lambda: loo_errors(examples, (100,), DIMENSIONS)),
        "judged_on_20_us": call_us(lambda: loo_errors(examples, COUNTS, DIMENSIONS, 20)),
        "refit_us": refit_us,
        "ratio": refit_us / ours_us,
        "relative_difference": max(apart, float(np.abs(closed / fitted - 1.0).max())),
    }


def decomposition(problems: Sequence[Problem], count: int) -> dict[str, float]:
    """Time the principal components of `count` examples."""
    examples = problems[0].nearest[:count]
    ours_us = call_us(lambda: pca(examples), 100)
    svd_us = call_us(lambda: np.linalg.svd(examples - examples.mean(axis=0), full_matrices=False), 100)
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
