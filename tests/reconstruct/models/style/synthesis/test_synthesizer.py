"""Synthesis: poses of a style that meet their constraints."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from config.joints import JOINT_INDEX
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.constraints import FixedJoints, Orientations, RootConstraint, build_point_handles
from reconstruct.models.style.features import compute_static_features
from reconstruct.models.style.model import StyleError
from reconstruct.models.style.synthesis.synthesizer import LIVE_STEPS, PastFeatures, Synthesizer
from tests.reconstruct.models.style.synthesis.synthesis_problems import (
    HANDLES,
    MEAN_M,
    clip,
    constraints_at,
    in_image,
    mean_error_m,
    places,
    style,
    truth,
)

# Poses: these run the solver from end to end, which plain Python takes long for.


@pytest.mark.slow
def test_a_pose_of_the_motion_is_found_from_its_hands_and_feet() -> None:
    synthesizer = Synthesizer([style()])
    for row in (20, 41, 66):
        found = synthesizer.synthesize(constraints_at(row))
        assert found.converged and found.reached and found.variance < 0.5
        assert mean_error_m(found, row) < MEAN_M
        assert_allclose(
            found.error_m, np.linalg.norm(places(found.rotvec, found.root_m)[HANDLES[:4]] - truth(row)[HANDLES[:4]], axis=1)
        )


@pytest.mark.slow
def test_a_warm_start_ends_where_the_cold_one_did_and_all_is_repeatable() -> None:
    synthesizer = Synthesizer([style()])
    cold = synthesizer.synthesize(constraints_at(30))
    warm = synthesizer.synthesize(constraints_at(30), synthesizer.synthesize(constraints_at(29)))
    again = Synthesizer([style()]).synthesize(constraints_at(30))
    assert_allclose(warm.energy, cold.energy, atol=0.1)
    assert np.array_equal(again.rotvec, cold.rotvec) and again.energy == cold.energy


@pytest.mark.slow
def test_motion_counts_where_the_past_is_known() -> None:
    s = compute_static_features(clip().rotvec)
    synthesizer, past = Synthesizer([style()]), PastFeatures(s[39], s[38])
    start = replace(synthesizer.synthesize(constraints_at(39)), rotvec=clip().rotvec[39], root_m=clip().root_m[39])
    alone = synthesizer.synthesize(constraints_at(40), past=past)
    for found in (alone, synthesizer.synthesize(constraints_at(40), start, past, max_steps=LIVE_STEPS)):
        assert found.converged and mean_error_m(found, 40) < MEAN_M


@pytest.mark.slow
def test_image_points_of_one_camera() -> None:
    found = Synthesizer([style()]).synthesize(in_image(truth(25)[HANDLES]))
    assert found.reached and found.error_px[0].max() < 3.0 and (found.error_px[1] == 0.0).all() and (found.error_m == 0.0).all()
    assert mean_error_m(found, 25) < 0.1  # depth is known by the body's size alone


@pytest.mark.slow
def test_orientations_and_held_joints() -> None:
    head, elbow = JOINT_INDEX["head"], JOINT_INDEX["leftLowerArm"]
    turned = (
        matrix_from_rotvec([0.0, 0.3, 0.0])
        @ compute_forward_kinematics(clip().skeleton, clip().rotvec[20], clip().root_m[20])[0][head]
    )
    bent = clip().rotvec[20, elbow] + [0.0, -0.3, 0.0]
    constraints = replace(
        constraints_at(20, 3, 0.01),
        orientations=Orientations(np.array([head]), turned[None], np.array([0.02])),
        fixed=FixedJoints(np.array([elbow]), bent[None], np.array([0.02])),
    )
    found = Synthesizer([style()]).synthesize(constraints)
    assert compute_geodesic_rad(compute_forward_kinematics(clip().skeleton, found.rotvec, found.root_m)[0][head], turned) < 0.06
    assert np.abs(found.rotvec[elbow] - bent).max() < 0.06


@pytest.mark.slow
def test_between_styles() -> None:
    walk, jump = style(), style("jump")
    mixed, constraints = Synthesizer([walk, jump], (0.5, 0.5)), constraints_at(20, 3, 0.05)
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
    constraints = constraints_at(20, 3, 0.05)
    end = Synthesizer([walk, narrow], (0.0, 1.0)).synthesize(constraints)
    assert_allclose(end.energy, Synthesizer([narrow]).synthesize(constraints).energy, atol=0.05)


@pytest.mark.slow
def test_what_cannot_be_is_flagged() -> None:
    synthesizer = Synthesizer([style()])
    far = constraints_at(20)
    far.observations.point_m[0] += (3.0, 0.0, 0.0)
    contradicting = build_point_handles(HANDLES[[0, 0, 1, 2]], np.zeros((4, 3)), truth(20)[HANDLES[[0, 1, 1, 2]]])
    for constraints in (far, contradicting):
        found = synthesizer.synthesize(constraints)
        assert not found.reached
        assert np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all() and np.isfinite(found.energy)


@pytest.mark.slow
def test_what_is_not_finite_is_not_constraints_at() -> None:
    synthesizer = Synthesizer([style()])
    broken = constraints_at(20)
    broken.observations.point_m[1] = np.nan
    nothing = build_point_handles(HANDLES[:3], np.zeros((3, 3)), np.full((3, 3), np.nan))
    for constraints in (broken, nothing, replace(nothing, root=RootConstraint(np.full((3, 3), np.nan), np.zeros(3), 0.1, 0.1))):
        found = synthesizer.synthesize(constraints)
        assert np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all() and found.reached
    prior = RootConstraint(matrix_from_rotvec([0.0, 1.0, 0.0]), np.array([1.0, 0.9, 2.0]), 0.1, 0.01)
    found = synthesizer.synthesize(replace(nothing, root=prior))
    assert_allclose(found.root_m, prior.position_m, atol=0.01)
    assert compute_geodesic_rad(matrix_from_rotvec(found.rotvec[0]), prior.rotation) < 0.3


@pytest.mark.slow
def test_steps_that_do_not_suffice_are_flagged() -> None:
    synthesizer = Synthesizer([style()])
    start = synthesizer.synthesize(constraints_at(20))
    short, whole = (synthesizer.synthesize(constraints_at(41), start, max_steps=most) for most in (1, 60))
    assert not short.converged and whole.converged and short.energy > whole.energy
    assert np.isfinite(short.rotvec).all()


@pytest.mark.slow
def test_another_body_is_posed() -> None:
    taller = replace(clip().skeleton, offsets_m=clip().skeleton.offsets_m * 1.15)
    root_m = 1.15 * clip().root_m[30]
    world = compute_forward_kinematics(taller, clip().rotvec[30], root_m)[1]
    found = Synthesizer([style()], skeleton=taller).synthesize(
        build_point_handles(HANDLES, np.zeros((6, 3)), world[HANDLES], 0.005)
    )
    there = compute_forward_kinematics(taller, found.rotvec, found.root_m)[1]
    assert found.reached and found.converged
    assert np.linalg.norm(there - world, axis=1).mean() < MEAN_M
    assert not np.allclose(there, places(found.rotvec, found.root_m), atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 30])
def test_styles_that_know_one_place_only_do_what_is_constraints_at(n: int) -> None:
    """All latent points are the same, or there is one active pose, too; what is out of reach is flagged all the same."""
    one = style()
    synthesizer = Synthesizer([replace(one, latent=np.zeros_like(one.latent), active=one.active[:n])])
    found = synthesizer.synthesize(constraints_at(20))
    for each in (found, synthesizer.synthesize(constraints_at(21), found)):
        assert each.reached and each.converged and each.error_m.max() <= 0.015  # 3 sigma
        assert np.isfinite(each.rotvec).all() and np.isfinite(each.energy)
    far = constraints_at(20)
    far.observations.point_m[0] += (3.0, 0.0, 0.0)
    assert not synthesizer.synthesize(far).reached


def test_shares_and_styles_that_are_none() -> None:
    one = style()
    for styles, shares in (([], ()), ([one], (0.5, 0.5)), ([one], (0.0,)), ([one, one], (1.5, -0.5)), ([one], (np.nan,))):
        with pytest.raises(StyleError):
            Synthesizer(styles, shares)
    with pytest.raises(StyleError, match="train it again"):
        Synthesizer([replace(one, features=one.features[:, :-3])])
    assert Synthesizer([one, one], (1.0, 3.0)).shares == (0.25, 0.75)
