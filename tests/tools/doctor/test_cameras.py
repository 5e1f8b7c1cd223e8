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
    estimate_bandwidth_mbit,
    examine_cameras,
    find_usb_trunk,
    judge_concurrent_rates,
    judge_local_camera,
    measure_source,
    probe_camera,
    probe_cameras,
    probe_network_camera,
)
from tools.doctor.doctor import MACHINE
from tools.doctor.finding import DoctorFinding, Severity

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
    left, right = examine_cameras(Settings(camera=WANTED), devices=machine.devices())
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
    saw = probe_camera(partial(open_camera, "0", 0, None, WANTED, None, devices), open_s=30.0 if kind is Crashing else 4.0)
    assert words in saw.error
    finding = judge_local_camera(CAMERA, saw, WANTED)
    assert finding.verdict is Severity.BAD and "plug it in anew" in finding.fix


def test_slow_odd_and_good_cameras_each_have_their_fix() -> None:
    def found(rate_hz: float, **facts: float | str):
        return judge_local_camera(CAMERA, CameraProbe({"fourcc": "MJPG", **facts}, (320, 240), rate_hz), WANTED)

    assert found(29.9).verdict is Severity.GOOD and "29.9 frames/s reached" in found(29.9).text
    dim = found(14.9, fps_announced=30.0)
    assert dim.verdict is Severity.NOTE and "exposure" in dim.fix and "asked for 30 frames/s" in dim.text
    assert "--set camera.fps=15" in found(15.0, fps_announced=15.0).fix
    odd = found(30.0, otherwise="gives 320x240 instead of 1280x720")
    assert odd.verdict is Severity.NOTE and "it gives 320x240 instead of 1280x720" in odd.text


def look_here(opener: Opener) -> CameraProbe:
    """Look at a camera in this process."""
    try:
        return measure_source(opener)
    except DuocapError as error:
        return CameraProbe({}, error=str(error))


def test_a_network_camera_by_its_address_without_its_password() -> None:
    with MjpegServer(picture_jpegs(), fps=30.0) as server:
        finding = probe_network_camera(server.url, look_here)
        assert finding.verdict in (Severity.GOOD, Severity.NOTE) and "320x240" in finding.text
        gone = server.url
    missing = probe_network_camera(gone.replace("http://", "http://ann:secret@"), look_here)
    assert missing.verdict is Severity.BAD and "secret" not in missing.text and "start its app" in missing.fix
    assert probe_network_camera("http://").verdict is Severity.BAD


PLACES = {"video0": "1-4.1:1.0", "video2": "1-4.2:1.0", "video4": "1-5:1.0", "video6": "2-1:1.0"}
FOUR = [LocalCamera(2 * k, "Cam", label, "", f"/dev/video{2 * k}") for k, label in enumerate("ABCD")]


def probe(rate_hz: float, fourcc: str = "MJPG", error: str = "") -> CameraProbe:
    return CameraProbe({"fourcc": fourcc}, (640, 480), rate_hz, error=error)


def together(rates_hz: dict[str, float], places: dict[str, str] = PLACES, fourcc: str = "YUYV") -> DoctorFinding:
    alone = dict.fromkeys("ABCD", probe(30.0, fourcc))
    return judge_concurrent_rates(
        FOUR, alone, {label: probe(rate, fourcc) for label, rate in rates_hz.items()}, lambda name: places[name]
    )


def test_cameras_that_reach_their_rates_together_are_well() -> None:
    finding = together({"A": 30.0, "B": 29.0, "C": 30.0, "D": 26.0})
    assert finding.verdict is Severity.GOOD and "all 4 at once reach their rates: 'A' 30.0 frames/s, 'B' 29.0" in finding.text
    assert finding.figures == {"together_hz": {"A": 30.0, "B": 29.0, "C": 30.0, "D": 26.0}}


def test_cameras_that_are_slower_together_are_named_with_the_cable_they_share() -> None:
    finding = together({"A": 14.0, "B": 15.0, "C": 30.0, "D": 30.0})
    assert finding.verdict is Severity.NOTE
    assert "'A' 14.0 frames/s (alone 30.0), 'B' 15.0 frames/s (alone 30.0), 'C' 30.0 frames/s, 'D' 30.0" in finding.text
    assert "'A' and 'B' share the USB port 1-4 and need about 295 of some 280 Mbit/s" in finding.text
    assert "port of its own" in finding.fix and "fourcc=MJPG" in finding.fix
    bus = together({"A": 30.0, "B": 30.0, "C": 9.0, "D": 30.0})
    assert "'A' and 'B' and 'C' share the USB bus 1" in bus.text and "port 1-4" not in bus.text
    packed = together({"A": 30.0, "B": 30.0, "C": 30.0, "D": 9.0}, fourcc="MJPG")
    assert "share" not in packed.text and "the machine may be short" in packed.fix and "MJPG" not in packed.fix
    assert "share the USB" not in together({"A": 9.0, "B": 9.0, "C": 9.0, "D": 9.0}, dict.fromkeys(PLACES, "")).text


def test_a_camera_that_does_not_open_beside_the_others_is_named() -> None:
    alone = {"A": probe(30.0), "B": probe(30.0)}
    finding = judge_concurrent_rates(
        FOUR, alone, {"A": probe(30.0), "B": probe(0.0, error="no space left")}, lambda name: PLACES[name]
    )
    assert finding.verdict is Severity.NOTE and "'B' is not read: no space left (alone 30.0)" in finding.text


def test_what_is_sent_over_the_cable_is_estimated() -> None:
    assert estimate_bandwidth_mbit(probe(30.0, "YUYV")) == pytest.approx(147.456) and estimate_bandwidth_mbit(
        probe(30.0)
    ) == pytest.approx(18.432)
    assert [find_usb_trunk(place) for place in ("1-4.2.1:1.0", "3-2:1.0", "", "platform-x")] == ["1-4", "3-2", "", ""]


@pytest.mark.timeout(200)
def test_all_cameras_are_read_at_the_same_time() -> None:
    """Two of three are there in time; the third cannot be opened, and holds nobody up."""
    from tools.run.cameras import open_camera

    machine = two_cameras()
    openers = [partial(open_camera, name, 0, None, WANTED, None, machine.devices()) for name in ("0", "2", "7")]
    left, right, missing = probe_cameras(openers, 60.0)
    assert left.rate_hz > 5.0 and right.rate_hz > 5.0 and not left.error and missing.error


def test_without_cameras_and_with_a_wrong_backend(tmp_path: Path) -> None:
    empty = FakeCameras((), ()).devices()
    (none,) = examine_cameras(Settings(camera=WANTED), devices=empty)
    assert none.verdict is Severity.NOTE and "camera nodes work without one" in none.fix
    (wrong,) = examine_cameras(Settings(camera=CameraSettings(backend="vfw")), devices=empty)
    assert wrong.verdict is Severity.BAD and "camera.backend" in wrong.text
    assert examine_cameras in MACHINE


def test_a_device_that_may_not_be_opened_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "video0").touch()
    monkeypatch.setattr("tools.doctor.cameras.platform.system", lambda: "Linux")
    monkeypatch.setattr("tools.doctor.cameras.os.access", lambda path, mode: False)
    monkeypatch.setattr("tools.doctor.cameras.list_cameras", lambda backend: [])
    (closed,) = examine_cameras(Settings(camera=WANTED), folder=tmp_path)
    assert closed.verdict is Severity.BAD and "sudo usermod -aG video" in closed.fix
