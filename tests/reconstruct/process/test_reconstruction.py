"""The reconstruction between inbox and sink, with time passed in: newest pairs only, silence, counts."""

from dataclasses import replace

import msgpack
import numpy as np
import pytest

from calibration.camera import Rig
from capture.clock import OffsetMethod
from capture.packets import Blobs, Views
from capture.process.control import RequestedOrder, SyncOrder, decode_order
from capture.sockets.wire import SentBlobs
from capture.stereo.watch import RigWatch
from capture.timing.grouping import SILENT_NS, START_NS
from config.settings import TimeSettings
from reconstruct.pose import JointSource, Pose, TrackingState
from reconstruct.process.journal import JournalTurn, JournalWriter, read_journal
from reconstruct.process.main import follow_order
from reconstruct.process.reconstruction import GONE_NS, LOST_NS, Reconstruction
from reconstruct.process.sink import RunStatus
from tests.support.crowded import ages_ns
from tests.support.fakes import IndexPipeline, rig

MS = 1_000_000
T0 = 50_000 * MS


class Record:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.poses: list[Pose] = []
        self.states: list[RunStatus] = []
        self.events: list[str] = []
        self.rigs: list[Rig] = []

    def pose(self, pose: Pose) -> None:
        self.poses.append(pose)

    def rig(self, rig: Rig) -> None:
        self.rigs.append(rig)

    def status(self, status: RunStatus) -> None:
        self.states.append(status)

    def event(self, t_ns: int, kind: str, text: str) -> None:
        self.events.append(text)

    def serve(self, t_ns: int) -> None:
        pass

    def asks(self) -> list[RequestedOrder]:
        return []

    def close(self) -> None:
        pass


def sent(camera: int, index: int, t_ns: int) -> tuple[SentBlobs, int]:
    """Return blobs captured at t, read 1 ms, sent 3 ms and received 4 ms later."""
    blobs = Blobs(camera, index, t_ns, np.array([[float(index), 0.0]]), np.ones(1), np.zeros((1, 3)), np.ones(1))
    return SentBlobs(blobs, t_ns + MS, t_ns + 3 * MS), t_ns + 4 * MS


def four_cameras() -> IndexPipeline:
    """Return a pipeline with a rig, whose poses say which views were read."""
    pipeline, (left, right) = IndexPipeline(), rig().cameras
    others = (replace(left, name=f"cam_{c}", translation=np.array([0.0, -1.0, 0.5 * c])) for c in (2, 3))
    pipeline.rig = Rig((left, right, *others))
    return pipeline


@pytest.fixture
def run() -> tuple[Reconstruction, Record]:
    record = Record()
    return Reconstruction(IndexPipeline(), record, 8 * MS), record


def test_pair_becomes_a_pose_with_the_times_of_its_journey(run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    reconstruction.turn([sent(0, 3, T0)], T0 + 5 * MS)
    assert not record.poses
    reconstruction.turn([sent(1, 4, T0 + 2 * MS)], T0 + 7 * MS)
    (pose,) = record.poses
    assert pose.root_m[:2].tolist() == [3.0, 4.0] and pose.skew_ns == 2 * MS
    latency = pose.latency_ns
    # The pair is of T0, to which the later picture's markers were moved back; that picture was in memory at T0 + 3 ms.
    assert pose.t_capture_ns == T0
    assert (latency["read"], latency["detect"], latency["transport"], latency["solve"]) == (3 * MS, 2 * MS, MS, 1000)


class LaggingPipeline(IndexPipeline):
    """Returns poses of 100 ms before, as those decided with a lag are."""

    def step(self, pair: Views) -> Pose:
        now = super().step(pair)
        return replace(now, t_capture_ns=now.t_capture_ns - 100 * MS, latency_ns={**now.latency_ns, "lag": 100 * MS})


def test_a_lag_is_told_in_the_status_and_stages_still_add_up() -> None:
    record = Record()
    reconstruction = Reconstruction(LaggingPipeline(), record, 8 * MS)
    reconstruction.report(T0, 0)
    reconstruction.turn([sent(0, 3, T0), sent(1, 3, T0)], T0 + 5 * MS)
    reconstruction.report(T0 + 2000 * MS, 0)
    assert [status.lag_ns for status in record.states] == [0, 100 * MS]
    (pose,) = record.poses
    until_received_ns = sum(pose.latency_ns[stage] for stage in ("read", "detect", "transport", "lag"))
    assert pose.t_capture_ns + until_received_ns == T0 + 4 * MS


def test_rig_is_watched_after_the_pose_is_out(monkeypatch: pytest.MonkeyPatch) -> None:
    record, pipeline, seen = Record(), IndexPipeline(), list[int]()
    pipeline.rig = rig()
    reconstruction = Reconstruction(pipeline, record, 8 * MS)
    monkeypatch.setattr(RigWatch, "add", lambda self, pair: seen.append(len(record.poses)))
    reconstruction.turn([sent(0, 3, T0), sent(1, 4, T0)], T0 + 5 * MS)
    assert seen == [1]


def test_only_the_newest_of_a_backlog_is_solved(run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    backlog = [sent(camera, i, T0 + 17 * MS * i) for i in range(5) for camera in (0, 1)]
    reconstruction.turn(backlog, T0 + 90 * MS)
    assert [pose.root_m[0] for pose in record.poses] == [3.0, 4.0]
    assert reconstruction.counts == {"poses": 2, "pairs": 5, "overrun": 3, "alone": 0}


def test_pairs_that_keep_coming_too_fast_are_skipped_to_the_newest_and_optional_work_rests(
    run: tuple[Reconstruction, Record],
) -> None:
    reconstruction, record = run
    for turn in range(30):  # each takes as long as three frames
        times = [T0 + 17 * MS * (3 * turn + i) for i in range(3)]
        reconstruction.turn([sent(camera, 3 * turn + i, t) for i, t in enumerate(times) for camera in (0, 1)], times[2] + 5 * MS)
        reconstruction.report(times[2] + 5 * MS, 0)
    assert [pose.root_m[0] for pose in record.poses[2:]] == [3.0 * turn + 2 for turn in range(1, 30)]
    assert [pose.root_m[0] == pose.root_m[1] for pose in record.poses] == [True] * 31
    assert reconstruction.is_late and record.states[-1].resting and reconstruction.counts["overrun"] == 59
    assert len(record.events) == 1 and "faster than they can be solved" in record.events[0]


@pytest.mark.parametrize(("step_ms", "stalls"), [(12, True), (25, False), (60, False)])
def test_nothing_queues_however_long_a_step_takes(step_ms: int, stalls: bool, run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    period_ns, step_ns = 17 * MS, step_ms * MS
    stall = (lambda turn: 500 * MS if turn % 100 == 50 else 0) if stalls else (lambda turn: 0)
    ages = ages_ns(reconstruction, record.poses, sent, (T0, period_ns, step_ns), 300, stall)
    late = [age for age in ages if age > period_ns + step_ns + 4 * MS]
    assert len(late) <= 6 and max(late, default=0) <= 2 * period_ns + 2 * step_ns + 4 * MS
    if step_ns < period_ns:
        assert sum(age > 2 * period_ns for age in ages) <= 6
    newest = [pose.root_m[0] == pose.root_m[1] for pose in record.poses]
    assert all(newest) and reconstruction.counts["overrun"] == reconstruction.counts["pairs"] - len(record.poses)


def test_of_four_cameras_views_are_left_out_before_moments_and_a_replay_leaves_out_the_same() -> None:
    record, again = Record(), Record()
    writer, entries = JournalWriter(), []
    run, replay = (Reconstruction(four_cameras(), sink, 8 * MS) for sink in (record, again))
    n_moments = (1, 2, 2, 2, 3, 2)  # in each turn: one as fast as they come, then faster than even two views can be read
    for n, first in zip(n_moments, np.cumsum((0, *n_moments)), strict=False):
        times_ns = {i: T0 + 17 * MS * int(i) for i in range(first, first + n)}
        received = [sent(camera, i, t_ns) for i, t_ns in times_ns.items() for camera in range(4)]
        entries += writer.turn(received, max(times_ns.values()) + 5 * MS)
        run.turn(received, max(times_ns.values()) + 5 * MS)
        run.report(max(times_ns.values()) + 5 * MS, 0)
    n_read = [pose.n_views for pose in record.poses]
    assert n_read[1:] == [4, 4, 3, 3, 2, 2, 2, 2] and run.counts["overrun"] == 3  # at the first not all had sent
    run.report(T0 + 2000 * MS, 0)
    assert record.states[-1].drops["unread"] == 2 * 1 + 4 * 2 and record.states[-1].resting
    for one in read_journal(entries):
        assert isinstance(one, JournalTurn)
        replay.turn(list(one.received), one.t_ns)
    assert [pose.n_views for pose in again.poses] == n_read
    assert [pose.root_m.tobytes() for pose in again.poses] == [pose.root_m.tobytes() for pose in record.poses]


def test_silence_is_coasting_then_lost_then_over(run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    reconstruction.turn([sent(0, 0, T0), sent(1, 0, T0)], T0)
    t_pair = T0 + 4 * MS
    reconstruction.turn([], t_pair + SILENT_NS - 1)
    assert len(record.poses) == 1 and not record.events
    reconstruction.turn([], t_pair + SILENT_NS)
    assert record.poses[-1].state is TrackingState.COASTING
    assert record.events == ["no views any more: the left camera is silent and the right camera is silent"]
    assert np.all(record.poses[-1].joint_source == JointSource.HELD) and not record.poses[-1].measured.any()
    reconstruction.turn([], t_pair + SILENT_NS + 10 * MS)
    assert len(record.poses) == 2
    reconstruction.turn([], t_pair + LOST_NS)
    assert record.poses[-1].state is TrackingState.LOST
    reconstruction.report(t_pair + LOST_NS, 0)
    assert record.states[-1].state is TrackingState.LOST and record.states[-1].cameras["right"]["state"] == "silent"
    reconstruction.turn([sent(0, 60, T0 + 900 * MS), sent(1, 60, T0 + 901 * MS)], T0 + 910 * MS)
    assert record.poses[-1].state is TrackingState.TRACKING and record.events[-1] == "both cameras send again"


def alone_for(reconstruction: Reconstruction, camera: int, since_ns: int, n: int) -> int:
    """Let one camera alone send n frames, 20 ms apart, after a pair captured at since_ns; give when the last came."""
    for i in range(1, n + 1):
        reconstruction.turn([sent(camera, i, since_ns + 20 * MS * i)], since_ns + 20 * MS * i + 5 * MS)
    return since_ns + 20 * MS * n + 5 * MS


@pytest.mark.parametrize("camera", [0, 1])
def test_poses_go_on_from_one_camera_while_the_other_is_silent(camera: int, run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    reconstruction.turn([sent(0, 0, T0), sent(1, 0, T0)], T0 + 4 * MS)
    t_ns = alone_for(reconstruction, camera, T0, 20)
    # Frames 1 to 4 came within SILENT_NS of the pair, which was there at T0 + 4 ms: 5 to 20 are stepped on alone.
    assert [pose.root_m[camera] for pose in record.poses] == [0.0, *range(5, 21)]
    assert all(pose.root_m[1 - camera] == -1.0 for pose in record.poses[1:])
    names = ("left", "right")
    words = f"the {names[1 - camera]} camera is silent; poses go on from the {names[camera]} camera alone"
    assert record.events == [words]
    reconstruction.report(t_ns, 0)
    status = record.states[-1]
    assert status.cameras[names[camera]]["alone"] == 1 and status.cameras[names[camera]]["state"] == "live"
    assert status.cameras[names[1 - camera]]["state"] == "silent" and "alone" not in status.cameras[names[1 - camera]]
    assert reconstruction.counts["alone"] == 16
    # The other is back, and its pictures take longer: what is older than the last pose is not solved again.
    old, new = T0 + 400 * MS, T0 + 420 * MS
    reconstruction.turn([sent(1 - camera, 20, old)], t_ns + 10 * MS)
    assert len(record.poses) == 17
    reconstruction.turn([sent(camera, 21, new), sent(1 - camera, 21, new)], t_ns + 30 * MS)
    assert record.poses[-1].root_m[:2].tolist() == [21.0, 21.0] and record.events[-1] == "both cameras send again"


def test_of_three_cameras_one_is_unplugged_and_comes_back() -> None:
    """No pose is missed, and events name the camera."""
    record = Record()
    run = Reconstruction(IndexPipeline(), record, 12 * MS, TimeSettings(interpolate=False), n_cameras=3)
    for i in range(120):
        t_ns = T0 + 20 * MS * i
        received = [sent(c, i, t_ns + (0, 4, 7)[c] * MS) for c in range(3) if c != 1 or not 40 <= i < 80]
        for turn in (received[:1], received[1:]):
            run.turn(turn, t_ns + 15 * MS)
        run.report(t_ns, 0)
    assert [pose.root_m[0] for pose in record.poses] == list(range(120))
    assert [pose.root_m[1] for pose in record.poses] == [-1.0 if 40 <= i < 80 else i for i in range(120)]
    assert [pose.root_m[2] for pose in record.poses][1:] == list(range(1, 120))  # it had not sent yet at the first
    words = "the right camera is silent; poses go on from the left and third cameras"
    assert record.events == [words, "all cameras send again"]
    assert {"left", "right", "third"} == set(record.states[-1].cameras) and record.states[1].cameras["right"]["state"] == "silent"


def test_the_view_of_a_camera_that_was_moved_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    record, pipeline = Record(), IndexPipeline()
    left, right = rig().cameras
    pipeline.rig = Rig((left, right, replace(right, name="cam_2", translation=np.array([0.0, -1.0, 0.5]))))
    monkeypatch.setattr(RigWatch, "add", lambda self, views: setattr(self, "moved", (0,)))
    reconstruction = Reconstruction(pipeline, record, 8 * MS)
    for k in range(3):
        reconstruction.turn([sent(c, k, T0 + 20 * MS * k) for c in range(3)], T0 + 20 * MS * k + 5 * MS)
    assert [pose.root_m.tolist() for pose in record.poses[1:]] == [[-1.0, 1.0, 1.0], [-1.0, 2.0, 2.0]]


def test_cameras_that_make_no_pairs_go_on_as_one(run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    for i in range(130):
        t_ns = T0 + 20 * MS * i
        reconstruction.turn([sent(0, i, t_ns), sent(1, i, t_ns + 10 * MS)], t_ns + 15 * MS)
    # They never made a pair within 8 ms; after START_NS the left one is taken alone, and stays.
    assert record.events == ["the cameras' stamps are too far apart; poses go on from the left camera alone"]
    assert [pose.root_m[0] for pose in record.poses] == list(range(START_NS // (20 * MS) - 1, 130))


def test_a_camera_is_silent_then_lost_or_being_opened_anew(run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    reconstruction.turn([sent(0, 0, T0), sent(1, 0, T0)], T0 + 4 * MS)
    t_ns = alone_for(reconstruction, 0, T0, 300)
    assert t_ns - T0 > GONE_NS
    reconstruction.report(t_ns, 0)
    assert record.states[-1].cameras["right"]["state"] == "lost"
    reconstruction.describe("right", {"reopening": 1, "health": ""})
    reconstruction.report(t_ns + 1000 * MS, 0)
    right = record.states[-1].cameras["right"]
    assert right["state"] == "reopening" and right["health"] == "" and "reopening" not in right


def test_status_counts_and_rates_once_a_second(run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    for i in range(30):
        t_ns = T0 + 20 * MS * i
        reconstruction.turn([sent(0, i, t_ns), *([sent(1, i, t_ns - MS)] if i % 3 else [])], t_ns)
        reconstruction.report(t_ns, 7)
    reconstruction.report(T0 + 1000 * MS, 7)
    assert len(record.states) == 2
    last = record.states[-1]
    assert last.rates_hz == {"left": 30.0, "right": 20.0, "pose": 20.0}
    assert last.drops == {"late": 0, "unpaired": 10, "overrun": 0, "unread": 0, "malformed": 7}
    assert last.skew_ns == {"median": -MS, "worst": MS}
    assert last.cameras["left"]["frames"] == 30


def test_a_time_offset_given_by_an_order_corrects_pairs_and_is_told(run: tuple[Reconstruction, Record]) -> None:
    """The right camera's stamps are 6 ms late: what seems 6 ms apart is of one moment."""
    reconstruction, record = run
    follow_order(SyncOrder(offset_ms=6.0), reconstruction, record)
    reconstruction.turn([sent(0, 0, T0), sent(1, 0, T0 + 6 * MS)], T0 + 12 * MS)
    assert [pose.skew_ns for pose in record.poses] == [0]
    reconstruction.report(T0 + 2_000 * MS, 0)
    assert record.states[-1].calibration["time_offset_ms"] == 6.0


def test_a_jump_sought_in_vain_is_told(run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    reconstruction.turn([sent(0, 0, T0), sent(1, 0, T0)], T0)
    follow_order(SyncOrder(OffsetMethod.JUMP), reconstruction, record)
    for k in range(1, 8):
        t_ns = T0 + 4_000 * MS * k
        reconstruction.turn([sent(0, k, t_ns), sent(1, k, t_ns)], t_ns)
    told = [text for text in record.events if "jump" in text]
    assert len(told) == 1 and told[0].startswith("no jump was seen by the left and the right camera")


@pytest.mark.parametrize("value", ["later", -3, float("nan"), float("inf"), 10**12])
def test_orders_of_a_damaged_journal_set_nothing(value: object, run: tuple[Reconstruction, Record]) -> None:
    reconstruction, record = run
    for kind, name in (("sync", "offset_ms"), ("start", "budget_ns")):
        if value not in (-3, 10**12) or (kind, value) in (("sync", 10**12), ("start", -3)):
            message = {"kind": kind, "t_start_ns": 0, "address": "", "text": "", "details": {name: value}}
            assert not follow_order(decode_order(msgpack.packb(message)), reconstruction, record)
    reconstruction.turn([sent(0, 0, T0), sent(1, 0, T0 + 9 * MS)], T0)
    assert not record.poses, "the views are further apart than pairs may be"
    reconstruction.turn([sent(0, 1, T0 + 20 * MS), sent(1, 1, T0 + 27 * MS)], T0)
    assert len(record.poses) == 1
    reconstruction.report(T0 + 5, 0)
    assert record.states[-1].calibration["time_offset_ms"] == 0.0
