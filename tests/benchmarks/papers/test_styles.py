"""Styles as in their paper: what is hidden, keyed curves, the paper's f."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install "duocap[benchmarks]"')

from benchmarks.papers.styles import KEYED, build_keyed_constraints, hide_markers, stop_annealing
from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin import build_person_skeleton
from reconstruct.models.style.features import build_training_poses, subsample_poses
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.models.style.model import build_annealing_evaluators, build_evaluator, predict_features
from tests.support.people import walk


def test_a_share_is_hidden_for_some_frames_then_others() -> None:
    valid = np.ones((100, 40), bool)
    valid[:, 3] = False
    seen = hide_markers(valid, 0.5, 25, 1)
    assert not seen[:, 3].any() and ((~seen).sum(axis=1) >= 20).all() and ((~seen).sum(axis=1) <= 21).all()
    assert (seen[:25] == seen[0]).all() and (seen[25] != seen[24]).any()


def test_keyed_joints_go_through_their_places_and_no_others_are_told() -> None:
    joint_m = np.cumsum(np.random.default_rng(0).normal(0.0, 0.02, (10, N_JOINTS, 3)), axis=0)
    asked = build_keyed_constraints(joint_m, 3, 30.0)
    joint = [JOINT_INDEX[name] for name in KEYED]
    assert len(asked) == 10 and asked[0].handles.joint.tolist() == joint
    for row in (0, 3, 6, 9):
        np.testing.assert_allclose(asked[row].observations.point_m, joint_m[row, joint], atol=1e-9)
    assert np.abs(asked[1].observations.point_m - joint_m[1, joint]).max() > 1e-3


def test_the_papers_f_is_interpolation_of_the_active_poses() -> None:
    """f(x) = mean + Y' K^-1 k(x) over the active set (eq. 4), and every step of annealing is the learned one without it."""
    clip = walk(build_person_skeleton(1.74))
    style = fit_style(subsample_poses(build_training_poses([clip]), 60), clip.skeleton, "walk", LearnOptions(active=20, steps=1))
    ours = style.keep_active()
    model, X = build_evaluator(ours, ours.learned), style.latent[:5] + 0.1
    p, Z = style.learned, style.latent[style.active]
    gram, k = (p.alpha * np.exp(-0.5 * p.gamma * ((a[:, None] - Z[None]) ** 2).sum(axis=2)) for a in (Z, X))
    Y = style.centred()[style.active]
    expected = style.mean[style.modelled] + k @ np.linalg.solve(gram + np.eye(len(Z)) / p.beta, Y)
    np.testing.assert_allclose(predict_features(model, X)[0], expected, atol=1e-6)
    first, _, last = build_annealing_evaluators(stop_annealing(style))
    assert first.parameters == last.parameters == style.learned
