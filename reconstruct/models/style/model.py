"""The style: a learned model of poses, and its predictions (Grochow et al. 2004, sections 5 and 6).

k(x, x') = alpha exp(-gamma/2 |x - x'|^2) + delta(x, x') / beta
f(x) = mu + Y' K^-1 k(x),    s2(x) = alpha + 1/beta - k(x)' K^-1 k(x)        over the active set of M points
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from config.arrays import Bools, Floats, Ints
from config.errors import DuocapError
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import PoseTimes

ACTIVE_JITTER = 1e-6  # of alpha, added to the active points' covariance where it is inverted without noise
ANNEALED_SHARE = 1.0 / np.sqrt(2.0)  # of the learned parameters in the middle step of annealing


class StyleError(DuocapError):
    """A style cannot be learned, read or used."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Parameters of the kernel.

    Attributes:
        alpha: variance of the process.
        beta: inverse variance of the noise.
        gamma: inverse square of the latent length scale.
    """

    alpha: float
    beta: float
    gamma: float

    def between(self, other: "Hyperparameters", share: float) -> "Hyperparameters":
        """Return the weighted mean of these, by `share`, and others (Grochow et al. 2004, section 6.1.1)."""
        rest = 1.0 - share
        return Hyperparameters(
            share * self.alpha + rest * other.alpha,
            share * self.beta + rest * other.beta,
            share * self.gamma + rest * other.gamma,
        )


@dataclass(frozen=True, slots=True)
class Style:
    """A learned scaled Gaussian process latent variable model.

    Attributes:
        features: y of the N training poses, (N, F), all of `features.feature_names`.
        rotvec: those poses, (N, J, 3) [rad].
        modelled: features that vary enough to be learned, (F,), D of them.
        mean: means of all features, (F,).
        spread: standard deviations of all features, (F,).
        latent: x, (N, Q).
        scale: w of the modelled features, (D,).
        active: rows of the active set, (M,).
        learned, annealed: parameters.
        objective: L_GP after each step, (T,).
        times: times of the training poses, as far as known.
        fitted: coefficients of f with the learned parameters, (M, D), where they came with the style: see `build_evaluator`.
    """

    name: str
    skeleton: Skeleton
    features: Floats
    rotvec: Floats
    modelled: Bools
    mean: Floats
    spread: Floats
    latent: Floats
    scale: Floats
    active: Ints
    learned: Hyperparameters
    annealed: Hyperparameters
    objective: Floats
    times: PoseTimes = field(default_factory=PoseTimes)
    fitted: Floats | None = None

    @property
    def n_latent(self) -> int:
        """Number of latent dimensions, Q."""
        return int(self.latent.shape[1])

    def centred(self) -> Floats:
        """Return the modelled features minus their means, (N, D)."""
        return np.ascontiguousarray(self.features[:, self.modelled] - self.mean[self.modelled])

    def keep_active(self) -> "Style":
        """Return the style that knows its active poses alone: f(x) = mean + Y' K^-1 k(x) is over these, as in the paper."""
        rows = self.active
        kept = replace(self, features=self.features[rows], rotvec=self.rotvec[rows], latent=self.latent[rows], fitted=None)
        return replace(kept, active=np.arange(len(rows)), times=self.times.take(rows))


@dataclass(frozen=True, slots=True)
class StyleEvaluator:
    """A style with one set of parameters: the arrays that every evaluation of L_IK needs.

    Attributes:
        latent: active x, (M, Q).
        inverse: K^-1, (M, M).
        coefficients: (M, D), f(x) = mean + k(x)'coefficients, the paper's K^-1 Y or those fitted to all poses.
        mean: means of the modelled features, (D,).
        scale: w, (D,).
    """

    latent: Floats
    inverse: Floats
    coefficients: Floats
    mean: Floats
    scale: Floats
    parameters: Hyperparameters


def compute_covariance(X: Floats, other: Floats, parameters: Hyperparameters) -> Floats:
    """Return the kernel between points, without its noise, (N, P).

    Args:
        X: (N, Q).
        other: other points, (P, Q).
        parameters: hyperparameters of the kernel.
    """
    distance2 = np.maximum((X**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2.0 * X @ other.T, 0.0)
    return np.asarray(parameters.alpha * np.exp(-0.5 * parameters.gamma * distance2))


def build_evaluator(style: Style, parameters: Hyperparameters) -> StyleEvaluator:
    """Return the evaluator of a style for one set of parameters.

    The paper's f(x) uses the active poses only; ours is fitted to all training poses through the active points (projected
    process, Rasmussen & Williams 2006, section 8.3.4), at no cost in use. With all poses active it equals the paper's, as s2
    always does. The fit takes time, and is skipped where its result came with the style.
    Raises StyleError: the covariance cannot be inverted, as only of a forged file or message.
    """
    X, fitted = np.ascontiguousarray(style.latent[style.active]), style.fitted if parameters == style.learned else None
    try:
        with np.errstate(all="ignore"):
            inverse = _invert_factor(_factor_covariance(X, parameters))
            coefficients = _project_features(style.latent, X, style.centred(), parameters) if fitted is None else fitted
    except (np.linalg.LinAlgError, ValueError) as error:
        raise StyleError(f"the style {style.name} cannot be used: its covariance cannot be inverted; learn it again") from error
    if not all(np.isfinite(array).all() for array in (inverse, coefficients)):
        raise StyleError(f"the style {style.name} cannot be used: its covariance cannot be inverted; learn it again")
    return StyleEvaluator(X, inverse, coefficients, style.mean[style.modelled].copy(), style.scale, parameters)


def _project_features(X: Floats, active: Floats, Y: Floats, parameters: Hyperparameters) -> Floats:
    """Return (K_AN K_NA + K_AA / beta)^-1 K_AN Y, (M, D), of all latent points X, (N, Q), and Y, (N, D)."""
    jitter = ACTIVE_JITTER * parameters.alpha * np.eye(len(active))
    L = np.linalg.cholesky(compute_covariance(active, active, parameters) + jitter)
    V = solve_triangular(L, compute_covariance(active, X, parameters), lower=True)
    B = np.eye(len(active)) + parameters.beta * V @ V.T  # much better conditioned than K_AN K_NA + K_AA / beta
    whitened = cho_solve(cho_factor(B, lower=True), parameters.beta * V @ Y)
    return np.ascontiguousarray(solve_triangular(L, whitened, lower=True, trans="T"))


def build_evaluator_at(X: Floats, Y: Floats, mean: Floats, scale: Floats, parameters: Hyperparameters) -> StyleEvaluator:
    """Return the evaluator of active latent points.

    Args:
        X: active latent points, (M, Q).
        Y: features of the points, (M, D).
        mean: means of the features, (D,).
        scale: scales of the features, (D,).
        parameters: hyperparameters of the kernel.
    """
    X = np.ascontiguousarray(X)
    factor = _factor_covariance(X, parameters)
    return StyleEvaluator(X, _invert_factor(factor), np.ascontiguousarray(cho_solve(factor, Y)), mean, scale, parameters)


def _factor_covariance(X: Floats, parameters: Hyperparameters) -> tuple[Floats, bool]:
    """Return the Cholesky factor of K of latent points, (M, Q), as scipy has it."""
    factor, lower = cho_factor(compute_covariance(X, X, parameters) + np.eye(len(X)) / parameters.beta, lower=True)
    return factor, lower


def _invert_factor(factor: tuple[Floats, bool]) -> Floats:
    """Return K^-1, (M, M), of its Cholesky factor."""
    return np.ascontiguousarray(cho_solve(factor, np.eye(len(factor[0]))))


def build_annealing_evaluators(style: Style) -> tuple[StyleEvaluator, StyleEvaluator, StyleEvaluator]:
    """Return the style annealed, in between and as learned: the three steps of synthesis (Grochow et al. 2004, section 6.2)."""
    between = style.learned.between(style.annealed, ANNEALED_SHARE)
    return build_evaluator(style, style.annealed), build_evaluator(style, between), build_evaluator(style, style.learned)


def predict_features(style: StyleEvaluator, x: Floats) -> tuple[Floats, Floats]:
    """Return f(x), (P, D), and s2(x), (P,), of latent points (P, Q) (Grochow et al. 2004, eqs. 4 and 5)."""
    k = compute_covariance(np.atleast_2d(x), style.latent, style.parameters)
    return style.mean + k @ style.coefficients, _compute_variance(style, k)


def compute_latent_energy(style: StyleEvaluator, x: Floats) -> Floats:
    """Return L_IK of the poses that latent points, (P, Q), predict: D/2 ln s2(x) + |x|^2 / 2, (P,)."""
    x = np.atleast_2d(x)
    variance = _compute_variance(style, compute_covariance(x, style.latent, style.parameters))
    return np.asarray(0.5 * len(style.mean) * np.log(variance) + 0.5 * np.einsum("pq,pq->p", x, x))


def _compute_variance(style: StyleEvaluator, k: Floats) -> Floats:
    """Return s2 of points with covariances k to the active set, (P, M) -> (P,); rounding cannot make it vanish."""
    variance = style.parameters.alpha + 1.0 / style.parameters.beta - np.einsum("pm,pm->p", k @ style.inverse, k)
    return np.asarray(np.maximum(variance, 1e-9 * style.parameters.alpha))
