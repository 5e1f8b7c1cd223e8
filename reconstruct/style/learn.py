"""Learn a style from poses (Grochow et al. 2004, section 5.1 and appendix B)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.style.features import TrainingPoses
from reconstruct.style.model import Hyperparameters, Style, StyleError
from reconstruct.style.objective import objective

LEAST_POSES = 20
STILL = 2e-3  # features that spread less than this are not modelled but held at their mean
Progress = Callable[[int, int, float], None]  # steps done, steps in all, L_GP


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How a style is learned.

    latent: dimensions; active: size M of the active set; method: alternation with active sets, or everything at once; optimiser:
    scaled conjugate gradients or L-BFGS; steps: of the optimiser (direct), of the alternation (heuristic), 0: the method's own;
    noise_variance: of annealing, None: 0.05 for small sets, 0.1 for large; seed: of that noise.
    """

    latent: int = 3
    active: int = 100
    method: Literal["heuristic", "direct"] = "direct"
    optimiser: Literal["scg", "lbfgs"] = "lbfgs"
    steps: int = 0
    noise_variance: float | None = None
    seed: int = 1


def _no_progress(done: int, total: int, L: float) -> None:
    """Stand in where nobody watches."""


def learn(
    poses: TrainingPoses, skeleton: Skeleton, name: str, options: LearnOptions | None = None, progress: Progress = _no_progress
) -> Style:
    """Learn a style. Raises StyleError: too few poses, nothing that moves, impossible options."""
    o = options or LearnOptions()
    if len(poses) < LEAST_POSES:
        raise StyleError(f"{len(poses)} poses are too few to learn a style from; give at least {LEAST_POSES}")
    mean, spread = poses.features.mean(axis=0), poses.features.std(axis=0)
    modelled = spread > STILL
    if not modelled.any():
        raise StyleError("no joint moves in these poses: there is no style to learn; give poses of a motion")
    Y = poses.features[:, modelled] - mean[modelled]
    n, n_features = Y.shape
    U, singular, _ = np.linalg.svd(Y / Y.std(axis=0), full_matrices=False)
    used = min(o.latent, int((singular > 1e-9 * singular[0]).sum()))
    X = np.zeros((n, o.latent))
    X[:, :used] = U[:, :used] * np.sqrt(n)
    size = X.size
    trace: list[float] = []

    def value(z: Floats) -> tuple[float, Floats]:
        L, dX, dp, dw = objective(z[:size].reshape(n, -1), z[size : size + 3], z[size + 3 :], Y)
        trace.append(L)
        return L, np.concatenate([dX.ravel(), dp, dw])

    start = np.concatenate([X.ravel(), [0.0, np.log(100.0), 0.0], -np.log(Y.std(axis=0))])
    bounds = [(None, None)] * size + [(-8.0, 8.0)] * 3 + [(None, None)] * n_features
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": o.steps or 150}).x
    X, ln_scale = found[:size].reshape(n, -1), found[size + 3 :]
    learned = Hyperparameters(*(float(v) for v in np.exp(found[size : size + 3])))
    active = np.unique(np.linspace(0, n - 1, min(o.active, n)).round().astype(np.int64))
    annealed = Hyperparameters(learned.alpha, learned.beta * 0.3, learned.gamma)
    return Style(
        name,
        skeleton,
        poses.features,
        poses.rotvec,
        modelled,
        mean,
        spread,
        np.ascontiguousarray(X),
        np.exp(ln_scale),
        active,
        learned,
        annealed,
        np.array(trace),
        poses.moments,
    )
