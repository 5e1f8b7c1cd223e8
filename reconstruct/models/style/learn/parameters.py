"""alpha, beta and gamma: learned with latent points and scales fixed (Grochow et al. 2004, appendix B and section 6.1.1).

The variables are ln alpha, ln(alpha beta) and ln gamma. The second tells how much of a feature's variance is not noise: poses
that hardly differ would let it grow without limit, and the style would be more certain than its poses allow.

Annealed parameters are a smoother model of the same latent points: Gaussian noise is added to the active poses' features, and
alpha, beta and gamma are learned again. The noise has its variance in the scaled features W y, whose variance is 1 on average
(`Fit.normalised`): 0.05 is a twentieth of what the features vary by.
"""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats, Ints
from reconstruct.models.style.learn.objective import Workspace, compute_objective
from reconstruct.models.style.learn.optimise import Optimiser, VariableBounds, minimise_value
from reconstruct.models.style.model import Hyperparameters

LN_ALPHA = (-9.0, 9.0)
LN_SIGNAL = (0.0, float(np.log(1e4)))  # ln(alpha beta)
LN_GAMMA = (-9.0, 7.0)
MAX_LATENT = 30.0  # of any latent coordinate: the prior has a deviation of 1
STEPS = 40
SMALL_SET = 200  # poses
SMALL_SET_VARIANCE, LARGE_SET_VARIANCE = 0.05, 0.1


@dataclass(frozen=True, slots=True)
class StyleFit:
    """A model of N poses: latent points, (N, Q), ln of the scales w, (D,), and the parameters."""

    X: Floats
    ln_scale: Floats
    parameters: Hyperparameters

    def value(self, Y: Floats, work: Workspace | None = None) -> float:
        """Return L_GP of poses, (N, D)."""
        p = self.parameters
        return compute_objective(self.X, np.log([p.alpha, p.beta, p.gamma]), self.ln_scale, Y, work)[0]

    def normalised(self, Y: Floats) -> "StyleFit":
        """Return the same model with scales such that the features W y have a variance of 1 on average.

        alpha s, beta / s and w sqrt(s) is the same model for every s.
        """
        p, s = self.parameters, 1.0 / float(np.mean(np.var(Y * np.exp(self.ln_scale), axis=0)))
        return replace(
            self, ln_scale=self.ln_scale + 0.5 * np.log(s), parameters=Hyperparameters(p.alpha * s, p.beta / s, p.gamma)
        )


def variables_from_parameters(parameters: Hyperparameters) -> Floats:
    """Return ln alpha, ln(alpha beta) and ln gamma, (3,)."""
    return np.log([parameters.alpha, parameters.alpha * parameters.beta, parameters.gamma])


def ln_parameters_from_variables(z: Floats) -> Floats:
    """Return ln alpha, ln beta and ln gamma, (3,), of the variables."""
    return np.array([z[0], z[1] - z[0], z[2]])


def convert_gradient(gradient: Floats) -> Floats:
    """Return the gradient by the variables, (3,), from that by ln alpha, ln beta and ln gamma."""
    return np.array([gradient[0] - gradient[1], gradient[1], gradient[2]])


def parameters_from_variables(z: Floats) -> Hyperparameters:
    """Return the parameters of the variables."""
    return Hyperparameters(*(float(v) for v in np.exp(ln_parameters_from_variables(z))))


def build_variable_bounds() -> VariableBounds:
    """Return the bounds of the variables."""
    lower, upper = np.array([LN_ALPHA, LN_SIGNAL, LN_GAMMA]).T
    return VariableBounds(lower, upper)


def learn_parameters(X: Floats, ln_scale: Floats, Y: Floats, start: Hyperparameters, optimiser: Optimiser) -> Hyperparameters:
    """Return alpha, beta and gamma that minimise L_GP of latent points with features.

    Args:
        X: latent points, (M, Q).
        ln_scale: ln w, (D,).
        Y: features, (M, D).
        start: parameters to begin with.
        optimiser: optimiser to use.
    """
    work, bounds = Workspace.of(*Y.shape), build_variable_bounds()
    unit = float(1.0 / np.sqrt(0.5 * Y.size))  # about 1 over the root of the curvature, as the first step is 1 long

    def value(u: Floats) -> tuple[float, Floats]:
        L, _, gradient, _ = compute_objective(X, ln_parameters_from_variables(u * unit), ln_scale, Y, work)
        return L, unit * convert_gradient(gradient)

    in_units = VariableBounds(bounds.lower / unit, bounds.upper / unit)
    found = minimise_value(value, variables_from_parameters(start) / unit, in_units, STEPS, optimiser)
    return parameters_from_variables(np.clip(unit * found, bounds.lower, bounds.upper))


def anneal_parameters(
    fit: StyleFit, Y: Floats, active: Ints, variance: float | None, seed: int, optimiser: Optimiser
) -> Hyperparameters:
    """Return the parameters learned from noisy active poses.

    Args:
        fit: the fit as learned.
        Y: features, (N, D), centred.
        active: rows of the active poses, (M,).
        variance: variance of the noise; None to choose it by the number of poses.
        seed: seed of the random numbers.
        optimiser: optimiser to use.
    """
    if variance is None:
        variance = SMALL_SET_VARIANCE if len(Y) <= SMALL_SET else LARGE_SET_VARIANCE
    noise = np.random.default_rng(seed).normal(scale=np.sqrt(variance), size=(len(active), Y.shape[1]))
    noisy = Y[active] + noise * np.exp(-fit.ln_scale)
    return learn_parameters(fit.X[active], fit.ln_scale, noisy, fit.parameters, optimiser)
