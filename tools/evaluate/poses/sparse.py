"""Sparse pose dictionaries (`reconstruct.models.sparse`; Lai, Yuen & Lee 2012) on standardised coordinates.

Every pose gets one more coordinate, a constant, and the mean is not subtracted: the coefficients of a code then add up to about
1, and an atom alone keeps its length. The paper's poses are not centred either; their mean is such a constant. Without it a code
of T atoms follows T dimensions of the noise, not T - 1 (dense noise, subject 07: an error of 0.092, not 0.066).

The trade-off is the number of atoms T and the standard deviation s of the observations: s also is what codes are drawn with whose
mean is the restored pose.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from reconstruct.models.sparse.dictionary import Dictionary, RestoreOptions, restore
from reconstruct.models.sparse.learn import DictionaryOptions, learn_atoms
from tools.evaluate.poses.mixtures import TradeOff, same_weights

MAX_ATOMS = 4000  # as many as there are training poses, up to this: fewer restore worse here; the paper's number is lost
CONSTANT = 10.0  # about the length of a standardised pose
N_NONZERO, ITERATIONS = 3, 3  # when learning
N_CODES = 16  # drawn for each pose


@dataclass(frozen=True, slots=True)
class SparseRestorer:
    """A dictionary of standardised poses with their constant."""

    dictionary: Dictionary

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return restored poses, (N, D), of observed entries, (N, D), and weights, (N, D); trade_off: T, s."""
        options = RestoreOptions(int(trade_off[0]), trade_off[1], N_CODES)
        out, poses = np.empty_like(observed), _with_constant(observed)
        for rows, each in same_weights(weight):
            out[rows] = restore(self.dictionary, poses[rows], np.append(np.sqrt(each), 1.0), options)[:, :-1]
        return out


def fit_sparse(poses: Floats, seed: int) -> SparseRestorer:
    """Learn a dictionary from poses, (N, D)."""
    X = _with_constant(poses).astype(np.float32)
    options = DictionaryOptions(min(len(poses), MAX_ATOMS), N_NONZERO, iterations=ITERATIONS, seed=seed)
    spread = float(np.sqrt((X.astype(np.float64) ** 2).sum(axis=1).mean()))
    return SparseRestorer(Dictionary(learn_atoms(X, options).atoms, np.zeros(X.shape[1], np.float32), N_NONZERO, spread))


def _with_constant(poses: Floats) -> Floats:
    """Return poses, (N, D), with the constant, (N, D + 1)."""
    return np.concatenate([poses, np.full((len(poses), 1), CONSTANT)], axis=1)
