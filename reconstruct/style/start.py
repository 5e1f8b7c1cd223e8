"""Where learning starts: principal components (Grochow et al. 2004, appendix B), or a style learned of some of the same poses."""

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from reconstruct.style.learn_latent import asked, nearest_active, placed
from reconstruct.style.learn_parameters import FARTHEST, Fit
from reconstruct.style.model import Hyperparameters, Style, level_of

FIRST = Hyperparameters(1.0, 100.0, 1.0)


def principal(Y: Floats, n_latent: int, most_scale: Floats) -> Fit:
    """Start from the principal components of standardised features, (N, D), each with a variance of 1."""
    deviation = Y.std(axis=0)
    U, singular, _ = np.linalg.svd(Y / deviation, full_matrices=False)
    used = min(n_latent, int((singular > 1e-9 * singular[0]).sum()))
    X = np.zeros((len(Y), n_latent))
    signs = np.where(U[np.abs(U[:, :used]).argmax(axis=0), np.arange(used)] < 0.0, -1.0, 1.0)  # LAPACK's are anybody's guess
    X[:, :used] = U[:, :used] * signs * np.sqrt(len(Y))
    return Fit(X, np.minimum(-np.log(deviation), np.log(most_scale)), FIRST)


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
