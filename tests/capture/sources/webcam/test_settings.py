"""Asking a camera: orders of calls, flags by backend, read-back in words, against a device with the manners of real ones."""

from dataclasses import replace

import cv2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.sources.webcam.backends import AVFOUNDATION, BACKENDS, DSHOW, MSMF, V4L2, choose_backend
from capture.sources.webcam.settings import (
    check_settings,
    find_format_deviations,
    format_fourcc,
    parse_number,
    read_controls,
    read_format,
    set_controls,
    set_format,
)
from config.errors import SettingsError
from config.settings import CameraSettings
from tests.support.cameras.device import MJPG, FakeDevice, Manners

ASKED = CameraSettings(width=640, height=480, fps=30.0)


def asked(manners: Manners, settings: CameraSettings = ASKED, backend=V4L2) -> tuple[FakeDevice, list[str]]:
    device = FakeDevice(manners, backend)
    set_format(device, backend, settings)
    facts = read_format(device, backend)
    size = int(device.get(cv2.CAP_PROP_FRAME_WIDTH)), int(device.get(cv2.CAP_PROP_FRAME_HEIGHT))
    return device, find_format_deviations(settings, facts, size)


def test_the_best_backend_of_each_system_and_one_by_name() -> None:
    assert [choose_backend("auto", name).name for name in ("linux", "win32", "darwin", "freebsd13")] == [
        "v4l2",
        "dshow",
        "avfoundation",
        "v4l2",
    ]
    assert choose_backend(" MSMF ") is MSMF
    with pytest.raises(SettingsError, match="expected auto, v4l2, dshow, msmf, avfoundation"):
        choose_backend("gstreamer")


def test_a_camera_that_does_as_it_is_told_is_worth_no_words() -> None:
    device, words = asked(Manners())
    assert words == [] and device.props[cv2.CAP_PROP_BUFFERSIZE] == 1.0
    assert device.props[cv2.CAP_PROP_FOURCC] == MJPG and device.props[cv2.CAP_PROP_FPS] == 30.0


def test_what_a_camera_does_otherwise_is_told() -> None:
    manners = Manners(sizes=((1280, 720), (352, 288)), fps=25.0, has_mjpg=False)
    assert asked(manners)[1] == [
        "gives 352x288 instead of 640x480",
        "gives YUYV instead of MJPG",
        "announces 25 frames/s instead of 30",
    ]
    assert asked(Manners(announces={cv2.CAP_PROP_FPS: 29.97}))[1] == []
    assert asked(Manners(announces={cv2.CAP_PROP_FPS: 0.0, cv2.CAP_PROP_FOURCC: -466162819.0}))[1] == []  # it does not tell


def test_a_pixel_format_that_was_forgotten_with_the_size_is_asked_for_again() -> None:
    device, words = asked(Manners(forgets_format=True))
    assert words == [] and device.props[cv2.CAP_PROP_FOURCC] == MJPG


def test_each_backend_is_asked_in_the_order_it_needs() -> None:
    order = [prop for prop, _ in asked(Manners(), backend=DSHOW)[0].calls]
    assert order == [cv2.CAP_PROP_FPS, cv2.CAP_PROP_FOURCC, cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT]
    order = [prop for prop, _ in asked(Manners(), backend=V4L2)[0].calls]
    assert order[:4] == [cv2.CAP_PROP_FOURCC, cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT, cv2.CAP_PROP_FPS]


@pytest.mark.parametrize(
    ("backend", "by_hand", "automatic"),
    [
        (V4L2, [(cv2.CAP_PROP_AUTO_EXPOSURE, 1.0), (cv2.CAP_PROP_EXPOSURE, 40.0)], [(cv2.CAP_PROP_AUTO_EXPOSURE, 3.0)]),
        (DSHOW, [(cv2.CAP_PROP_AUTO_EXPOSURE, 0.25), (cv2.CAP_PROP_EXPOSURE, 40.0)], [(cv2.CAP_PROP_AUTO_EXPOSURE, 0.75)]),
        (MSMF, [(cv2.CAP_PROP_EXPOSURE, 40.0)], [(cv2.CAP_PROP_AUTO_EXPOSURE, 1.0)]),
    ],
)
def test_flags_of_exposure_differ_by_backend(backend, by_hand, automatic) -> None:
    device = FakeDevice(Manners(), backend)
    assert set_controls(device, backend, CameraSettings(exposure="40"), CameraSettings()) == [] and device.calls == by_hand
    device.calls.clear()
    assert set_controls(device, backend, CameraSettings(), CameraSettings(exposure="40")) == [] and device.calls == automatic


def test_controls_that_are_refused_or_rounded_are_told_in_words() -> None:
    temperatures = {cv2.CAP_PROP_WB_TEMPERATURE, cv2.CAP_PROP_TEMPERATURE, cv2.CAP_PROP_WHITE_BALANCE_BLUE_U}
    manners = Manners(steps={cv2.CAP_PROP_EXPOSURE: 25.0}, refuses=frozenset({cv2.CAP_PROP_FOCUS, *temperatures}))
    wanted = CameraSettings(exposure="40", gain="7", white_balance="4600", focus="0")
    device = FakeDevice(manners)
    assert set_controls(device, V4L2, wanted) == [
        "sets exposure to 50 instead of 40",
        "does not take white balance 4600",
        "does not take focus 0",
    ]
    assert read_controls(device, V4L2) == {"exposure": 50.0, "gain": 7.0}
    assert (
        set_controls(FakeDevice(manners, AVFOUNDATION), AVFOUNDATION, wanted)[0] == "exposure cannot be set through AVFoundation"
    )
    assert set_controls(FakeDevice(manners, AVFOUNDATION), AVFOUNDATION, CameraSettings()) == []


def test_a_temperature_is_set_by_whichever_name_the_backend_has() -> None:
    device = FakeDevice(Manners(refuses=frozenset({cv2.CAP_PROP_WB_TEMPERATURE})), MSMF)
    assert set_controls(device, MSMF, CameraSettings(white_balance="5200")) == []
    assert device.props[cv2.CAP_PROP_TEMPERATURE] == 5200.0 and device.props[cv2.CAP_PROP_AUTO_WB] == 0.0


def test_only_what_changed_is_set_anew() -> None:
    device = FakeDevice(Manners())
    before = CameraSettings(exposure="40", gain="3")
    set_controls(device, V4L2, replace(before, gain="9"), before)
    assert device.calls == [(cv2.CAP_PROP_GAIN, 9.0)]


@given(st.text(alphabet=[chr(code) for code in range(33, 127)], min_size=4, max_size=4))
def test_four_letters_come_back_from_their_code(code: str) -> None:
    assert format_fourcc(float(cv2.VideoWriter.fourcc(*code))) == code


@given(st.one_of(st.floats(), st.integers(-(2**40), 2**40).map(float)))
def test_any_code_gives_letters_or_nothing(value: float) -> None:
    assert len(format_fourcc(value)) <= 4


@given(st.text(max_size=8))
def test_a_setting_is_auto_a_number_or_refused(text: str) -> None:
    try:
        value = parse_number("gain", text)
    except SettingsError as error:
        assert "camera.gain" in str(error)
        return
    assert (value is None) == (text.strip().lower() == "auto")


SETTINGS = st.builds(
    CameraSettings,
    exposure=st.sampled_from(["auto", "-6", "156", "0"]),
    gain=st.sampled_from(["auto", "12"]),
    white_balance=st.sampled_from(["auto", "4000"]),
    focus=st.sampled_from(["auto", "30"]),
)


@given(st.sampled_from(sorted(BACKENDS)), SETTINGS, st.sets(st.sampled_from([14, 15, 21, 23, 17, 28, 39, 44, 45])))
def test_every_number_asked_for_is_set_or_told(name: str, wanted: CameraSettings, refused: set[int]) -> None:
    backend = BACKENDS[name]
    device = FakeDevice(Manners(refuses=frozenset(refused)), backend)
    words = " ".join(set_controls(device, backend, wanted))
    told = read_controls(device, backend)
    numbers = {key: parse_number(key, getattr(wanted, key)) for key in ("exposure", "gain", "focus")}
    for key, value in numbers.items():
        assert value is None or told.get(key) == value or key in words
    assert wanted.white_balance == "auto" or 4000.0 in device.props.values() or "white balance" in words


@pytest.mark.parametrize("wrong", [{"width": 1}, {"fps": 0.0}, {"fourcc": "MJPEG"}, {"exposure": "short"}, {"gain": "nan"}])
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    check_settings(CameraSettings())
    with pytest.raises(SettingsError, match=f"camera.{next(iter(wrong))}"):
        check_settings(replace(CameraSettings(), **wrong))
