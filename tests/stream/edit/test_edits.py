"""Edits of recordings by properties: what is kept is kept to the byte, what is changed joins what is not, nothing is replaced."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from database.default import open_default_database
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.finish.body import compute_marker_positions
from reconstruct.pose import TrackingState
from stream.edit.edits import Cut, Edit, Fill, Relabel, Smooth, SpanFill, Trim, apply_edit, split_recording, write_edited
from stream.edit.files import delete_take, name_edited_file, rename_take, restore_take
from stream.edit.motion import read_poses
from stream.protocol.messages import Message
from stream.recording.recorder import RecordingError
from stream.recording.recording import Recording, open_recording, open_recording_bytes
from tests.support.stream_messages import record
from tests.support.viewer.stage_motion import performer, poses_of, skeleton_and_rig
from tests.support.viewer.walking_stream import performance

SECONDS, HZ = 2.0, 60


def opened(messages: list[tuple[int, Message]]) -> Recording:
    return open_recording_bytes(record(messages), Path("walk.mcap"))


@pytest.fixture(scope="module")
def walk() -> Recording:
    return opened(performance("s1", SECONDS))


@pytest.fixture(scope="module")
def demo() -> Recording:
    """Two seconds of the demo's performer, with true poses."""
    skeleton, rig = skeleton_and_rig(performer())
    poses = [replace(pose, t_publish_ns=pose.t_capture_ns) for pose in poses_of(performer(), 3.0, SECONDS)]
    return opened([(0, skeleton), (0, rig), *((pose.t_publish_ns, pose) for pose in poses)])


def moved(demo: Recording, places_m: np.ndarray, lost: np.ndarray) -> Recording:
    """Return the demo with its performer at other places, (N, 3), and lost in some frames."""
    poses = [
        replace(pose, root_m=tuple(place.tolist()), state=TrackingState.LOST if gone else pose.state)
        for pose, place, gone in zip(demo.poses, places_m, lost, strict=True)
    ]
    return opened([(0, demo.skeleton), *((pose.t_publish_ns, pose) for pose in poses)])


def payloads(recording: Recording) -> list[bytes]:
    return [recording.poses.payload(n) for n in range(len(recording.poses))]


def seconds_of(recording: Recording) -> np.ndarray:
    t_ns = np.array([pose.t_capture_ns for pose in recording.poses])
    return (t_ns - t_ns[0]) * 1e-9


def joints(recording: Recording) -> np.ndarray:
    found = read_poses(recording)
    return np.stack([np.concatenate([pose.rotvec.ravel(), pose.root_m]) for pose in found.poses])


@pytest.mark.parametrize("span_s", [(0.0, 0.0), (0.0, 2.0), (0.5, 0.5), (0.313, 1.27), (1.9, 1.99), (0.0, 0.77), (1.1, 9.0)])
def test_trim_and_cut_divide_the_poses_and_keep_each_to_the_byte(walk: Recording, span_s: tuple[float, float]) -> None:
    every, seconds = payloads(walk), seconds_of(walk)
    inside = ((seconds >= span_s[0] - 1e-6) & (seconds <= span_s[1] + 1e-6)).tolist()
    for edit, wanted in ((Trim(*span_s), True), (Cut(*span_s), False)):
        expected = [payload for payload, there in zip(every, inside, strict=True) if there is wanted]
        if expected:
            edited = apply_edit(walk, edit)
            assert payloads(edited) == expected and edited.rig is not None
    assert payloads(walk) == every


@pytest.mark.parametrize("at_s", [0.05, 0.5, 1.0, 1.333, 1.9])
def test_both_parts_of_a_split_are_the_take(walk: Recording, at_s: float) -> None:
    before, after = split_recording(walk, at_s)
    assert payloads(before) + payloads(after) == payloads(walk)
    assert seconds_of(walk)[len(before.poses)] == pytest.approx(at_s, abs=1.3 / HZ)


@pytest.mark.parametrize("edit", [Trim(5.0, 6.0), Cut(0.0, 9.0), Trim(1.0, 0.5), Smooth(0.0), Fill(7.0, 8.0), Fill(0.0, 0.5)])
def test_what_cannot_be_edited_is_refused_in_one_line(walk: Recording, edit: Edit) -> None:
    with pytest.raises(DuocapError) as refused:
        apply_edit(walk, edit)
    assert "\n" not in str(refused.value)


def test_smoothing_takes_noise_from_a_span_and_leaves_the_rest_to_the_byte(demo: Recording) -> None:
    noise_m = 0.005 * np.random.default_rng(1).normal(size=(len(demo.poses), 3))
    noisy = moved(demo, np.array([pose.root_m for pose in demo.poses]) + noise_m, np.zeros(len(noise_m), bool))
    edited, seconds = apply_edit(noisy, Smooth(0.2, 0.5, 1.5)), seconds_of(demo)
    truth, before, after = (joints(one)[:, -3:] for one in (demo, noisy, edited))
    inner, outer = (seconds > 0.7) & (seconds < 1.3), (seconds < 0.5) | (seconds > 1.5)
    assert np.linalg.norm(after - truth, axis=1)[inner].mean() < 0.6 * np.linalg.norm(before - truth, axis=1)[inner].mean()
    own, old = payloads(edited), payloads(noisy)
    assert all(own[n] == old[n] for n in np.flatnonzero(outer))
    assert edited.metadata["edited"] == "smoothed over 0.2 s, 0.50 to 1.50 s"


def test_a_gap_is_filled_by_the_motion_on_both_sides(demo: Recording) -> None:
    seconds = seconds_of(demo)
    gap = (seconds > 0.9) & (seconds < 1.05)
    broken = moved(demo, np.where(gap[:, None], 9.0, np.array([pose.root_m for pose in demo.poses])), gap)
    edited = apply_edit(broken, Fill(0.91, 1.04))
    assert np.abs(joints(edited) - joints(demo))[gap].max() < 0.1
    assert {edited.poses[n].state for n in np.flatnonzero(gap).tolist()} == {TrackingState.COASTING}
    assert [payloads(edited)[n] for n in np.flatnonzero(~gap)] == [payloads(demo)[n] for n in np.flatnonzero(~gap)]


def test_markers_are_found_where_they_stay_on_the_body(demo: Recording) -> None:
    found, true = read_poses(demo).subject, performer().markers
    rotvec, root_m = (np.stack([getattr(pose, name) for pose in read_poses(demo).poses]) for name in ("rotvec", "root_m"))
    G, p = compute_forward_kinematics(found.skeleton, rotvec, root_m)
    placed_m = compute_marker_positions(found, G, p)
    assert np.abs(placed_m - [[m.xyz for m in pose.markers] for pose in demo.poses]).max() < 1e-3
    assert (found.joint == true.joint).mean() > 0.7, "of the others two joints move alike here"


def test_exchanged_labels_are_exchanged_back_and_solved(demo: Recording) -> None:
    names = demo.skeleton.markers
    measured = [m.name for m in demo.poses[0].markers if m.measured is not None]
    pairs = [(name, name.replace("left", "right")) for name in measured if "left" in name]
    left, right = next(pair for pair in pairs if pair[1] in measured)
    assert {left, right} <= set(names)
    swapped = apply_edit(demo, Relabel(0.8, 1.2, left, right), open_default_database)
    wrong = joints(swapped)
    seconds = seconds_of(demo)
    inside, outside = (seconds > 0.85) & (seconds < 1.15), (seconds < 0.3) | (seconds > 1.7)
    restored = apply_edit(swapped, Relabel(0.8, 1.2, left, right), open_default_database)
    off, off_wrong = (np.abs(one - joints(demo)).mean(axis=1) for one in (joints(restored), wrong))
    assert off[inside].mean() < 0.5 * off_wrong[inside].mean()
    assert np.abs(joints(restored) - joints(demo))[outside].max() == 0.0
    first, last = restored.poses[60], demo.poses[60]
    assert [m.measured for m in first.markers] == [m.measured for m in last.markers]


def test_a_span_is_solved_by_its_markers_and_the_database(demo: Recording) -> None:
    edited = apply_edit(demo, Fill(0.8, 1.2, SpanFill.DATABASE), open_default_database)
    seconds = seconds_of(demo)
    inside = (seconds > 0.8) & (seconds < 1.2)
    assert np.degrees(np.abs(joints(edited) - joints(demo))[inside][:, :-3]).mean() < 5.0


def test_nothing_is_replaced_and_deleting_is_undone(walk: Recording, tmp_path: Path) -> None:
    file = write_edited(tmp_path / "walk.mcap", walk)
    with pytest.raises(RecordingError, match="never replaces"):
        write_edited(file, walk)
    assert name_edited_file(file) == tmp_path / "walk edited.mcap"
    other = write_edited(tmp_path / "other.mcap", walk)
    with pytest.raises(RecordingError, match="never replaces"):
        rename_take(other, "walk")
    for name in ("../out", "a/b", ""):
        with pytest.raises(RecordingError, match="cannot name"):
            rename_take(other, name)
    run = rename_take(other, "run")
    assert run.name == "run.mcap" and not other.exists()
    gone = delete_take(run)
    assert not run.exists() and gone.parent == tmp_path / "deleted"
    again = write_edited(run, walk)
    assert delete_take(again) == tmp_path / "deleted" / "run 2.mcap"
    assert restore_take(gone) == run and open_recording(run).skeleton.subject == "Ann"
    session = tmp_path / "2026-03-04 15.06.07"
    for name in (session.name, f"{session.name} 2"):
        session.mkdir()
        assert delete_take(session).name == name
