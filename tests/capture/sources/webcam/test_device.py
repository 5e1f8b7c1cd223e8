"""An open device on a clock that only passes by sleeping: stale frames, stamps, rates, buffers, reads that fail."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.sources.source import Stamp
from capture.sources.webcam.backends import AVFOUNDATION, DSHOW, V4L2, Backend
from capture.sources.webcam.device import MAX_AGE_NS, MAX_IMPLAUSIBLE, DriverTime, Grabber
from config.errors import SourceError
from config.settings import CameraSettings
from tests.support.cameras.device import FakeClock, FakeDevice, Manners

SIZE = ((320, 240),)
ASKED = CameraSettings(width=320, height=240, fps=50.0)


def grabber(manners: Manners, backend: Backend = V4L2, asked: CameraSettings = ASKED) -> tuple[Grabber, FakeDevice, FakeClock]:
    clock = FakeClock()
    device = FakeDevice(manners, backend, clock)
    return Grabber(device, backend, asked, "Cam", clock=clock.now_ns, sleep=clock.sleep), device, clock


def begun(manners: Manners, backend: Backend = V4L2, asked: CameraSettings = ASKED) -> tuple[Grabber, FakeDevice, FakeClock]:
    made = grabber(manners, backend, asked)
    made[0].begin()
    return made


def test_a_good_camera_needs_no_words_and_stamps_by_its_driver() -> None:
    grab, _device, clock = begun(Manners(SIZE, 50.0, lag_s=0.006))
    assert grab.deviations == [] and grab.fps == 50.0 and grab.size == (320, 240) and grab.stamp is Stamp.DRIVER
    assert grab.facts["fps_reached"] == 50.0 and grab.facts["stamp"] == "driver" and grab.facts["fourcc"] == "MJPG"
    frame = grab.next_frame()
    assert clock.t_ns - frame.t_ns == 6_000_000  # as the driver says, not when it was read
    image, jpeg = frame.picture()
    assert jpeg is not None and jpeg.startswith(b"\xff\xd8") and image is not None and image.shape == (240, 320, 3)
    assert np.array_equal(image, cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR))


def test_buffered_frames_are_let_go_of_at_the_start_and_counted() -> None:
    grab, _device, _ = begun(Manners(SIZE, 50.0, buffered=4))
    assert grab.facts["stale"] == 4


@pytest.mark.parametrize("backend", [V4L2, DSHOW])
def test_after_a_pause_the_first_frame_is_a_new_one(backend: Backend) -> None:
    grab, _device, clock = begun(Manners(SIZE, 50.0, lag_s=0.0), backend)
    before = int(grab.facts["stale"])
    clock.sleep(1.0)
    frame = grab.next_frame()
    assert clock.t_ns - frame.t_ns <= 1_000_000 and int(grab.facts["stale"]) - before >= 1


def test_frames_fetched_in_time_are_never_let_go_of() -> None:
    grab, device, _clock = begun(Manners(SIZE, 50.0))
    stale, frames = grab.facts["stale"], device.n_frames
    times = [grab.next_frame().t_ns for _ in range(100)]
    assert grab.facts["stale"] == stale and device.n_frames == frames + 100
    assert np.diff(times).tolist() == [20_000_000] * 99


@pytest.mark.parametrize("manners", [Manners(SIZE, 50.0, time="other"), Manners(SIZE, 50.0, time="none")])
def test_a_driver_on_another_clock_is_not_believed(manners: Manners) -> None:
    grab, _, clock = begun(manners)
    assert grab.stamp is Stamp.READ and grab.facts["stamp"] == "read"
    assert grab.next_frame().t_ns == clock.t_ns


def test_backends_without_driver_time_stamp_on_reading() -> None:
    for backend in (DSHOW, AVFOUNDATION):
        grab, _, clock = begun(Manners(SIZE, 50.0), backend)
        assert grab.stamp is Stamp.READ and grab.next_frame().t_ns == clock.t_ns


def test_a_size_the_camera_does_not_have_is_taken_from_the_frame_not_from_its_word() -> None:
    lies = {cv2.CAP_PROP_FRAME_WIDTH: 1920.0, cv2.CAP_PROP_FRAME_HEIGHT: 1080.0}
    grab, _, _ = begun(Manners(((640, 360),), 50.0, announces=lies))
    assert grab.size == (640, 360) and grab.deviations == ["gives 640x360 instead of 320x240"]


def test_the_rate_is_measured_not_believed() -> None:
    grab, _, _ = begun(Manners(SIZE, 20.0, announces={cv2.CAP_PROP_FPS: 50.0}))
    assert grab.fps == pytest.approx(20.0) and grab.facts["fps_announced"] == 50.0
    assert grab.deviations == [
        "gives 20 frames/s of 50: automatic exposure takes long in dim light (more light, or a number for camera.exposure), "
        "or this machine is busy"
    ]


def test_more_buffers_are_kept_only_where_one_halves_the_rate() -> None:
    grab, device, _ = begun(Manners(SIZE, 50.0, half_with_one_buffer=True))
    assert (
        grab.fps == 50.0 and device.props[cv2.CAP_PROP_BUFFERSIZE] == 3.0 and grab.facts["buffers"] == 3 and not grab.deviations
    )
    grab, device, _ = begun(Manners(SIZE, 20.0, announces={cv2.CAP_PROP_FPS: 50.0}))
    assert device.props[cv2.CAP_PROP_BUFFERSIZE] == 1.0 and "buffers" not in grab.facts


def test_raw_pixels_that_are_not_compressed_are_left_to_opencv() -> None:
    grab, device, _ = begun(Manners(SIZE, 50.0, has_mjpg=False, announces={cv2.CAP_PROP_FOURCC: 1196444237.0}))
    assert device.props[cv2.CAP_PROP_CONVERT_RGB] == 1.0  # it says MJPG and gives YUYV
    image, jpeg = grab.next_frame().picture()
    assert jpeg is None and image is not None and image.shape == (240, 320, 3)


def test_frames_that_are_cut_or_have_a_hole_give_no_picture() -> None:
    grab, device, _ = begun(Manners(SIZE, 50.0, truncate=5, hole=7))
    whole = []
    for _ in range(35):
        image = grab.next_frame().picture()[0]
        whole.append(image is not None)
        assert (image is None) == (device.n_frames % 5 == 0 or device.n_frames % 7 == 0)
    assert whole.count(False) == 11


def test_a_read_that_fails_now_and_then_is_repeated() -> None:
    grab, device, _ = begun(Manners(SIZE, 50.0, bad_from=20, bad_reads=3))
    for _ in range(20):
        grab.next_frame()
    assert device._n_bad == 3


def test_a_camera_that_is_gone_or_never_gives_anything_is_told_in_one_line() -> None:
    grab, _, clock = begun(Manners(SIZE, 50.0, vanishes_at=30))
    t_ns = clock.t_ns
    with pytest.raises(SourceError, match="camera 'Cam' gives no pictures any more; is it plugged in"):
        for _ in range(40):
            grab.next_frame()
    assert clock.t_ns - t_ns < 2_000_000_000
    with pytest.raises(SourceError, match="opens, but gives no pictures"):
        begun(Manners(SIZE, 50.0, vanishes_at=0))
    with pytest.raises(SourceError, match=r"cannot be decoded; try --set camera\.fourcc=YUYV"):
        begun(Manners(SIZE, 50.0, truncate=1))


def test_a_time_within_reason_is_believed() -> None:
    driver = DriverTime(True)
    assert driver.of(100, 5_000) == 100 and driver.of(200, 5_100) == 200
    assert driver.of(200, 5_200) is None  # did not pass
    assert driver.of(10_000_000, 9_000_000) == 9_000_000  # a little ahead by rounding
    assert driver.of(20_000_000, 9_100_000) is None and driver.of(10_000_001, 10_000_001 + MAX_AGE_NS) is None
    for _ in range(MAX_IMPLAUSIBLE):
        driver.of(0, 5_200)
    assert not driver.trusted


@settings(max_examples=12)
@given(
    st.floats(5.0, 120.0),
    st.integers(0, 5),
    st.floats(0.0, 0.05),
    st.sampled_from(["monotonic", "other", "none"]),
    st.sampled_from([V4L2, DSHOW, AVFOUNDATION]),
    st.lists(st.floats(0.0, 0.3), min_size=3, max_size=12),
)
def test_stamps_grow_and_never_lie_in_the_future(fps, buffered, lag_s, time, backend, pauses) -> None:
    asked = CameraSettings(width=320, height=240, fps=fps)
    grab, _, clock = begun(Manners(((64, 48),), fps, buffered=buffered, lag_s=lag_s, time=time), backend, asked)
    last = 0
    for pause in pauses:
        clock.sleep(pause)
        frame = grab.next_frame()
        assert last < frame.t_ns <= clock.t_ns
        assert clock.t_ns - frame.t_ns <= 2.5e9 / fps + lag_s * 1e9 + 1_000_000  # nothing that lay about is handed on
        last = frame.t_ns
