"""Where learning starts: principal components (Grochow et al. 2004, appendix B), or a style learned of some of the same poses."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from reconstruct.style.active_set import active_set
from reconstruct.style.learn_latent import asked, nearest_active, placed
from reconstruct.style.learn_parameters import FARTHEST, Fit, relearned
from reconstruct.style.model import Hyperparameters, Style, level_of
from reconstruct.style.optimise import Optimiser

FIRST = Hyperparameters(1.0, 100.0, 1.0)
FIRST_GAMMAS = 0.1, 1.0, 10.0
FEW = 100  # poses of which alpha, beta and gamma are learned first


def principal(Y: Floats, n_latent: int, most_scale: Floats) -> Fit:
    """Start from the principal components of standardised features, (N, D), each with a variance of 1."""
    deviation = Y.std(axis=0)
    U, singular, _ = np.linalg.svd(Y / deviation, full_matrices=False)
    used = min(n_latent, int((singular > 1e-9 * singular[0]).sum()))
    X = np.zeros((len(Y), n_latent))
    signs = np.where(U[np.abs(U[:, :used]).argmax(axis=0), np.arange(used)] < 0.0, -1.0, 1.0)  # LAPACK's are anybody's guess
    X[:, :used] = U[:, :used] * signs * np.sqrt(len(Y))
    return Fit(X, np.minimum(-np.log(deviation), np.log(most_scale)), FIRST)


def with_parameters(start: Fit, Y: Floats, optimiser: Optimiser) -> Fit:
    """Give the start with alpha, beta and gamma that suit it, learned of a few poses, (N, D), the best from several gamma.

    With bad ones the first steps would scatter the latent points. A large gamma, by which no pose tells of others, is a minimum.
    """
    rows = active_set(start.X, start.parameters, FEW)
    found = [
        Fit(
            start.X[rows],
            start.ln_scale,
            relearned(start.X[rows], start.ln_scale, Y[rows], replace(FIRST, gamma=gamma), optimiser),
        )
        for gamma in FIRST_GAMMAS
    ]
    return replace(start, parameters=min(found, key=lambda fit: fit.value(Y[rows])).parameters)


def carried_over(style: Style, features: Floats, modelled: NDArray[np.bool_], principal_scale: Floats) -> Fit:
    """Start from a style: poses it was learned of keep their x, others come where it would have them.

    features: (N, F), of which `modelled`, (F,), are learned; principal_scale: ln w, (D,), of those that the style does not model.
    """
    known = {row.tobytes(): i for i, row in enumerate(style.features)}
    at = np.array([known.get(row.tobytes(), -1) for row in features], np.int64)
    X = np.zeros((len(features), style.n_latent))
    X[at >= 0] = style.latent[at[at >= 0]]
    new = at < 0
    if new.any():
        poses = asked(level_of(style, style.learned), features[new][:, style.modelled] - style.mean[style.modelled])
        X[new] = np.clip(placed(poses, nearest_active(poses)), -FARTHEST, FARTHEST)
    ln_scale = np.full(features.shape[1], np.nan)
    ln_scale[style.modelled] = np.log(style.scale)
    ln_scale = ln_scale[modelled]
    return Fit(X, np.where(np.isnan(ln_scale), principal_scale, ln_scale), style.learned)
