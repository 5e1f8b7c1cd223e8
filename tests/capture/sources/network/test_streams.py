"""What cameras of all protocols do alike: the newest image, stamps, silence, disconnection, refusals, passwords."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from capture.sources.network import connection, mjpeg
from capture.sources.network.mjpeg import MjpegHttp
from capture.sources.network.rtsp import Rtsp
from capture.sources.source import Stamp
from config.errors import SourceError
from tests.capture.sources.network.camera_server_pictures import numbered_jpegs
from tests.support.cameras.base import CameraServer
from tests.support.cameras.mjpeg import PASSWORD, MjpegServer
from tests.support.cameras.rtsp import RtspServer
from tests.support.kept import Kept

N, FPS = 64, 60.0
Camera = MjpegHttp | Rtsp
SERVERS = {"mjpeg": MjpegServer, "rtsp": RtspServer}


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[CameraServer]:
    with SERVERS[request.param](numbered_jpegs(N), fps=FPS) as server:
        yield server


def opened(url: str) -> Camera:
    return (Rtsp if url.startswith("rtsp") else MjpegHttp)(url, 0, 60.0)


def until_it_ends(source: Camera) -> str:
    with pytest.raises(SourceError) as caught:
        while True:
            source.read()
    source.close()
    return str(caught.value)


def refused(url: str) -> str:
    with pytest.raises(SourceError) as caught:
        opened(url).close()
    text = str(caught.value)
    assert "\n" not in text and "127.0.0.1" in text and PASSWORD not in text
    return text


@pytest.mark.slow
@pytest.mark.parametrize("protocol", SERVERS)
def test_the_senders_stamps_take_jitter_out_and_grow_when_it_begins_anew(protocol: str, kept: Kept) -> None:
    with SERVERS[protocol](numbered_jpegs(N), fps=50.0, jitter_s=0.012, stamps=True, drift_ppm=150.0) as server:
        source = kept(opened(server.url))
        stamps = [frame.t_capture_ns for frame in (source.read() for _ in range(70)) if frame is not None]
        gaps = np.diff(stamps[25:]) / 20e6
        # Of a frame time: 3 ms, of 12 that the arrivals vary by.
        assert np.abs(gaps - np.round(gaps)).max() < 0.15
        assert source.stamp is Stamp.SENDER and source.facts["stamp_jumps"] == 0
        server.set(stamp_step_s=-300.0)
        stamps += [frame.t_capture_ns for frame in (source.read() for _ in range(10)) if frame is not None]
        assert min(np.diff(stamps)) > 0 and source.facts["stamp_jumps"] == 1


@pytest.mark.slow
def test_a_stall_is_told_after_some_seconds_and_a_new_opening_goes_on(server: CameraServer, kept: Kept) -> None:
    source = kept(opened(server.url))
    server.set(stalled=True)
    assert "no picture for 2.5 s" in until_it_ends(source)
    server.set(stalled=False)
    assert kept(opened(server.url)).read() is not None


def test_a_disconnect_is_told_at_once_and_reconnecting_fails_while_refused(server: CameraServer, kept: Kept) -> None:
    source = kept(opened(server.url))
    server.set(refuse=True)
    text = until_it_ends(source)
    assert "the camera ended the stream" in text or "the connection broke" in text
    assert "(connection refused); is the camera on" in refused(server.url)
    server.set(refuse=False)
    assert kept(opened(server.url)).read() is not None


def test_close_ends_the_waiting_of_another_thread(server: CameraServer, kept: Kept) -> None:
    source = kept(opened(server.url))
    server.set(stalled=True)
    ended = threading.Event()

    def wait() -> None:
        while source.read() is not None:
            pass
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    time.sleep(0.2)
    source.close()
    assert ended.wait(20.0)


@pytest.mark.parametrize(
    ("protocol", "reply", "words"),
    [
        ("mjpeg", "html", 'text/html ("IP Camera") came, expected a stream of pictures'),
        ("mjpeg", "jpeg", "is one picture, not a stream; look in the camera's or app's pages"),
        ("mjpeg", "404", "there is nothing at this path (404)"),
        ("mjpeg", "401", "asks for a name and a password (401); write them into the address: http://NAME:PASSWORD@HOST"),
        pytest.param("mjpeg", "silence", "no answer within 2.5 s", marks=pytest.mark.slow),
        ("mjpeg", "endless_header", "does not answer as a web server does (LineTooLong)"),
        pytest.param("mjpeg", "endless_part", "no stream of pictures", marks=pytest.mark.slow),
        pytest.param("mjpeg", "garbage", "no ", marks=pytest.mark.slow),
        ("rtsp", "404", "there is nothing at this path (404)"),
        ("rtsp", "401", "it asks for a name and a password; write them into the address: rtsp://NAME:PASSWORD@HOST"),
        ("rtsp", "html", "cannot be opened (invalid data"),
        pytest.param("rtsp", "silence", "no answer within 4 s", marks=pytest.mark.slow),
    ],
)
def test_what_is_no_stream_is_named(protocol: str, reply: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mjpeg, "MAX_JPEG_BYTES", 1 << 20)  # soon reached, however busy the machine is
    if reply != "silence":
        monkeypatch.setattr(connection, "SILENCE_S", 30.0)
    with SERVERS[protocol](numbered_jpegs(N), fps=FPS, reply=reply) as server:
        assert words in refused(server.url)


def test_a_name_and_a_password_open_and_are_never_told(server: CameraServer, kept: Kept) -> None:
    server.set(password=True)
    source = kept(opened(server.url_with_password))
    assert source.read() is not None
    assert PASSWORD not in source.name + str(source.facts) and "ann" not in source.name
    source.close()
    assert "asks for a name and a password" in refused(server.url)
    assert "the name or the password was not accepted" in refused(server.url_with_password.replace("ann:", "bob:"))
