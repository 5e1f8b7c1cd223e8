"""Network cameras: how long each way of reading RTSP holds a picture back, and how true each way of stamping is.

    python -m benchmarks.network_cameras [--seconds 4]

RTSP: numbered pictures of H.264 at 30 Hz from a server on loopback; age of each picture when it is decoded. Stamps: simulated,
with the delays of a network (never less than the least, up to 12 ms more): standard deviation of stamp minus truth [ms] by the
arrival, by the arrival smoothed with a counted grid, and by the sender's own stamps (`capture/sender_clock.py`).
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import av
import cv2
import numpy as np

from capture.packets import Floats
from capture.rtsp import Rtsp
from capture.sender_clock import SenderClock
from tests.camera_server_pictures import number_of, numbered_jpegs
from tests.camera_server_rtsp import RtspServer

N, SIZE, FPS = 128, (640, 480), 30.0
SECONDS, JITTER_S, LEAST_S = 120.0, 0.012, 0.003
SETTLED = 300  # frames


def by_opencv(url: str) -> Iterator[np.ndarray]:
    """Read as most programs do."""
    os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = "rtsp_transport;tcp|fflags;nobuffer|flags;low_delay"
    capture = cv2.VideoCapture(url, cv2.CAP_FFMPEG)
    while True:
        ok, image = capture.read()
        if not ok:
            return
        yield image


def by_pyav(url: str) -> Iterator[np.ndarray]:
    """Read with FFmpeg's own parser, its buffers switched off."""
    options = {"rtsp_transport": "tcp", "fflags": "nobuffer", "flags": "low_delay", "max_delay": "0"}
    with av.open(url, options={**options, "probesize": "32", "analyzeduration": "0"}, timeout=(3.0, 3.0)) as container:
        container.streams.video[0].codec_context.thread_count = 1
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="bgr24")


def by_us(url: str) -> Iterator[np.ndarray]:
    """Read as `duocap run` does."""
    source = Rtsp(url, 0)
    while (frame := source.read()) is not None:
        yield frame.image


def ages_ms(read: Callable[[str], Iterator[np.ndarray]], seconds: float) -> tuple[Floats, float]:
    """Give the age of each picture after the first second, and how long opening took [ms, s]."""
    with RtspServer(numbered_jpegs(N, SIZE), FPS) as server:
        begun_s, ages, opened_s = time.perf_counter(), [], 0.0
        for image in read(server.url):
            now_s = time.perf_counter()
            opened_s = opened_s or now_s - begun_s
            ages.append(((now_s - server.captured_s(0)) * FPS - number_of(image)) % N / FPS * 1e3)
            if now_s - begun_s > seconds + 1.0:
                break
        return np.array(ages[30:]), opened_s


def cameras(rng: np.random.Generator) -> dict[str, Floats]:
    """Give when some cameras take their pictures [s]."""
    steady = np.arange(round(SECONDS * FPS)) / FPS
    dimmer = np.concatenate([np.arange(900) / 30.0, 30.0 + np.arange(600) / 20.0, 60.0 + np.arange(1800) / 30.0])
    return {
        "steady 30 Hz": steady,
        "2 % of them lost": steady[rng.random(len(steady)) > 0.02],
        "20 Hz where it is dim": dimmer,
        "a phone's 29.7 to 30.3 Hz": np.cumsum(1.0 / (30.0 + 0.3 * np.sin(np.arange(3600) / 200.0))),
    }


def counted(arrival: Floats) -> Floats:
    """Give times on a grid of the usual gap: how many gaps have passed is rounded, and the grid laid under the arrivals."""
    period = float(np.median(np.diff(arrival)))
    period = (arrival[SETTLED] - arrival[0]) / round((arrival[SETTLED] - arrival[0]) / period)
    clock, k, last = SenderClock(), 0, arrival[0]
    out: list[float] = []
    for t in arrival:
        k += max(1, round((t - last) / period)) if out else 0
        out.append(clock.ours_ns(round(1e9 * (100.0 + k * period)), round(1e9 * t)) * 1e-9)
        last = t
    return np.array(out)


def stamped(true: Floats, arrival: Floats) -> Floats:
    """Give times by the sender's stamps, of a clock 100 ppm off."""
    clock = SenderClock()
    pairs = zip(true * (1.0 + 1e-4) + 500.0, arrival, strict=True)
    return np.array([clock.ours_ns(round(1e9 * stamp), round(1e9 * t)) * 1e-9 for stamp, t in pairs])


def main(given: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network_cameras", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=4.0, help="of every way of reading (default 4)")
    options = parser.parse_args(given)
    print(f"{'RTSP, age when decoded [ms]':<32}{'p50':>8}{'p95':>8}{'opening [s]':>14}")
    for name, read in (("OpenCV", by_opencv), ("PyAV, FFmpeg's parser", by_pyav), ("capture/rtsp.py", by_us)):
        ages, opened_s = ages_ms(read, options.seconds)
        print(f"    {name:<28}{np.median(ages):8.1f}{np.percentile(ages, 95):8.1f}{opened_s:14.2f}", flush=True)
    print(f"{'stamps, standard deviation [ms]':<36}{'arrival':>10}{'counted':>10}{'sender':>10}")
    rng = np.random.default_rng(0)
    for name, true in cameras(rng).items():
        arrival = np.maximum.accumulate(true + LEAST_S + JITTER_S * rng.random(len(true)))
        found = [np.std((times - true)[SETTLED:]) * 1e3 for times in (arrival, counted(arrival), stamped(true, arrival))]
        print(f"    {name:<32}" + "".join(f"{value:10.2f}" for value in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
