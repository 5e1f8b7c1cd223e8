"""The registry of local models: a line of MODELS makes a model that the settings name, from the search to the solver."""

from dataclasses import replace

import numpy as np
import pytest

from config.arrays import Floats
from config.errors import SettingsError
from config.settings import LOCAL_MODELS, SolveSettings
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.body_state import BodyState
from reconstruct.models.local.model import DOFS, FULL, Neighbours, Quadratic, build_local_model
from reconstruct.search.examples import compute_examples
from reconstruct.track.belief import Prior
from reconstruct.track.estimator import Estimator
from reconstruct.track.local_models import MODELS, GaussianModel
from tests.support.people import (
    PERIOD_NS,
    bent_pose,
    front_rig,
    marker_frame_of,
    person,
    t_pose_clip,
    table_of,
    walk,
    worn_markers,
)

SUBJECT, POSE = person("locomotion", 4), bent_pose(4, 0.2)


class Stiff(GaussianModel):
    """Allows one pose only."""

    def begin(self, start: BodyState, neighbours: Neighbours) -> Prior:
        prior = super().begin(start, neighbours)
        precision = prior.model.precision.copy()
        precision[:DOFS, :DOFS] = 1e12 * np.eye(DOFS)
        return replace(prior, model=build_local_model(POSE[1:].ravel(), FULL, Quadratic(np.zeros(DOFS), precision)))


def test_a_model_is_known_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "stiff", Stiff)
    table = table_of([walk(SUBJECT.skeleton), t_pose_clip(SUBJECT.skeleton)])
    settings = replace(SolveSettings(), model="stiff", limits=False, neighbours=20)
    estimator = Estimator(SUBJECT, compute_examples(SUBJECT, table), front_rig(), settings)
    moving, position_m = bent_pose(5, 0.2), np.array([0.1, 0.9, -0.2])
    moving[0] = [0.1, -0.3, 0.2]
    frame = marker_frame_of(worn_markers(SUBJECT, moving[None], position_m[None])[0][0])
    estimate = estimator.estimate(frame, BodyState(0, moving, matrix_from_rotvec(moving[0]), position_m))
    assert estimate is not None
    np.testing.assert_allclose(estimate.state.joints[1:], POSE[1:], atol=1e-5)


def test_an_unknown_model_is_told_with_those_there_are() -> None:
    assert tuple(MODELS) == LOCAL_MODELS
    table = table_of([t_pose_clip(SUBJECT.skeleton)])
    with pytest.raises(SettingsError, match=r"'papper'.*expected one of gaussian, paper"):
        Estimator(SUBJECT, compute_examples(SUBJECT, table), front_rig(), replace(SolveSettings(), model="papper"))


@pytest.mark.parametrize("model", LOCAL_MODELS)
def test_every_model_follows_a_walk(model: str) -> None:
    """From the true pose of the first frame on, with all markers: the pose stays near, and the velocity is that of the walk.

    In metres and radians the paper's weights hardly make markers count.
    """
    near_m = 0.15 if model == "paper-si" else 0.03
    clip = walk(SUBJECT.skeleton, 3, speed=0.8)
    markers = worn_markers(SUBJECT, clip.rotvec[:40], clip.root_m[:40])[0]
    table = table_of([walk(SUBJECT.skeleton, 11, speed=0.7), t_pose_clip(SUBJECT.skeleton)])
    settings = replace(SolveSettings(), model=model)
    estimator = Estimator(SUBJECT, compute_examples(SUBJECT, table), front_rig(), settings)
    for k in range(40):
        frame = replace(marker_frame_of(markers[k]), t_capture_ns=k * PERIOD_NS)
        start = BodyState(0, clip.rotvec[0], matrix_from_rotvec(clip.rotvec[0, 0]), clip.root_m[0]) if k == 0 else None
        estimate = estimator.estimate(frame, start)
        assert estimate is not None
        estimator.accept(estimate)
        assert np.linalg.norm(estimate.marker_m - markers[k], axis=1).mean() < near_m
    assert estimator.belief is not None
    true_m_s = 60.0 * (clip.root_m[39] - clip.root_m[37]) / 2.0
    np.testing.assert_allclose(estimator.belief.velocity[-3:], true_m_s, atol=0.15)


def test_the_papers_model_solves_its_own_energy() -> None:
    """No step in the model's directions lowers eq. 9, written out here in centimetres and degrees; the root stays."""
    clip = walk(SUBJECT.skeleton, 3, speed=0.8)
    markers = worn_markers(SUBJECT, clip.rotvec[:3], clip.root_m[:3])[0]
    examples = compute_examples(SUBJECT, table_of([walk(SUBJECT.skeleton, 11, speed=0.7)]))
    estimator = Estimator(SUBJECT, examples, front_rig(), replace(SolveSettings(), model="paper", max_iterations=50))
    poses, estimate = list[Floats](), None
    for k in range(3):
        frame = replace(marker_frame_of(markers[k]), t_capture_ns=k * PERIOD_NS)
        start = BodyState(0, clip.rotvec[0], matrix_from_rotvec(clip.rotvec[0, 0]), clip.root_m[0]) if k == 0 else None
        estimate = estimator.estimate(frame, start)
        assert estimate is not None
        estimator.accept(estimate)
        poses.append(estimate.state.joints[1:].ravel())
    assert estimate is not None
    model, state = estimate.prior.model, estimate.state
    root = estimate.prior.root
    assert np.linalg.norm(root.position_m - state.position_m) < 1e-4

    def compute_energy(w: Floats) -> float:
        """Return eq. 9 of the last frame, cm and degrees."""
        joints = model.mean + model.directions @ w
        local = compute_local_markers(SUBJECT.skeleton, joints[None], SUBJECT.joint, SUBJECT.offset_m)[0]
        off_cm = 100.0 * (local @ state.rotation.T + state.position_m - markers[2])
        bend_deg = np.degrees(joints[1:].ravel() - 2.0 * poses[1] + poses[0])
        near = estimate.near.poses[:, :].astype(float)
        U = model.directions[1:].reshape(-1, len(w))
        inside = [
            K for K in (20, 50, 100, 150, len(near)) if np.allclose(near[:K].mean(axis=0), model.mean[1:].ravel(), atol=1e-6)
        ]
        variance = ((near[: inside[0]] - near[: inside[0]].mean(axis=0)) @ U).var(axis=0, ddof=1)
        return float((w**2 / variance).sum() + 0.8 * (off_cm**2).sum() + 0.2 * (bend_deg**2).sum())

    w = np.einsum("jab,ja->b", model.directions[1:], state.joints[1:] - model.mean[1:])
    least, spread = compute_energy(w), np.random.default_rng(0)
    for _ in range(20):
        assert compute_energy(w + 0.02 * spread.standard_normal(len(w))) > least - 1e-3 * abs(least)
