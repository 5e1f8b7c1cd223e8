"""The page's way to the cameras: newest values only, in order, words for what fails; against a real service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.loading import load_settings
from config.per_camera import with_tuned
from config.settings import Settings
from stream.outlet import Outlet
from stream.publisher import Publisher
from stream.tuning import TuningBook
from stream.viewer.panel_tune import saved
from stream.viewer.tuning_desk import TuningDesk
from tests.kept import Kept
from tests.ports import free_port
from tests.waiting import wait_until


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    service = f"stream.service=tcp://127.0.0.1:{free_port()}"
    made = load_settings(None, [service, f"capture.tuned={tmp_path / 'tuned.toml'}", "detector.min_area_px=4"])
    return with_tuned(made, ("one", "two"), lambda words: None)


@pytest.fixture
def outlet(settings: Settings) -> Iterator[Outlet]:
    outlet = Outlet(Publisher("tcp://127.0.0.1:0"), "s")
    outlet.open_service(settings.stream, TuningBook(settings))
    yield outlet
    outlet.close()


@pytest.fixture
def desk(settings: Settings) -> Iterator[TuningDesk]:
    desk = TuningDesk(settings.stream.service)
    yield desk
    desk.close()


def test_of_a_slider_that_moves_only_the_newest_counts(desk: TuningDesk, outlet: Outlet) -> None:
    for n in range(200):
        desk.tune("left", {"detector.k_sigma": 1.0 + n / 20})
    desk.tune("left", {"detector.mode": "dark"})
    desk.tune("", {"background": "learn"})
    desk.open()
    wait_until(lambda: desk.asked.get("left", {}).get("detector.k_sigma") == 10.95)
    asks = outlet.asks()
    assert [ask.process for ask in asks] == ["left", "right"]
    assert asks[0].details == {"detector.k_sigma": 10.95, "detector.mode": "dark", "relearn": 1}
    assert asks[1].details == {"relearn": 1}
    assert desk.asked["right"]["detector.k_sigma"] == 6.0


def test_what_is_refused_is_said_and_later_orders_count(desk: TuningDesk, outlet: Outlet, settings: Settings) -> None:
    desk.open()
    desk.tune("left", {"detector.k_sigma": 1e9})
    wait_until(lambda: "must be within" in desk.words)
    desk.tune("left", {"detector.k_sigma": 7.0, "detector.min_area_px": 9.0})
    desk.order(saved)
    wait_until(lambda: "Saved to" in desk.words)
    assert "tuned.toml" in desk.words and "stronger: detector.min_area_px" in desk.words
    assert "k_sigma = 7.0" in Path(settings.capture.tuned).read_text("utf-8")


def test_without_a_service_it_is_said(settings: Settings, kept: Kept) -> None:
    desk = kept(TuningDesk(settings.stream.service))
    desk.open()
    desk.tune("left", {"detector.k_sigma": 7.0})
    wait_until(lambda: "no answer" in desk.fault)
    outlet = kept(Outlet(Publisher("tcp://127.0.0.1:0"), "s"))
    outlet.open_service(settings.stream, TuningBook(settings))
    wait_until(lambda: not desk.fault)  # there is one now


def test_a_stream_without_cameras_says_so(settings: Settings, desk: TuningDesk, kept: Kept) -> None:
    outlet = kept(Outlet(Publisher("tcp://127.0.0.1:0"), "s"))
    outlet.open_service(settings.stream)
    desk.open()
    wait_until(lambda: "no cameras that could be tuned" in desk.fault)
    assert outlet.asks() == []
