"""Pose dictionaries: atoms learned about a mean, and whole poses from corrupted or partial ones.

    x ~ mean + a D;  restored from  sum_i w_i^2 (x_i - z_i)^2  over the known entries i

The paper's poses are not centred. About their mean, atoms are less alike, which keeps coefficients small: half the error at
completing poses (docs/decisions).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, Singles
from reconstruct.models.sparse.coding import BEST, Draw, code, decoded
from reconstruct.models.sparse.learn import DictionaryOptions, Progress, SparseError, learn_atoms

SEEDS = 1_000_003  # between the seeds of two codes of one pose


@dataclass(frozen=True, slots=True)
class Dictionary:
    """What poses are made of.

    atoms: of norm 1, (K, D); mean: of the poses, (D,), in their unit; n_nonzero: atoms of a pose when learning, T; spread:
    standard deviation of a coefficient.
    """

    atoms: Singles
    mean: Singles
    n_nonzero: int
    spread: float

    def __len__(self) -> int:
        return len(self.atoms)


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """How poses are restored.

    n_nonzero: T, fewer for more noise; sigma: standard deviation of known entries of weight 1; n_codes: codes drawn that are
    averaged, 1 for the best code alone.
    """

    n_nonzero: int = 6
    sigma: float = 0.005
    n_codes: int = 1
    seed: int = 1


def learn(poses: ArrayLike, options: DictionaryOptions | None = None, progress: Progress | None = None) -> Dictionary:
    """Learn a dictionary from poses, (N, D). Raises SparseError: see `learn_atoms`."""
    options = options or DictionaryOptions()
    X = np.asarray(poses, np.float32)
    if X.ndim != 2 or len(X) < 2:
        raise SparseError(f"a dictionary is learned from two poses or more; got an array of shape {X.shape}")
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = X - mean
    spread = float(np.sqrt((centred.astype(np.float64) ** 2).sum(axis=1).mean() / options.n_nonzero))
    return Dictionary(learn_atoms(centred, options, progress).atoms, mean, options.n_nonzero, spread)


def joined(dictionaries: Sequence[Dictionary]) -> Dictionary:
    """Return dictionaries as one (section 5). Each one's mean, relative to that of all, becomes an atom of its own."""
    if not dictionaries:
        raise SparseError("no dictionaries to join; give one or more")
    mean = np.asarray(np.mean([one.mean for one in dictionaries], axis=0, dtype=np.float64), np.float32)
    apart = np.array([one.mean - mean for one in dictionaries])
    norm = np.linalg.norm(apart, axis=1)
    own = apart[norm > 0.0] / norm[norm > 0.0, None]
    atoms: Singles = np.concatenate([own, *(one.atoms for one in dictionaries)])
    n_nonzero = max(one.n_nonzero for one in dictionaries) + min(1, len(own))
    spread2 = np.mean([one.n_nonzero * one.spread**2 for one in dictionaries]) + (norm**2).mean()
    return Dictionary(np.asarray(atoms, np.float32), mean, n_nonzero, float(np.sqrt(spread2 / n_nonzero)))


def restore(
    dictionary: Dictionary, poses: ArrayLike, weight: ArrayLike | None = None, options: RestoreOptions | None = None
) -> Floats:
    """Return whole poses, (N, D), from corrupted or partial ones.

    poses: (N, D), any value where the weight is 0; weight: (D,) or (N, D). A pose of which nothing is known becomes the mean.
    """
    o = options or RestoreOptions()
    X = np.asarray(poses, np.float32) - dictionary.mean
    W = None if weight is None else np.asarray(weight, np.float32)
    if W is not None:
        X = np.where(W > 0.0, X, np.float32(0.0))
    ridge, total = (o.sigma / max(dictionary.spread, 1e-9)) ** 2, np.zeros(X.shape)
    for n in range(o.n_codes):
        draw = BEST if o.n_codes == 1 else Draw(o.sigma**-2.0, o.seed + SEEDS * n)
        total += decoded(dictionary.atoms, code(dictionary.atoms, X, o.n_nonzero, W, ridge, draw))
    return np.asarray(total / o.n_codes + dictionary.mean)
