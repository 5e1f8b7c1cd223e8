"""The style: what is learned, and what is made of it to ask it for poses (Grochow et al. 2004, sections 5 and 6).

k(x, x') = alpha exp(-gamma/2 |x - x'|^2) + delta(x, x') / beta
f(x) = mu + Y' K^-1 k(x),    s2(x) = alpha + 1/beta - k(x)' K^-1 k(x)        over the active set of M points
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from config.errors import DuocapError
from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.style.features import Moments

ACTIVE_JITTER = 1e-6  # of alpha, added to the active points' covariance where it is divided by without noise
ANNEALED_SHARE = 1.0 / np.sqrt(2.0)  # of the learned parameters in the middle step of annealing


class StyleError(DuocapError):
    """A style cannot be learned from these poses, or is asked for what it does not know."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """alpha: variance of the process; beta: inverse variance of the noise; gamma: inverse square of the latent length scale."""

    alpha: float
    beta: float
    gamma: float

    def between(self, other: "Hyperparameters", share: float) -> "Hyperparameters":
        """Give share of these and the rest of others (Grochow et al. 2004, section 6.1.1)."""
        rest = 1.0 - share
        return Hyperparameters(
            share * self.alpha + rest * other.alpha,
            share * self.beta + rest * other.beta,
            share * self.gamma + rest * other.gamma,
        )


@dataclass(frozen=True, slots=True)
class Style:
    """A learned scaled Gaussian process latent variable model.

    features: y of the N training poses, (N, F), all of `features.feature_names`; rotvec: those poses, (N, J, 3) [rad];
    modelled: features that moved enough to be learned, (F,) bool, D of them; mean: of all features, (F,); spread: their standard
    deviations, (F,); latent: x, (N, Q); scale: w of the modelled features, (D,); active: rows of the active set, (M,);
    learned, annealed: parameters; objective: L_GP step by step, (T,); moments: when the training poses were, as far as known;
    fitted: coefficients of f with the learned parameters, (M, D), where they came with the style: see `level_of`.
    """

    name: str
    skeleton: Skeleton
    features: Floats
    rotvec: Floats
    modelled: NDArray[np.bool_]
    mean: Floats
    spread: Floats
    latent: Floats
    scale: Floats
    active: NDArray[np.int64]
    learned: Hyperparameters
    annealed: Hyperparameters
    objective: Floats
    moments: Moments = field(default_factory=Moments)
    fitted: Floats | None = None

    @property
    def n_latent(self) -> int:
        """Number of latent dimensions, Q."""
        return int(self.latent.shape[1])

    def centred(self) -> Floats:
        """Give the modelled features less their means, (N, D)."""
        return np.ascontiguousarray(self.features[:, self.modelled] - self.mean[self.modelled])


@dataclass(frozen=True, slots=True)
class Level:
    """A style with one set of parameters, ready to be asked: the arrays that every evaluation of L_IK needs.

    latent: active x, (M, Q); inverse: K^-1, (M, M); coefficients: of modelled features, (M, D), f(x) = mean + k(x)'coefficients,
    the paper's K^-1 Y or those fitted to all poses; mean: theirs, (D,); scale: w, (D,).
    """

    latent: Floats
    inverse: Floats
    coefficients: Floats
    mean: Floats
    scale: Floats
    parameters: Hyperparameters


def covariance(X: Floats, other: Floats, parameters: Hyperparameters) -> Floats:
    """Give the kernel between points, (N, Q) and (P, Q), without its noise, (N, P)."""
    distance2 = np.maximum((X**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2.0 * X @ other.T, 0.0)
    return np.asarray(parameters.alpha * np.exp(-0.5 * parameters.gamma * distance2))


def level_of(style: Style, parameters: Hyperparameters) -> Level:
    """Prepare a style for one set of parameters.

    The paper's f(x) knows the active poses only; ours is fitted to all training poses through the active points (projected
    process, Rasmussen & Williams 2006, section 8.3.4), at no cost in use. With all of them active it is the paper's; s2 is.
    What takes time is that fit, and it is spared where it came with the style.
    Raises StyleError: the covariance cannot be inverted; of no learned style, but of a file or message that was made up.
    """
    X, fitted = np.ascontiguousarray(style.latent[style.active]), style.fitted if parameters == style.learned else None
    try:
        with np.errstate(all="ignore"):
            inverse = _inverse(_factor(X, parameters))
            coefficients = _projected(style.latent, X, style.centred(), parameters) if fitted is None else fitted
    except (np.linalg.LinAlgError, ValueError) as error:
        raise StyleError(f"the style {style.name} cannot be used: its covariance cannot be inverted; learn it anew") from error
    if not all(np.isfinite(array).all() for array in (inverse, coefficients)):
        raise StyleError(f"the style {style.name} cannot be used: its covariance cannot be inverted; learn it anew")
    return Level(X, inverse, coefficients, style.mean[style.modelled].copy(), style.scale, parameters)


def _projected(X: Floats, active: Floats, Y: Floats, parameters: Hyperparameters) -> Floats:
    """Give (K_AN K_NA + K_AA / beta)^-1 K_AN Y, (M, D), of all latent points, (N, Q), active ones, (M, Q), and Y, (N, D)."""
    jitter = ACTIVE_JITTER * parameters.alpha * np.eye(len(active))
    L = np.linalg.cholesky(covariance(active, active, parameters) + jitter)
    V = solve_triangular(L, covariance(active, X, parameters), lower=True)
    B = np.eye(len(active)) + parameters.beta * V @ V.T  # much better conditioned than what it stands for
    whitened = cho_solve(cho_factor(B, lower=True), parameters.beta * V @ Y)
    return np.ascontiguousarray(solve_triangular(L, whitened, lower=True, trans="T"))


def prepared(X: Floats, Y: Floats, mean: Floats, scale: Floats, parameters: Hyperparameters) -> Level:
    """Prepare active latent points, (M, Q), of poses with features Y, (M, D), less their mean, (D,), and scaled by (D,)."""
    X = np.ascontiguousarray(X)
    factor = _factor(X, parameters)
    return Level(X, _inverse(factor), np.ascontiguousarray(cho_solve(factor, Y)), mean, scale, parameters)


def _factor(X: Floats, parameters: Hyperparameters) -> tuple[Floats, bool]:
    """Give the Cholesky factor of K of latent points, (M, Q), as scipy has it."""
    factor, lower = cho_factor(covariance(X, X, parameters) + np.eye(len(X)) / parameters.beta, lower=True)
    return factor, lower


def _inverse(factor: tuple[Floats, bool]) -> Floats:
    """Give K^-1, (M, M), of its Cholesky factor."""
    return np.ascontiguousarray(cho_solve(factor, np.eye(len(factor[0]))))


def levels(style: Style) -> tuple[Level, Level, Level]:
    """Give the style annealed, in between and as learned: the three steps of synthesis (Grochow et al. 2004, section 6.2)."""
    between = style.learned.between(style.annealed, ANNEALED_SHARE)
    return level_of(style, style.annealed), level_of(style, between), level_of(style, style.learned)


def predicted(level: Level, x: Floats) -> tuple[Floats, Floats]:
    """Give f(x), (P, D), and s2(x), (P,), of latent points (P, Q) (Grochow et al. 2004, eqs. 4 and 5)."""
    k = covariance(np.atleast_2d(x), level.latent, level.parameters)
    return level.mean + k @ level.coefficients, _variance(level, k)


def unlikeliness(level: Level, x: Floats) -> Floats:
    """Give what is left of L_IK at the poses that latent points, (P, Q), predict: D/2 ln s2(x) + |x|^2 / 2, (P,)."""
    x = np.atleast_2d(x)
    variance = _variance(level, covariance(x, level.latent, level.parameters))
    return np.asarray(0.5 * len(level.mean) * np.log(variance) + 0.5 * np.einsum("pq,pq->p", x, x))


def _variance(level: Level, k: Floats) -> Floats:
    """Give s2 of points with covariances k to the active set, (P, M) -> (P,); rounding may not make it vanish."""
    variance = level.parameters.alpha + 1.0 / level.parameters.beta - np.einsum("pm,pm->p", k @ level.inverse, k)
    return np.asarray(np.maximum(variance, 1e-9 * level.parameters.alpha))
