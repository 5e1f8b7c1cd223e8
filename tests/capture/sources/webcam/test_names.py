"""Names of cameras: labels that differ, every way to write one, replugging, and errors that list what is there."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.sources.webcam.backends import V4L2
from capture.sources.webcam.names import (
    LocalCamera,
    check_different,
    find_camera,
    find_usb_port,
    identify_camera,
    label_cameras,
    list_cameras,
    locate_camera,
)
from config.errors import SourceError
from tests.support.cameras.device import Entry

FOUND = [
    Entry(4, "HD Pro Webcam C920", "/dev/video4", 0x046D, 0x082D),
    Entry(0, "Integrated  Camera", "/dev/video0", 0x5986, 0x2113),
    Entry(2, "HD Pro Webcam C920", "/dev/video2", 0x046D, 0x082D),
]
PLACES = {"/dev/video0": "1-6:1.0", "/dev/video2": "3-2:1.0", "/dev/video4": "3-1:1.0"}


def cameras(found=FOUND, places=PLACES) -> list[LocalCamera]:
    return label_cameras(found, lambda entry: places[entry.path])


def test_cameras_of_one_name_are_told_apart_by_their_place() -> None:
    built_in, two, one = cameras()
    assert (built_in.index, built_in.label, built_in.usb) == (0, "Integrated Camera", "5986:2113")
    assert (two.index, two.label) == (2, "HD Pro Webcam C920 #2")  # port 3-2 comes after 3-1, whatever the numbers are
    assert (one.index, one.label) == (4, "HD Pro Webcam C920")
    assert label_cameras([Entry(1, "", None)])[0].label == "camera 1"


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("0", 0),
        ("4", 4),
        ("integrated camera", 0),
        ("Integr", 0),
        ("HD Pro Webcam C920 #2", 2),
        ("hd pro webcam c920 #1", 4),
        ("HD Pro Webcam C920", 4),
        ("5986:2113", 0),
        ("046D:082d #2", 2),
        ("/dev/video2", 2),
    ],
)
def test_a_camera_by_anything_that_names_it(text: str, index: int) -> None:
    assert find_camera(text, cameras()).index == index


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1", "there is no such camera; there are: 'Integrated Camera' (0), 'HD Pro Webcam C920 #2' (2)"),
        ("c920", "several fit, 'HD Pro Webcam C920 #2' or 'HD Pro Webcam C920'; give the whole name"),
        ("046d:082d", "several fit"),
        ("046d:082d #3", "no such camera"),
        ("046d:082d #0", "no such camera"),
        ("/dev/video9", "no such camera"),
        ("", "no such camera"),
        ("²", "no such camera"),
    ],
)
def test_what_names_none_or_several_is_refused_with_a_list(text: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        find_camera(text, cameras())
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_without_any_camera_the_way_on_is_told() -> None:
    with pytest.raises(SourceError, match=r"no camera is plugged in .*duocap doctor"):
        find_camera("Logitech", [])
    assert locate_camera(identify_camera("1", []), []) == 1  # a system that does not list cameras may have some all the same


def test_a_link_to_a_device_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = {"/dev/v4l/by-id/x": "/dev/video4"}
    monkeypatch.setattr("capture.sources.webcam.names.os.path.realpath", lambda path: links.get(path, path))
    assert find_camera("/dev/v4l/by-id/x", cameras()).index == 4


def test_a_camera_is_found_again_under_another_number() -> None:
    identity = identify_camera("0", cameras())
    moved = [replace(entry, index=7, path="/dev/video7") if entry.index == 0 else entry for entry in FOUND]
    there = cameras(moved, {**PLACES, "/dev/video7": "1-6:1.0"})
    assert locate_camera(identity, there) == 7
    elsewhere = cameras(moved, {**PLACES, "/dev/video7": "2-9:1.0"})  # the only one of its name may move to another port
    assert locate_camera(identity, elsewhere) == 7


def test_one_of_two_alike_is_never_taken_for_the_other() -> None:
    left, right = identify_camera("HD Pro Webcam C920", cameras()), identify_camera("HD Pro Webcam C920 #2", cameras())
    assert (locate_camera(left, cameras()), locate_camera(right, cameras())) == (4, 2)
    only_right = cameras([entry for entry in FOUND if entry.index != 4])
    assert only_right[1].label == "HD Pro Webcam C920"  # it has the other's label now
    assert locate_camera(right, only_right) == 2
    with pytest.raises(SourceError, match="'HD Pro Webcam C920' is not plugged in; there are"):
        locate_camera(left, only_right)


def test_left_and_right_must_be_two() -> None:
    left, right = identify_camera("4", cameras()), identify_camera("HD Pro Webcam C920", cameras())
    with pytest.raises(SourceError, match="left and right are the same camera, 'HD Pro Webcam C920'"):
        check_different(left, right, ("left", "right"))
    check_different(left, identify_camera("2", cameras()), ("left", "right"))
    check_different(left, None, ("left", "right"))
    check_different(None, None, ("left", "right"))


def test_a_usb_place_is_read_where_the_system_tells(tmp_path: Path) -> None:
    (tmp_path / "bus" / "1-4.2:1.0").mkdir(parents=True)
    (tmp_path / "video0").mkdir()
    try:
        (tmp_path / "video0" / "device").symlink_to(tmp_path / "bus" / "1-4.2:1.0")
    except OSError:
        pytest.skip("this system has no links")
    assert find_usb_port("video0", tmp_path) == "1-4.2:1.0" and find_usb_port("video9", tmp_path) == ""


def test_this_machine_is_listed_without_an_error() -> None:
    found = list_cameras(V4L2)
    assert len({camera.label for camera in found}) == len(found)


NAMES = st.sampled_from(["Cam", "Cam #2", "Webcam", "Cam A"])


@given(st.lists(st.tuples(NAMES, st.integers(0, 3)), max_size=6, unique_by=lambda pair: pair))
def test_whatever_is_plugged_in_every_camera_can_be_reached_again(entries: list[tuple[str, int]]) -> None:
    found = [Entry(index, name, f"/dev/video{index}") for index, (name, _) in enumerate(entries)]
    places = {f"/dev/video{index}": f"{place}-{name}" for index, (name, place) in enumerate(entries)}
    there = cameras(found, places)
    for camera in there:
        identity = identify_camera(camera.path, there)
        assert locate_camera(identity, there) == camera.index
        assert locate_camera(identity, list(reversed(there))) == camera.index
