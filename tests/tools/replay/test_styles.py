"""A style that is learned while poses are made: used from a turn on, journaled, and the same poses again to the bit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from capture.packets import Views
from capture.sockets.wire import SentBlobs
from config.settings import FillSettings, Settings
from database.builtin import build_person_skeleton
from reconstruct.missing.fill_in import LIMBS, HeldOutRecord
from reconstruct.models.style.learn.train import LearnOptions
from reconstruct.models.style.model import Hyperparameters, Style
from reconstruct.models.style.session import SessionStyle
from reconstruct.models.style.task import LearnedStyle, decode_learned
from reconstruct.pipeline import Pipeline
from reconstruct.process.journal import JournalEntry, JournalGap, JournalTurn, JournalWriter, read_journal
from reconstruct.process.reconstruction import Reconstruction
from tests.reconstruct.process.test_reconstruction import Record
from tests.support.people import front_rig, person, seen_pair, t_pose_clip, table_of, walk, worn_markers
from tests.support.performances import Performance
from tools.replay.styles import DELAY_NS, PipelineStyles, ReplayStyles
from tools.run.factories import open_session_style

N, UNSEEN_FROM = 130, 80
MS = 1_000_000


class EagerBook(SessionStyle):
    """Learns of the first second."""

    def _due(self) -> bool:
        return self._number == 0 and len(self._store) >= 25


def eager(pipeline: Pipeline) -> EagerBook:
    """Return a book that learns soon and little."""
    return EagerBook(pipeline.subject.skeleton, options=LearnOptions(active=20, steps=10))


@pytest.fixture(scope="module", autouse=True)
def trusting() -> Iterator[None]:
    """Let a guess be used with all its weight: here it only matters that it is used."""
    n = len(LIMBS) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HeldOutRecord, "weights", lambda _: (np.ones(n), np.zeros(n)))
        yield


@pytest.fixture(scope="module")
def walker() -> Performance:
    subject = person("dark_room", 1)
    clip = walk(subject.skeleton, 3, speed=0.8)
    markers, joints = worn_markers(subject, clip.rotvec[:N], clip.root_m[:N])
    other = build_person_skeleton(1.8)
    return Performance(subject, table_of([walk(other, 11, speed=0.7), t_pose_clip(other)]), front_rig(), markers, joints)


@pytest.fixture(scope="module")
def pairs(walker: Performance) -> list[Views]:
    """Return what the cameras see: all, and from a frame on nothing of the left arm and a foot."""
    random = np.random.default_rng(4)
    names = walker.subject.markers.names
    gone = [m for m, name in enumerate(names) if "left" in name.lower()][:3]
    return [
        seen_pair(walker.rig, k, markers, 0.3, random, (gone, gone) if k >= UNSEEN_FROM else ([], []))
        for k, markers in enumerate(walker.markers)
    ]


def pipeline_of(walker: Performance, style: bool = True) -> Pipeline:
    return walker.pipeline(replace(Settings(), fill=replace(FillSettings(), style=style)))


def turns_of(pairs: Sequence[Views]) -> list[JournalTurn]:
    """Return a turn for each pair, at 60 Hz."""
    turns = []
    for pair in pairs:
        t_ns = pair[0].t_capture_ns
        given = tuple((SentBlobs(blobs, t_ns + MS, t_ns + 2 * MS), t_ns + 3 * MS) for blobs in (pair[0], pair[1]))
        turns.append(JournalTurn(given, t_ns + 4 * MS))
    return turns


@pytest.fixture(scope="module")
def live(walker: Performance, pairs: list[Views]) -> tuple[Record, list[JournalEntry], Style]:
    """Run as live: what is learned comes back half a second after it was asked for."""
    sink, writer, pipeline = Record(), JournalWriter(), pipeline_of(walker)
    entries: list[JournalEntry] = []
    run = Reconstruction(pipeline, sink, 8 * MS, session_style=eager(pipeline))
    assert run.session_style is not None
    with ReplayStyles(run.session_style) as styles:
        began: list[int] = []
        for k, turn in enumerate(turns_of(pairs)):
            entries += writer.turn(turn.received, turn.t_ns)
            run.turn(list(turn.received), turn.t_ns)
            learned = styles.turn(turn.t_ns) if not began else None
            if run.session_style.pending is not None and not began:
                began.append(k)
            if began and k == began[0] + 30:
                learned = styles.rest()
                assert learned is not None
                entries += writer.style(learned, turn.t_ns)
                assert run.take_style(learned, turn.t_ns) and not run.take_style(learned, turn.t_ns)
    assert run.session_style.style is not None
    return sink, entries, run.session_style.style


def again(walker: Performance, entries: Sequence[JournalEntry], style: bool = True) -> tuple[Record, int]:
    """Replay a journal; give what came of it, and how often something learned was used."""
    sink, pipeline, n_taken = Record(), pipeline_of(walker, style), 0
    run = Reconstruction(pipeline, sink, 8 * MS, session_style=eager(pipeline) if style else open_session_style(pipeline))
    for one in read_journal(entries):
        assert not isinstance(one, JournalGap)
        if isinstance(one, JournalTurn):
            run.turn(list(one.received), one.t_ns)
        elif isinstance(one, LearnedStyle):
            n_taken += run.take_style(one, 0)
    return sink, n_taken


def test_what_was_made_up_to_do_harm_is_not_used_and_told(
    walker: Performance, live: tuple[Record, list[JournalEntry], Style]
) -> None:
    absurd = Hyperparameters(1.0, 1e18, 1e-9)
    entries = [
        entry
        if entry.topic != "style"
        else next(iter(JournalWriter().style(replace(decode_learned(entry.data), learned=absurd), entry.t_ns)))
        for entry in live[1]
    ]
    last = next(n for n, entry in enumerate(entries) if entry.topic == "style")
    sink, n_taken = again(walker, entries[: last + 4])
    assert n_taken == 0 and "cannot be inverted" in sink.events[-1]


def bits(sink: Record) -> list[bytes]:
    return [pose.rotvec.tobytes() + pose.root_m.tobytes() + pose.marker_m.tobytes() for pose in sink.poses]


def test_a_journal_with_a_style_is_replayed_to_the_bit(
    walker: Performance, live: tuple[Record, list[JournalEntry], Style]
) -> None:
    sink, entries, style = live
    assert len(sink.poses) == N and len(style.features) >= 25
    assert sum("learned a style" in text for text in sink.events) == 1
    once_more, n_taken = again(walker, entries)
    assert n_taken == 1 and bits(once_more) == bits(sink)


def test_the_style_changes_poses_from_its_turn_on_and_only_where_something_is_not_seen(
    walker: Performance, live: tuple[Record, list[JournalEntry], Style]
) -> None:
    sink, entries, _ = live
    without = again(walker, [entry for entry in entries if entry.topic != "style"])[0]
    off, n_taken = again(walker, entries[: len(entries) // 3], style=False)
    assert n_taken == 0 and bits(off) == bits(without)[: len(off.poses)]
    same = [one == other for one, other in zip(bits(sink), bits(without), strict=True)]
    assert all(same[:UNSEEN_FROM]) and not all(same[UNSEEN_FROM:])
    assert all(np.isfinite(pose.rotvec).all() for pose in sink.poses)


def test_a_replay_learns_beside_and_uses_it_a_fixed_time_later(
    walker: Performance, pairs: list[Views], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.replay.styles.DELAY_NS", 300 * MS)
    assert DELAY_NS > 300 * MS
    runs = []
    for _ in range(2):
        pipeline, taken, poses = pipeline_of(walker), [], []
        book = eager(pipeline)
        with PipelineStyles(pipeline, book) as styles:
            for k, pair in enumerate(pairs[:110]):
                poses.append(pipeline.step(pair))
                styles.step(poses[-1])
                taken += [k] if book.style is not None and not taken else []
            last = styles.last()
        assert last is book.style is not None
        runs.append((taken, [pose.rotvec.tobytes() for pose in poses]))
    assert runs[0] == runs[1] and len(runs[0][0]) == 1


def test_what_is_still_being_learned_at_the_end_is_given_and_what_fails_is_not(walker: Performance) -> None:
    pipeline = pipeline_of(walker)
    off = open_session_style(pipeline_of(walker, style=False))
    assert off is None
    with PipelineStyles(pipeline, None) as styles:
        assert styles.last() is None and styles.anew() is None
    book = SessionStyle(walker.subject.skeleton)
    with ReplayStyles(book) as idle:
        assert idle.turn(0) is None and idle.rest() is None and idle.anew() is None
