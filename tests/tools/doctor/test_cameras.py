"""Doctor's look at cameras: real child processes with fake devices, drivers that hang or crash, and every fix."""

import os
import time
from functools import partial
from pathlib import Path

import pytest

from capture.sources.webcam.backends import Backend
from capture.sources.webcam.names import LocalCamera
from capture.sources.webcam.settings import Device
from config.errors import DuocapError
from config.settings import CameraSettings, Settings
from tests.capture.sources.webcam.test_webcam import picture_jpegs
from tests.support.cameras.device import FakeCameras, Manners, two_cameras
from tests.support.cameras.mjpeg import MjpegServer
from tools.doctor.cameras import (
    CameraProbe,
    Opener,
    cameras,
    local_finding,
    look_at,
    mbit,
    network_finding,
    seen,
    shared_usb,
    usb_trunk,
)
from tools.doctor.doctor import MACHINE
from tools.doctor.finding import Severity

WANTED = CameraSettings(backend="v4l2", width=320, height=240, fps=30.0)
CAMERA = LocalCamera(2, "Cam", "Cam #2", "046d:0825", "/dev/video2", "1-4.2:1.0")


class Crashing(FakeCameras):
    """A driver that takes its process with it."""

    def open(self, index: int, backend: Backend) -> Device:
        os._exit(139)


class Hanging(FakeCameras):
    """A driver that does not come back."""

    def open(self, index: int, backend: Backend) -> Device:
        time.sleep(600)
        raise AssertionError


@pytest.mark.timeout(200)
def test_every_camera_is_opened_and_told_with_what_it_gives() -> None:
    machine = two_cameras(right=Manners(busy=True))
    left, right = cameras(Settings(camera=WANTED), devices=machine.devices())
    assert left.text.startswith("'Left Cam' (0, 046d:0825, /dev/video0): 320x240 MJPG, ") and "stamped by its driver" in left.text
    assert left.figures is not None and left.figures["facts"]["fourcc"] == "MJPG" and left.figures["rate_hz"] > 5.0
    assert right.verdict is Severity.BAD and right.text.startswith("'Right Cam' (2, 046d:085c, /dev/video2): cannot be opened: ")
    assert right.fix


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("kind", "words"), [(Crashing, "crashed"), pytest.param(Hanging, "did not answer within 4 s", marks=pytest.mark.slow)]
)
def test_a_driver_that_hangs_or_crashes_is_told_and_takes_nothing_with_it(kind: type[FakeCameras], words: str) -> None:
    from tools.run.cameras import open_camera

    machine = two_cameras()
    devices = kind(machine.cameras, machine.manners).devices()
    saw = look_at(partial(open_camera, "0", 0, None, WANTED, None, devices), open_s=30.0 if kind is Crashing else 4.0)
    assert words in saw.error
    finding = local_finding(CAMERA, saw, WANTED)
    assert finding.verdict is Severity.BAD and "plug it in anew" in finding.fix


def test_slow_odd_and_good_cameras_each_have_their_fix() -> None:
    def found(rate_hz: float, **facts: float | str):
        return local_finding(CAMERA, CameraProbe({"fourcc": "MJPG", **facts}, (320, 240), rate_hz), WANTED)

    assert found(29.9).verdict is Severity.GOOD and "29.9 frames/s reached" in found(29.9).text
    dim = found(14.9, fps_announced=30.0)
    assert dim.verdict is Severity.NOTE and "exposure" in dim.fix and "asked for 30 frames/s" in dim.text
    assert "--set camera.fps=15" in found(15.0, fps_announced=15.0).fix
    odd = found(30.0, otherwise="gives 320x240 instead of 1280x720")
    assert odd.verdict is Severity.NOTE and "it gives 320x240 instead of 1280x720" in odd.text


def look_here(opener: Opener) -> CameraProbe:
    """Look at a camera in this process."""
    try:
        return seen(opener)
    except DuocapError as error:
        return CameraProbe({}, error=str(error))


def test_a_network_camera_by_its_address_without_its_password() -> None:
    with MjpegServer(picture_jpegs(), fps=30.0) as server:
        finding = network_finding(server.url, look_here)
        assert finding.verdict in (Severity.GOOD, Severity.NOTE) and "320x240" in finding.text
        gone = server.url
    missing = network_finding(gone.replace("http://", "http://ann:secret@"), look_here)
    assert missing.verdict is Severity.BAD and "secret" not in missing.text and "start its app" in missing.fix
    assert network_finding("http://").verdict is Severity.BAD


def test_cameras_at_one_port_are_held_against_what_it_carries() -> None:
    raw, packed = CameraProbe({"fourcc": "YUYV"}, (640, 480), 30.0), CameraProbe({"fourcc": "MJPG"}, (640, 480), 30.0)
    assert mbit(raw) == pytest.approx(147.456) and mbit(packed) == pytest.approx(18.432)
    two = [LocalCamera(k, "Cam", label, "", f"/dev/video{k}") for k, label in ((0, "A"), (2, "B"))]
    places = {"video0": "1-4.1:1.0", "video2": "1-4.2:1.0"}
    (much,) = shared_usb(two, {"A": raw, "B": raw}, lambda name: places[name])
    assert much.verdict is Severity.NOTE and "share the USB port 1-4 and need about 295 Mbit/s" in much.text
    (little,) = shared_usb(two, {"A": packed, "B": packed}, lambda name: places[name])
    assert little.verdict is Severity.GOOD
    assert shared_usb(two, {"A": raw, "B": raw}, lambda name: {"video0": "1-4:1.0", "video2": "1-5:1.0"}[name]) == []
    assert shared_usb(two, {"A": raw, "B": raw}, lambda name: "") == []
    assert [usb_trunk(place) for place in ("1-4.2.1:1.0", "3-2:1.0", "", "platform-x")] == ["1-4", "3-2", "", ""]


def test_without_cameras_and_with_a_wrong_backend(tmp_path: Path) -> None:
    empty = FakeCameras((), ()).devices()
    (none,) = cameras(Settings(camera=WANTED), devices=empty)
    assert none.verdict is Severity.NOTE and "camera nodes work without one" in none.fix
    (wrong,) = cameras(Settings(camera=CameraSettings(backend="vfw")), devices=empty)
    assert wrong.verdict is Severity.BAD and "camera.backend" in wrong.text
    assert cameras in MACHINE


def test_a_device_that_may_not_be_opened_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "video0").touch()
    monkeypatch.setattr("tools.doctor.cameras.platform.system", lambda: "Linux")
    monkeypatch.setattr("tools.doctor.cameras.os.access", lambda path, mode: False)
    monkeypatch.setattr("tools.doctor.cameras.list_cameras", lambda backend: [])
    (closed,) = cameras(Settings(camera=WANTED), folder=tmp_path)
    assert closed.verdict is Severity.BAD and "sudo usermod -aG video" in closed.fix
