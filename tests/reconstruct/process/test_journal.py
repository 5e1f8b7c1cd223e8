"""A journal gives what a reconstruction was given, in order, and the same reconstruction makes the same of it."""

import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.camera import Rig
from capture.packets import Blobs
from capture.process.control import Order, RecentreOrder, StartOrder, StopOrder
from capture.sockets.wire import MalformedMessageError, SentBlobs
from config.settings import Settings
from database.builtin import build_person_skeleton
from reconstruct.pipeline import Pipeline
from reconstruct.process.journal import JournalEntry, JournalGap, JournalTurn, JournalWriter, read_journal
from reconstruct.process.main import follow_order
from reconstruct.process.reconstruction import Reconstruction
from tests.reconstruct.process.test_reconstruction import Record
from tests.support.fakes import IndexPipeline
from tests.support.landmarks import landmark_views
from tests.support.people import person, table_of, walk, worn_markers
from tests.support.rigs import synthetic_camera

MS = 1_000_000
Received = list[tuple[SentBlobs, int]]


def sent(camera: int, index: int, t_ns: int, seed: int = 0) -> tuple[SentBlobs, int]:
    """Return blobs with coordinates of every bit, received 4 ms after their capture."""
    random = np.random.default_rng([seed, camera, index])
    n = int(random.integers(1, 6))
    points = np.concatenate([[[float(index), float(camera)]], random.normal(300.0, 100.0, (n, 2))])
    blobs = Blobs(camera, index, t_ns, points, random.random(n + 1), random.random((n + 1, 3)), random.random(n + 1), 17.3)
    return SentBlobs(blobs, t_ns + MS, t_ns + 3 * MS), t_ns + 4 * MS


def entries_of(turns: Sequence[tuple[Received, int]]) -> list[JournalEntry]:
    writer = JournalWriter()
    return [entry for received, t_ns in turns for entry in writer.turn(received, t_ns)]


def test_turns_and_orders_come_back_to_the_bit() -> None:
    writer = JournalWriter()
    order = StartOrder(5, "tcp://127.0.0.1:1", 9_000_001)
    received = [sent(0, 3, 50 * MS), sent(1, 9, 51 * MS)]
    entries = [
        *writer.order(order, 1),
        *writer.turn(received, 60 * MS),
        *writer.turn([], 80 * MS),
        *writer.order(StopOrder(), 2),
    ]
    given_order, turn, idle = read_journal(entries)
    assert given_order == order
    assert isinstance(turn, JournalTurn) and isinstance(idle, JournalTurn) and idle == JournalTurn((), 80 * MS)
    assert turn.t_ns == 60 * MS and [t_ns for _, t_ns in turn.received] == [54 * MS, 55 * MS]
    for (came, _), (went, _) in zip(turn.received, received, strict=True):
        assert (came.t_read_ns, came.t_sent_ns, came.blobs.light) == (went.t_read_ns, went.t_sent_ns, 17.3)
        for name in ("points_px", "area_px", "color_rgb", "sigma_px"):
            assert getattr(came.blobs, name).tobytes() == getattr(went.blobs, name).tobytes()


def test_what_came_after_the_last_turn_is_left_out_and_a_gap_is_told() -> None:
    entries = entries_of([([sent(0, k, 20 * MS * k)], 20 * MS * k + 5 * MS) for k in range(5)])
    assert len(list(read_journal(entries[:-1]))) == 4  # the blobs of the last turn are there, the turn is not
    whole, gap, *rest = read_journal(entries[:2] + entries[4:])
    assert isinstance(whole, JournalTurn) and isinstance(gap, JournalGap) and "turn 2 with 1 blobs where turn 1" in gap.text
    assert all(isinstance(one, JournalTurn) for one in rest) and len(rest) == 3
    without_blobs = list(read_journal(entries[:2] + entries[3:]))
    assert isinstance(without_blobs[1], JournalGap)


def test_what_is_no_entry_is_refused() -> None:
    with pytest.raises(MalformedMessageError, match="unknown topic 'pose'"):
        list(read_journal([JournalEntry("pose", 0, b"\x80")]))
    with pytest.raises(MalformedMessageError):
        list(read_journal([JournalEntry("turn", 0, b"\xff\xff")]))


def test_the_origin_is_written_down() -> None:
    entries = list(JournalWriter().order(RecentreOrder(), 5))
    assert [entry.topic for entry in entries] == ["order"] and list(read_journal(entries)) == [RecentreOrder()]
    sink = reconstruct([RecentreOrder()])
    assert sink.events == ["nobody was tracked yet to be the origin"]


def reconstruct(turns: Sequence[JournalTurn | Order | JournalGap], n_cameras: int = 2) -> Record:
    """Return what a reconstruction makes of turns and orders."""
    sink = Record()
    run = Reconstruction(IndexPipeline(), sink, 8 * MS, n_cameras=n_cameras)
    for one in turns:
        if isinstance(one, JournalTurn):
            run.turn(list(one.received), one.t_ns)
        elif isinstance(one, Order):
            follow_order(one, run, sink)
    return sink


def test_landmarks_come_back_to_the_bit_and_give_the_same_poses_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    subject = person("none", 1)
    clip = walk(subject.skeleton, 3, speed=0.8)
    rotvec, root_m = clip.rotvec[:10], clip.root_m[:10]
    places = [(-1.5, 1.25, 4.0), (1.5, 1.2, 4.1)]
    cameras = tuple(synthetic_camera(f"cam_{c}", at, (0.0, 0.9, 0.0), horizontal_view_rad=1.05) for c, at in enumerate(places))
    rig, table = Rig(cameras, 0.0, floor_known=True), table_of([walk(build_person_skeleton(1.8), 1, speed=0.8)])
    turns = list[tuple[Received, int]]()
    for views in landmark_views(rig, subject, worn_markers(subject, rotvec, root_m)[0]):
        t_ns = views.t_capture_ns
        turns.append(([(SentBlobs(blobs, t_ns, t_ns), t_ns + MS) for blobs in views.present], t_ns + 2 * MS))
    again = [entry for entry in read_journal(entries_of(turns)) if isinstance(entry, JournalTurn)]
    for (received, _), turn in zip(turns, again, strict=True):
        for (went, _), (came, _) in zip(received, turn.received, strict=True):
            assert went.blobs.landmarks is not None and came.blobs.landmarks is not None
            for name in ("image_px", "score"):
                assert getattr(came.blobs.landmarks, name).tobytes() == getattr(went.blobs.landmarks, name).tobytes()
    poses = []
    live = [JournalTurn(tuple(received), t_ns) for received, t_ns in turns]
    for each in (live, again):
        sink = Record()
        run = Reconstruction(Pipeline(rig, subject, table, Settings()), sink, 8 * MS, n_cameras=2)
        for turn in each:
            run.turn(list(turn.received), turn.t_ns)
        poses.append([(pose.rotvec.tobytes(), pose.root_m.tobytes(), pose.state) for pose in sink.poses])
    assert len(poses[0]) > 5 and poses[0] == poses[1]


@given(st.data())
def test_any_course_of_a_run_is_repeated(data: st.DataObject) -> None:
    """Bursts that overrun, frames that are lost, a camera that is silent for long, turns without anything."""
    t_ns, index, turns, n_cameras = 50_000 * MS, 0, [], data.draw(st.integers(1, 4))
    for _ in range(data.draw(st.integers(1, 12))):
        received: Received = []
        silent = data.draw(st.sampled_from((None, None, 0, 1, 2)))
        for _ in range(data.draw(st.integers(0, 5))):
            index, t_ns = index + 1, t_ns + 16 * MS
            skew_ns = data.draw(st.integers(-3, 3)) * MS
            received += [sent(c, index, t_ns + c * skew_ns, 3) for c in range(n_cameras) if c != silent]
        t_ns += data.draw(st.sampled_from((1, 20, 300, 900))) * MS
        turns.append((received, t_ns))
    live = reconstruct([JournalTurn(tuple(received), at_ns) for received, at_ns in turns], n_cameras)
    again = reconstruct(list(read_journal(entries_of(turns))), n_cameras)
    assert [pose.t_capture_ns for pose in again.poses] == [pose.t_capture_ns for pose in live.poses]
    assert [pose.root_m.tobytes() for pose in again.poses] == [pose.root_m.tobytes() for pose in live.poses]
    assert [pose.state for pose in again.poses] == [pose.state for pose in live.poses] and again.events == live.events
