"""The registry of local models: a line of FITTERS makes a model that the settings name, from the search to the solver."""

from dataclasses import replace

import numpy as np
import pytest
from reconstruct.models.local.neighbourhood import FITTERS

from config.arrays import Floats
from config.errors import SettingsError
from config.settings import LOCAL_MODELS, SolveSettings
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.history import BodyState
from reconstruct.models.local.model import DOFS, FULL, LocalModel, MotionContext, Neighbours, Quadratic, model_around
from reconstruct.search.examples import Examples, examples_for
from reconstruct.track.estimator import Estimator
from tests.support.people import bent_pose, front_rig, marker_frame_of, person, t_pose_clip, table_of, walk, worn_markers

SUBJECT, POSE = person("locomotion", 4), bent_pose(4, 0.2)


class Stiff:
    """Allows one pose only."""

    free = True

    def __init__(self, examples: Examples, covariance: Floats) -> None:
        assert len(examples) and covariance.shape == (DOFS, DOFS)

    def fit(self, neighbours: Neighbours, context: MotionContext, settings: SolveSettings) -> LocalModel:
        assert len(neighbours.rows) == settings.neighbours
        return model_around(POSE[1:].ravel(), FULL, Quadratic(np.zeros(DOFS), 1e12 * np.eye(DOFS)))


def test_a_model_is_known_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FITTERS, "stiff", Stiff)
    table = table_of([walk(SUBJECT.skeleton), t_pose_clip(SUBJECT.skeleton)])
    settings = replace(SolveSettings(), model="stiff", limits=False, neighbours=20)
    estimator = Estimator(SUBJECT, examples_for(SUBJECT, table), front_rig(), settings)
    moving, position_m = bent_pose(5, 0.2), np.array([0.1, 0.9, -0.2])
    moving[0] = [0.1, -0.3, 0.2]
    frame = marker_frame_of(worn_markers(SUBJECT, moving[None], position_m[None])[0][0])
    estimate = estimator.estimate(frame, BodyState(0, moving, matrix_from_rotvec(moving[0]), position_m))
    assert estimate is not None
    np.testing.assert_allclose(estimate.state.joints[1:], POSE[1:], atol=1e-5)


def test_an_unknown_model_is_told_with_those_there_are() -> None:
    assert tuple(FITTERS) == LOCAL_MODELS
    table = table_of([t_pose_clip(SUBJECT.skeleton)])
    with pytest.raises(SettingsError, match=r"'papper'.*expected one of gaussian, paper"):
        Estimator(SUBJECT, examples_for(SUBJECT, table), front_rig(), replace(SolveSettings(), model="papper"))
