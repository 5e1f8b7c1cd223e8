"""A subject refined over pairs of views of movement: tracked, judged anew, kept or not, and refused where nothing is learnt."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibration.camera import Rig
from calibration.quality.report import Grade
from capture.packets import Views
from config.errors import CalibrationError
from config.settings import Settings
from database.builtin import build_person_skeleton
from database.store import PoseDatabase, open_database, write_database
from tests.support.people import front_rig, person, seen_pair, t_pose_clip, walk, worn_markers
from tools.calibrate.motion import MotionRefinement, label_tracked_frames, refine_subject
from tools.calibrate.session import SubjectResult, fit_subject_to_pairs

ANN = person("dark_room", 3, build_person_skeleton(1.73, leg_ratio=1.03))
NOISE_PX = 0.2
N_MOVING = 44


@dataclass(frozen=True)
class Stage:
    """A performer before two cameras: held, moving: what they see; result: of the T-pose."""

    rig: Rig
    database: PoseDatabase
    held: list[Views]
    moving: list[Views]
    result: SubjectResult

    def refined(self, pairs: list[Views]) -> MotionRefinement:
        """Refine over pairs."""
        return refine_subject(self.result, pairs, self.rig, self.database, Settings())


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A T-pose of half a second, then a walk towards the cameras."""
    file = tmp_path_factory.mktemp("motion") / "others.db"
    others = [
        build_person_skeleton(1.6),
        build_person_skeleton(1.68, arm_ratio=1.03),
        build_person_skeleton(1.82, leg_ratio=1.04),
    ]
    write_database(file, [walk(skeleton, seed) for seed, skeleton in enumerate(others)] + [t_pose_clip(others[0])])
    database, rig, rng = open_database(file), front_rig(), np.random.default_rng(5)
    standing, moves = t_pose_clip(ANN.skeleton, 24), walk(ANN.skeleton, 9)
    seen = []
    for rotvec, root in ((standing.rotvec, standing.root_m + [0.0, 0.95, 0.0]), (moves.rotvec, moves.root_m)):
        markers, _ = worn_markers(ANN, rotvec, root)
        seen.append([seen_pair(rig, k, marker, NOISE_PX, rng) for k, marker in enumerate(markers)])
    result = fit_subject_to_pairs("Ann", seen[0], rig, ANN.markers, database, Settings())
    return Stage(rig, database, seen[0], seen[1][60 : 60 + N_MOVING], result)


def test_movement_is_tracked_refined_and_judged(stage: Stage) -> None:
    movement = stage.refined(stage.moving)
    assert movement.kept and movement.tracked > 0.8
    assert movement.result.subject.skeleton is movement.refined.subject.skeleton
    assert movement.result.found.fit is movement.refined.fit and movement.result.found.used == (0,)
    lines = movement.result.report.lines
    assert any(f"{movement.refined.n_frames} frames of movement fit" in line for line in lines), lines
    assert movement.result.report.grade is stage.result.report.grade
    assert movement.result.report.figures["frames"] == stage.result.report.figures["frames"]
    assert f"refined over {movement.refined.n_frames} frames" in movement.lines[0]
    assert {"leftUpperLeg", "rightUpperLeg"} <= set(movement.refined.bent)
    before, after = movement.refined.held_out
    assert 0.1 < after < 1.5 and 0.1 < before < 3.0
    # What was said of the T-pose stays said of it.
    assert np.array_equal(movement.result.subject.residual_mm, stage.result.subject.residual_mm)


def test_a_refinement_that_is_not_borne_out_is_told_and_not_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Markers of frames left aside lie twice as far off as before."""
    import tools.calibrate.motion as module

    good = stage.refined(stage.moving).refined
    monkeypatch.setattr(module, "refine_subject_fit", lambda fit, frames: replace(good, held_out=(0.6, 1.2)))
    movement = stage.refined(stage.moving)
    assert not movement.kept and movement.result.subject.skeleton is stage.result.subject.skeleton
    assert movement.result.report.grade is Grade.POOR
    [line] = [line for line in movement.result.report.lines if "does not bear out" in line]
    assert "0.60 -> 1.20 times" in line and "--motion" in line
    assert "changed nothing" in movement.lines[0]


def test_frames_are_those_in_which_somebody_is_tracked(stage: Stage) -> None:
    """Nobody is in the last third."""
    n = len(stage.moving) // 3
    empty = [seen_pair(stage.rig, 500 + k, np.zeros((0, 3)), 0.0, np.random.default_rng(0)) for k in range(n)]
    frames, share = label_tracked_frames(stage.result.subject, stage.moving[:-n] + empty, stage.rig, stage.database, Settings())
    assert len(frames) <= len(stage.moving) - n and 0.4 < share < 0.7
    assert all(frame.valid.sum() >= 5 for frame in frames)


def test_nobody_to_track_is_refused(stage: Stage) -> None:
    empty = [seen_pair(stage.rig, k, np.zeros((0, 3)), 0.0, np.random.default_rng(0)) for k in range(10)]
    with pytest.raises(CalibrationError, match=r"tracked in 0% .* at least 50%.*--motion"):
        stage.refined(empty)


def test_a_performer_who_only_stands_is_refused(stage: Stage) -> None:
    with pytest.raises(CalibrationError, match="nothing bends"):
        stage.refined(stage.held)
