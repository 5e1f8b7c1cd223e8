"""Tuning reaches the camera's process while the run goes on, holds when that process is started again, and is saved."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from capture.process.preview import PreviewSubscriber
from capture.process.preview_image import Preview, PreviewKind, PreviewRequest
from stream.protocol.messages import StatusMessage
from stream.publish.client import ServiceClient
from stream.publish.subscriber import Subscriber
from tests.support.cameras.mjpeg import MjpegServer
from tests.tools.run.tuning_run import LARGE, SMALL, TuningRun, servers

pytestmark = pytest.mark.slow
WAIT_S = 60.0


@pytest.fixture(scope="module")
def cameras() -> Iterator[tuple[MjpegServer, MjpegServer]]:
    left, right = servers()
    yield left, right
    left.stop()
    right.stop()


class Looker:
    """Hears the status, and sees the left camera."""

    def __init__(self, run: TuningRun) -> None:
        self._subscriber = Subscriber(run.settings.stream.address, ("status",))
        self.status: StatusMessage | None = None
        self._eye: PreviewSubscriber | None = None
        self.preview: Preview | None = None

    def turn(self) -> None:
        for message in self._subscriber.receive(20):
            assert isinstance(message, StatusMessage)
            self.status = message
        address = self.told().get("preview")
        if address and (self._eye is None or self._eye.address != address):
            if self._eye is not None:
                self._eye.close()
            self._eye = PreviewSubscriber(str(address), PreviewRequest(PreviewKind.FOREGROUND))
        self.preview = (self._eye.newest() if self._eye is not None else None) or self.preview

    def told(self, side: str = "left") -> dict[str, object]:
        return self.status.cameras.get(side, {}) if self.status is not None else {}

    def sees(self, n: int) -> Callable[[], bool]:
        return lambda: self.preview is not None and len(self.preview.points_px) == n

    def wait(self, what: str, until: Callable[[], object]) -> float:
        begin = time.monotonic()
        while not until():
            assert time.monotonic() - begin < WAIT_S, f"{what}: {self.told()}, {self.preview}"
            self.turn()
        return time.monotonic() - begin

    def close(self) -> None:
        self._subscriber.close()
        if self._eye is not None:
            self._eye.close()


def test_a_setting_takes_effect_and_stays(cameras: tuple[MjpegServer, MjpegServer], tmp_path: Path) -> None:
    tuned = tmp_path / "tuned.toml"
    with TuningRun(tuned, cameras) as run:
        look, client = Looker(run), ServiceClient(run.settings.stream.service)
        look.wait("all markers", look.sees(LARGE + SMALL))
        client.tune("left", {"detector.min_area_px": 60.0})
        took_s = look.wait("large markers only", look.sees(LARGE))
        print(f"from the request to the picture: {1e3 * took_s:.0f} ms")
        look.wait("the setting told", lambda: look.told().get("tuning", {}).get("detector.min_area_px") == 60.0)  # type: ignore[attr-defined]
        assert look.told("right")["tuning"]["detector.min_area_px"] == 3.0  # type: ignore[index]
        assert look.preview is not None and look.preview.mode == "dark" and look.preview.level is not None
        client.tune("right", {"background": "learn"})
        look.wait("words", lambda: any("learn" in text for text in run.told))
        process = run.run.children["left"].process
        assert process is not None and process.pid is not None
        before = look.told()["preview"]
        os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        look.wait("the camera's new process", lambda: look.told().get("preview") not in (None, before))
        look.preview = None
        look.wait("still large markers only", look.sees(LARGE))
        file, note = client.save_tuned()
        assert (file, note) == (str(tuned), "")
        client.close()
        look.close()
    with TuningRun(tuned, cameras) as run:
        assert any("using tuned settings" in text and str(tuned) in text for text in run.told)
        look, client = Looker(run), ServiceClient(run.settings.stream.service)
        look.wait("large markers only, in the next run", look.sees(LARGE))
        client.tune("left", {"detector.min_area_px": None})
        look.wait("all markers again", look.sees(LARGE + SMALL))
        client.close()
        look.close()
