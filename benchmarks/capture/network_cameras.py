"""Network cameras: latency of the ways of reading RTSP, and accuracy of the ways of timestamping.

    python -m benchmarks.capture.network_cameras [--seconds 4] [--json F]

RTSP: numbered H.264 images at 30 Hz from a server on loopback; age of each image when decoded. Timestamps: simulated, with the
delays of a network (a minimum, and up to 12 ms more): standard deviation of timestamp minus truth [ms] by the arrival, by the
arrival smoothed with a counted grid, and by the sender's own timestamps (`capture/sources/network/sender_clock.py`).
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import av
import cv2
import numpy as np

from benchmarks.report import parser_of, write_json
from capture.sources.network.rtsp import Rtsp
from capture.sources.network.sender_clock import SenderClock
from config.arrays import Floats
from tests.capture.sources.network.camera_server_pictures import number_of, numbered_jpegs
from tests.support.cameras.rtsp import RtspServer

N, SIZE, FPS = 128, (640, 480), 30.0
SECONDS, JITTER_S, MIN_DELAY_S = 120.0, 0.012, 0.003
SETTLED = 300  # frames


def by_opencv(url: str) -> Iterator[np.ndarray]:
    """Read with OpenCV."""
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
    """Return the age of each image after the first second [ms], and the time of opening [s]."""
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
    """Return the times of the images of some cameras [s]."""
    steady = np.arange(round(SECONDS * FPS)) / FPS
    dimmer = np.concatenate([np.arange(900) / 30.0, 30.0 + np.arange(600) / 20.0, 60.0 + np.arange(1800) / 30.0])
    return {
        "steady 30 Hz": steady,
        "2 % of them lost": steady[rng.random(len(steady)) > 0.02],
        "20 Hz where it is dim": dimmer,
        "a phone's 29.7 to 30.3 Hz": np.cumsum(1.0 / (30.0 + 0.3 * np.sin(np.arange(3600) / 200.0))),
    }


def counted(arrival: Floats) -> Floats:
    """Return times on a grid of the usual interval, fitted to the arrivals; the number of intervals passed is rounded."""
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
    """Return times by the sender's timestamps, whose clock is 100 ppm off."""
    clock = SenderClock()
    pairs = zip(true * (1.0 + 1e-4) + 500.0, arrival, strict=True)
    return np.array([clock.ours_ns(round(1e9 * stamp), round(1e9 * t)) * 1e-9 for stamp, t in pairs])


def main(given: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="of every way of reading (default 4)")
    options = parser.parse_args(given)
    figures: dict[str, tuple[float, ...]] = {}
    print(f"{'RTSP, age when decoded [ms]':<32}{'p50':>8}{'p95':>8}{'opening [s]':>14}")
    for name, read in (("OpenCV", by_opencv), ("PyAV, FFmpeg's parser", by_pyav), ("capture/sources/network/rtsp.py", by_us)):
        ages, opened_s = ages_ms(read, options.seconds)
        figures[name] = (float(np.median(ages)), float(np.percentile(ages, 95)), opened_s)
        print("    {:<28}{:8.1f}{:8.1f}{:14.2f}".format(name, *figures[name]), flush=True)
    print(f"{'timestamps, standard deviation [ms]':<36}{'arrival':>10}{'counted':>10}{'sender':>10}")
    rng = np.random.default_rng(0)
    for name, true in cameras(rng).items():
        arrival = np.maximum.accumulate(true + MIN_DELAY_S + JITTER_S * rng.random(len(true)))
        stamps = (arrival, counted(arrival), stamped(true, arrival))
        figures[name] = tuple(float(np.std((times - true)[SETTLED:]) * 1e3) for times in stamps)
        print(f"    {name:<32}" + "".join(f"{value:10.2f}" for value in figures[name]))
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
