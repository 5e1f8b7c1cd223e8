"""Whether a pose that follows its markers may be published."""

from dataclasses import replace

import numpy as np
import pytest

from capture.packets import MarkerFrame
from reconstruct.estimator import Estimate
from reconstruct.history import BodyState
from reconstruct.labelling.plausibility import Plausibility, misfit
from reconstruct.models.local.gaussian import local_gaussian
from reconstruct.models.local.neighbourhood import Neighbourhood
from tests.support.people import marker_frame_of, t_pose

N = 8
MODEL = local_gaussian(np.zeros((2, 66)), np.ones(2), None, np.eye(66), floor_rad=0.1, shrinkage=0.1)
NEAR = Neighbourhood(np.zeros(1, int), np.ones(1), MODEL)


def frame_at(k: int, monocular: bool, fps: float = 60.0) -> MarkerFrame:
    """Return a frame in which all markers are at the origin, or on rays of the left camera."""
    frame = marker_frame_of(np.zeros((N, 3)), np.full(N, not monocular), 0.005)
    seen = np.array([np.ones(N, bool), np.full(N, not monocular)])
    return replace(frame, index=k, t_capture_ns=round(k * 1e9 / fps), seen=seen)


def estimate_of(energy: float = 0.0, position_m: tuple[float, float, float] = (0.0, 0.0, 0.0), off_m: float = 0.0) -> Estimate:
    """Return a solved pose somewhere, every marker `off_m` from its point."""
    state = BodyState(0, t_pose(), np.eye(3), np.array(position_m))
    return Estimate(state, np.tile([0.0, off_m, 0.0], (N, 1)), NEAR, energy, False)


def steps_until_doubted(plausibility: Plausibility, monocular: bool, estimate: Estimate, fps: float = 60.0) -> int:
    """Return after how many frames a pose is doubted, at most 200."""
    return next((k for k in range(200) if not plausibility.step(frame_at(k, monocular, fps), estimate, False)), 200)


def test_misfit_is_energy_a_marker_or_distance() -> None:
    assert misfit(frame_at(0, True), estimate_of(energy=12.0)) == pytest.approx(1.5)
    assert misfit(frame_at(0, False), estimate_of(energy=12.0, off_m=0.14)) == pytest.approx(2.0)


@pytest.mark.parametrize("fps", [30.0, 60.0])
def test_a_bad_fit_is_doubted_after_a_while_whatever_the_rate(fps: float) -> None:
    """2.5 a marker: 2.5 (1 - exp(-t / 0.5 s)) passes 1.6 after 0.5 s ln(2.5 / 0.9) = 0.511 s; 1.5 never does."""
    assert steps_until_doubted(Plausibility(), True, estimate_of(2.5 * N), fps) == int(np.ceil(0.5108 * fps))
    assert steps_until_doubted(Plausibility(), True, estimate_of(1.5 * N), fps) == 200


def test_two_cameras_doubt_distances_not_energies() -> None:
    assert steps_until_doubted(Plausibility(), False, estimate_of(energy=50.0 * N, off_m=0.05)) == 200
    assert steps_until_doubted(Plausibility(), False, estimate_of(off_m=0.14)) < 60


def test_one_bad_frame_is_not_doubted_and_a_doubted_pose_must_fit_well_to_be_plausible_again() -> None:
    plausibility = Plausibility()
    plausibility.step(frame_at(0, True), estimate_of(), False)
    assert plausibility.step(frame_at(1, True), estimate_of(1000.0 * N), False)
    assert steps_until_doubted(plausibility, True, estimate_of(4.0 * N)) < 30
    last = 1000
    assert not any(plausibility.step(frame_at(last + k, True), estimate_of(1.3 * N), False) for k in range(100)), "not below 1.25"
    assert plausibility.step(frame_at(last + 200, True), estimate_of(0.0), False)


@pytest.mark.parametrize(("monocular", "speed_m_s", "astray"), [(True, 6.5, False), (True, 7.5, True), (False, 7.5, False)])
def test_nobody_runs_that_fast_away_from_one_camera(monocular: bool, speed_m_s: float, astray: bool) -> None:
    plausibility = Plausibility()
    for k in range(30):
        plausible = plausibility.step(frame_at(k, monocular), estimate_of(0.0, (0.0, 1.0, speed_m_s * k / 60.0)), False)
        assert plausible == (not astray or k < 6), k
    rest = (0.0, 1.0, 3.0)
    assert plausibility.step(frame_at(31, monocular), estimate_of(0.0, rest), False) == (not astray), "it stays astray"
    assert plausibility.step(frame_at(32, monocular), estimate_of(0.0, rest), True), "until it is found anew"


def test_a_gap_tells_no_speed_and_forgetting_forgives() -> None:
    plausibility = Plausibility()
    assert plausibility.step(frame_at(0, True), estimate_of(), False)
    assert plausibility.step(frame_at(60, True), estimate_of(0.0, (9.0, 0.0, 0.0)), False)
    steps_until_doubted(plausibility, True, estimate_of(4.0 * N))
    plausibility.forget()
    assert plausibility.step(frame_at(0, True), estimate_of(4.0 * N), False)
