"""Pose dictionaries: atoms, and whole poses from corrupted or partial ones.

    (x - mean, c) ~ a D;  restored from  sum_i w_i^2 (x_i - z_i)^2 + sigma^2 |a|^2 / spread^2  over the known entries i

The paper's poses are not centred. About their mean, atoms are less alike, which keeps coefficients small. The constant c, one
more known coordinate of every pose, does what their own mean does in the paper: coefficients add up to about 1 and an
atom alone keeps its length, so that a code of T atoms follows T - 1 dimensions of the noise (docs/decisions).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, Singles
from reconstruct.models.sparse.averaging import GREEDY, Averaging, average_poses
from reconstruct.models.sparse.learn import DictionaryOptions, Progress, SparseError, learn_atoms

CONSTANT = 2.0  # by the root mean square distance of poses from their mean
SPREAD = 1.0  # of a coefficient when restoring, by the constant


@dataclass(frozen=True, slots=True)
class Centring:
    """Mean of poses, (D,), and the constant coordinate they get, both in their unit."""

    mean: Singles
    constant: float

    def apply(self, poses: ArrayLike) -> Singles:
        """Return poses, (N, D), less the mean and with the constant, (N, D + 1)."""
        X = np.asarray(poses, np.float32) - self.mean
        return np.concatenate([X, np.full((len(X), 1), self.constant, np.float32)], axis=1)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A dictionary of atoms that poses are composed of.

    Attributes:
        atoms: atoms of norm 1 for poses with their constant, (K, D + 1).
        n_nonzero: atoms of a pose when learning, T.
    """

    atoms: Singles
    centring: Centring
    n_nonzero: int

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def mean(self) -> Singles:
        """The mean pose, (D,)."""
        return self.centring.mean


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """How poses are restored.

    Attributes:
        n_nonzero: atoms of a code, more than when learning: the ridge holds them back.
        sigma: standard deviation of known entries of weight 1.
        n_codes: codes drawn that are averaged, 1 for the best alone.
        n_near: atoms considered for a pose.
    """

    n_nonzero: int = 24
    sigma: float = 0.005
    n_codes: int = 4
    n_near: int = 400
    seed: int = 1


def compute_centring(poses: ArrayLike) -> Centring:
    """Return the centring of poses, (N, D). Raises SparseError: fewer than two, or no array of poses."""
    X = np.asarray(poses, np.float64)
    if X.ndim != 2 or len(X) < 2:
        raise SparseError(f"a dictionary is learned from two poses or more; got an array of shape {X.shape}")
    mean = X.mean(axis=0)
    return Centring(mean.astype(np.float32), CONSTANT * float(np.sqrt(((X - mean) ** 2).sum(axis=1).mean())))


def learn_dictionary(
    poses: ArrayLike,
    options: DictionaryOptions | None = None,
    progress: Progress | None = None,
    centring: Centring | None = None,
) -> Dictionary:
    """Learn a dictionary from poses, (N, D), centred as given, or as they are. Raises SparseError: see `learn_atoms`.

    Args:
        poses: poses, (N, D).
        options: None for the defaults.
        progress: called with the iterations done and all, or None.
        centring: None to leave poses as they are.
    """
    options, centring = options or DictionaryOptions(), centring or compute_centring(poses)
    return Dictionary(learn_atoms(centring.apply(poses), options, progress).atoms, centring, options.n_nonzero)


def join_dictionaries(dictionaries: Sequence[Dictionary]) -> Dictionary:
    """Return dictionaries of one centring as one (section 5). Raises SparseError: none, or of different ones."""
    if not dictionaries:
        raise SparseError("no dictionaries to join; give one or more")
    first = dictionaries[0].centring
    for one in dictionaries:
        if one.centring.constant != first.constant or not np.array_equal(one.centring.mean, first.mean):
            raise SparseError("dictionaries about different means cannot be joined; learn all with one centring")
    return Dictionary(np.concatenate([one.atoms for one in dictionaries]), first, max(one.n_nonzero for one in dictionaries))


def recentre_dictionary(dictionary: Dictionary, centring: Centring, scale: float = 1.0) -> Dictionary:
    """Return a dictionary whose codes make the same poses about another mean.

    Coefficients of atoms (x, c) add up to the constant: sum a c = C. So the shift of the mean, m - m', goes into each atom as
    (m - m') c / C, and c becomes c C' / C. What changes are the atoms' norms, 1 again, and so the coefficients.

    Args:
        dictionary: the atoms.
        centring: mean and constant of the result.
        scale: by which poses grow.
    """
    old, share = dictionary.centring, dictionary.atoms[:, -1:] / np.float32(dictionary.centring.constant)
    moved = scale * dictionary.atoms[:, :-1] + share * (scale * old.mean - centring.mean)
    atoms = np.concatenate([moved, share * centring.constant], axis=1)
    norm = np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-9)
    return Dictionary(np.asarray(atoms / norm, np.float32), centring, dictionary.n_nonzero)


def restore_poses(
    dictionary: Dictionary, poses: ArrayLike, weight: ArrayLike | None = None, options: RestoreOptions | None = None
) -> Floats:
    """Return whole poses, (N, D), from corrupted or partial ones.

    A pose of which nothing is known becomes the mean.

    Args:
        dictionary: the atoms.
        poses: poses, (N, D), any value where the weight is 0.
        weight: weights, (D,) or (N, D).
        options: None for the defaults.
    """
    o, centring = options or RestoreOptions(), dictionary.centring
    X = centring.apply(poses)
    W = np.ones((1, X.shape[1] - 1), np.float32) if weight is None else np.atleast_2d(np.asarray(weight, np.float32))
    precision = GREEDY if o.n_codes == 1 else o.sigma**-2.0
    ridge = (o.sigma / (SPREAD * max(centring.constant, 1e-9))) ** 2
    how = Averaging(o.n_nonzero, o.n_codes, o.n_near, precision, ridge, o.seed)
    found = average_poses(dictionary.atoms, X, how, np.concatenate([W, np.ones((len(W), 1), np.float32)], axis=1))
    nothing = np.broadcast_to(~W.any(axis=1), len(X))
    return np.where(nothing[:, None], 0.0, found[:, :-1]) + centring.mean


def compute_covariance_at(dictionary: Dictionary, pose: ArrayLike, n_near: int) -> Floats:
    """Return how poses vary about one, (D, D): along the atoms that alone explain it best, the constant kept.

    Their coefficients are independent, with the variance that leaves a pose made of all of them in equal shares of its length.

    Args:
        dictionary: the atoms.
        pose: pose, (D,).
        n_near: number of atoms that count.
    """
    atoms, x = dictionary.atoms.astype(np.float64), dictionary.centring.apply(np.asarray(pose)[None])[0]
    near = atoms[np.argsort(-((atoms @ x) ** 2), kind="stable")[:n_near]]
    c = near[:, -1] / max(float(np.linalg.norm(near[:, -1])), 1e-9)
    free = near[:, :-1] - np.outer(c, c @ near[:, :-1])
    return np.asarray(free.T @ free * (dictionary.centring.constant**2 / len(near)))
