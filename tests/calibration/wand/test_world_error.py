"""What a rig is uncertain by: as solving again with other lenses shows, and never less than the noise makes it."""

import numpy as np
import pytest

from calibration.wand.adjust import WandProblem, WandState, adjust_wand
from calibration.wand.world_error import choose_lens_sigmas, compute_lens_influence, compute_wand_uncertainty
from tests.calibration.wand.test_adjust import scene


@pytest.mark.parametrize("which", range(8))
def test_influence_of_a_lens_is_what_solving_again_with_another_one_gives(which: int) -> None:
    state, problem = scene(2, F=30, seed=6, offset=True, robust=False)
    fit = adjust_wand(state, problem)
    shared, places = compute_lens_influence(fit, problem)
    step = (1e-4, 0.05, 0.05, 1e-4)[which % 4]

    def solved(change: float) -> WandState:
        intrinsics = state.intrinsics.copy()
        row = intrinsics[which // 4]
        if which % 4 == 0:
            row[:2] *= np.exp(change)
        else:
            row[{1: 2, 2: 3, 3: 4}[which % 4]] += change
        moved = WandState(intrinsics, *(getattr(fit.state, name) for name in WandState.__slots__[1:]))
        return adjust_wand(moved, problem, max_steps=60).state

    ahead, back = solved(step), solved(-step)
    length = (ahead.length - back.length) / (2.0 * step)
    assert length == pytest.approx(shared[-1, which], rel=0.02, abs=2e-3 * np.abs(shared[-1]).max())
    moved = (ahead.points - back.points).reshape(30, 6) / (2.0 * step)
    assert np.allclose(moved, places[:, :, which], rtol=0.03, atol=0.02 * np.abs(places[:, :, which]).max())


def fitted(K: int, noise_px: float = 0.2) -> tuple[object, WandProblem]:
    state, problem = scene(K, F=80, seed=7, noise_px=noise_px, robust=False)
    return adjust_wand(state, problem), problem


def test_exact_lenses_leave_the_noise_alone() -> None:
    fit, problem = fitted(1)
    none = compute_wand_uncertainty(fit, problem, 1.3, False, np.zeros(8))  # type: ignore[arg-type]
    covariance = fit.covariance  # type: ignore[attr-defined]
    assert np.allclose(none.pose_covariance[:3, :3], covariance[:3, :3], rtol=1e-9)
    along = fit.state.translation[1]  # type: ignore[attr-defined]
    assert along @ none.pose_covariance[3:, 3:] @ along < 1e-12  # the distance is given, so that none of it is uncertain
    some = compute_wand_uncertainty(fit, problem, 1.3, False, choose_lens_sigmas((640, 640), False, False))  # type: ignore[arg-type]
    guessed = compute_wand_uncertainty(fit, problem, 1.3, False, choose_lens_sigmas((640, 640), True, False))  # type: ignore[arg-type]
    assert none.world_sigma < some.world_sigma < guessed.world_sigma


def test_a_rigid_wand_makes_the_world_surer_than_one_marker() -> None:
    sigma = choose_lens_sigmas((640, 640), False, False)
    one, two = (compute_wand_uncertainty(*fitted(K), 1.0, K == 2, sigma).world_sigma for K in (1, 2))  # type: ignore[arg-type]
    assert two < 0.7 * one


def test_focal_lengths_that_are_solved_for_are_not_held_too() -> None:
    assert choose_lens_sigmas((640, 1280), False, True)[[0, 4]] == pytest.approx([0.0, 0.0])
    assert choose_lens_sigmas((640, 1280), False, False)[5] == 2.0 * choose_lens_sigmas((640, 1280), False, False)[1]
