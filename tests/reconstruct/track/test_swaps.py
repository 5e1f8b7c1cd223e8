"""Labels exchanged on purpose are what the benchmark of swaps says they are, and are doubted and put right on a walk."""

from dataclasses import replace

import numpy as np

from benchmarks.reconstruct.swaps import SwapCounts, choose_swaps, count_swaps, exchange_markers, format_table
from capture.sources.simulated.performer import make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.settings import Settings
from database.builtin import build_person_skeleton
from database.clips import slice_clip
from reconstruct.pipeline import Pipeline
from tests.support.people import marker_frame_of, t_pose_clip, table_of, walk
from tools.evaluate.missing.labels import TPOSE_S, project_scene


def test_two_markers_have_each_others_points() -> None:
    frame = marker_frame_of(np.arange(12.0).reshape(4, 3))
    frame = replace(frame, seen=np.array([[True, False, True, True], [True, True, True, False]]))
    found = exchange_markers(frame, 1, 3)
    np.testing.assert_array_equal(found.point_m, frame.point_m[[0, 3, 2, 1]])
    np.testing.assert_array_equal(found.seen, frame.seen[:, [0, 3, 2, 1]])


def test_an_exchange_in_a_walk_is_doubted_and_put_right() -> None:
    skeleton = build_person_skeleton(1.74)
    scene = SimulatedScene(motion="walk", markers="boxing", tpose_s=TPOSE_S, seed=1)
    performer = make_scene_performer(scene, slice_clip(walk(skeleton), 0, 110))
    shown = project_scene("walk", scene, performer, 1.7)
    (at, (first, second)) = next(iter(choose_swaps(shown).items()))
    apart_px = np.linalg.norm(shown.image_px[0, at, first] - shown.image_px[0, at, second])
    assert at > shown.before and 15.0 < apart_px < 80.0
    people = table_of([walk(skeleton), walk(skeleton, 1), t_pose_clip(skeleton)])
    counts = SwapCounts()
    count_swaps(shown, Pipeline(performer.rig, shown.subject, people, Settings()), counts)
    assert (counts.injected, len(counts.doubted_ms), len(counts.right_ms)) == (1, 1, 1)
    assert counts.doubted_ms[0] < 200.0 and 100.0 <= counts.right_ms[0] < 600.0  # held for 100 ms
    assert 0.02 < counts.minutes < 0.04
    assert format_table(counts)[0].startswith("1 exchanges of 100 ms")
