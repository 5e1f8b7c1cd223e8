"""A live run: its counts and words by hand, what a user may name as a camera, and the command end to end."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from capture.process.plan import CameraPlan
from capture.process.reader import CameraReader
from capture.sockets.endpoints import EndpointError
from config.errors import SourceError
from config.settings import Settings
from stream.protocol.messages import PoseMessage, StatusMessage
from tests.capture.process.test_reader import worked
from tests.support import fakes
from tests.support.commands import duocap
from tests.support.kept import Kept
from tests.support.ports import free_address
from tools.run.cameras import check_camera_source, is_recorded, plan_camera
from tools.run.node import parse_control_address
from tools.run.parts import AwaitedNode
from tools.run.report import (
    RunReport,
    RunStatistics,
    format_camera_state,
    format_cameras,
    format_node,
    format_stamp_offsets,
    format_status,
)
from tools.run.start import format_opened_camera

ROOT = Path(__file__).resolve().parents[3]
MS = 1_000_000


def offsets(calibration: dict[str, float]) -> list[str]:
    return format_stamp_offsets(replace(STATUS, calibration=calibration))


def pose(t_capture_ms: int, state: str = "tracking") -> PoseMessage:
    return PoseMessage(
        hash="h",
        session="s",
        seq=0,
        t_capture_ns=t_capture_ms * MS,
        t_publish_ns=t_capture_ms * MS,
        skew_ns=0,
        state=state,
        root_m=(0.0, 0.0, 0.0),
        rotations_xyzw=np.zeros((1, 4), np.float32),
        joint_source=b"\0",
        confidence=np.zeros(1, np.float32),
        contacts=(),
        markers=(),
        latency_ns={},
        predicted_ns=0,
    )


STATUS = StatusMessage(
    session="s",
    t_ns=1,
    state="tracking",
    rates_hz={"left": 60.0, "right": 59.0, "pose": 58.0},
    drops={"late": 0, "unpaired": 2, "overrun": 3},
    skew_ns={"median": -1.26e6, "worst": 2e6},
    calibration={},
    cameras={
        "left": {"state": "live", "node": "ready", "clock_offset_ns": -1_234_560, "clock_error_ns": 210_000, "rtt_ns": 420_000},
        "right": {"state": "live"},
    },
)


def test_a_tally_counts_poses_and_leaves_held_ones_out_of_the_latency() -> None:
    tally = RunStatistics()
    for k in range(4):
        tally.add(pose(1000 + 20 * k), (1000 + 20 * k + 10 + k) * MS)  # 10, 11, 12, 13 ms
    tally.add(pose(1060, "coasting"), 1200 * MS)
    assert tally.recent_ms() == pytest.approx((11.5, 12.85))
    tally.next_second()
    assert tally.recent_ms() == ()
    tally.add(pose(1300), 1350 * MS)
    assert tally.recent_ms() == (50.0, 50.0)
    tally.status = STATUS
    report = tally.report()
    assert (report.poses, report.tracked, report.seconds) == (6, 5, pytest.approx(0.34))
    assert report.latency_ms[0] == pytest.approx(12.0) and report.drops["overrun"] == 3
    assert report.lines()[0] == "6 poses in 0 s, 83.3 % of them tracked"
    assert report.lines()[2] == "dropped: 2 unpaired, 3 overrun"
    assert RunReport(0.0, 0, 0, (), {}).lines() == ["no pose came"]


def test_a_second_in_words() -> None:
    assert format_status(STATUS, (12.2, 15.7)) == (
        "tracking, 58 poses/s of 60 and 59 frames, latency 12 ms, p95 16, skew -1.3 ms, 5 dropped, "
        "left node's clock -1.23 ms (within 0.21), round trip 0.4 ms"
    )
    assert format_status(replace(STATUS, drops={}, skew_ns={}, cameras={}), ()) == "tracking, 58 poses/s of 60 and 59 frames"
    lagging = replace(STATUS, drops={}, skew_ns={}, cameras={}, lag_ns=100 * MS)
    assert format_status(lagging, (112.2, 115.7)).endswith("frames, latency 112 ms, p95 116, lag 100 ms")
    seeking = replace(lagging, lag_ns=0, cameras={"left": {"landmarks_hz": 29.6}, "right": {"landmarks_hz": 15.2}})
    assert format_status(seeking, ()).endswith("59 frames, landmarks in 30 and 15 pictures/s")
    assert format_node("left", {"node": "away", "clock_offset_ns": 1}) == "left node away"


def test_words_of_cameras_and_their_clocks() -> None:
    counts = {"width": 640, "height": 480, "fps_mhz": 59940}
    details = {"name": "C920", "fourcc": "MJPG", "otherwise": "announces 30 frames/s instead of 60"}
    assert format_opened_camera("left", counts, details) == (
        "left camera: C920, 640x480, 59.94 frames/s, MJPG; it announces 30 frames/s instead of 60"
    )
    assert format_opened_camera("right", {}, {}) == "right camera"
    assert offsets({"time_offset_ms": -3.21, "time_offset_sigma_ms": 0.4}) == ["right camera's stamps -3.2 ms late (within 0.8)"]
    assert offsets({"time_offset_ms": 0.0, "time_offset_sigma_ms": 0.6}) == ["right camera's stamps +0.0 ms late (within 1.2)"]
    assert offsets({}) == [] == offsets({"time_offset_ms": 0.0, "time_offset_sigma_ms": 30.0})
    assert offsets({"third_time_offset_ms": 2.0}) == ["third camera's stamps +2.0 ms late"]
    assert format_camera_state("left", {"state": "live", "health": ""}) == "" == format_camera_state("left", {"state": "waiting"})
    assert format_camera_state("left", {"state": "lost", "health": "unplugged"}) == "left lost: unplugged"
    assert format_camera_state("left", {"state": "live", "health": "the picture is black"}) == "left the picture is black"
    seen = {
        "left": {"state": "live", "name": "C920", "frames": 600, "damaged": 3, "stale": 0},
        "right": {"state": "reopening", "frames": 250, "health": "unplugged"},
    }
    status = replace(STATUS, drops={}, skew_ns={}, calibration={"time_offset_ms": 4.0}, cameras=seen)
    assert format_status(status, ()).endswith(", right camera's stamps +4.0 ms late, right reopening: unplugged")
    assert format_cameras(status, 10.0) == (
        "left camera (C920): 600 frames, 60.0/s, 3 damaged",
        "right camera: 250 frames, 25.0/s, unplugged",
        "right camera's stamps +4.0 ms late",
    )
    tally = RunStatistics()
    tally.status = status
    assert tally.report().lines()[0] == "no pose came" and len(tally.report().lines()) == 4


def test_cameras_by_what_the_user_names(tmp_path: Path) -> None:
    assert plan_camera("node", 0, Settings(), None) == AwaitedNode(Settings().detector)
    (tmp_path / "a.png").touch()
    plan = plan_camera(str(tmp_path), 1, Settings(), None)
    assert isinstance(plan, CameraPlan) and plan.paced and plan.camera == 1 and is_recorded(str(tmp_path))
    with pytest.raises(SourceError, match="cannot be decoded"):
        check_camera_source(str(tmp_path), 1, None)
    check_camera_source("node", 0, None)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("studio", "tcp://studio:5572"),
        ("192.168.1.10:7000", "tcp://192.168.1.10:7000"),
        ("tcp://10.0.0.1:5572", "tcp://10.0.0.1:5572"),
        ("[fe80::1]:99", "tcp://[fe80::1]:99"),
    ],
)
def test_where_a_node_connects_to(text: str, address: str) -> None:
    assert parse_control_address(text) == address


@pytest.mark.parametrize("text", ["", "a b:", "host:port", "fe80::1", "http://x", "host:99999", "host:0"])
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(EndpointError, match="expected a host"):
        parse_control_address(text)


class StampedSource(fakes.CountingSource):
    """A camera that stamps frames by this machine's clock."""

    def read(self):
        frame = super().read()
        return frame and replace(frame, t_capture_ns=7_000 + frame.index)


def test_stamps_of_a_camera_are_converted_to_the_runs_clock() -> None:
    plan = CameraPlan(0, lambda: StampedSource(0, 50.0, 6), fakes.corner, paced=False, clock=lambda t_ns: t_ns + 10**12)
    received = worked(CameraReader(plan), 0.0)
    assert [sent.blobs.t_capture_ns for sent, _ in received] == [10**12 + 7_000 + k for k in range(1, 6)]
    assert all(10**12 < sent.t_read_ns <= sent.t_sent_ns for sent, _ in received)


def test_a_run_of_what_is_not_there_ends_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "--left", "left.avi", "--right", "nowhere.avi", "--rig", "no.toml", "--subject", "no.toml")
    address = f"stream.address={free_address()}"  # another duocap may be running on this machine
    done = duocap(capsys, *words, "--headless", "--database", "x.db", "--set", address)
    assert done.status == 1 and done.last.startswith("duocap: no.toml")


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_node_waits_for_a_run_and_ends_by_ctrl_c(tmp_path: Path, kept: Kept) -> None:
    writer = cv2.VideoWriter(str(tmp_path / "left.avi"), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), 30.0, (64, 48))
    for _ in range(30):
        writer.write(np.zeros((48, 64, 3), np.uint8))
    writer.release()
    words = ["node", "--camera", "left", "--source", str(tmp_path / "left.avi"), "--connect", "127.0.0.1:9"]
    command = [sys.executable, "-m", "tools.launch", *words]
    node = kept.process(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True))
    assert node.stderr is not None
    assert node.stderr.readline().strip() == "left camera: looking for the run at tcp://127.0.0.1:9"
    os.killpg(node.pid, signal.SIGINT)
    _, rest = node.communicate(timeout=60)
    assert node.returncode == 0 and rest.strip().endswith("left camera: ended") and "Traceback" not in rest
