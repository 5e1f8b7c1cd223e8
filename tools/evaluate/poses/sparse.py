"""Sparse pose dictionaries (`reconstruct.models.sparse`; Lai, Yuen & Lee 2012) on standardised coordinates.

The trade-off is the number of atoms T and the standard deviation s of the observations: s also is what codes are drawn with whose
mean is the restored pose.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from reconstruct.models.sparse.dictionary import Dictionary, RestoreOptions, learn, restore
from reconstruct.models.sparse.learn import LearnOptions
from tools.evaluate.poses.mixtures import TradeOff, same_weights

MAX_ATOMS = 4000  # as many as there are training poses, up to this: fewer restore worse here; the paper's number is lost
N_NONZERO = 6  # when learning
ITERATIONS = 10
N_CODES = 16  # drawn for each pose


@dataclass(frozen=True, slots=True)
class SparseModel:
    """A dictionary of standardised poses."""

    dictionary: Dictionary

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return restored poses, (N, D), of observed entries, (N, D), and weights, (N, D); trade_off: T, s."""
        options = RestoreOptions(int(trade_off[0]), trade_off[1], N_CODES)
        out = np.empty_like(observed)
        for rows, each in same_weights(weight):
            out[rows] = restore(self.dictionary, observed[rows], np.sqrt(each), options)
        return out


def fit_sparse(poses: Floats, seed: int) -> SparseModel:
    """Learn a dictionary from poses, (N, D)."""
    options = LearnOptions(min(len(poses), MAX_ATOMS), N_NONZERO, iterations=ITERATIONS, seed=seed)
    return SparseModel(learn(poses, options))
