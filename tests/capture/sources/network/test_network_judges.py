"""Servers that nobody here wrote: FFmpeg streams MJPEG over HTTP, GStreamer's RTSP server H.264 and MJPEG; we read them."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest

from capture.sources.network.mjpeg import MjpegHttp
from capture.sources.network.rtsp import Rtsp
from capture.sources.source import Stamp
from config.errors import SourceError
from tests.support.judges import program
from tests.support.ports import free_port

pytestmark = [
    pytest.mark.judge,
    pytest.mark.skipif(os.name == "nt", reason="the servers are tested on Unix"),
    pytest.mark.timeout(200),
]

GST_SERVER = """
import sys, gi
gi.require_version("Gst", "1.0"); gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer
Gst.init(None)
server = GstRtspServer.RTSPServer(); server.set_address("127.0.0.1"); server.set_service(sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory(); factory.set_launch("( " + sys.argv[2] + " )"); factory.set_shared(True)
server.get_mount_points().add_factory("/live", factory); server.attach(None)
print("serving", flush=True)
GLib.MainLoop().run()
"""
PICTURES = "videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=240,framerate=30/1"
H264 = "x264enc tune=zerolatency key-int-max=15 threads={threads} sliced-threads={sliced} ! rtph264pay name=pay0 pt=96"
CODERS = {
    "h264": H264.format(threads=1, sliced="false"),
    "h264 in slices": H264.format(threads=4, sliced="true"),
    "mjpeg": "videoconvert ! video/x-raw,format=I420 ! jpegenc ! rtpjpegpay name=pay0 pt=26",
}


@contextmanager
def running(command: list[str], say: str = "") -> Iterator[None]:
    """Run a program meanwhile; wait until it says something, if told to."""
    out = subprocess.PIPE if say else subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, text=True)
    try:
        if process.stdout is not None:
            line = process.stdout.readline()
            if say not in line:
                pytest.skip("GStreamer's RTSP server and its plugins are not installed")
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def opened(kind: type[MjpegHttp] | type[Rtsp], url: str) -> MjpegHttp | Rtsp:
    """Open as soon as it is there."""
    for _ in range(50):
        try:
            return kind(url, 0)
        except SourceError as error:
            if "refused" not in str(error):
                raise
            time.sleep(0.1)
    raise AssertionError(f"nothing at {url}")


def test_ffmpeg_streams_mjpeg() -> None:
    url = f"http://127.0.0.1:{free_port()}/video"
    command = [program("ffmpeg"), "-re", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=25", "-f", "mpjpeg", "-listen", "1", url]
    with running(command):
        source = opened(MjpegHttp, url)
        frames = [source.read() for _ in range(40)]
        assert source.size == (320, 240) and source.fps == pytest.approx(25.0, rel=0.2) and source.facts["corrupt"] == 0
        stamps = np.array([frame.t_capture_ns for frame in frames if frame is not None])
        assert len(stamps) == 40 and np.median(np.diff(stamps)) == pytest.approx(40e6, rel=0.2)
        source.close()


@pytest.mark.parametrize("coder", CODERS)
def test_gstreamer_streams_by_rtsp(coder: str, tmp_path: Path) -> None:
    python = next((path for path in ("/usr/bin/python3", shutil.which("python3")) if path and _has_gst(path)), None)
    if python is None:
        pytest.skip("GStreamer's RTSP server with its Python bindings is not installed")
    port, script = free_port(), tmp_path / "server.py"
    script.write_text(GST_SERVER, encoding="utf-8")
    with running([python, str(script), str(port), f"{PICTURES} ! {CODERS[coder]}"], "serving"):
        source = opened(Rtsp, f"rtsp://127.0.0.1:{port}/live")
        frames = [frame for frame in (source.read() for _ in range(60)) if frame is not None]
        assert source.size == (320, 240) and source.stamp is Stamp.SENDER and source.facts["corrupt"] == 0
        assert source.facts["codec"] == coder.split()[0] and source.fps == pytest.approx(30.0, rel=0.1)
        gaps = np.diff([frame.t_capture_ns for frame in frames[30:]]) / (1e9 / 30)
        assert np.abs(gaps - np.round(gaps)).max() < 0.1  # the sender's stamps are even, whenever the pictures came
        assert {round(frame.image.max() / 16) for frame in frames} <= {15, 16}  # a white ball in every one
        if coder == "mjpeg":
            assert frames[0].jpeg is not None
            again = cv2.imdecode(np.frombuffer(frames[0].jpeg, np.uint8), cv2.IMREAD_COLOR)
            assert np.abs(again.astype(int) - frames[0].image).mean() < 2.0
        source.close()


def _has_gst(python: str) -> bool:
    """Return whether a Python has the bindings."""
    code = "import gi; gi.require_version('GstRtspServer', '1.0'); from gi.repository import GstRtspServer"
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0
