"""The models that restore poses, by name, and the values among which the trade-off of each is chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from config.arrays import Floats
from config.errors import DatabaseError
from tools.evaluate.poses.factor_analysers import fit_factor_analysers
from tools.evaluate.poses.local_pca import fit_local
from tools.evaluate.poses.mixtures import TradeOff, fit_clusters, fit_gaussian
from tools.evaluate.poses.pca import fit_pca
from tools.evaluate.poses.sparse import fit_sparse
from tools.evaluate.poses.style import fit_style

# Standard deviation expected of observations, standardised.
NOISES = tuple((s,) for s in (0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.2))
NEIGHBOURS = (5, 10, 20, 50, 100)
LOCAL = tuple((k, *s) for k in NEIGHBOURS for s in NOISES)
ENERGIES = tuple((share,) for share in (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999))  # of the variance


class RestoringModel(Protocol):
    """A model learned from standardised poses."""

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return whole poses, (N, D), from observed entries, (N, D), and their weights, (N, D), 0 where missing.

        trade_off: between the model and the observation, one of the values of its kind.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelKind:
    """How a model is fitted to standardised poses, (N, D), with a seed, and its trade-offs. most: test poses, None: all."""

    fit: Callable[[Floats, int], RestoringModel]
    trade_offs: tuple[TradeOff, ...]
    most: int | None = None


# Atoms considered, atoms of a code, noise.
SPARSE = (
    *((400.0, 1.0, s) for s in (0.3, 0.45, 0.6, 0.8, 1.0, 1.3)),
    *((m, t, s) for m in (5.0, 8.0, 12.0, 16.0) for t in (2.0, 3.0) for s in (0.3, 0.45, 0.6)),
    *((m, 11.0, s) for m in (30.0, 50.0, 100.0) for s in (0.003, 0.01, 0.03)),
)
MODELS = {
    "sparse": ModelKind(fit_sparse, SPARSE),
    "mfa": ModelKind(fit_factor_analysers, NOISES),
    "gaussian": ModelKind(fit_gaussian, NOISES),
    "local-pca": ModelKind(fit_local, LOCAL),
    "clusters": ModelKind(fit_clusters, NOISES),
    "sgplvm": ModelKind(fit_style, NOISES, most=500),
    "pca": ModelKind(fit_pca, ENERGIES),
}
SMALL_ONLY = ("sgplvm",)  # as in the paper


def model_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of models, all for none. Raises DatabaseError: no such model."""
    for name in names:
        if name not in MODELS:
            raise DatabaseError(f"{name!r} is no model of poses; take {', '.join(MODELS)}")
    return tuple(names) or tuple(MODELS)
