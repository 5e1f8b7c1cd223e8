"""Sparse pose dictionaries (`reconstruct.models.sparse`; Lai, Yuen & Lee 2012) on standardised coordinates.

The trade-off is the number of atoms considered for a pose, the number T of these in a code, and the standard deviation s of the
observations: s also is what codes are drawn with whose mean is the restored pose.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from reconstruct.models.sparse.dictionary import Dictionary, RestoreOptions, learn_dictionary, restore_poses
from reconstruct.models.sparse.learn import DictionaryOptions
from tools.evaluate.poses.mixtures import TradeOff

MAX_ATOMS = 200_000  # as many as there are training poses: fewer restore worse here; the paper's number is lost
N_NONZERO, ITERATIONS = 3, 3  # when learning
N_CODES = 16  # drawn for each pose


@dataclass(frozen=True, slots=True)
class SparseRestorer:
    """A dictionary of standardised poses."""

    dictionary: Dictionary

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return restored poses, (N, D), of observed entries, (N, D), and weights, (N, D); trade_off: atoms considered, T, s."""
        options = RestoreOptions(int(trade_off[1]), trade_off[2], N_CODES, int(trade_off[0]))
        return restore_poses(self.dictionary, observed, np.sqrt(weight), options)


def fit_sparse(poses: Floats, seed: int) -> SparseRestorer:
    """Learn a dictionary from poses, (N, D)."""
    options = DictionaryOptions(min(len(poses), MAX_ATOMS), N_NONZERO, iterations=ITERATIONS, seed=seed)
    return SparseRestorer(learn_dictionary(poses, options))
