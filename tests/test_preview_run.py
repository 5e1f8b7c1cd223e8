"""Previews of a whole run: from the cameras' processes to whoever looks, found by the stream's status; and those of a replay."""

import time
from functools import partial

import numpy as np
import pytest

from capture.packets import Blobs, Frame
from capture.plan import CameraPlan
from capture.preview import PERIOD_NS, PreviewSubscriber
from capture.preview_picture import Preview
from reconstruct.process import ReconstructionPlan
from reconstruct.sink import RunStatus
from stream.messages import StatusMessage
from stream.sink import StreamSink
from tests import fakes
from tests.kept import Kept
from tests.ports import free_address
from tests.test_supervisor import BUDGET_NS, Client, turns
from tools.replay_watch import ReplayWatch
from tools.supervisor import Supervisor, new_session


@pytest.mark.timeout(300)
def test_the_status_tells_where_both_cameras_show_what_they_see() -> None:
    address, session = free_address(), new_session()
    cameras = tuple(CameraPlan(n, partial(fakes.CountingSource, n), fakes.corner, paced=True, preview=True) for n in (0, 1))
    plan = ReconstructionPlan(fakes.IndexPipeline, partial(StreamSink, address, session, fakes.subject(), fakes.rig()), BUDGET_NS)
    with Supervisor((cameras[0], cameras[1]), plan, session) as run:
        run.wait_ready(120)
        client = Client(address)
        run.start()

        def told() -> list[StatusMessage]:
            return [status for status in client.of(StatusMessage) if all("preview" in c for c in status.cameras.values())]

        turns(run, 6.0, client, until=lambda: bool(told()))
        status = told()[-1]
        lookers = [PreviewSubscriber(str(status.cameras[name]["preview"])) for name in ("left", "right")]
        shown: list[list[Preview]] = [[], []]

        def look() -> bool:
            for looker, seen in zip(lookers, shown, strict=True):
                preview = looker.newest()
                if preview is not None:
                    seen.append(preview)
            return all(len(seen) >= 5 for seen in shown)

        turns(run, 40.0, client, until=look)
        for n, seen in enumerate(shown):
            assert len(seen) >= 5
            for preview in seen:
                # The picture's grey and the blob tell the frame, so nothing was mixed up on the way.
                assert (preview.camera, preview.size) == (n, (32, 24))
                np.testing.assert_allclose(preview.points_px, [[preview.index, n]])
                assert abs(float(preview.image().mean()) - preview.index % 256) < 3.0
            steps_ns = np.diff([preview.t_capture_ns for preview in seen])
            assert (steps_ns >= 0.98 * PERIOD_NS).all()
        for looker in lookers:
            looker.close()
        client.close()


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
