"""A force field: generalized forces given the kinematic state (Wei et al. 2011, eq. 4), in principal subspaces."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Bools, Floats, Ints, ReadOnlyArrays, Singles
from database.geometry.skeleton import Skeleton
from reconstruct.models.physics.field.mixture import Mixture
from reconstruct.models.physics.field.process import Prediction, SparseGaussianProcess, predict_outputs

ENERGY = 0.95  # of the variance, kept by a subspace


@dataclass(frozen=True, slots=True)
class Subspace(ReadOnlyArrays):
    """A linear subspace of D directions in F dimensions.

    Attributes:
        mean: mean of the rows, (F,).
        basis: orthonormal columns, (F, D).
        spread: standard deviation along each column, (D,).
    """

    mean: Floats
    basis: Floats
    spread: Floats

    def coordinates(self, rows: Floats) -> Floats:
        """Project rows (N, F) onto the subspace, scaled to unit variance: (N, D)."""
        return np.asarray((rows - self.mean) @ self.basis / self.spread)

    def points(self, coordinates: Floats) -> Floats:
        """Return the rows (N, F) that coordinates (N, D) stand for."""
        return np.asarray(self.mean + (coordinates * self.spread) @ self.basis.T)

    def outside(self, rows: Floats) -> Floats:
        """Return the part of rows (N, F) outside of the subspace, (N, F)."""
        centred = rows - self.mean
        return np.asarray(centred - (centred @ self.basis) @ self.basis.T)


def fit_subspace(rows: Floats, energy: float = ENERGY) -> Subspace:
    """Return the subspace of the fewest principal components that keep a share of the variance of rows (N, F)."""
    mean = rows.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(rows.T, bias=True))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = int(np.searchsorted(np.cumsum(values), energy * values.sum())) + 1
    basis = vectors[:, :kept]
    basis = basis * np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(kept)])  # signs of their own: else the library's choice
    return Subspace(mean, np.ascontiguousarray(basis), np.sqrt(values[:kept]) + 1e-12)


@dataclass(frozen=True, slots=True)
class ExampleMotions(ReadOnlyArrays):
    """The motions that were learned from, one after the other, on a ground at height 0.

    Attributes:
        q: configurations, (N, 95), single precision.
        start: first row of each motion and N, (C + 1,).
        parts: parts of the feet that carry weight, (N, 2, 3).
        level_m: height of each part when it stands, (C, 2, 3) [m].
        nearness: matrix of `examples.compute_nearness`, (72, 72).
    """

    q: Singles
    start: Ints
    parts: Bools
    level_m: Floats
    nearness: Floats
    fps: float


@dataclass(frozen=True, slots=True)
class ForceField:
    """A force field: a model of a way of moving.

    Attributes:
        state, force: subspaces of s and u.
        process: Gaussian process of their coordinates.
        first: mixture over the coordinates of first states.
        skeleton: skeleton of the performer it was learned of.
        mass_kg: mass of that performer [kg].
        examples: the motions.
        sources: names of the motions.
    """

    name: str
    skeleton: Skeleton
    mass_kg: float
    state: Subspace
    force: Subspace
    process: SparseGaussianProcess
    first: Mixture
    examples: ExampleMotions
    sources: tuple[str, ...] = ()

    def predicted(self, states: Floats) -> Prediction:
        """Return forces, in coordinates of their subspace, of states (N, 142), and derivatives by the states' coordinates."""
        return predict_outputs(self.process, self.state.coordinates(states))
