"""Choose the cameras' lens models, and whether the board is flat, by cross-validation.

k-fold over views of the whole adjustment, all cameras in it: a wrong lens model shows sooner in how their pictures contradict
each other than in either alone. Of all models the simplest is taken that is within one standard error of the best (Breiman et al.
1984), the error of the difference taken view by view.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calibration.solve.adjust import IntrinsicsPrior, adjust_bundle
from calibration.solve.board_pose import compute_view_costs, refine_board_poses
from calibration.solve.equations import N_FORM, BundleState, CornerObservations, FreeParameters, select_state_views
from calibration.solve.solution import FISHEYE_LEVELS, LEVELS, N_INTRINSICS, LensModel
from config.arrays import Floats

FOLDS = 5
VIEWS_FOR_SPREAD = 10  # with fewer, held-out views cannot show that a lens model is too simple: it is not chosen but given
VIEWS_FOR_FORM = 8  # with fewer, the board is taken to be flat
CORNERS_FOR_FORM = 9  # of a board: four tell nothing of how it bends
VIEWS_PER_PARAMETER = 0.8  # that a model needs
STEPS = 12
ENOUGH_GAIN = 1e-6  # of the cost, when models are compared

Lenses = tuple[LensModel, ...]


@dataclass(frozen=True, slots=True)
class LensChoice:
    """The chosen free parameters, the state fitted with them, and the held-out error of each choice by name [px]."""

    freedom: FreeParameters
    state: BundleState
    held_out_px: Mapping[str, float]


@dataclass(slots=True)
class _Trial:
    """What was tried: the squared held-out error of each view (V,) [px^2] and the fitted state, by choice."""

    seen: CornerObservations
    prior: IntrinsicsPrior
    errors_px2: dict[FreeParameters, Floats] = field(default_factory=dict)
    states: dict[FreeParameters, BundleState] = field(default_factory=dict)

    def run(self, freedom: FreeParameters, start: BundleState) -> None:
        """Fit with these free parameters and measure the held-out error, once."""
        if freedom in self.states:
            return
        form = start.form if freedom.form else np.zeros(N_FORM)
        state = replace(start, intrinsics=restrict_intrinsics(start.intrinsics, freedom.lenses), form=form)
        self.states[freedom] = adjust_bundle(state, self.seen, freedom, self.prior, STEPS, ENOUGH_GAIN).state
        self.errors_px2[freedom] = _compute_held_out_errors(self.states[freedom], self.seen, freedom, self.prior)

    def as_good(self, freedom: FreeParameters) -> bool:
        """Return whether a choice is within one standard error of the best tried; of few views, whether it is the best."""
        best = min(self.errors_px2.values(), key=lambda errors: float(errors.mean()))
        more = self.errors_px2[freedom] - best
        if len(more) < VIEWS_FOR_SPREAD:
            return bool(more.mean() <= 0.0)
        return bool(more.mean() <= more.std(ddof=1) / np.sqrt(len(more)))


def choose_lenses(state: BundleState, seen: CornerObservations, prior: IntrinsicsPrior, freedom: FreeParameters) -> LensChoice:
    """Choose what is free: the form of the board, each camera's distortion coefficients, pixels that are not square.

    First, with the richest lenses, form and pixels; then the simplest level of coefficients that serves all cameras; then fewer
    for each alone. Otherwise coefficients would make up for what is wrong elsewhere.

    Args:
        state: of all cameras.
        seen: of all cameras, with their final weights.
        prior: what is known of the intrinsics.
        freedom: what else is free.
    """
    trial, C, fisheye = _Trial(seen, prior), seen.n_cameras, freedom.lenses[0].fisheye
    seen_by = int((seen.weight > 0).any(axis=2).sum(axis=1).min())
    levels = FISHEYE_LEVELS if fisheye else LEVELS
    possible = [level for level in levels if not level or (3 + len(level)) * VIEWS_PER_PARAMETER <= seen_by]
    if seen_by < VIEWS_FOR_SPREAD:
        possible = [level for level in possible if "k3" not in level][-1:]
    base = replace(freedom, lenses=(LensModel(possible[-1], fisheye=fisheye),) * C, form=False)
    trial.run(base, state)
    if seen.n_views >= VIEWS_FOR_FORM and len(seen.points_m) >= CORNERS_FOR_FORM:
        base = _enrich_model(trial, base, replace(base, form=True))
    base = _enrich_model(trial, base, replace(base, lenses=tuple(replace(lens, square=False) for lens in base.lenses)))
    rungs = [replace(base, lenses=(replace(base.lenses[0], coefficients=level),) * C) for level in possible]
    for richer, rung in zip(rungs[::-1], rungs[-2::-1], strict=False):
        trial.run(rung, trial.states[richer])
    now = next((rung for rung in rungs if trial.as_good(rung)), base)
    for c in range(C):
        now = _simplify_lens(trial, now, c, possible if C > 1 else possible[:0])
    held_out_px = {_describe_freedom(tried): float(np.sqrt(2.0 * errors.mean())) for tried, errors in trial.errors_px2.items()}
    return LensChoice(now, trial.states[now], held_out_px)


def _compute_held_out_errors(
    state: BundleState, seen: CornerObservations, freedom: FreeParameters, prior: IntrinsicsPrior
) -> Floats:
    """Return the weighted mean squared error of each view [px^2] when the cameras are fitted to the others, (V,).

    A held-out view's own board pose is fitted to it: six parameters against two for every corner of a camera.

    Args:
        state: where to begin.
        seen: the corners seen, with their weights.
        freedom: what may change besides the board's poses.
        prior: what is known of the intrinsics.
    """
    fold = np.arange(seen.n_views) % min(FOLDS, seen.n_views)
    out = np.empty(seen.n_views)
    for k in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        fitted = adjust_bundle(select_state_views(state, train), seen.at(train), freedom, prior, STEPS, ENOUGH_GAIN).state
        poses = select_state_views(state, test)
        tested = replace(fitted, board_rotation=poses.board_rotation, board_translation=poses.board_translation)
        left_out = seen.at(test)
        out[test] = compute_view_costs(refine_board_poses(tested, left_out)[0], left_out) / np.maximum(
            left_out.weight.sum(axis=(0, 2)), 1e-300
        )
    return out


def restrict_intrinsics(intrinsics: Floats, lenses: Lenses) -> Floats:
    """Set the intrinsics that models do not have to their defaults: (C, 10)."""
    out = intrinsics.copy()
    for c, lens in enumerate(lenses):
        out[c, 4:N_INTRINSICS][~lens.directions[4:].any(axis=1)] = 0.0
        if lens.square:
            out[c, :2] = out[c, :2].mean()
    return out


def _enrich_model(trial: _Trial, now: FreeParameters, more: FreeParameters) -> FreeParameters:
    """Take more parameters if the present ones are not as good."""
    trial.run(more, trial.states[now])
    return now if trial.as_good(now) else more


def _simplify_lens(trial: _Trial, now: FreeParameters, camera: int, levels: Sequence[tuple[str, ...]]) -> FreeParameters:
    """Return one camera with a simpler model for as long as that is as good: square pixels, then fewer coefficients."""
    lens = now.lenses[camera]
    below = levels[: levels.index(lens.coefficients)] if levels else ()
    simpler = [replace(lens, coefficients=level) for level in reversed(below)]
    if not lens.square and len(now.lenses) > 1:
        now = _choose_simpler(trial, now, _replace_lens(now, camera, replace(lens, square=True)))
    for model in simpler:
        lower = _replace_lens(now, camera, replace(model, square=now.lenses[camera].square))
        if _choose_simpler(trial, now, lower) is now:
            break
        now = lower
    return now


def _choose_simpler(trial: _Trial, now: FreeParameters, simpler: FreeParameters) -> FreeParameters:
    """Return the simpler choice if it is as good."""
    trial.run(simpler, trial.states[now])
    return simpler if trial.as_good(simpler) else now


def _replace_lens(freedom: FreeParameters, camera: int, lens: LensModel) -> FreeParameters:
    """Return the choice with one camera's model replaced."""
    return replace(freedom, lenses=(*freedom.lenses[:camera], lens, *freedom.lenses[camera + 1 :]))


def _describe_freedom(freedom: FreeParameters) -> str:
    """Return what is free as text, the lens once if all are the same."""
    lenses = freedom.lenses[:1] if len(set(freedom.lenses)) == 1 else freedom.lenses
    return " | ".join(lens.name for lens in lenses) + ("; form of the board" if freedom.form else "")
