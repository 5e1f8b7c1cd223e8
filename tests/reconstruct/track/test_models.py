"""The registry of local models: a line of MODELS makes a model that the settings name, from the search to the solver."""

from dataclasses import replace

import numpy as np
import pytest

from config.errors import SettingsError
from config.settings import LOCAL_MODELS, SolveSettings
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.history import BodyState
from reconstruct.models.local.model import DOFS, FULL, Neighbours, Quadratic, build_local_model
from reconstruct.search.examples import compute_examples
from reconstruct.track.belief import Prior
from reconstruct.track.estimator import Estimator
from reconstruct.track.models import MODELS, GaussianModel
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
    """From the true pose of the first frame on, with all markers: the pose stays near, and the velocity is that of the walk."""
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
        assert np.linalg.norm(estimate.marker_m - markers[k], axis=1).mean() < 0.03
    assert estimator.belief is not None
    true_m_s = 60.0 * (clip.root_m[39] - clip.root_m[37]) / 2.0
    np.testing.assert_allclose(estimator.belief.velocity[-3:], true_m_s, atol=0.15)
