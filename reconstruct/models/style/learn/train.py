"""Learn a style from poses (Grochow et al. 2004, section 5.1 and appendix B)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from config.arrays import Bools, Floats
from config.words import format_count
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import N_FEATURES, N_STATIC, TrainingPoses
from reconstruct.models.style.learn.active_set import choose_active_set
from reconstruct.models.style.learn.latent import build_latent_query, find_best_active, find_latent
from reconstruct.models.style.learn.methods import DIRECT_STEPS, HEURISTIC_STEPS, learn_by_heuristic, learn_directly
from reconstruct.models.style.learn.optimise import Optimiser
from reconstruct.models.style.learn.parameters import MAX_LATENT, StyleFit, anneal_parameters, learn_parameters
from reconstruct.models.style.model import Hyperparameters, Style, StyleError, build_evaluator

FIRST = Hyperparameters(1.0, 100.0, 1.0)
FIRST_GAMMAS = 0.1, 1.0, 10.0
N_FIRST = 100  # poses that alpha, beta and gamma are learned from first
MIN_POSES, MAX_POSES = 20, 2000
MIN_SPREAD = 2e-3  # features that vary less are not modelled but fixed at their mean
MIN_DEVIATION = 0.01, 0.005, 0.005  # 1/w of poses, velocities, accelerations: features that hardly vary must not dominate
Method = Literal["heuristic", "direct"]
ProgressCallback = Callable[[int, int, float], None]  # steps done, steps in all, L_GP


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """Options of learning.

    Attributes:
        latent: dimensions.
        active: size M of the active set.
        method: alternation with active sets, or everything at once.
        optimiser: scaled conjugate gradients or L-BFGS.
        steps: steps of the optimiser (direct) or of the alternation (heuristic); 0 for the method's own number.
        noise_variance: variance of the noise of annealing, in scaled features; None for 0.05 with few poses and 0.1 with many.
        seed: seed of that noise.
        only_active: whether the style knows its active poses alone in the end, as in the paper; else all lead its predictions.
    """

    latent: int = 3
    active: int = 100
    method: Method = "heuristic"
    optimiser: Optimiser = "lbfgs"
    steps: int = 0
    noise_variance: float | None = None
    seed: int = 1
    only_active: bool = False


def _ignore_progress(done: int, total: int, L: float) -> None:
    """Stand in for a callback."""


def fit_style(
    poses: TrainingPoses,
    skeleton: Skeleton,
    name: str,
    options: LearnOptions | None = None,
    progress: ProgressCallback = _ignore_progress,
    start: Style | None = None,
) -> Style:
    """Fit a style to poses; deterministic: the same poses, options and start give the same arrays, to the bit.

    Args:
        poses: poses to learn from.
        skeleton: the skeleton.
        name: name of the style.
        options: None for the defaults.
        progress: called after each step with L_GP of all poses; what it raises ends learning and is passed on. start: a style of
            some of the same poses to continue from: those start at their latent points; ignored if of other latent dimensions.
        start: style to go on from, or None.
    Raises StyleError: too few or too many poses, none that move, NaN, impossible options.
    """
    o = options or LearnOptions()
    _check_learning(poses, o)
    start = None if start is None or start.n_latent != o.latent else start
    mean, spread = poses.features.mean(axis=0), poses.features.std(axis=0)
    modelled = np.asarray(spread > MIN_SPREAD)
    if not modelled.any():
        raise StyleError("no joint moves in these poses: there is no style to learn; give poses of a motion")
    Y = np.ascontiguousarray(poses.features[:, modelled] - mean[modelled])
    watch = _Watch(progress, 1 + (o.steps or _count_steps(o.method, start is not None)))
    fit = _fit_by_method(Y, _build_start(poses, Y, modelled, o, start), compute_max_scale(modelled), o, watch).normalised(Y)
    active = choose_active_set(fit.X, fit.parameters, o.active)
    annealed = anneal_parameters(fit, Y, active, o.noise_variance, o.seed, o.optimiser)
    watch.end(fit.value(Y))
    style = Style(
        name,
        skeleton,
        poses.features,
        poses.rotvec,
        modelled,
        mean,
        spread,
        fit.X,
        np.exp(fit.ln_scale),
        active,
        fit.parameters,
        annealed,
        np.array(watch.trace),
        poses.times,
    )
    return style.keep_active() if o.only_active else style


def compute_max_scale(modelled: Bools) -> Floats:
    """Return the upper bound of w of the modelled features, (D,)."""
    return 1.0 / np.repeat(MIN_DEVIATION, N_STATIC)[modelled]


def _check_learning(poses: TrainingPoses, o: LearnOptions) -> None:
    """Raise StyleError for poses or options that no style can be learned with."""
    n = len(poses)
    if n < MIN_POSES:
        raise StyleError(f"{format_count(n, 'pose is', 'poses are')} too few to learn a style from; give at least {MIN_POSES}")
    if n > MAX_POSES:
        raise StyleError(
            f"{n} poses are too many to learn a style from at once; give at most {MAX_POSES}, 500 do for most motions"
        )
    if poses.features.shape != (n, N_FEATURES):
        raise StyleError(
            f"poses come with {poses.features.shape[1]} features, and {N_FEATURES} were expected; compute them again"
        )
    if not (np.isfinite(poses.features).all() and np.isfinite(poses.rotvec).all()):
        raise StyleError("some of the poses have values that are not numbers; clean the motion or leave them out")
    if not 1 <= o.latent < n:
        raise StyleError(f"a latent space of {o.latent} dimensions is impossible with {n} poses; 2 or 3 are usual")
    if o.active < 2 or o.steps < 0:
        raise StyleError(f"an active set of {o.active} in {o.steps} steps is impossible; give at least 2 poses, 0 steps or more")
    for word, known in ((o.method, get_args(Method)), (o.optimiser, get_args(Optimiser))):
        if word not in known:
            raise StyleError(f"{word!r} is no way to learn; give one of {', '.join(known)}")
    if o.noise_variance is not None and not 0.0 < o.noise_variance < 10.0:
        raise StyleError(f"a noise variance of {o.noise_variance:g} is impossible; 0.05 to 0.1 is usual")


def _count_steps(method: Method, warm: bool) -> int:
    """Return the number of steps of a method, without and with a style to start from."""
    cold_and_warm = HEURISTIC_STEPS if method == "heuristic" else DIRECT_STEPS
    return cold_and_warm[warm]


def _build_start(poses: TrainingPoses, Y: Floats, modelled: Bools, o: LearnOptions, start: Style | None) -> StyleFit:
    """Return the fit that learning starts from."""
    first = fit_start_from_components(Y, o.latent, compute_max_scale(modelled))
    if start is None:
        return learn_first_parameters(first, Y, o.optimiser)
    return build_start_from_style(start, poses.features, modelled, first.ln_scale)


def fit_start_from_components(Y: Floats, n_latent: int, most_scale: Floats) -> StyleFit:
    """Return a fit whose latent points are the principal components of features, with variances of 1.

    Args:
        Y: standardised features, (N, D).
        n_latent: number Q of latent dimensions.
        most_scale: largest scales, (D,).
    """
    deviation = Y.std(axis=0)
    U, singular, _ = np.linalg.svd(Y / deviation, full_matrices=False)
    used = min(n_latent, int((singular > 1e-9 * singular[0]).sum()))
    X = np.zeros((len(Y), n_latent))
    signs = np.where(U[np.abs(U[:, :used]).argmax(axis=0), np.arange(used)] < 0.0, -1.0, 1.0)  # LAPACK's are arbitrary
    X[:, :used] = U[:, :used] * signs * np.sqrt(len(Y))
    return StyleFit(X, np.minimum(-np.log(deviation), np.log(most_scale)), FIRST)


def learn_first_parameters(start: StyleFit, Y: Floats, optimiser: Optimiser) -> StyleFit:
    """Return the start with alpha, beta and gamma learned from a few poses, (N, D), the best of several initial gammas.

    With bad ones the first steps would scatter the latent points. A large gamma, with which no pose predicts others, is a local
    minimum.

    Args:
        start: the fit to begin with.
        Y: features, (N, D), centred.
        optimiser: optimiser to use.
    """
    rows = choose_active_set(start.X, start.parameters, N_FIRST)
    X = start.X[rows]
    found = [
        StyleFit(X, start.ln_scale, learn_parameters(X, start.ln_scale, Y[rows], replace(FIRST, gamma=gamma), optimiser))
        for gamma in FIRST_GAMMAS
    ]
    return replace(start, parameters=min(found, key=lambda fit: fit.value(Y[rows])).parameters)


def build_start_from_style(style: Style, features: Floats, modelled: Bools, component_ln_scale: Floats) -> StyleFit:
    """Return a fit that continues from a style: its poses keep their x, others get the best x in the style.

    Args:
        style: style to continue from.
        features: features, (N, F), of which `modelled`, (F,), are learned.
        modelled: features that are modelled, (F,).
        component_ln_scale: ln w, (D,), of those that the style does not model.
    """
    known = {row.tobytes(): i for i, row in enumerate(style.features)}
    at = np.array([known.get(row.tobytes(), -1) for row in features], np.int64)
    X = np.zeros((len(features), style.n_latent))
    X[at >= 0] = style.latent[at[at >= 0]]
    new = at < 0
    if new.any():
        Y = features[new][:, style.modelled] - style.mean[style.modelled]
        query = build_latent_query(build_evaluator(style, style.learned), Y)
        X[new] = np.clip(find_latent(query, find_best_active(query)), -MAX_LATENT, MAX_LATENT)
    ln_scale = np.full(features.shape[1], np.nan)
    ln_scale[style.modelled] = np.log(style.scale)
    ln_scale = ln_scale[modelled]
    return StyleFit(X, np.where(np.isnan(ln_scale), component_ln_scale, ln_scale), style.learned)


def _fit_by_method(Y: Floats, start: StyleFit, most_scale: Floats, o: LearnOptions, watch: "_Watch") -> StyleFit:
    """Fit by the method of the options."""
    steps = watch.total - 1
    if o.method == "heuristic":
        return learn_by_heuristic(Y, start, most_scale, o.active, steps, o.optimiser, watch)
    return learn_directly(Y, start, most_scale, steps, o.optimiser, watch)


class _Watch:
    """Records L_GP after each step and reports progress."""

    def __init__(self, progress: ProgressCallback, total: int) -> None:
        self.progress, self.total, self.trace = progress, total, list[float]()

    def __call__(self, L: float) -> None:
        """Record one step."""
        self.trace.append(L)
        self.progress(min(len(self.trace), self.total - 1), self.total, L)

    def end(self, L: float) -> None:
        """Record the end, however few steps it took."""
        self.trace.append(L)
        self.progress(self.total, self.total, L)
