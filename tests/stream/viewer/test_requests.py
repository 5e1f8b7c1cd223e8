"""The page's way to the cameras: newest values only, in order, words for what fails; against a real service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from capture.process.control import RecentreOrder, RequestedOrder, TuneOrder
from config.loading import load_settings
from config.per_camera import add_tuned_values
from config.settings import Settings
from stream.publish.fanout import OutputFanout
from stream.publish.publisher import Publisher
from stream.publish.tuning import TuningState
from stream.viewer.requests import ServiceRequests, TuningRequests
from stream.viewer.tuning.panel import save_tuning
from tests.support.kept import Kept
from tests.support.ports import free_port
from tests.support.waiting import wait_until


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    service = f"stream.service=tcp://127.0.0.1:{free_port()}"
    made = load_settings(None, [service, f"capture.tuned={tmp_path / 'tuned.toml'}", "detector.min_area_px=4"])
    return add_tuned_values(made, ("one", "two"), lambda words: None)


@pytest.fixture
def fanout(settings: Settings) -> Iterator[OutputFanout]:
    fanout = OutputFanout(Publisher("tcp://127.0.0.1:0"), "s")
    fanout.open_service(settings.stream, TuningState(settings, 2))
    yield fanout
    fanout.close()


@pytest.fixture
def requests(settings: Settings) -> Iterator[TuningRequests]:
    requests = TuningRequests(settings.stream.service)
    yield requests
    requests.close()


def test_of_a_slider_that_moves_only_the_newest_counts(requests: TuningRequests, fanout: OutputFanout) -> None:
    for n in range(200):
        requests.tune("left", {"detector.k_sigma": 1.0 + n / 20})
    requests.tune("left", {"detector.mode": "dark"})
    requests.tune("", {"background": "learn"})
    requests.open()
    wait_until(lambda: requests.settings.get("left", {}).get("detector.k_sigma") == 10.95)
    asks: list[RequestedOrder] = []
    wait_until(lambda: len(asks.extend(fanout.asks()) or asks) >= 3)
    assert [ask.process for ask in asks] == ["left", "left", "right"]
    assert asks[0].order == TuneOrder({"detector.k_sigma": 10.95, "detector.mode": "dark"})
    assert asks[1].order == asks[2].order == TuneOrder({"relearn": 1})
    assert requests.settings["right"]["detector.k_sigma"] == 6.0


def test_what_is_refused_is_said_and_later_jobs_count(requests: TuningRequests, fanout: OutputFanout, settings: Settings) -> None:
    requests.open()
    requests.tune("left", {"detector.k_sigma": 1e9})
    wait_until(lambda: "must be within" in requests.message)
    requests.tune("left", {"detector.k_sigma": 7.0, "detector.min_area_px": 9.0})
    requests.submit(save_tuning)
    wait_until(lambda: "Saved to" in requests.message)
    assert "tuned.toml" in requests.message and "stronger: detector.min_area_px" in requests.message
    assert "k_sigma = 7.0" in Path(settings.capture.tuned).read_text("utf-8")


def test_without_a_service_it_is_said(settings: Settings, kept: Kept) -> None:
    requests = kept(TuningRequests(settings.stream.service))
    requests.open()
    requests.tune("left", {"detector.k_sigma": 7.0})
    wait_until(lambda: "no answer" in requests.fault)
    fanout = kept(OutputFanout(Publisher("tcp://127.0.0.1:0"), "s"))
    fanout.open_service(settings.stream, TuningState(settings, 2))
    wait_until(lambda: not requests.fault)  # there is one now


def test_a_stream_without_cameras_says_so(settings: Settings, requests: TuningRequests, kept: Kept) -> None:
    fanout = kept(OutputFanout(Publisher("tcp://127.0.0.1:0"), "s"))
    fanout.open_service(settings.stream)
    requests.open()
    wait_until(lambda: "no cameras that could be tuned" in requests.fault)
    assert fanout.asks() == []


def test_the_page_makes_the_performer_the_origin(settings: Settings, fanout: OutputFanout, kept: Kept) -> None:
    page = kept(ServiceRequests(settings.stream.service))
    page.recentre()
    assert fanout.asks() == [RequestedOrder("reconstruction", RecentreOrder())]
