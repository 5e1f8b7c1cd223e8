"""Labels of returning markers: of one by hand, the sums of the tables, and a walk through the pipeline."""

from dataclasses import replace

import numpy as np
import pytest

from capture.packets import MarkerFrame
from capture.sources.simulated.performer import make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.settings import Settings
from database.builtin import build_person_skeleton
from database.clips import slice_clip
from reconstruct.pipeline import Pipeline
from reconstruct.pose import TrackingState
from tests.support.people import marker_frame_of, t_pose_clip, table_of, walk
from tools.evaluate.missing.labels import TPOSE_S, Label, LabelRun, blobs_of, by_clip, check_label, project_scene, run_case, table
from tools.evaluate.missing.masks import MissingCase
from tools.evaluate.protocol import ProtocolClip
from tools.evaluate.states import JudgedPoses

IMAGE_PX = np.arange(2 * 4 * 2, dtype=float).reshape(2, 4, 2) + 100.0  # of four markers in two views

JUDGED = JudgedPoses((TrackingState.TRACKING, TrackingState.COASTING), np.full((2, 3), 0.04), np.full((2, 3), 0.05), 60.0)


def frame_with(blob_of: list[list[int]]) -> MarkerFrame:
    """Return a frame in which marker m has the blob of marker blob_of[c][m] in view c, -1 for none."""
    blob = np.array(blob_of)
    image = np.where((blob >= 0)[..., None], np.take_along_axis(IMAGE_PX, np.maximum(blob, 0)[..., None], axis=1), 0.0)
    return replace(marker_frame_of(np.zeros((4, 3))), seen=blob >= 0, image_px=image)


@pytest.mark.parametrize(
    ("blob_of", "found"),
    [
        ([[0, 1, 2, 3], [0, 1, 2, 3]], Label.RIGHT),
        ([[0, 1, -1, 3], [0, 1, 2, 3]], Label.NONE),  # in one view only
        ([[0, 1, -1, 3], [0, 1, -1, 3]], Label.NONE),
        ([[0, 1, 3, -1], [0, 1, 2, 3]], Label.WRONG),  # it has another's
        ([[0, 2, -1, 3], [0, 1, -1, 3]], Label.WRONG),  # another has its blob
        ([[0, 1, 3, 2], [0, 1, 3, 2]], Label.WRONG),
    ],
)
def test_the_label_of_marker_two(blob_of: list[list[int]], found: Label) -> None:
    assert check_label(frame_with(blob_of), 2, IMAGE_PX) is found


def test_blobs_are_of_the_markers_seen_in_the_order_given() -> None:
    blobs = blobs_of(1, IMAGE_PX[1], np.array([True, False, True, True]), 6, np.array([3, 1, 0, 2]))
    np.testing.assert_array_equal(blobs.points_px, IMAGE_PX[1][[3, 0, 2]])
    assert (blobs.camera, blobs.index, blobs.t_capture_ns) == (1, 6, 100_000_000)


def test_the_tables_add_up() -> None:
    one = LabelRun("a", "walking", "boxing", False, MissingCase(0.5, share=0.5), 10, 9, 27, 2, 1, 8, 6, 5, 200, JUDGED)
    other = replace(
        one, clip="b", returns=30, at_once=30, right=90, wrong=0, none=0, later=12, later_right=12, taken=0, hidden=300
    )
    lines = table([one, other])
    assert len(lines) == 3
    assert " ".join(lines[1].split()) == "boxing 50 %, 0.5 s without 40 97.50 97.50 1.67 0.83 90.00 1.00"
    assert lines[2].split()[1:3] == ["all", "without"]
    assert " ".join(by_clip([one, other])[0].split()) == "boxing a walking without 10 90.00 90.00 6.67 3.33 75.00 2.50"
    plain = one.as_json()
    assert plain["what"] == "50 %" and plain["taken"] == 5 and plain["states"] == ["tracking", "coasting"]


def test_a_hand_that_comes_back_to_a_walk_the_database_knows_gets_its_label() -> None:
    skeleton = build_person_skeleton(1.74)
    clip = slice_clip(walk(skeleton), 0, 190)
    scene = SimulatedScene(motion="walk", markers="boxing", tpose_s=TPOSE_S, seed=1)
    performer = make_scene_performer(scene, clip)
    shown = project_scene("walk", scene, performer, 3.1)
    assert shown.image_px.shape[::2] == (2, 9) and shown.before == 90
    table_ = table_of([walk(skeleton), walk(skeleton, 1), t_pose_clip(skeleton)])
    pipeline = Pipeline(performer.rig, shown.subject, table_, Settings())
    which = ProtocolClip("walk", "walking")
    run = run_case(which, "boxing", shown, MissingCase(0.5, limb="an arm"), pipeline, False, 1)
    assert run is not None and run_case(which, "boxing", shown, MissingCase(4.0, limb="an arm"), pipeline, False, 1) is None
    assert (run.returns, run.at_once, run.right, run.wrong, run.none) == (3, 3, 9, 0, 0)
    assert run.hidden == 90 and run.taken == 0
    assert len(run.poses.states) == len(shown.joint_m) - shown.before and run.poses.tracking.all()
    assert run.poses.mean_mm.max() < 50.0 and (run.poses.ratio <= 2.0).mean() > 0.8
