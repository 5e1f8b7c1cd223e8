"""alpha, beta and gamma alone: L_GP of an active set, latent points and scales held (Grochow et al. 2004, appendix B).

They are moved as ln alpha, ln(alpha beta) and ln gamma. The second is how much of a feature's variance is not noise: poses that
hardly differ would have it grow without end, and the style would then be sure of more than its poses can tell.
"""

from dataclasses import dataclass, replace

import numpy as np

from database.rotations import Floats
from reconstruct.style.model import Hyperparameters
from reconstruct.style.objective import Workspace, objective
from reconstruct.style.optimise import Optimiser, minimised
from reconstruct.style.scg import Box

LN_ALPHA = (-9.0, 9.0)
LN_SIGNAL = (0.0, float(np.log(1e4)))  # ln(alpha beta)
LN_GAMMA = (-9.0, 7.0)
FARTHEST = 30.0  # no latent coordinate lies farther out: the prior has a deviation of 1
STEPS = 40


@dataclass(frozen=True, slots=True)
class Fit:
    """A model of N poses: latent points, (N, Q), ln of the scales w, (D,), and the parameters."""

    X: Floats
    ln_scale: Floats
    parameters: Hyperparameters

    def value(self, Y: Floats, work: Workspace | None = None) -> float:
        """Give L_GP of poses, (N, D)."""
        p = self.parameters
        return objective(self.X, np.log([p.alpha, p.beta, p.gamma]), self.ln_scale, Y, work)[0]

    def normal(self, Y: Floats) -> "Fit":
        """Give the same model with scales such that the features W y have a variance of 1 on average.

        alpha s, beta / s and w sqrt(s) is the same model for every s.
        """
        p, s = self.parameters, 1.0 / float(np.mean(np.var(Y * np.exp(self.ln_scale), axis=0)))
        return replace(
            self, ln_scale=self.ln_scale + 0.5 * np.log(s), parameters=Hyperparameters(p.alpha * s, p.beta / s, p.gamma)
        )


def moved(parameters: Hyperparameters) -> Floats:
    """Give what the optimiser moves, ln alpha, ln(alpha beta) and ln gamma, (3,)."""
    return np.log([parameters.alpha, parameters.alpha * parameters.beta, parameters.gamma])


def unmoved(z: Floats) -> Floats:
    """Give ln alpha, ln beta and ln gamma, (3,), of what the optimiser moves."""
    return np.array([z[0], z[1] - z[0], z[2]])


def by_moved(gradient: Floats) -> Floats:
    """Give the gradient by what the optimiser moves, (3,), from that by ln alpha, ln beta and ln gamma."""
    return np.array([gradient[0] - gradient[1], gradient[1], gradient[2]])


def parameters_of(z: Floats) -> Hyperparameters:
    """Give the parameters of what the optimiser moves."""
    return Hyperparameters(*(float(v) for v in np.exp(unmoved(z))))


def parameter_box() -> Box:
    """Give the bounds of what the optimiser moves."""
    lower, upper = np.array([LN_ALPHA, LN_SIGNAL, LN_GAMMA]).T
    return Box(lower, upper)


def relearned(X: Floats, ln_scale: Floats, Y: Floats, start: Hyperparameters, optimiser: Optimiser) -> Hyperparameters:
    """Give alpha, beta and gamma at which L_GP of latent points, (M, Q), with features, (M, D), and ln w, (D,), is least."""
    work, box = Workspace.of(*Y.shape), parameter_box()
    unit = float(1.0 / np.sqrt(0.5 * Y.size))  # about 1 over the root of the curvature, as the first step is 1 long

    def value(u: Floats) -> tuple[float, Floats]:
        L, _, gradient, _ = objective(X, unmoved(u * unit), ln_scale, Y, work)
        return L, unit * by_moved(gradient)

    in_units = Box(box.lower / unit, box.upper / unit)
    return parameters_of(np.clip(unit * minimised(value, moved(start) / unit, in_units, STEPS, optimiser), box.lower, box.upper))
