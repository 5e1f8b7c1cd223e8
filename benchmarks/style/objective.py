"""The objective of learning a style against GPy's GPLVM: the same poses, start and budget; time of an evaluation.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.style.objective --motion DIR [--poses N...] [--latent Q...] [--evaluations N]
        [--json F]

GPy is no part of duocap. An environment with both, used from the source folder:

    python -m venv /tmp/gpy && /tmp/gpy/bin/pip install -e . GPy

Y are the features of walks of one person, each scaled to variance 1, all w fixed at 1. Both minimise the negative log likelihood

    ND/2 ln 2 pi + D/2 ln|K| + 1/2 tr(Y' K^-1 Y)    (`ml`)    or this plus 1/2 |X|^2 + NQ/2 ln 2 pi    (`map`)

over X and the three parameters by their own L-BFGS, from principal components, with the same number of evaluations; ours is L_GP
without the terms that GPy lacks. GPy evaluates both minima. Without GPy only our gradient is compared with central differences.
"""

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import CLOCK_NS, parser_of, show, write_json
from benchmarks.style.walks import gradient_errors, principal, scaled_features, walking
from config.arrays import Floats
from reconstruct.models.style.learn.objective import Workspace, objective
from reconstruct.models.style.learn.optimise import VariableBounds, minimise

START = np.log([1.0, 100.0, 1.0])  # alpha, beta, gamma
MAX_LN = 14.0  # bound of their logarithms
JITTER = 1e-8  # GPy adds it to the noise
LN_2PI = float(np.log(2.0 * np.pi))
ROUNDS, CALLS = 15, 4


class SpentError(Exception):
    """All evaluations are used up."""


class Ours:
    """The negative log likelihood of a GPLVM by our L_GP, at z = (X flattened, ln alpha, ln beta, ln gamma)."""

    def __init__(self, Y: Floats, n_latent: int, prior: bool) -> None:
        self.Y, self.shape, self.prior = Y, (len(Y), n_latent), prior
        self.ln_scale = np.zeros(Y.shape[1])
        self.work = Workspace.of(*Y.shape)
        constant = Y.size + (len(Y) * n_latent if prior else 0)
        self.constant = 0.5 * constant * LN_2PI

    def value(self, z: Floats) -> tuple[float, Floats]:
        """Return the value with its gradient."""
        X, ln_parameters = z[:-3].reshape(self.shape), z[-3:]
        L, dX, d_ln, _ = objective(X, ln_parameters, self.ln_scale, self.Y, self.work)
        L += self.constant - float(ln_parameters.sum())
        if not self.prior:
            L, dX = L - 0.5 * float(np.vdot(X, X)), dX - X
        return L, np.concatenate([dX.ravel(), d_ln - 1.0])

    def minimum(self, X: Floats, evaluations: int) -> tuple[Floats, int]:
        """Return the best point within the budget, and the number of evaluations used."""
        best, used = (np.inf, np.zeros(0)), 0

        def counted(z: Floats) -> tuple[float, Floats]:
            nonlocal best, used
            if used >= evaluations:
                raise SpentError
            used += 1
            L, gradient = self.value(z)
            if best[0] > L:
                best = L, z.copy()
            return L, gradient

        limit = np.concatenate([np.full(X.size, np.inf), np.full(3, MAX_LN)])
        with suppress(SpentError):
            minimise(counted, np.concatenate([X.ravel(), START]), VariableBounds(-limit, limit), evaluations, tolerance=1e-12)
        return best[1], used


def gpy_model(gpy: Any, Y: Floats, X: Floats, prior: bool) -> Any:
    """Make GPy's model at our start."""
    model = gpy.models.GPLVM(Y, X.shape[1], X=X.copy(), kernel=gpy.kern.RBF(X.shape[1]))
    if prior:
        model.X.set_prior(gpy.priors.Gaussian(0.0, 1.0), warning=False)
    _put(model, np.concatenate([X.ravel(), START]))
    return model


def _put(model: Any, z: Floats) -> None:
    """Set GPy's parameters to ours."""
    alpha, beta, gamma = np.exp(z[-3:])
    model.X[:] = z[:-3].reshape(model.X.shape)
    model.kern.variance[:] = alpha
    model.kern.lengthscale[:] = gamma**-0.5
    model.likelihood.variance[:] = 1.0 / beta - JITTER


def _taken(model: Any) -> Floats:
    """Return GPy's parameters as ours."""
    alpha, length, noise = (
        float(each.values[0]) for each in (model.kern.variance, model.kern.lengthscale, model.likelihood.variance)
    )
    return np.concatenate([np.asarray(model.X.values).ravel(), np.log([alpha, 1.0 / (noise + JITTER), length**-2])])


def interleaved_ms(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float, float]:
    """Return the median processor time of two calls, taken in turns, and the median of their ratio."""
    first(), second()
    times = np.empty((ROUNDS, 2))
    for row in times:
        for k, call in enumerate((first, second)):
            begun = CLOCK_NS()
            for _ in range(CALLS):
                call()
            row[k] = 1e-6 * (CLOCK_NS() - begun) / CALLS
    return float(np.median(times[:, 0])), float(np.median(times[:, 1])), float(np.median(times[:, 1] / times[:, 0]))


def against_gpy(gpy: Any, Y: Floats, n_latent: int, prior: bool, evaluations: int) -> dict[str, float]:
    """Minimise both, and time an evaluation with its gradient of both."""
    X = principal(Y, n_latent)
    ours, theirs = Ours(Y, n_latent, prior), gpy_model(gpy, Y, X, prior)
    start = np.concatenate([X.ravel(), START])
    at_start = float(theirs.objective_function())
    apart = [abs(ours.value(start)[0] / at_start - 1.0)]
    begun = time.process_time()
    z, used = ours.minimum(X, evaluations)
    ours_s, begun = time.process_time() - begun, time.process_time()
    optimizer = importlib.import_module("paramz.optimization").opt_lbfgsb(max_iters=evaluations)
    theirs.optimize(optimizer)
    theirs_s, theirs_minimum, theirs_z = time.process_time() - begun, float(theirs.objective_function()), _taken(theirs)
    apart.append(abs(ours.value(theirs_z)[0] / theirs_minimum - 1.0))
    moved = np.array(theirs.optimizer_array)
    rng = np.random.default_rng(1)
    ms = interleaved_ms(
        lambda: ours.value(theirs_z + 1e-6 * rng.normal(size=theirs_z.shape)),
        lambda: theirs._objective_grads(moved + 1e-6 * rng.normal(size=moved.shape)),
    )
    _put(theirs, z)
    ours_minimum = float(theirs.objective_function())
    apart.append(abs(ours.value(z)[0] / ours_minimum - 1.0))
    return {
        "features": Y.shape[1],
        "at_start": at_start,
        "ours": ours_minimum,
        "gpy": theirs_minimum,
        "ours_less_gpy": ours_minimum - theirs_minimum,
        "evaluations_ours": used,
        "evaluations_gpy": int(optimizer.funct_eval),
        "ours_s": ours_s,
        "gpy_s": theirs_s,
        "relative_difference": max(apart),
        "evaluation_ours_ms": ms[0],
        "evaluation_gpy_ms": ms[1],
        "gpy_over_ours": ms[2],
    }


def gradient_error(Y: Floats, n_latent: int, seed: int = 1) -> float:
    """Return the worst relative error of our gradient by X, the parameters and w, against central differences, in 60
    directions.
    """
    rng, n = np.random.default_rng(seed), len(Y)
    X = principal(Y, n_latent) + 0.05 * rng.normal(size=(n, n_latent))
    point = np.concatenate([X.ravel(), START + 0.3, 0.2 * rng.normal(size=Y.shape[1])])

    def value(z: Floats) -> tuple[float, Floats]:
        L, *parts = objective(z[: X.size].reshape(X.shape), z[X.size : X.size + 3], z[X.size + 3 :], Y)
        return L, np.concatenate([part.ravel() for part in parts])

    gradient, worst = value(point)[1], 0.0
    single = np.concatenate(
        [rng.choice(X.size, 20, replace=False), X.size + np.arange(3), rng.choice(Y.shape[1], 17) + X.size + 3]
    )
    directions = [np.eye(1, len(point), k)[0] for k in single] + [rng.normal(size=len(point)) for _ in range(20)]
    for direction in directions:
        step = 1e-3 / float(np.linalg.norm(direction))
        ends = [value(point + k * step * direction)[0] for k in (-2, -1, 1, 2)]
        exact = float(gradient @ direction)
        scale = max(abs(exact), 1e-3 * float(np.abs(gradient).max()))
        worst = max(worst, gradient_errors((ends[0], ends[1], ends[2], ends[3]), step, exact) / scale)
    return worst


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="unpacked CMU motions")
    parser.add_argument("--poses", type=int, nargs="+", default=[200, 500])
    parser.add_argument("--latent", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--evaluations", type=int, default=300, help="budget of both optimisers (default 300)")
    options = parser.parse_args(given)
    try:
        gpy = importlib.import_module("GPy")
    except ImportError:
        gpy = None
        print("GPy is not installed here: only the gradient is checked (see the head of benchmarks/style/objective.py)")
    found: dict[str, dict[str, float]] = {}
    for n in options.poses:
        Y = scaled_features(walking(options.motion, n)[1])
        for q in options.latent:
            name = f"gradient, N={len(Y)} Q={q}"
            found[name] = {"worst_relative_error": gradient_error(Y, q)}
            show(name, found[name])
            for prior in (False, True) if gpy else ():
                name = f"{'map' if prior else 'ml'}, N={len(Y)} Q={q}"
                found[name] = against_gpy(gpy, Y, q, prior, options.evaluations)
                show(name, found[name])
    write_json(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
