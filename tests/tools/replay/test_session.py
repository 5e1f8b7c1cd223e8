"""Recorded sessions of live runs: what is lost by a kill, and that poses come out again to the bit, whatever happened."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path

import numpy as np
import pytest

from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from calibration.world import move_rig
from capture.recording.session import list_recording_parts, read_recorded_jpegs
from capture.sockets.wire import decode_blobs
from capture.sources.recorded_times import read_video_stamps
from config.errors import DuocapError
from config.loading import load_settings
from database.geometry.rigid import RigidMotion
from reconstruct.pose import TrackingState
from stream.protocol.codec import decode_message
from stream.protocol.messages import PoseMessage, RigMessage
from stream.publish.client import ServiceClient
from stream.publish.subscriber import Subscriber
from stream.recording.folders import choose_next_take
from stream.recording.recorder import Recorder
from stream.recording.recording import open_journal, open_recording
from stream.recording.session import read_session, write_session
from tests.support.cameras.mjpeg import MjpegProcess, Play
from tests.support.ports import free_address
from tests.tools.replay.recorded import Stage, recording_process, set_stage
from tools.replay.given import detect_video_parts, read_journal_parts
from tools.replay.opening import merge_session_settings, open_session
from tools.replay.session import replay_session
from tools.run.record import identify_database

FPS = 30.0
SECOND_NS = 1_000_000_000


@contextmanager
def streaming(stage: Stage, n_cameras: int = 2, fps: float = FPS) -> Iterator[tuple[MjpegProcess, ...]]:
    """Play the stage to two or three network cameras."""
    t0_s = time.perf_counter()
    with ExitStack() as stack:
        plays = [Play(jpegs, fps, t0_s=t0_s) for jpegs in stage.jpegs[:n_cameras]]
        yield tuple(stack.enter_context(MjpegProcess(play)) for play in plays)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Set the stage, with every kernel compiled by a first run.

    A kernel that a process compiles runs other copies of the kernels it calls than one that is read from the cache, and may
    differ in the last bit: the first run after an installation is not repeated exactly.
    """
    folder = tmp_path_factory.mktemp("stage")
    stage = set_stage(folder)
    with streaming(stage) as cameras:
        process = recording_process(
            stage, [camera.url for camera in cameras], folder / "first", 1.0, True, ["stream.predict_ms=20"]
        )
        process.join(300)
        assert process.exitcode == 0
    return stage


@pytest.fixture
def cameras(stage: Stage) -> Iterator[tuple[MjpegProcess, ...]]:
    with streaming(stage) as cameras:
        yield cameras


def wait_for_poses(process: SpawnProcess, folder: Path, seconds: float = 150.0) -> None:
    """Wait until poses are being recorded."""
    end = time.monotonic() + seconds
    while not (folder / "take.mcap").exists() or (folder / "take.mcap").stat().st_size < 30_000:
        assert process.is_alive() and time.monotonic() < end
        time.sleep(0.05)


def verified(folder: Path) -> tuple[int, int]:
    """Replay a session and return how many poses were published and replayed; all that were published must come out the same.

    In a process of its own, as a user does: the last bit may depend on which kernels a process has loaded before.
    """
    with get_context("spawn").Pool(1) as pool:
        lines, n_recorded, n_replayed = pool.apply(_replayed, (folder,))
    assert not lines, lines
    return n_recorded, n_replayed


def _replayed(folder: Path) -> tuple[list[str], int, int]:
    """Return what is not the same, and how many poses were published and replayed."""
    session = open_session(folder, load_settings())
    result, verdict = replay_session(session, read_journal_parts(session))
    return [] if verdict.is_same else verdict.lines(), verdict.n_recorded, len(result.poses)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_run_with_overruns_and_a_camera_that_is_away_replays_to_the_bit_and_from_its_videos(
    stage: Stage, cameras: tuple[MjpegProcess, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "take one"
    process = recording_process(stage, [camera.url for camera in cameras], folder, 7.0, True, ["stream.predict_ms=20"])
    wait_for_poses(process, folder)
    time.sleep(0.8)
    cameras[1].set(stalled=True)
    time.sleep(1.2)
    cameras[1].set(stalled=False)
    process.join(60)
    assert process.exitcode == 0
    n_published, _ = verified(folder)
    recording = open_recording(folder / "take.mcap")
    assert n_published > 60 and recording.statuses[-1].drops["overrun"] > 0
    info = read_session(folder)
    assert info.end["poses"] and info.cameras[0].source == cameras[0].url and info.cameras[0].width == 560
    for side, jpegs in zip(("left", "right"), stage.jpegs, strict=False):
        pictures = list(read_recorded_jpegs(folder / f"{side}.mkv"))
        rows, _ = read_video_stamps(folder / f"{side}.csv")
        assert len(pictures) == len(rows) > 60 and (np.diff(rows[:, 1]) > 0).all()
        assert set(pictures) <= set(jpegs)  # as the camera sent them
    session = open_session(folder, load_settings(None, ["solve.neighbours=40"]))
    _, other = replay_session(session, read_journal_parts(session))
    assert not other.is_same  # other settings, other poses: the check can fail
    again, verdict = replay_session(open_session(folder, load_settings()), detect_video_parts(session))
    assert not verdict.n_recorded and len(again.poses) >= 0.9 * n_published  # the videos through the detectors
    (journal,) = (open_journal(file) for file in list_recording_parts(folder, "take", "mcap"))
    assert not journal.notes and info.database is not None and info.database == identify_database(stage.database)
    write_session(folder, replace(info, database=replace(info.database, checksum=info.database.checksum ^ 1)))
    with pytest.raises(DuocapError, match="is not the database the session ran with"):
        open_session(folder, load_settings())


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_of_three_cameras_one_is_unplugged_and_back_and_all_replays_to_the_bit(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "three"
    with streaming(stage, 3, FPS / 2) as cameras:  # a busy machine that skips pictures seldom has the same moment of all three
        process = recording_process(stage, [camera.url for camera in cameras], folder, 9.0)
        wait_for_poses(process, folder)
        cameras[1].set(refuse=True)
        time.sleep(1.5)
        cameras[1].set(refuse=False)
        process.join(90)
    assert process.exitcode == 0
    n_published, _ = verified(folder)
    poses = open_recording(folder / "take.mcap").poses
    by_views = [sum(pose.views == n for pose in poses) for n in range(4)]
    assert by_views[2] >= 5 and by_views[3] >= 5 and by_views[1] < 0.1 * n_published
    assert [camera.source for camera in read_session(folder).cameras] == [camera.url for camera in cameras]
    again, verdict = replay_session(
        open_session(folder, load_settings()), detect_video_parts(open_session(folder, load_settings()))
    )
    assert not verdict.n_recorded and len(again.poses) >= 0.9 * n_published


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_world_that_is_found_and_moved_in_a_run_is_so_in_its_replay(
    stage: Stage, cameras: tuple[MjpegProcess, ...], tmp_path: Path
) -> None:
    """The rig knows no floor, nor does the subject; then the performer is made the origin."""
    rig = read_rig_toml(stage.folder / "rig.toml")
    left = rig.cameras[0]
    write_rig_toml(tmp_path / "rig.toml", replace(move_rig(rig, RigidMotion(left.rotation, left.translation)), floor_known=False))
    for name in ("ann.toml", "small.db"):
        shutil.copy(stage.folder / name, tmp_path / name)
    folder, service = tmp_path / "take", free_address()
    lost = replace(stage, folder=tmp_path)
    process = recording_process(lost, [camera.url for camera in cameras], folder, 9.0, sets=[f"stream.service={service}"])
    wait_for_poses(process, folder)
    time.sleep(3.0)
    client = ServiceClient(service)
    client.recentre()
    client.close()
    process.join(60)
    assert process.exitcode == 0
    assert verified(folder)[0] > 60
    recording = open_recording(folder / "take.mcap")
    moved = [message for _, payload in recording.payloads() if isinstance(message := decode_message(payload), RigMessage)]
    assert len(moved) >= 3 and "the performer is the origin" in [event.text for event in recording.events]
    heights_m = np.array([pose.root_m[1] for pose in recording.poses if pose.state is TrackingState.TRACKING])
    assert heights_m.min() > 0.8 and heights_m.max() < 1.1


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_run_that_is_killed_loses_at_most_the_last_second(
    stage: Stage, cameras: tuple[MjpegProcess, ...], tmp_path: Path
) -> None:
    random = np.random.default_rng(4)
    for k in range(2):
        folder, address = tmp_path / f"take {k}", free_address()
        process = recording_process(stage, [camera.url for camera in cameras], folder, sets=[f"stream.address={address}"])
        with closing(Subscriber(address, ("pose",))) as subscriber:
            wait_for_poses(process, folder)
            heard = heard_for(subscriber, float(random.uniform(0.3, 2.5)))
            t_kill_ns = kill_all(process.pid) - SECOND_NS
        process.join()
        recorded = {pose.seq for pose in open_recording(folder / "take.mcap").poses}
        assert recorded >= {pose.seq for pose in heard if pose.t_publish_ns < t_kill_ns}
        entries = [entry for entry in open_journal(folder / "take.mcap").journal() if entry.topic == "blobs"]
        detected = [decode_blobs(entry.data).blobs for entry in entries]
        for camera, side in enumerate(("left", "right")):
            rows, _ = read_video_stamps(folder / f"{side}.csv")
            pictures = list(read_recorded_jpegs(folder / f"{side}.mkv"))
            in_video = set(rows[: len(pictures), 0].tolist())
            early = {blobs.index for blobs in detected if blobs.camera == camera and blobs.t_capture_ns < t_kill_ns}
            assert in_video >= early and set(pictures) <= set(stage.jpegs[camera])
        n_published, _ = verified(folder)
        Recorder(choose_next_take(folder), {}).close()  # the reconstruction was started again, and ended before a pose
        assert verified(folder)[0] == n_published > 0


def heard_for(subscriber: Subscriber, seconds: float) -> list[PoseMessage]:
    """Return the poses that are published for so long."""
    end, found = time.monotonic() + seconds, []
    while time.monotonic() < end:
        found += [message for message in subscriber.receive(20) if isinstance(message, PoseMessage)]
    return found


def kill_all(pid: int | None) -> int:
    """Kill a process and its children, all at once; give the time."""
    assert pid is not None
    pids = [pid, *children_of(pid)]
    t_ns = time.monotonic_ns()
    for one in pids:
        os.kill(one, signal.SIGKILL)
    return t_ns


def children_of(pid: int) -> list[int]:
    """Return the processes a process has started, and theirs."""
    found = [int(word) for task in Path(f"/proc/{pid}/task").glob("*/children") for word in task.read_text().split()]
    return found + [grandchild for child in found for grandchild in children_of(child)]


def test_settings_given_now_are_stronger_and_the_stream_is_this_calls_own() -> None:
    recorded = load_settings(None, ["solve.neighbours=77", "stream.predict_ms=12", "stream.address=tcp://127.0.0.1:1"])
    own = load_settings(None, ["solve.max_iterations=9", "stream.address=tcp://127.0.0.1:2"])
    used = merge_session_settings(recorded, own)
    assert (used.solve.neighbours, used.solve.max_iterations) == (77, 9)
    assert (used.stream.predict_ms, used.stream.address) == (12.0, "tcp://127.0.0.1:2")
