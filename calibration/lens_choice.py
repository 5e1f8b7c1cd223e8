"""Choose the cameras' lens models, and whether the board is flat, by the error in views they were not fitted to.

k-fold over views of the whole adjustment, both cameras in it: what a lens model gets wrong shows sooner in how the two pictures
contradict each other than in either alone. Of all models the simplest is taken that is within one standard error of the best
(Breiman et al. 1984), the error of the difference taken view by view.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calibration.board_pose import refined_places, view_costs
from calibration.bundle import N_FORM, BundleState, Freedom, Observations, views_of
from calibration.bundle_solve import Prior, adjusted
from calibration.lens import LEVELS, LensModel
from database.rotations import Floats

FOLDS = 5
VIEWS_FOR_SPREAD = 10  # with fewer, left out views are too few to tell a lens that is too simple: it is not chosen but given
VIEWS_FOR_FORM = 8  # with fewer the board is taken to be flat
VIEWS_A_NUMBER = 0.8  # a model needs as many views as this for each of its free numbers
STEPS = 12
ENOUGH_GAIN = 1e-6  # of the cost, when models are compared

Lenses = tuple[LensModel, ...]


@dataclass(frozen=True, slots=True)
class LensChoice:
    """What was found worth being free, the state fitted with it, and what each choice errs in views left out [px]."""

    freedom: Freedom
    state: BundleState
    held_out_px: Mapping[str, float]


@dataclass(slots=True)
class _Trial:
    """What was tried: the squared error by view left out (V,) [px^2] and the state fitted with each choice."""

    seen: Observations
    prior: Prior
    errors_px2: dict[Freedom, Floats] = field(default_factory=dict)
    states: dict[Freedom, BundleState] = field(default_factory=dict)

    def run(self, freedom: Freedom, start: BundleState) -> None:
        """Fit with this freedom and measure it, once."""
        if freedom in self.states:
            return
        form = start.form if freedom.form else np.zeros(N_FORM)
        state = replace(start, intrinsics=restricted(start.intrinsics, freedom.lenses), form=form)
        self.states[freedom] = adjusted(state, self.seen, freedom, self.prior, STEPS, ENOUGH_GAIN).state
        self.errors_px2[freedom] = held_out_errors(self.states[freedom], self.seen, freedom, self.prior)

    def as_good(self, freedom: Freedom) -> bool:
        """Tell whether this freedom is within one standard error of the best tried; of few views, whether it is the best."""
        best = min(self.errors_px2.values(), key=lambda errors: float(errors.mean()))
        more = self.errors_px2[freedom] - best
        if len(more) < VIEWS_FOR_SPREAD:
            return bool(more.mean() <= 0.0)
        return bool(more.mean() <= more.std(ddof=1) / np.sqrt(len(more)))


def chosen_lenses(
    state: BundleState,
    seen: Observations,
    prior: Prior,
    freedom: Freedom,
    levels: Sequence[tuple[str, ...]] = LEVELS,
) -> LensChoice:
    """Choose what shall be free: whether the board has a form of its own, each camera's lens, pixels that are not square.

    First, with the richest lenses, the form and the pixels; then the simplest level of lenses that serves all cameras; then down
    for each alone. What is wrong elsewhere would otherwise be made up for by coefficients that mean something else.
    state, seen: of one or two cameras, weights final; freedom: what else is free; levels: coefficients, simplest first.
    """
    trial, C = _Trial(seen, prior), seen.n_cameras
    seen_by = int((seen.weight > 0).any(axis=2).sum(axis=1).min())
    possible = [level for level in levels if level == levels[0] or (3 + len(level)) * VIEWS_A_NUMBER <= seen_by]
    if seen_by < VIEWS_FOR_SPREAD:  # so few views left out cannot tell what a lens does without
        possible = [level for level in possible if "k3" not in level][-1:]
    base = replace(freedom, lenses=_same(possible[-1], C), form=False)
    trial.run(base, state)
    if seen.n_views >= VIEWS_FOR_FORM:
        base = _richer(trial, base, replace(base, form=True))
    base = _richer(trial, base, replace(base, lenses=tuple(replace(lens, square=False) for lens in base.lenses)))
    rungs = [replace(base, lenses=_same(level, C, base.lenses[0].square)) for level in possible]
    for richer, rung in zip(rungs[::-1], rungs[-2::-1], strict=False):
        trial.run(rung, trial.states[richer])
    now = next((rung for rung in rungs if trial.as_good(rung)), base)
    for c in range(C):
        now = _lowered(trial, now, c, possible if C > 1 else possible[:0])
    words = {_words(tried): float(np.sqrt(2.0 * errors.mean())) for tried, errors in trial.errors_px2.items()}
    return LensChoice(now, trial.states[now], words)


def held_out_errors(state: BundleState, seen: Observations, freedom: Freedom, prior: Prior, folds: int = FOLDS) -> Floats:
    """Give the weighted mean squared error of each view [px^2] when the cameras are fitted to the others, (V,).

    A held-out view's own place is fitted to it: six numbers against two for every corner of either camera.
    """
    fold = np.arange(seen.n_views) % min(folds, seen.n_views)
    out = np.empty(seen.n_views)
    for k in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        fitted = adjusted(views_of(state, train), seen.at(train), freedom, prior, STEPS, ENOUGH_GAIN).state
        places = views_of(state, test)
        tested = replace(fitted, board_rotation=places.board_rotation, board_translation=places.board_translation)
        left_out = seen.at(test)
        out[test] = view_costs(refined_places(tested, left_out)[0], left_out) / np.maximum(
            left_out.weight.sum(axis=(0, 2)), 1e-300
        )
    return out


def restricted(intrinsics: Floats, lenses: Lenses) -> Floats:
    """Set the numbers that models do not have to what they mean without them: (C, 9)."""
    out = intrinsics.copy()
    for c, lens in enumerate(lenses):
        out[c, 4:][~lens.directions[4:].any(axis=1)] = 0.0
        if lens.square:
            out[c, :2] = out[c, :2].mean()
    return out


def _richer(trial: _Trial, now: Freedom, more: Freedom) -> Freedom:
    """Take more freedom if what there is is not as good."""
    trial.run(more, trial.states[now])
    return now if trial.as_good(now) else more


def _lowered(trial: _Trial, now: Freedom, camera: int, levels: Sequence[tuple[str, ...]]) -> Freedom:
    """Give one camera a simpler model for as long as that is as good: square pixels, then fewer coefficients."""
    lens = now.lenses[camera]
    below = levels[: levels.index(lens.coefficients)] if levels else ()
    simpler = [LensModel(level, lens.square) for level in reversed(below)]
    if not lens.square and len(now.lenses) > 1:
        now = _if_as_good(trial, now, _with(now, camera, replace(lens, square=True)))
    for model in simpler:
        lower = _with(now, camera, replace(model, square=now.lenses[camera].square))
        if _if_as_good(trial, now, lower) is now:
            break
        now = lower
    return now


def _if_as_good(trial: _Trial, now: Freedom, simpler: Freedom) -> Freedom:
    """Give the simpler freedom if it is as good."""
    trial.run(simpler, trial.states[now])
    return simpler if trial.as_good(simpler) else now


def _same(level: tuple[str, ...], n_cameras: int, square: bool = True) -> Lenses:
    """Give every camera the same model."""
    return (LensModel(level, square),) * n_cameras


def _with(freedom: Freedom, camera: int, lens: LensModel) -> Freedom:
    """Exchange one camera's model."""
    return replace(freedom, lenses=(*freedom.lenses[:camera], lens, *freedom.lenses[camera + 1 :]))


def _words(freedom: Freedom) -> str:
    """Say what is free, the lens once if all are the same."""
    lenses = freedom.lenses[:1] if len(set(freedom.lenses)) == 1 else freedom.lenses
    return " | ".join(lens.words for lens in lenses) + ("; form of the board" if freedom.form else "")
