"""Motions made physically sound: the equations' derivatives, and what comes out."""

from dataclasses import replace

import numpy as np
import pytest

from database.builtin.catalog import make_builtin_clip
from reconstruct.models.physics.body import build_body

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from reconstruct.models.physics.clean import CleanOptions, clean_by_windows, measure_quality, prepare_motion
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics, configurations_from_poses
from reconstruct.models.physics.steps import compute_rates, compute_steps, compute_velocities

CLIP = make_builtin_clip("walk")


def test_derivatives_of_steps_are_those_of_central_differences() -> None:
    d = Dynamics(build_body(CLIP.skeleton))
    rng = np.random.default_rng(0)
    q = d.integrate(configurations_from_poses(CLIP.rotvec[:3], CLIP.root_m[:3]), 0.6 * rng.normal(size=(3, N_TANGENT)))
    rates = compute_rates(compute_steps(d, q), 0.1)
    blocks = {"v": (rates.v_before, rates.v_at, rates.v_after), "a": (rates.a_before, rates.a_at, rates.a_after)}
    for frame in range(3):
        direction = rng.normal(size=(3, N_TANGENT)) * (np.arange(3) == frame)[:, None]
        ends = [compute_velocities(compute_steps(d, d.integrate(q, s * direction)).d, 0.1) for s in (1e-6, -1e-6)]
        for k, name in enumerate("va"):
            numeric = (ends[0][k] - ends[1][k])[0] / 2e-6
            np.testing.assert_allclose(blocks[name][frame][0] @ direction[frame], numeric, atol=1e-5 * np.abs(numeric).max())


@pytest.mark.slow
def test_a_clean_walk_stands_and_weighs_and_stays_near_and_windows_join() -> None:
    """A walk with a floor that sways, feet that slide, and noise; cleaned in windows and in one."""
    d = Dynamics(build_body(CLIP.skeleton, 70.0))
    rng = np.random.default_rng(0)
    rotvec, root_m = CLIP.rotvec[60:240].copy(), CLIP.root_m[60:240].copy()
    rotvec += 0.004 * rng.normal(size=rotvec.shape)
    root_m += 0.003 * rng.normal(size=root_m.shape) + [0.0, 0.008, 0.0] * np.sin(np.arange(180) / 25.0)[:, None]
    task = prepare_motion(d, configurations_from_poses(rotvec, root_m), CLIP.fps)
    *_, q = clean_by_windows(task)
    before, after = measure_quality(task, task.given), measure_quality(task, q)
    assert len(q) == 180 and task.plan.borne.all()
    assert after.slide_mm < 0.5 and after.slide_mm < 0.2 * before.slide_mm
    assert after.float_mm < 0.25 * before.float_mm and after.sunk_mm < 3.0
    assert after.residual < 0.02 < before.residual and after.jitter < 0.3
    true = configurations_from_poses(CLIP.rotvec[60:240], CLIP.root_m[60:240])
    off = [np.linalg.norm(d.difference(each, true)[:, :3], axis=1).mean() for each in (task.given, q)]
    assert off[1] < off[0]  # the hips are nearer to where they were before noise and sway
    early = next(iter(clean_by_windows(task)))
    assert 0 < len(early) < 180
    *_, resumed = clean_by_windows(task, early)
    np.testing.assert_allclose(resumed, q, atol=1e-9)


@pytest.mark.slow
def test_who_sits_is_not_made_to_fall() -> None:
    """Nobody can be seen to bear a body that hangs still in the air: it stays, and the plan says so."""
    d = Dynamics(build_body(CLIP.skeleton, 70.0))
    q = np.repeat(configurations_from_poses(CLIP.rotvec, CLIP.root_m)[:1], 40, axis=0)
    task = prepare_motion(d, q, 60.0, CleanOptions(parts=np.zeros((40, 2, 3), bool)))
    assert not task.plan.borne.any()
    *_, found = clean_by_windows(replace(task))
    assert np.abs(d.difference(q, found)).max() < 0.005
