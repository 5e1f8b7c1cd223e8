"""RTSP: images joined from pieces, and a camera that sends them, with its faults."""

import threading
import time

import numpy as np
import pytest

from capture.clock import now_ns
from capture.sources.network.rtsp import AccessUnitJoiner, Rtsp
from capture.sources.source import Source, Stamp
from config.errors import SourceError
from tests.capture.sources.network.camera_server_pictures import number_of, numbered_jpegs
from tests.support.cameras.mjpeg import PASSWORD
from tests.support.cameras.rtsp import RtspServer
from tests.support.kept import Kept
from tests.support.waiting import wait_until

SPS, KEY, DELTA = b"\0\0\0\1\x67s", b"\0\0\0\1\x65k", b"\0\0\0\1\x41d"


def fed(units: AccessUnitJoiner, *pieces: tuple[bytes, int | None]) -> list[tuple[bytes, int | None, int]]:
    """Feed pieces, one a nanosecond; give what came out."""
    out = []
    for t_ns, (data, pts) in enumerate(pieces):
        out += [(unit.data, unit.pts, unit.t_arrival_ns) for unit in units.feed(data, pts, t_ns)]
    return out


def test_a_picture_ends_where_the_next_begins_until_their_slices_are_known() -> None:
    units = AccessUnitJoiner("h264")
    assert fed(units, (SPS, 0), (KEY, 0)) == []
    assert fed(units, (DELTA, 1)) == [(SPS + KEY, 0, 0)]
    assert fed(units, (DELTA, 2)) == [(DELTA, 1, 0)]
    assert fed(units, (DELTA, 3)) == [(DELTA, 2, 0), (DELTA, 3, 0)]  # the third of one slice: now it is known
    assert fed(units, (SPS, 4), (KEY, 4), (DELTA, 5)) == [(SPS + KEY, 4, 0), (DELTA, 5, 2)]


def test_pictures_of_several_slices_come_with_their_last() -> None:
    units = AccessUnitJoiner("h264")
    many = [(DELTA, pts) for pts in range(3) for _ in range(4)]
    assert [pts for _, pts, _ in fed(units, *many)] == [0, 1]
    assert fed(units, *[(DELTA, 3)] * 4) == [(4 * DELTA, 2, 8), (4 * DELTA, 3, 0)]


def test_an_encoder_that_changes_its_mind_is_learned_anew() -> None:
    units = AccessUnitJoiner("h264")
    fed(units, *[(DELTA, pts) for pts in range(6)])
    assert fed(units, (DELTA, 6), (DELTA, 6)) == [(DELTA, 6, 0)]  # the second slice comes too late for this one picture
    assert fed(units, (DELTA, 7), (DELTA, 7)) == [(DELTA, 6, 1)]
    assert fed(units, (DELTA, 8), (DELTA, 8)) == [(2 * DELTA, 7, 0)]
    assert fed(units, (DELTA, 9), (DELTA, 9)) == [(2 * DELTA, 8, 0), (2 * DELTA, 9, 0)]


def test_several_units_in_one_piece_and_no_stamp() -> None:
    units = AccessUnitJoiner("h264")
    assert fed(units, (SPS + KEY, None), (DELTA, None)) == [(SPS + KEY, None, 0), (DELTA, None, 1)]


def test_h265_and_codecs_that_come_whole() -> None:
    slice_265, parameters_265 = b"\0\0\1\x02x", b"\0\0\1\x42p"  # kinds 1 and 33
    units = AccessUnitJoiner("hevc")
    fed(units, *[(slice_265, pts) for pts in range(4)])
    assert fed(units, (parameters_265, 4), (slice_265, 4)) == [(parameters_265 + slice_265, 4, 0)]
    assert fed(AccessUnitJoiner("mjpeg"), (b"jpeg", 7)) == [(b"jpeg", 7, 0)]


N, FPS = 64, 60.0


class SlicedServer(RtspServer):
    """An encoder that cuts each picture into three slices."""

    slices = 3


@pytest.fixture
def server() -> RtspServer:
    with RtspServer(numbered_jpegs(N), fps=FPS) as server:
        yield server


def numbers(source: Rtsp, count: int) -> list[int]:
    frames = [source.read() for _ in range(count)]
    assert all(frame is not None for frame in frames)
    return [number_of(frame.image) for frame in frames if frame is not None]


def until_it_ends(source: Rtsp) -> str:
    with pytest.raises(SourceError) as caught:
        for _ in range(1000):
            source.read()
    source.close()
    return str(caught.value)


def refused(url: str) -> str:
    with pytest.raises(SourceError) as caught:
        Rtsp(url, 0).close()
    text = str(caught.value)
    assert "\n" not in text and "rtsp://127.0.0.1" in text and PASSWORD not in text
    return text


@pytest.mark.parametrize("kind", [RtspServer, SlicedServer])
def test_pictures_come_in_order_at_once(kind: type[RtspServer]) -> None:
    with kind(numbered_jpegs(N), fps=FPS) as server:
        source = Rtsp(server.url, 1)
        assert isinstance(source, Source)
        assert (source.size, source.n_frames, source.stamp) == ((256, 64), None, Stamp.SENDER)
        assert source.facts["codec"] == "h264" and source.fps == pytest.approx(60.0, rel=0.1)
        ages, read = [], []
        for _ in range(40):
            frame = source.read()
            assert frame is not None and frame.camera == 1 and frame.jpeg is None and frame.t_capture_ns <= now_ns()
            read.append(number_of(frame.image))
            ages.append(((time.perf_counter() - server.captured_s(0)) * FPS - read[-1]) % N)
        assert np.all(np.diff(read) % N >= 1)
        # Of a frame time: held back until the next one, each would be 1 and more; a busy machine makes some late.
        assert np.quantile(ages, 0.2) < 0.9
        source.close()
        assert source.read() is None


def test_jitter_is_taken_out_of_the_stamps() -> None:
    with RtspServer(numbered_jpegs(N), fps=50.0, jitter_s=0.012, drift_ppm=-120.0) as server:
        source = Rtsp(server.url, 0)
        stamps = np.array([frame.t_capture_ns for frame in (source.read() for _ in range(70)) if frame is not None])
        gaps = np.diff(stamps[25:]) / 20e6
        assert np.abs(gaps - np.round(gaps)).max() < 0.15 and source.facts["stamp_jumps"] == 0
        server.set(stamp_step_s=-300.0)
        more = [frame.t_capture_ns for frame in (source.read() for _ in range(10)) if frame is not None]
        assert min(np.diff(more)) > 0 and source.facts["stamp_jumps"] == 1
        source.close()


def test_dropped_and_damaged_pictures_do_not_end_it() -> None:
    with RtspServer(numbered_jpegs(N), fps=FPS, corrupt=0.2, seed=4) as server:
        source = Rtsp(server.url, 0)
        stamps = [frame.t_capture_ns for frame in (source.read() for _ in range(30)) if frame is not None]
        assert len(stamps) == 30 and min(np.diff(stamps)) > 0 and int(source.facts["corrupt"]) > 0
        source.close()


@pytest.mark.parametrize(("fault", "light"), [("black", 0.0), ("overexposed", 255.0)])
def test_black_and_white(server: RtspServer, fault: str, light: float, kept: Kept) -> None:
    source = kept(Rtsp(server.url, 0))
    server.set(**{fault: True})
    seen = [frame.image.mean() for frame in (source.read() for _ in range(25)) if frame is not None]
    assert seen[-1] == pytest.approx(light, abs=5.0)  # of the conversion to YUV and back


def age_after_a_pause_ns(source: Rtsp) -> int:
    """Let half a second of pictures pass; give how old the next one is."""
    time.sleep(0.5)
    frame = source.read()
    assert frame is not None
    return now_ns() - frame.t_capture_ns


def test_whoever_is_slow_gets_the_newest(server: RtspServer, kept: Kept) -> None:
    source = kept(Rtsp(server.url, 0))
    source.read()
    # A busy machine may hold one up; a queue would make each older than the one before.
    wait_until(lambda: age_after_a_pause_ns(source) < 300_000_000 and int(source.facts["overtaken"]) > 15)


@pytest.mark.slow
def test_a_stall_is_told_and_a_new_opening_goes_on(server: RtspServer, kept: Kept) -> None:
    source = Rtsp(server.url, 0)
    server.set(stalled=True)
    assert "no picture for 2.5 s" in until_it_ends(source)
    server.set(stalled=False)
    again = kept(Rtsp(server.url, 0))
    assert again.read() is not None


def test_a_disconnect_is_told_and_refusing_too(server: RtspServer) -> None:
    source = Rtsp(server.url, 0)
    server.set(refuse=True)
    assert "the camera ended the stream" in (words := until_it_ends(source)) or "the connection broke" in words
    assert "cannot be opened (connection refused)" in refused(server.url)


def test_close_ends_the_waiting_of_another_thread(server: RtspServer, kept: Kept) -> None:
    source = kept(Rtsp(server.url, 0))
    server.set(stalled=True)
    results: list[object] = []

    def wait() -> None:
        while source.read() is not None:
            pass
        results.append("ended")

    reader = threading.Thread(target=wait, daemon=True)
    reader.start()
    time.sleep(0.2)
    source.close()
    reader.join(20.0)
    assert results == ["ended"]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("404", "there is nothing at this path (404)"),
        ("401", "it asks for a name and a password; write them into the address: rtsp://NAME:PASSWORD@HOST"),
        ("html", "cannot be opened (invalid data"),
        pytest.param("silence", "no answer within 4 s", marks=pytest.mark.slow),
    ],
)
def test_what_is_no_stream_is_named(server: RtspServer, reply: str, words: str) -> None:
    server.set(reply=reply)
    began_s = time.monotonic()
    assert words in refused(server.url)
    assert time.monotonic() - began_s < 15.0


def test_a_name_and_a_password_open_and_are_never_told(server: RtspServer, kept: Kept) -> None:
    server.set(password=True)
    source = kept(Rtsp(server.url_with_password, 0))
    assert source.read() is not None and PASSWORD not in source.name + str(source.facts)
    source.close()
    assert "the name or the password was not accepted" in refused(server.url_with_password.replace("ann:", "bob:"))
