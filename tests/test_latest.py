"""The newest pose: gaps counted by seq, new runs and skeletons noticed, silence told, queues drained."""

import time
from dataclasses import replace

import zmq
from hypothesis import given
from hypothesis import strategies as st

from stream.codec import encode
from stream.latest import BUFFER_MESSAGES, MAX_EVENTS, SILENCE_NS, Gaps, Latest, Tally
from stream.messages import PoseMessage
from stream.publisher import Publisher
from tests.kept import Kept
from tests.test_codec import EVENT, POSE, RIG, SKELETON, STATUS


def pose(seq: int, session: str = "s1") -> PoseMessage:
    return replace(POSE, seq=seq, session=session)


def test_gaps_are_counted_within_a_session_only() -> None:
    tally = Tally()
    for seq in (5, 6, 9, 10, 10, 8, 20):  # a repeated and an older number are no gap
        tally.take(pose(seq), 0)
    assert tally.gaps == Gaps(n=2, n_missed=2 + 11, longest=11)
    tally.take(pose(1000, "s2"), 0)
    tally.take(pose(1002, "s2"), 0)
    assert tally.gaps == Gaps(n=3, n_missed=14, longest=11) and tally.n_sessions == 2 and tally.n_poses == 9


@given(st.sets(st.integers(0, 300), min_size=1))
def test_missed_and_heard_make_up_all_that_was_sent(numbers: set[int]) -> None:
    tally = Tally()
    for seq in sorted(numbers):
        tally.take(pose(seq), 0)
    assert tally.n_poses + tally.gaps.n_missed == max(numbers) - min(numbers) + 1


def test_a_new_run_forgets_what_belongs_to_the_old_one() -> None:
    tally = Tally()
    for message in (SKELETON, RIG, STATUS, EVENT, POSE):
        tally.take(message, 0)
    assert (tally.rig, tally.status, tally.pose, tally.session) == (RIG, STATUS, POSE, "s1")
    tally.take(replace(EVENT, session="s2"), 0)
    assert (tally.rig, tally.status, tally.pose, tally.session) == (None, None, None, "s2")
    assert tally.skeleton is SKELETON and len(tally.events) == 2


def test_a_pose_is_never_given_the_skeleton_of_another() -> None:
    tally = Tally()
    tally.take(POSE, 0)
    assert tally.skeleton is None
    tally.take(SKELETON, 0)
    tally.take(SKELETON, 0)
    assert tally.skeleton is SKELETON and tally.n_skeletons == 1
    other = replace(SKELETON, hash="fedcba9876543210")
    tally.take(other, 0)
    assert tally.skeleton is None and tally.n_skeletons == 2
    tally.take(replace(POSE, hash=other.hash), 0)
    assert tally.skeleton is other


def test_ages_and_silence() -> None:
    tally = Tally()
    assert tally.age_ns(5) is None and tally.quiet_ns(5) is None and tally.silent_since_ns(10**12) is None
    t_ns = POSE.t_capture_ns + 30_000_000
    tally.take(POSE, t_ns)
    assert tally.age_ns(t_ns + 1) == 30_000_001 and tally.quiet_ns(t_ns + 7) == 7
    assert tally.age_ns(t_ns - 4_000, offset_ns=4_000) == 30_000_000  # a listener whose clock is 4 us behind
    tally.take(STATUS, t_ns + 10**9)
    assert tally.silent_since_ns(t_ns + 10**9 + SILENCE_NS - 1) is None
    assert tally.silent_since_ns(t_ns + 10**9 + SILENCE_NS) == t_ns + 10**9


def test_events_are_kept_within_bounds() -> None:
    tally = Tally()
    for number in range(MAX_EVENTS + 30):
        tally.take(replace(EVENT, text=str(number)), 0)
    assert [event.text for event in tally.events] == [str(n) for n in range(30, MAX_EVENTS + 30)]


def test_latest_drains_to_the_newest(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    publisher.publish(SKELETON)
    latest = kept(Latest(publisher.address))
    deadline = time.monotonic() + 30
    while latest.tally.skeleton is None and time.monotonic() < deadline:
        publisher.serve(1)
        latest.poll(1, 5)
    for seq in range(10):
        publisher.publish(pose(seq))
    newest = None
    while (newest is None or newest.seq < 9) and time.monotonic() < deadline:
        newest = latest.poll(2, 100) or newest
    assert newest is not None and newest.seq == 9 and latest.tally.gaps == Gaps() and latest.tally.n_poses == 10
    assert latest.poll(3) is None, "a pose is given once"


def test_malformed_messages_are_counted_and_the_next_pose_comes(kept: Kept) -> None:
    socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.XPUB)
    latest = kept(Latest(f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}"))
    assert socket.poll(30_000) and socket.recv()
    bad = (b"pose \xc1", b"pose", b"", b"other \x80", encode(POSE)[:-1])
    for payload in (*bad, encode(POSE)):
        socket.send(payload)
    deadline = time.monotonic() + 30
    while latest.poll(1, 100) is None and time.monotonic() < deadline:
        pass
    assert latest.n_malformed == len(bad) < BUFFER_MESSAGES and latest.tally.n_poses == 1
    latest.close()
    socket.close(0)
