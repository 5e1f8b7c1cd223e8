"""Learn a style from poses (Grochow et al. 2004, section 5.1 and appendix B)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.style import learn_direct, learn_heuristic
from reconstruct.style.active_set import active_set
from reconstruct.style.anneal import annealed
from reconstruct.style.features import N_FEATURES, N_STATIC, TrainingPoses
from reconstruct.style.learn_parameters import Fit
from reconstruct.style.model import Style, StyleError
from reconstruct.style.optimise import Optimiser
from reconstruct.style.start import carried_over, principal, with_parameters

LEAST_POSES, MOST_POSES = 20, 2000
STILL = 2e-3  # features that spread less than this are not modelled but held at their mean
LEAST_DEVIATION = 0.01, 0.005, 0.005  # 1/w of poses, velocities, accelerations: what hardly moves shall not count most
Method = Literal["heuristic", "direct"]
Progress = Callable[[int, int, float], None]  # steps done, steps in all, L_GP


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How a style is learned.

    latent: dimensions; active: size M of the active set; method: alternation with active sets, or everything at once; optimiser:
    scaled conjugate gradients or L-BFGS; steps: of the optimiser (direct), of the alternation (heuristic), 0: the method's own;
    noise_variance: of annealing, in scaled features, None: 0.05 for small sets, 0.1 for large; seed: of that noise.
    """

    latent: int = 3
    active: int = 100
    method: Method = "heuristic"
    optimiser: Optimiser = "lbfgs"
    steps: int = 0
    noise_variance: float | None = None
    seed: int = 1


def _no_progress(done: int, total: int, L: float) -> None:
    """Stand in where nobody watches."""


def learn(
    poses: TrainingPoses,
    skeleton: Skeleton,
    name: str,
    options: LearnOptions | None = None,
    progress: Progress = _no_progress,
    start: Style | None = None,
) -> Style:
    """Learn a style: the same arrays, bit for bit, from the same poses, options and start.

    progress is told L_GP of all poses after each step; what it raises ends learning and passes through. start: a style of some of
    the same poses, from which to go on: those keep their latent points to begin with; unused if of other latent dimensions.
    Raises StyleError: too few or too many poses, none that move, values that are no numbers, impossible options.
    """
    o = options or LearnOptions()
    _check(poses, o)
    start = None if start is None or start.n_latent != o.latent else start
    mean, spread = poses.features.mean(axis=0), poses.features.std(axis=0)
    modelled = np.asarray(spread > STILL)
    if not modelled.any():
        raise StyleError("no joint moves in these poses: there is no style to learn; give poses of a motion")
    Y = np.ascontiguousarray(poses.features[:, modelled] - mean[modelled])
    watch = _Watch(progress, 1 + (o.steps or _steps_of(o.method, start is not None)))
    fit = _fitted(Y, _start(poses, Y, modelled, o, start), most_scale(modelled), o, watch).normal(Y)
    active = active_set(fit.X, fit.parameters, o.active)
    smoother = annealed(fit, Y, active, o.noise_variance, o.seed, o.optimiser)
    watch.end(fit.value(Y))
    return Style(
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
        smoother,
        np.array(watch.trace),
        poses.moments,
    )


def most_scale(modelled: NDArray[np.bool_]) -> Floats:
    """Give the bound of w of the modelled features, (D,)."""
    return 1.0 / np.repeat(LEAST_DEVIATION, N_STATIC)[modelled]


def _check(poses: TrainingPoses, o: LearnOptions) -> None:
    """Refuse what no style can be learned of."""
    n = len(poses)
    if n < LEAST_POSES:
        raise StyleError(f"{n} poses are too few to learn a style from; give at least {LEAST_POSES}")
    if n > MOST_POSES:
        raise StyleError(
            f"{n} poses are too many to learn a style from at once; give at most {MOST_POSES}, 500 do for most motions"
        )
    if poses.features.shape != (n, N_FEATURES):
        raise StyleError(f"poses come with {poses.features.shape[1]} features, and {N_FEATURES} were expected; make them anew")
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


def _steps_of(method: Method, warm: bool) -> int:
    """Give how many steps a method takes."""
    cold_and_warm = learn_heuristic.STEPS if method == "heuristic" else learn_direct.STEPS
    return cold_and_warm[warm]


def _start(poses: TrainingPoses, Y: Floats, modelled: NDArray[np.bool_], o: LearnOptions, start: Style | None) -> Fit:
    """Give where learning starts."""
    first = principal(Y, o.latent, most_scale(modelled))
    if start is None:
        return with_parameters(first, Y, o.optimiser)
    return carried_over(start, poses.features, modelled, first.ln_scale)


def _fitted(Y: Floats, start: Fit, most: Floats, o: LearnOptions, watch: "_Watch") -> Fit:
    """Learn by the method asked for."""
    steps = watch.total - 1
    if o.method == "heuristic":
        return learn_heuristic.learned_by_heuristic(Y, start, most, o.active, steps, o.optimiser, watch)
    return learn_direct.learned_directly(Y, start, most, steps, o.optimiser, watch)


class _Watch:
    """Keeps L_GP step by step, and tells who watches."""

    def __init__(self, progress: Progress, total: int) -> None:
        """Watch `total` steps."""
        self.progress, self.total, self.trace = progress, total, list[float]()

    def __call__(self, L: float) -> None:
        """Take note of one step."""
        self.trace.append(L)
        self.progress(min(len(self.trace), self.total - 1), self.total, L)

    def end(self, L: float) -> None:
        """Take note of the end, however few steps it took."""
        self.trace.append(L)
        self.progress(self.total, self.total, L)
