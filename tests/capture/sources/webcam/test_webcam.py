"""A webcam as a source, with its thread: damaged frames, a driver that hangs, unplugging, tuning, what libraries print."""

import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from capture.clock import now_ns
from capture.sources.jpeg import has_grey_end
from capture.sources.source import Source, Stamp
from capture.sources.webcam import webcam
from capture.sources.webcam.names import CameraIdentity
from capture.sources.webcam.webcam import DeviceProvider, Webcam
from config.errors import SettingsError, SourceError
from config.settings import CameraSettings
from tests.support.cameras.device import FakeDevice, Manners, picture, two_cameras
from tests.support.kept import Kept
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[4]
ASKED = CameraSettings(backend="v4l2", width=320, height=240, fps=100.0)
LEFT = CameraIdentity("Left Cam", "1-1:1.0", True, 0, "Left Cam")
FAST = Manners(((320, 240),), 100.0)
WELL_OPENED = 100  # frames: measuring its rate takes the opening some twenty, twice as many on a busy machine


def camera(manners: Manners = FAST, asked: CameraSettings = ASKED) -> Webcam:
    return Webcam(LEFT, 0, asked, two_cameras(manners).devices())


def test_frames_come_with_their_bytes_and_growing_stamps() -> None:
    t_begin_ns = now_ns()
    with closing(camera()) as source:
        assert isinstance(source, Source) and source.stamp is Stamp.DRIVER and source.size == (320, 240)
        frames = [source.read() for _ in range(10)]
        now = now_ns()
    assert [frame.index for frame in frames] == list(range(10))
    stamps = [frame.t_capture_ns for frame in frames]
    assert all(np.diff(stamps) > 0) and t_begin_ns < stamps[0] and stamps[-1] <= now
    for frame in frames:
        assert np.array_equal(frame.image, cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR))
    assert source.facts["name"] == "Left Cam" and "instead" not in str(source.facts.get("otherwise"))
    assert source.read() is None  # closed


def test_damaged_frames_are_left_out_and_counted() -> None:
    with closing(camera(replace(FAST, truncate=3))) as source:
        images = [source.read().image for _ in range(8)]
        assert int(source.facts["damaged"]) >= 2
    assert not any(has_grey_end(image) for image in images)


def test_a_camera_whose_frames_are_all_damaged_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(camera()) as source:
        monkeypatch.setattr(webcam, "READ_S", 0.3)
        monkeypatch.setattr(webcam.DeviceFrame, "picture", lambda frame: (None, None))
        with pytest.raises(SourceError, match="only damaged pictures"):
            source.read()


def test_what_is_done_otherwise_is_in_the_facts() -> None:
    with closing(camera(replace(FAST, sizes=((352, 288),)))) as source:
        assert str(source.facts["otherwise"]).startswith("gives 352x288 instead of 320x240") and source.size == (352, 288)


def age_after_a_pause_ns(source: Webcam) -> int:
    """Let 0.3 s of frames pass; give how old the next one is."""
    time.sleep(0.3)
    frame = source.read()
    assert frame is not None
    return now_ns() - frame.t_capture_ns


def test_a_reader_that_dawdles_gets_the_newest_frame() -> None:
    with closing(camera()) as source:
        source.read()
        # A busy machine may hold one up; a queue would make each older than the one before.
        wait_until(lambda: age_after_a_pause_ns(source) < 200_000_000 and int(source.facts["skipped"]) >= 5)


def test_an_unplugged_camera_ends_in_an_error_and_is_opened_anew_where_it_is_then() -> None:
    with (
        closing(camera(replace(FAST, vanishes_at=WELL_OPENED))) as source,
        pytest.raises(SourceError, match="no pictures any more"),
    ):
        while True:
            source.read()
    cameras = two_cameras(FAST)
    moved = replace(cameras, cameras=(replace(cameras.cameras[0], index=5), cameras.cameras[1]))
    with closing(Webcam(LEFT, 0, ASKED, moved.devices())) as source:
        assert source.read() is not None
    gone = replace(cameras, cameras=cameras.cameras[1:], manners=cameras.manners[1:])
    with pytest.raises(SourceError, match=r"'Left Cam' is not plugged in; there are: 'Right Cam' \(2\)"):
        Webcam(LEFT, 0, ASKED, gone.devices())


def test_a_driver_that_hangs_keeps_neither_reader_nor_closing(monkeypatch: pytest.MonkeyPatch, kept: Kept) -> None:
    monkeypatch.setattr(webcam, "READ_S", 0.3)
    monkeypatch.setattr(webcam, "JOIN_S", 0.1)
    source = kept(camera(replace(FAST, stalls_at=WELL_OPENED, stall_s=30.0)))
    with pytest.raises(SourceError, match=r"has given no picture for 0.3 s; is it plugged in\?"):
        while True:
            source.read()
    source.close()
    assert source._thread.is_alive() and source.read() is None  # the driver sleeps for another half minute


def test_opening_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webcam, "OPEN_S", 0.2)
    with pytest.raises(SourceError, match=r"could not be opened within 0.2 s"):
        camera(replace(FAST, stalls_at=0, stall_s=20.0))


def test_closing_ends_the_waiting_of_another_thread(kept: Kept) -> None:
    source = kept(camera(replace(FAST, stalls_at=WELL_OPENED, stall_s=3.0)))
    ended, last_ns = threading.Event(), [now_ns()]

    def read_on() -> None:
        while source.read() is not None:
            last_ns[0] = now_ns()
        ended.set()

    threading.Thread(target=read_on, daemon=True).start()
    wait_until(lambda: now_ns() - last_ns[0] > 300_000_000)  # the driver hangs
    source.close()
    assert ended.wait(30.0)


def test_tuning_while_frames_come() -> None:
    with closing(camera(replace(FAST, steps={cv2.CAP_PROP_EXPOSURE: 10.0}))) as source:
        assert source.adjust({"exposure": "150"}) == [] and source.facts["exposure"] == 150.0
        assert source.adjust({"exposure": "163", "width": 1280}) == [
            "sets exposure to 160 instead of 163",
            "camera.width counts from the next start on",
        ]
        assert source.adjust({"gain": "loud"}) == ["camera.gain is 'loud'; expected auto or a number"]
        assert source.read() is not None
    assert source.adjust({}) == ["the camera is not open"]


def test_a_camera_that_cannot_be_opened_or_asked_for() -> None:
    with pytest.raises(SourceError, match=r"camera 'Left Cam' cannot be opened: "):
        camera(replace(FAST, busy=True))
    with pytest.raises(SettingsError, match=r"camera\.fps"):
        camera(FAST, replace(ASKED, fps=-1.0))


def test_a_driver_that_raises_is_told_in_one_line() -> None:
    class Broken(FakeDevice):
        def grab(self) -> bool:
            raise cv2.error("an\ninner fault")

    devices = DeviceProvider(two_cameras().list, lambda index, backend: Broken(FAST, backend))
    with pytest.raises(SourceError, match="camera 'Left Cam' fails: an inner fault"):
        Webcam(LEFT, 0, ASKED, devices)


@pytest.mark.slow
def test_what_decoders_print_goes_to_the_log_once_and_python_speaks_on() -> None:
    program = (
        "import logging, sys, time, cv2, numpy as np\n"
        "from config.logs import LogSettings, start_logs\n"
        "from capture.sources.webcam.webcam import redirect_library_output\n"
        "start_logs(LogSettings(True, None))\n"
        "redirect_library_output(); redirect_library_output()\n"
        "jpeg = cv2.imencode('.jpg', np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8))[1].tobytes()\n"
        "for _ in range(50): cv2.imdecode(np.frombuffer(jpeg[:2000] + jpeg[2500:], np.uint8), 1)\n"
        "time.sleep(0.3)\n"
        "logging.getLogger('capture').info('the log goes on')\n"
        "print('and so do errors', file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.count("Corrupt JPEG") == 1 and "a library says: Corrupt JPEG" in done.stderr
    assert "the log goes on" in done.stderr and "and so do errors" in done.stderr


def picture_jpegs() -> list[bytes]:
    """Return pictures for a test server."""
    return [cv2.imencode(".jpg", picture((320, 240), 40, k))[1].tobytes() for k in range(10)]
