"""Requests to tune: checked, remembered by camera, passed on once, saved by name; taking back; answers of the service."""

from pathlib import Path

import pytest

from capture.clock import OffsetMethod
from capture.process.control import RecentreOrder, RequestedOrder, SyncOrder, TuneOrder
from capture.sockets.wire import MalformedMessageError
from config.errors import DuocapError, SettingsError
from config.loading import load_settings
from config.per_camera import add_tuned_values, find_camera_settings, read_tuned_values, save_tuned_values
from config.settings import Settings
from stream.publish.tuning import MAX_WAITING, TuningError, TuningState, carry_out_request

NAMES = ("C270", "phone")


def tuned_settings(file: Path, *sets: str) -> Settings:
    return add_tuned_values(load_settings(None, [f"capture.tuned={file}", *sets]), NAMES, lambda words: None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tuned.toml"


def test_one_camera_is_asked_and_the_other_left_alone(file: Path) -> None:
    book = TuningState(tuned_settings(file, "right.detector.k_sigma=9"), 2)
    book.tune("left", {"detector.k_sigma": 5, "camera.exposure": -6, "background": "learn"})
    assert book.asks() == [RequestedOrder("left", TuneOrder({"detector.k_sigma": 5.0, "camera.exposure": "-6", "relearn": 1}))]
    assert book.asks() == []
    asked = book.requested()
    assert (asked["left"]["detector.k_sigma"], asked["right"]["detector.k_sigma"]) == (5.0, 9.0)
    assert (asked["left"]["camera.exposure"], asked["left"]["detector.mode"]) == ("-6", "auto")
    book.tune("", {"detector.mode": "dark"})
    assert [ask.process for ask in book.asks()] == ["left", "right"]


def test_taking_back_gives_what_is_without_tuning(file: Path) -> None:
    save_tuned_values(file, {"C270": {"detector": {"k_sigma": 7.0, "min_area_px": 2.0}, "camera": {}}})
    settings = tuned_settings(file, "detector.min_difference=20")
    assert find_camera_settings(settings, 0).detector.k_sigma == 7.0
    book = TuningState(settings, 2)
    assert book.requested()["left"]["detector.k_sigma"] == 7.0
    book.tune("left", {"detector.k_sigma": None, "detector.min_difference": 30})
    assert book.asks()[0].order.settings == {"detector.k_sigma": 6.0, "detector.min_difference": 30.0}
    path, note = book.save()
    assert path == file
    assert note == "given by --config or --set, which is stronger: detector.min_difference"
    assert read_tuned_values(file) == {"C270": {"detector": {"min_area_px": 2.0, "min_difference": 30.0}, "camera": {}}}


def test_what_is_saved_is_there_in_the_next_run(file: Path) -> None:
    book = TuningState(tuned_settings(file), 2)
    book.tune("left", {"detector.k_sigma": 5, "camera.gain": "3"})
    book.tune("right", {"detector.k_sigma": 4})
    book.save()
    again = tuned_settings(file)
    assert (find_camera_settings(again, 0).detector.k_sigma, find_camera_settings(again, 0).camera.gain) == (5.0, "3")
    assert find_camera_settings(again, 1).detector.k_sigma == 4.0
    TuningState(again, 2).save()  # nothing new: what is kept stays
    assert find_camera_settings(tuned_settings(file), 1).detector.k_sigma == 4.0


def test_a_fault_changes_nothing(file: Path) -> None:
    book = TuningState(tuned_settings(file), 2)
    before = book.requested()
    for camera, values in (
        ("middle", {"detector.k_sigma": 5.0}),
        ("left", {"detector.min_area_px": 4.0, "detector.k_sigma": "x"}),
        ("left", {"detector.min_area_px": 4.0, "background": "forget"}),
        ("left", {"detector.min_area_px": 4.0, "camera.width": None}),
    ):
        with pytest.raises(DuocapError):
            book.tune(camera, values)
    assert book.asks() == [] and book.requested() == before


def test_cameras_without_names_are_not_kept(tmp_path: Path) -> None:
    book = TuningState(load_settings(None, [f"capture.tuned={tmp_path / 'x'}"]), 2)
    with pytest.raises(TuningError, match="no names"):
        book.save()


def test_requests_that_nobody_passes_on_are_refused_in_time(file: Path) -> None:
    book = TuningState(tuned_settings(file), 2)
    for _ in range(MAX_WAITING):
        book.tune("left", {"detector.k_sigma": 5})
    with pytest.raises(TuningError, match="too many"):
        book.tune("left", {"detector.k_sigma": 6})
    with pytest.raises(TuningError, match="too many"):
        book.sync("jump")
    assert len(book.asks()) == MAX_WAITING
    book.sync("jump")
    assert book.asks() == [RequestedOrder("reconstruction", SyncOrder(OffsetMethod.JUMP))]


def test_answers_to_requests(file: Path) -> None:
    book = TuningState(tuned_settings(file), 2)
    assert carry_out_request(book, "tune", {"camera": "left", "values": {"detector.k_sigma": 5}}) == {"camera": "left"}
    assert carry_out_request(book, "sync", {"way": "flash"}) == {"way": "flash"}
    assert carry_out_request(book, "save_tuned", {}) == {"file": str(file), "note": ""}
    assert carry_out_request(book, "settings", {})["left"]["detector.k_sigma"] == 5.0
    assert carry_out_request(book, "sync", {"way": "", "offset_ms": -12}) == {"way": ""}
    assert book.asks()[-1] == RequestedOrder("reconstruction", SyncOrder(offset_ms=-12.0))
    assert carry_out_request(book, "recentre", {}) == {} and book.asks() == [RequestedOrder("reconstruction", RecentreOrder())]
    for offset_ms in (float("nan"), 2000.0, 10**400):
        with pytest.raises(TuningError, match="implausible"):
            carry_out_request(book, "sync", {"way": "", "offset_ms": offset_ms})
    with pytest.raises(TuningError, match="flash or jump"):
        carry_out_request(book, "sync", {"way": "clap"})
    for content in ({}, {"camera": 5, "values": {}}, {"camera": "left", "values": []}, {"camera": "left", "values": {5: 5}}):
        with pytest.raises(MalformedMessageError):
            carry_out_request(book, "tune", content)
    with pytest.raises(SettingsError):
        carry_out_request(book, "tune", {"camera": "left", "values": {"detector.k_sigma": [1]}})


def test_a_book_made_anew_learns_what_the_cameras_tell(file: Path) -> None:
    book = TuningState(tuned_settings(file), 2)
    told = {
        "detector.k_sigma": 5.0,
        "camera.exposure": "-6",
        "detector.mode": "auto",
        "solve.neighbours": 3,
        "detector.min_area_px": "x",
    }
    book.learn("left", told)
    assert book.requested()["left"]["detector.k_sigma"] == 6.0  # one value is nonsense: none is believed
    book.learn("left", {**told, "detector.min_area_px": 3.0})
    assert (book.requested()["left"]["detector.k_sigma"], book.requested()["left"]["camera.exposure"]) == (5.0, "-6")
    assert book.asks() == []
    book.save()
    assert read_tuned_values(file) == {"C270": {"detector": {"k_sigma": 5.0}, "camera": {"exposure": "-6"}}}


def test_what_was_asked_for_counts_more_than_what_is_told(file: Path) -> None:
    book = TuningState(tuned_settings(file), 2)
    book.tune("left", {"detector.k_sigma": 9})
    for _ in range(3):  # a camera that has not heard of it, or whose process was started again and tells how it began
        book.learn("left", {"detector.k_sigma": 6.0, "detector.min_difference": 20.0})
        assert book.requested()["left"]["detector.k_sigma"] == 9.0 and book.requested()["left"]["detector.min_difference"] == 20.0
    book.learn("middle", {"detector.k_sigma": 8.0})
    book.save()
    assert read_tuned_values(file)["C270"]["detector"] == {"k_sigma": 9.0, "min_difference": 20.0}
    book.tune("left", {"detector.k_sigma": None})
    book.learn("left", {"detector.k_sigma": 9.0})
    assert book.requested()["left"]["detector.k_sigma"] == 6.0
