"""Synthesis: steps, and poses of a style that do what is asked of them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from config.joints import JOINT_INDEX
from database.kinematics import forward
from database.rotations import geodesic_rad, matrix_from_rotvec
from reconstruct.style.constraints import FixedJoints, Orientations, RootPrior, points
from reconstruct.style.features import N_ANGLES, static_features
from reconstruct.style.model import StyleError
from reconstruct.style.synthesis import LIVE_STEPS, Past, Synthesis, Synthesizer, _from_before
from reconstruct.style.synthesis_kernels import _step
from reconstruct.style.synthesis_start import Start
from tests.synthesis_problems import (
    HANDLES,
    MEAN_M,
    asked,
    clip,
    evaluated,
    in_picture,
    mean_off_m,
    places,
    problem,
    style,
    truth,
)


def test_a_step_solves_the_whole_system() -> None:
    prior, arrays, state = problem(np.random.default_rng(5))
    _, lin, n = evaluated(state, prior, arrays)
    J = np.concatenate([lin[5][:n], lin[6][:n]], axis=1)
    H = np.block([[np.diag(lin[0]), lin[1]], [lin[1].T, lin[3]]]) + J.T @ J
    scale = np.concatenate([lin[0], lin[8]]) + (J**2).sum(axis=0)
    gradient = np.concatenate([lin[2], lin[4]]) + J.T @ lin[7][:n]
    step_a, step_p, damping = np.empty(N_ANGLES), np.empty(10), 0.1
    while (gain := _step(lin, n, damping, step_a, step_p)) < 0.0:  # far from a minimum the Hessian is indefinite
        damping *= 10.0
    assert damping < 1e4
    little = np.concatenate([np.full(N_ANGLES, 1e-9), np.full(10, 1e-6)])
    shall = -np.linalg.solve(H + np.diag(damping * scale + little), gradient)
    assert_allclose(np.concatenate([step_a, step_p]), shall, rtol=1e-6, atol=1e-9 * np.abs(shall).max())
    assert_allclose(gain, -0.5 * gradient @ shall, rtol=1e-8)


# Poses: these run the solver from end to end, which plain Python takes long for.


@pytest.mark.slow
def test_a_pose_of_the_motion_is_found_from_its_hands_and_feet() -> None:
    synthesizer = Synthesizer([style()])
    for row in (20, 41, 66):
        found = synthesizer.synthesize(asked(row))
        assert found.converged and found.reached and found.variance < 0.5
        assert mean_off_m(found, row) < MEAN_M
        assert_allclose(
            found.off_m, np.linalg.norm(places(found.rotvec, found.root_m)[HANDLES[:4]] - truth(row)[HANDLES[:4]], axis=1)
        )


@pytest.mark.slow
def test_a_warm_start_ends_where_the_cold_one_did_and_all_is_repeatable() -> None:
    synthesizer = Synthesizer([style()])
    cold = synthesizer.synthesize(asked(30))
    warm = synthesizer.synthesize(asked(30), synthesizer.synthesize(asked(29)))
    again = Synthesizer([style()]).synthesize(asked(30))
    assert_allclose(warm.energy, cold.energy, atol=0.1)
    assert np.array_equal(again.rotvec, cold.rotvec) and again.energy == cold.energy


@pytest.mark.slow
def test_motion_counts_where_the_past_is_known() -> None:
    s = static_features(clip().rotvec)
    found = Synthesizer([style()]).synthesize(asked(40), past=Past(s[39], s[38]))
    assert found.converged and mean_off_m(found, 40) < MEAN_M


@pytest.mark.slow
def test_image_points_of_one_camera() -> None:
    found = Synthesizer([style()]).synthesize(in_picture(truth(25)[HANDLES]))
    assert found.reached and found.off_px[0].max() < 3.0 and (found.off_px[1] == 0.0).all() and (found.off_m == 0.0).all()
    assert mean_off_m(found, 25) < 0.1  # depth is known by the body's size alone


@pytest.mark.slow
def test_orientations_and_held_joints() -> None:
    head, elbow = JOINT_INDEX["head"], JOINT_INDEX["leftLowerArm"]
    turned = matrix_from_rotvec([0.0, 0.3, 0.0]) @ forward(clip().skeleton, clip().rotvec[20], clip().root_m[20])[0][head]
    bent = clip().rotvec[20, elbow] + [0.0, -0.3, 0.0]
    constraints = replace(
        asked(20, 3, 0.01),
        orientations=Orientations(np.array([head]), turned[None], np.array([0.02])),
        fixed=FixedJoints(np.array([elbow]), bent[None], np.array([0.02])),
    )
    found = Synthesizer([style()]).synthesize(constraints)
    assert geodesic_rad(forward(clip().skeleton, found.rotvec, found.root_m)[0][head], turned) < 0.06
    assert np.abs(found.rotvec[elbow] - bent).max() < 0.06


@pytest.mark.slow
def test_between_styles() -> None:
    walk, jump = style(), style("jump")
    mixed, constraints = Synthesizer([walk, jump], (0.5, 0.5)), asked(20, 3, 0.05)
    pure = [Synthesizer([one]).synthesize(constraints) for one in (walk, jump)]
    ends = [mixed.with_shares(shares).synthesize(constraints) for shares in ((1.0, 0.0), (0.0, 1.0))]
    for end, alone in zip(ends, pure, strict=True):
        assert_allclose(end.energy, alone.energy, atol=0.05)
        assert_allclose(end.rotvec, alone.rotvec, atol=0.02)
    mixtures = [mixed.with_shares((1.0 - share, share)).synthesize(constraints) for share in (0.1, 0.5, 0.9)]
    away = [np.linalg.norm(one.rotvec[1:] - pure[0].rotvec[1:]) for one in mixtures]
    assert away[0] < away[1] < away[2] and len(mixtures[1].latent) == 2 and all(one.converged for one in mixtures)


@pytest.mark.slow
def test_styles_of_other_sizes_go_together() -> None:
    walk, narrow = style(), style("jump")
    narrow = replace(narrow, latent=np.ascontiguousarray(narrow.latent[:, :1]), active=narrow.active[:17])
    constraints = asked(20, 3, 0.05)
    end = Synthesizer([walk, narrow], (0.0, 1.0)).synthesize(constraints)
    assert_allclose(end.energy, Synthesizer([narrow]).synthesize(constraints).energy, atol=0.05)


@pytest.mark.slow
def test_what_cannot_be_is_flagged() -> None:
    synthesizer = Synthesizer([style()])
    far = asked(20)
    far.observations.point_m[0] += (3.0, 0.0, 0.0)
    contradicting = points(HANDLES[[0, 0, 1, 2]], np.zeros((4, 3)), truth(20)[HANDLES[[0, 1, 1, 2]]])
    for constraints in (far, contradicting):
        found = synthesizer.synthesize(constraints)
        assert not found.reached
        assert np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all() and np.isfinite(found.energy)


@pytest.mark.slow
def test_what_is_not_finite_is_not_asked() -> None:
    synthesizer = Synthesizer([style()])
    broken = asked(20)
    broken.observations.point_m[1] = np.nan
    nothing = points(HANDLES[:3], np.zeros((3, 3)), np.full((3, 3), np.nan))
    for constraints in (broken, nothing, replace(nothing, root=RootPrior(np.full((3, 3), np.nan), np.zeros(3), 0.1, 0.1))):
        found = synthesizer.synthesize(constraints)
        assert np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all() and found.reached
    prior = RootPrior(matrix_from_rotvec([0.0, 1.0, 0.0]), np.array([1.0, 0.9, 2.0]), 0.1, 0.01)
    found = synthesizer.synthesize(replace(nothing, root=prior))
    assert_allclose(found.root_m, prior.position_m, atol=0.01)
    assert geodesic_rad(matrix_from_rotvec(found.rotvec[0]), prior.rotation) < 0.3


@pytest.mark.slow
def test_handles_that_are_asked_for_are_surer_than_the_rest() -> None:
    synthesizer, constraints = Synthesizer([style()]), asked(20, 6)
    constraints.observations.root_info[3:] = 0.0
    found = synthesizer.synthesize(constraints)
    covariance = synthesizer.handle_covariance(found, constraints)
    sigma = np.sqrt(np.linalg.eigvalsh(covariance))
    assert (sigma > 0.0).all() and sigma[:3].max() < 0.0051 and sigma[3:].max() < 0.2
    assert (sigma[3:].max(axis=1) > sigma[:3].max()).all()
    off = np.linalg.norm(places(found.rotvec, found.root_m)[HANDLES[3:]] - truth(20)[HANDLES[3:]], axis=1)
    assert (off < 4.0 * sigma[3:].max(axis=1)).all()


@pytest.mark.slow
def test_a_search_leaves_a_bad_minimum() -> None:
    synthesizer = Synthesizer([style()])
    far = replace(synthesizer.synthesize(asked(20)), latent=(np.array([6.0, -6.0]),))  # where the style knows no pose
    constraints = asked(41)
    near, searched = (synthesizer.synthesize(constraints, far, search=search, most_steps=2) for search in (False, True))
    cold = synthesizer.synthesize(constraints)
    assert searched.energy <= near.energy and searched.reached and searched.converged
    assert_allclose(searched.energy, cold.energy, atol=1e-9)
    assert not near.converged and near.energy > cold.energy + 1.0


@pytest.mark.slow
def test_a_good_minimum_is_kept_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    synthesizer = Synthesizer([style()])
    cold = synthesizer.synthesize(asked(20))

    def never(problem: object) -> Synthesis:
        raise AssertionError("started anew")

    monkeypatch.setattr(synthesizer, "_cold", never)
    assert_allclose(synthesizer.synthesize(asked(20), cold, search=True).energy, cold.energy, atol=0.01)


@pytest.mark.slow
def test_steps_that_do_not_suffice_are_flagged() -> None:
    synthesizer = Synthesizer([style()])
    start = synthesizer.synthesize(asked(20))
    short, whole = (synthesizer.synthesize(asked(41), start, most_steps=most) for most in (1, 60))
    assert not short.converged and whole.converged and short.energy > whole.energy
    assert np.isfinite(short.rotvec).all()


@pytest.mark.slow
def test_motion_goes_on_from_the_frame_before() -> None:
    synthesizer, s = Synthesizer([style()]), static_features(clip().rotvec)
    start = replace(synthesizer.synthesize(asked(39)), rotvec=clip().rotvec[39], root_m=clip().root_m[39])
    problem = synthesizer._problem(asked(40), Past(s[39], s[38]))
    at = _from_before(start)
    moved = synthesizer._going_on(at, problem, Past(s[39], s[38]))
    assert_allclose(moved.rotvec[1:].ravel(), (2.0 * s[39] - s[38])[:N_ANGLES], atol=1e-12)
    still = synthesizer._problem(asked(39), Past(s[39], s[39]))
    assert synthesizer._going_on(at, still, Past(s[39], s[39])) is at  # no lower than where it was
    assert synthesizer.synthesize(asked(40), start, Past(s[39], s[38]), most_steps=LIVE_STEPS).converged


@pytest.mark.slow
def test_another_body_is_posed() -> None:
    taller = replace(clip().skeleton, offsets_m=clip().skeleton.offsets_m * 1.15)
    root_m = 1.15 * clip().root_m[30]
    world = forward(taller, clip().rotvec[30], root_m)[1]
    found = Synthesizer([style()], skeleton=taller).synthesize(points(HANDLES, np.zeros((6, 3)), world[HANDLES], 0.005))
    there = forward(taller, found.rotvec, found.root_m)[1]
    assert found.reached and found.converged
    assert np.linalg.norm(there - world, axis=1).mean() < MEAN_M
    assert not np.allclose(there, places(found.rotvec, found.root_m), atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 30])
def test_styles_that_know_one_place_only_do_what_is_asked(n: int) -> None:
    """All latent points are the same, or there is one active pose, too; what is out of reach is flagged all the same."""
    one = style()
    synthesizer = Synthesizer([replace(one, latent=np.zeros_like(one.latent), active=one.active[:n])])
    found = synthesizer.synthesize(asked(20))
    for each in (found, synthesizer.synthesize(asked(21), found)):
        assert each.reached and each.converged and each.off_m.max() <= 0.015  # 3 sigma
        assert np.isfinite(each.rotvec).all() and np.isfinite(each.energy)
    far = asked(20)
    far.observations.point_m[0] += (3.0, 0.0, 0.0)
    assert not synthesizer.synthesize(far).reached


def test_shares_and_styles_that_are_none() -> None:
    one = style()
    for styles, shares in (([], ()), ([one], (0.5, 0.5)), ([one], (0.0,)), ([one, one], (1.5, -0.5)), ([one], (np.nan,))):
        with pytest.raises(StyleError):
            Synthesizer(styles, shares)
    with pytest.raises(StyleError, match="train it anew"):
        Synthesizer([replace(one, features=one.features[:, :-3])])
    assert Synthesizer([one, one], (1.0, 3.0)).shares == (0.25, 0.75)


def test_starts_know_the_poses_as_the_features_do() -> None:
    synthesizer = Synthesizer([style()])
    start = synthesizer._examples.starts(synthesizer._problem(asked(20), None), synthesizer.up, 2)
    assert len(start) == 2 and isinstance(start[0], Start)
    off = np.linalg.norm(places(np.concatenate([[[0.0] * 3], start[0].rotvec[1:]]), np.zeros(3)), axis=1)
    assert np.isfinite(off).all() and np.linalg.norm(start[0].root_m - clip().root_m[20]) < 0.1
