"""The cost of the local model: each part against a straightforward implementation, on problems made of a motion database.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.reconstruct.local_model [--database DB] [--frames N] [--json F]

Cross-validation: the closed form against fitting again without each example. Synthesis: our Levenberg-Marquardt against
scipy.optimize.least_squares(method="lm") with the same compiled kinematics, residuals and Jacobian; both minima are compared.
PCA: against numpy's svd. Times are processor time of one thread; the ratios count.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.synthesis_problem import DIMENSIONS, Problem, ScipyProblem, problem
from benchmarks.report import call_us, parser_of, show, write_json
from config.arrays import Floats
from database.store import PoseDatabase
from reconstruct.models.local.pca import COUNTS, loo_errors, pca
from reconstruct.solve.energy import _levenberg_marquardt
from reconstruct.solve.solver import solve
from tools.arguments import open_or_default


def refitted_errors(examples: Floats, counts: Sequence[int], max_dimensions: int) -> Floats:
    """Return the errors of `loo_errors` by fitting again without each example."""
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


def kernel_only(given: Problem) -> Callable[[], object]:
    """Return a call of the compiled solver alone, with its arguments prepared."""
    start, terms, history = given.start, given.frame.energy(given.root[0]), np.zeros(13)
    return lambda: _levenberg_marquardt(start.copy(), terms, 12, history)


def synthesis(problems: Sequence[Problem]) -> dict[str, float]:
    """Time both solvers on every problem and compare their minima."""
    rows = []
    for given in problems:
        theirs, ours = ScipyProblem(given), partial(solve, given.frame, given.root)
        solution = ours()
        x, best = theirs.solve(1e-12)
        model = given.frame.model
        apart_deg = float(np.degrees(np.abs(solution.joints - model.mean - model.directions @ x[: len(model.center)])[1:]).max())
        times = call_us(ours), call_us(kernel_only(given)), call_us(partial(theirs.solve, 1e-4))
        rows.append((*times, float(solution.energies[-1]) / best - 1.0, apart_deg))
    ours_us, kernel_us, scipy_us, above, apart = np.array(rows).T
    return {
        "ours_us": float(np.median(ours_us)),
        "ours_kernel_us": float(np.median(kernel_us)),
        "scipy_us": float(np.median(scipy_us)),
        "ratio": float(np.median(scipy_us / ours_us)),
        "ratio_kernel": float(np.median(scipy_us / kernel_us)),
        "energy_above_minimum": float(above.max()),
        "largest_angle_from_minimum_deg": float(apart.max()),
    }


def cross_validation(problems: Sequence[Problem]) -> dict[str, float]:
    """Time the closed form and refitting, over all candidates and for one K."""
    examples = problems[0].nearest
    pairs = [(examples, COUNTS), *((p.nearest, (100,)) for p in problems[:8])]
    ratios = [loo_errors(e, counts, DIMENSIONS) / refitted_errors(e, counts, DIMENSIONS) for e, counts in pairs]
    ours_us = call_us(lambda: loo_errors(examples, COUNTS, DIMENSIONS))
    refit_us = call_us(lambda: refitted_errors(examples, COUNTS, DIMENSIONS), 1)
    return {
        "ours_us": ours_us,
        "one_count_us": call_us(lambda: loo_errors(examples, (100,), DIMENSIONS)),
        "judged_on_20_us": call_us(lambda: loo_errors(examples, COUNTS, DIMENSIONS, 20)),
        "refit_us": refit_us,
        "ratio": refit_us / ours_us,
        "relative_difference": max(float(np.abs(ratio - 1.0).max()) for ratio in ratios),
    }


def decomposition(problems: Sequence[Problem], count: int) -> dict[str, float]:
    """Time the principal components of `count` examples."""
    examples = problems[0].nearest[:count]
    ours_us = call_us(lambda: pca(examples), 100)
    svd_us = call_us(lambda: np.linalg.svd(examples - examples.mean(axis=0), full_matrices=False), 100)
    return {"ours_us": ours_us, "svd_us": svd_us, "ratio": svd_us / ours_us}


def made_problems(database: PoseDatabase, n_frames: int) -> list[Problem]:
    """Return problems of poses evenly spread over the clips of a database."""
    rng = np.random.default_rng(1)
    poses = np.asarray(database.rotvec[:, 1:], np.float64).reshape(database.n_poses, -1)
    problems = []
    for row in np.linspace(0, database.n_poses - 1, n_frames).astype(int):
        index = int(np.searchsorted(database.clip_start, row, side="right")) - 1
        problems.append(problem(database.clip(index), int(row - database.clip_start[index]), poses, rng))
    return problems


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--database", type=Path, help="motion database; default the built-in motions")
    parser.add_argument("--frames", type=int, default=30, help="problems for the solver (default 30)")
    options = parser.parse_args(given)
    problems = made_problems(open_or_default(options.database), options.frames)
    found = {
        f"cross-validation, K of {COUNTS}, B = 1 to 7": cross_validation(problems),
        "Levenberg-Marquardt, B = 7, 9 markers": synthesis(problems),
        "PCA of 100 examples": decomposition(problems, 100),
        "PCA of 200 examples": decomposition(problems, 200),
    }
    for name, figures in found.items():
        show(name, figures)
    write_json(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
