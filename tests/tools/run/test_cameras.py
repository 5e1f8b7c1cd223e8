"""`duocap run` from webcams: what a CAM is, what is checked beforehand, and runs in real processes with fake devices."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import Views
from capture.process.control import RoomSettings
from capture.process.plan import CameraPlan
from capture.sources.network.address import hide_secrets
from capture.sources.webcam.webcam import Webcam
from config.errors import SettingsError, SourceError
from config.settings import CameraSettings, CaptureSettings, DetectorSettings, Settings, SideSettings, StreamSettings
from reconstruct.pose import Pose
from reconstruct.process.main import ReconstructionPlan
from stream.protocol.messages import StatusMessage
from stream.publish.sink import StreamSink
from tests.support import fakes
from tests.support.cameras.device import Manners, two_cameras
from tests.support.ports import free_address
from tools.commands.live.run import order_cameras
from tools.commands.options import CameraOptions
from tools.run import run as run_module
from tools.run.cameras import (
    CameraKind,
    check_camera_source,
    check_camera_sources,
    find_camera_kind,
    find_stable_name,
    plan_camera,
)
from tools.run.node import plan_node
from tools.run.parts import AwaitedNode
from tools.run.run import LiveRun, run_live

WEBCAM = CameraSettings(backend="v4l2", width=320, height=240, fps=30.0)


def settings(tmp_path: Path, **camera: object) -> Settings:
    """Return settings with free ports, and a file of tuned values of their own."""
    return Settings(
        camera=replace(WEBCAM, **camera),
        stream=StreamSettings(address=free_address(), service=""),
        capture=CaptureSettings(tuned=str(tmp_path / "tuned.toml")),
    )


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("node", CameraKind.NODE),
        ("0", CameraKind.WEBCAM),
        ("Logitech C920", CameraKind.WEBCAM),
        ("046d:0825", CameraKind.WEBCAM),
        ("/dev/video2", CameraKind.WEBCAM),
        ("/dev/v4l/by-id/usb-046d-video-index0", CameraKind.WEBCAM),
        ("HTTP://10.0.0.2:8080/video", CameraKind.NETWORK),
        ("rtsp://10.0.0.2/live", CameraKind.NETWORK),
        ("missing.avi", CameraKind.RECORDED),
        ("some/folder", CameraKind.RECORDED),
        (".", CameraKind.RECORDED),
    ],
)
def test_what_a_user_means(source: str, kind: CameraKind) -> None:
    assert find_camera_kind(source) is kind


def test_addresses_of_other_kinds_are_refused_without_their_password() -> None:
    with pytest.raises(SourceError, match=r"http:// \(MJPEG\) and rtsp://"):
        find_camera_kind("udp://10.0.0.2:1234")
    assert hide_secrets("rtsp://ann:secret@10.0.0.2/live") == "rtsp://10.0.0.2/live"


def test_what_can_be_seen_without_opening_is_checked_at_once(tmp_path: Path) -> None:
    asked, told = settings(tmp_path), list[str]()
    devices = two_cameras().devices()
    check_camera_sources(("0", "right"), asked, None, told.append, devices)
    for sources, words in [
        (("0", "Left Cam"), "left and right are the same camera, 'Left Cam'"),
        (("0", "right", "Left Cam"), "left and third are the same camera, 'Left Cam'"),
        (("Left Cam", "3"), r"camera '3': there is no such camera; there are: 'Left Cam' \(0\), 'Right Cam' \(2\)"),
        (("missing.avi", "0"), r"missing\.avi: no such file or folder"),
        (("http://a/v", "http://a/v"), "left and right are the same camera, http://a/v"),
        (("http://", "0"), "not an address of a camera"),
    ]:
        with pytest.raises(SourceError, match=words):
            check_camera_sources(sources, asked, None, told.append, devices)
    with pytest.raises(SettingsError, match=r"camera\.exposure"):
        check_camera_source("1", 1, None, replace(asked, right=SideSettings(camera={"exposure": "dark"})), devices)
    with pytest.raises(SettingsError, match=r"camera\.backend"):
        check_camera_source("0", 0, None, settings(tmp_path, backend="vfw"), devices)


def test_what_was_tuned_for_a_camera_is_used_again_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "tuned.toml").write_text('["Right Cam".camera]\nexposure = "40"\n', encoding="utf-8")
    told = list[str]()
    tuned = check_camera_sources(("Left", "2"), settings(tmp_path), None, told.append, two_cameras().devices())
    assert tuned.right.camera["exposure"] == "40" and not tuned.left.camera and "Right Cam" in told[0]
    plan = plan_camera("2", 1, tuned, 25.0, devices=two_cameras().devices())
    assert isinstance(plan, CameraPlan) and not plan.paced
    source = plan.source()
    assert isinstance(source, Webcam) and source.facts["exposure"] == 40.0 and source.fps <= 25.5
    source.close()
    assert find_stable_name("http://ann:x@h/v", None) == "http://h/v" and find_stable_name("node", None) == ""


def test_a_node_is_told_of_the_room() -> None:
    room = RoomSettings(((255.0, 40.0, 0.0), (10.0, 20.5, 30.0)), 4.0)
    plan = plan_camera("node", 0, Settings(), None, room)
    assert isinstance(plan, AwaitedNode)
    assert (plan.detector, plan.room) == (DetectorSettings(), room)


def test_a_node_opens_a_webcam_with_its_own_settings(tmp_path: Path) -> None:
    told = list[str]()
    plan = plan_node(settings(tmp_path, width=352), "right", "Left", "tcp://h:1", None, told.append, two_cameras().devices())
    source = plan.source()
    source.close()
    assert plan.camera == 1 and not plan.paced and source.name == "Left Cam" and "gives 320x240 instead of 352x240" in told[0]


class CountingPipeline(fakes.FakePipeline):
    """Return poses whose root tells how many markers each camera saw."""

    def step(self, pair: Views) -> Pose:
        root = np.array([float(len(pair[0])), float(len(pair[1])), 0.0])
        return fakes.pose(pair[0].index, pair.t_capture_ns, root, pair.skew_ns)


def rig_of(left: tuple[int, int], right: tuple[int, int]) -> Rig:
    """Return a rig that was calibrated at two sizes [px]."""
    rig = fakes.rig()
    return replace(rig, cameras=(replace(rig.cameras[0], size=left), replace(rig.cameras[1], size=right)))


def live(monkeypatch: pytest.MonkeyPatch, asked: Settings, what: LiveRun) -> tuple[list[str], list[StatusMessage], list[str]]:
    """Run with a pipeline that only counts; give what was told, the statuses, and the report's lines."""

    def plan(rig, subject, database, chosen, session, fps, outputs, *_: object) -> ReconstructionPlan:
        sink = partial(StreamSink, chosen.stream.address, session, subject, rig)
        return ReconstructionPlan(CountingPipeline, sink, round(0.6e9 / fps), time=chosen.time)

    monkeypatch.setattr(run_module, "plan_reconstruction", plan)
    told, statuses = list[str](), list[StatusMessage]()
    report = run_live(asked, what, told.append, lambda tally, status, recording: statuses.append(status))
    return told, statuses, report.lines()


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_run_of_two_webcams_tells_what_they_are_and_how_they_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.run.start.STEP_OUT_S", 1)
    cameras = two_cameras(right=Manners(((352, 288),), 30.0, level=20, truncate=9))
    what = LiveRun(
        ("0", "right cam"),
        rig_of((320, 240), (352, 288)),
        fakes.subject(),
        Path("x.db"),
        seconds=6.0,
        learn_s=0.5,
        devices=cameras.devices(),
    )
    told, statuses, lines = live(monkeypatch, settings(tmp_path), what)
    text = "\n".join(told)
    assert "left camera: Left Cam, 320x240, " in text and text.count("gives 352x288 instead of 320x240") == 1
    assert text.index("step out of all cameras' view") < text.index("thank you; the background is learned")
    right = statuses[-1].cameras["right"]
    assert right["name"] == "Right Cam" and right["frames"] > 20 and int(right["damaged"]) > 2
    assert int(lines[0].split()[0]) > 20 and any("right camera (Right Cam)" in line and " damaged" in line for line in lines)


def test_cameras_are_given_in_the_order_of_the_rig() -> None:
    assert order_cameras(CameraOptions(camera=["2", "3"], left="0", right="1")) == ("0", "1", "2", "3")
    assert order_cameras(CameraOptions(camera=["0", "1", "2"])) == ("0", "1", "2")
    assert order_cameras(CameraOptions(left="0")) == ("0",)
    assert order_cameras(CameraOptions(camera=["0", "2"], right="1")) == ("0", "1", "2")


@pytest.mark.parametrize(
    ("cameras", "right", "words"),
    [
        ([], None, "no camera was given"),
        ([], "1", "there is no first"),
        ([str(n) for n in range(9)], None, "9 cameras were given; a rig has at most 8"),
    ],
)
def test_cameras_that_cannot_be_are_refused_in_a_line(cameras: list[str], right: str | None, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        order_cameras(CameraOptions(camera=cameras, right=right))
    assert "\n" not in str(caught.value)
