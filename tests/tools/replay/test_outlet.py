"""The outlet of a replay: rates each second, and where previews are."""

import time

import numpy as np
import pytest

from capture.packets import Blobs, Frame
from capture.process.preview import PERIOD_NS, PreviewSubscriber
from reconstruct.process.sink import RunStatus
from tests.support import fakes
from tests.support.kept import Kept
from tools.replay.outlet import ReplayWatch


class Statuses:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[RunStatus] = []

    def status(self, status: RunStatus) -> None:
        self.heard.append(status)


def view(camera: int, index: int) -> tuple[Frame, Blobs]:
    none = np.zeros(0)
    image = np.full((24, 32, 3), 100, np.uint8)
    return Frame(camera, index, 5 * index, image), Blobs(camera, index, 5 * index, np.zeros((0, 2)), none, np.zeros((0, 3)), none)


def test_a_replay_tells_its_rates_each_second_and_where_to_look(kept: Kept) -> None:
    now, sink = [7_000_000_000], Statuses()
    watch = kept(ReplayWatch(sink, 2, previews=True, clock=lambda: now[0]))
    for index in range(150):
        watch.frame(*view(0, index))
        if index % 2 == 0:
            watch.frame(*view(1, index))
        now[0] += 20_000_000
        watch.pose(fakes.pose(index, 5 * index, np.zeros(3)))
    assert [status.t_ns for status in sink.heard] == [8_000_000_000, 9_000_000_000, 10_000_000_000]
    for status in sink.heard:
        assert status.rates_hz == pytest.approx({"left": 50.0, "right": 25.0, "pose": 50.0})
    assert sink.heard[-1].cameras["right"]["frames"] == 75
    looker = kept(PreviewSubscriber(str(sink.heard[-1].cameras["right"]["preview"])))
    preview, deadline = None, time.monotonic() + 30.0
    while preview is None and time.monotonic() < deadline:
        now[0] += PERIOD_NS
        watch.frame(*view(1, 33))
        time.sleep(0.02)
        preview = looker.newest()
    assert preview is not None and (preview.camera, preview.index) == (1, 33)


def test_a_replay_of_one_camera_without_previews(kept: Kept) -> None:
    now, sink = [0], Statuses()
    watch = kept(ReplayWatch(sink, 1, previews=False, clock=lambda: now[0]))
    watch.frame(*view(0, 0))
    now[0] = 2_000_000_000
    watch.pose(fakes.pose(0, 0, np.zeros(3)))
    assert list(sink.heard[0].cameras) == ["left"] and "preview" not in sink.heard[0].cameras["left"]
    assert sink.heard[0].rates_hz == {"left": 0.5, "pose": 0.5}
