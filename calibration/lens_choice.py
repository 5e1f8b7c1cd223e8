"""Choose a camera's lens model by the error in views it was not fitted to.

k-fold over views; of all models the simplest that is within one standard error of the best (Breiman et al. 1984), the error of
the difference taken view by view.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.board_pose import refined_places, view_costs
from calibration.bundle import BundleState, Freedom, Observations, views_of
from calibration.bundle_solve import Prior, adjusted
from calibration.lens import LADDER, LensModel
from database.rotations import Floats

FOLDS = 5
VIEWS_A_NUMBER = 0.8  # a model needs as many views as this for each of its free numbers
TRAIN_STEPS = 12


@dataclass(frozen=True, slots=True)
class LensChoice:
    """The model chosen, the camera and places fitted with it, and each model's squared error by view left out, (V,) [px^2]."""

    lens: LensModel
    state: BundleState
    errors_px2: Mapping[LensModel, Floats]


def chosen_lens(state: BundleState, seen: Observations, prior: Prior, models: Sequence[LensModel] = LADDER) -> LensChoice:
    """Choose among models, simplest first: state and seen are of one camera, weights final, places all seen by it."""
    errors, fits = {}, {}
    for lens in models:
        if lens.n_free * VIEWS_A_NUMBER > seen.n_views and lens is not models[0]:
            continue
        freedom = Freedom((lens,), relative=False)
        start = BundleState(
            _restricted(state.intrinsics, lens), state.rotation, state.translation, state.board_rotation, state.board_translation
        )
        fits[lens] = state = adjusted(start, seen, freedom, prior).state
        errors[lens] = held_out_errors(state, seen, freedom, prior)
    lens = simplest(errors)
    return LensChoice(lens, fits[lens], errors)


def simplest(errors_px2: Mapping[LensModel, Floats]) -> LensModel:
    """Give the simplest model within one standard error of the best; the errors' order is that of the models."""
    best = min(errors_px2, key=lambda lens: float(errors_px2[lens].mean()))
    for lens, errors in sorted(errors_px2.items(), key=lambda item: item[0].n_free):
        more = errors - errors_px2[best]
        if more.mean() <= more.std(ddof=1) / np.sqrt(len(more)):
            return lens
    return best


def held_out_errors(state: BundleState, seen: Observations, freedom: Freedom, prior: Prior, folds: int = FOLDS) -> Floats:
    """Give the weighted mean squared error of each view [px^2] when the camera is fitted to the others, (V,).

    A held-out view's own place is fitted to it: six numbers against two for every corner.
    """
    fold = np.arange(seen.n_views) % min(folds, seen.n_views)
    out = np.empty(seen.n_views)
    for k in range(int(fold.max()) + 1):
        train, test = fold != k, fold == k
        fitted = adjusted(views_of(state, train), seen.at(train), freedom, prior, TRAIN_STEPS).state
        tested = BundleState(
            fitted.intrinsics, fitted.rotation, fitted.translation, state.board_rotation[test], state.board_translation[test]
        )
        tested, _ = refined_places(tested, seen.at(test))
        out[test] = view_costs(tested, seen.at(test)) / np.maximum(seen.weight[:, test].sum(axis=(0, 2)), 1e-300)
    return out


def _restricted(intrinsics: Floats, lens: LensModel) -> Floats:
    """Set the numbers that a model does not have to what it means without them: (1, 9)."""
    out = intrinsics.copy()
    free = lens.directions.any(axis=1)
    out[:, 4:][:, ~free[4:]] = 0.0
    if lens.square:
        out[:, :2] = out[:, :2].mean()
    return out
