"""What recording costs and how fast recordings open: publishing with and without, bytes a minute, ten minutes opened.

    python -m benchmarks.recording [--seconds 5]

Published is a pose of the built-in body with 12 markers that moves, 60 times a second, through the outlet of a run.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from capture.clock import now_ns
from config.joints import JOINTS, N_JOINTS, PARENTS, VRM_BONE
from stream.codec import encode
from stream.messages import MarkerReading, PoseMessage, SkeletonMessage
from stream.outlet import Outlet
from stream.publisher import Publisher
from stream.recorder import Recorder
from stream.recording import open_recording

FPS = 60.0
N_MARKERS = 12
MINUTES = 10
STAGES = ("read", "detect", "transport", "wait", "match", "label", "solve", "finish", "publish")


def skeleton() -> SkeletonMessage:
    """Give a skeleton of all joints."""
    rng = np.random.default_rng(1)
    offsets_m = rng.normal(0.0, 0.1, (N_JOINTS, 3))
    rest_xyzw = np.tile([0.0, 0.0, 0.0, 1.0], (N_JOINTS, 1))
    names = tuple(f"marker_{k}" for k in range(N_MARKERS))
    return SkeletonMessage("benchmark0000000", JOINTS, PARENTS, offsets_m, rest_xyzw, dict(VRM_BONE), names, "benchmark")


def poses(n: int) -> list[PoseMessage]:
    """Give poses whose joints swing, each at its own rate, with markers that swing along."""
    t = np.arange(n) / FPS
    half = 0.3 * np.sin(t[:, None] * np.linspace(0.5, 4.0, N_JOINTS))
    quaternions = np.stack([np.sin(half), 0.0 * half, 0.0 * half, np.cos(half)], axis=2).astype(np.float32)
    places = np.cumsum(np.random.default_rng(2).normal(0.0, 0.002, (n, N_MARKERS, 3)), axis=0)
    latency_ns = dict.fromkeys(STAGES, 1_234_567)
    source, confidence = np.zeros(N_JOINTS, np.uint8), np.full(N_JOINTS, 0.9, np.float32)
    made = []
    for k in range(n):
        xyz = [tuple(row) for row in places[k].tolist()]
        markers = tuple(MarkerReading(f"marker_{m}", p, 0.004, (0, 1), p) for m, p in enumerate(xyz))
        t_ns = round(k * 1e9 / FPS)
        made.append(
            PoseMessage(
                "benchmark0000000",
                "bench",
                k,
                t_ns,
                t_ns + 8_000_000,
                0,
                "tracking",
                (0.1, 1.0, float(t[k])),
                quaternions[k],
                source,
                confidence,
                ("leftFoot",),
                markers,
                latency_ns,
            )
        )
    return made


def publishing_ms(seconds: float, file: Path | None) -> dict[str, float]:
    """Publish at 60 Hz and give how long each call took [ms], recording or not."""
    outlet = Outlet(Publisher("tcp://127.0.0.1:0"), "bench")
    outlet.publish(skeleton())
    if file is not None:
        outlet.record(file)
    took = []
    for pose in poses(round(seconds * FPS)):
        begin_ns = now_ns()
        outlet.publish(replace(pose, t_publish_ns=begin_ns))
        took.append((now_ns() - begin_ns) * 1e-6)
        outlet.serve(now_ns())
        time.sleep(max(0.0, 1.0 / FPS - (now_ns() - begin_ns) * 1e-9))
    outlet.close()
    return {name: round(float(np.percentile(took, share)), 3) for name, share in (("p50", 50), ("p99", 99), ("worst", 100))}


def opening(folder: Path) -> dict[str, float]:
    """Record ten minutes as fast as it goes, open them, and give the seconds and megabytes."""
    minute = poses(round(60 * FPS))
    recorder = Recorder(folder / "long.mcap", {"subject": "benchmark"})
    recorder.write(encode(skeleton()), 0)
    n = 0
    for _ in range(MINUTES):
        for pose in minute:
            while n - recorder.n_recorded > 4000:
                time.sleep(0.01)
            t_ns = round(n * 1e9 / FPS)
            recorder.write(encode(replace(pose, seq=n, t_publish_ns=t_ns)), t_ns, n)
            n += 1
    recorder.close()
    begin = time.perf_counter()
    recording = open_recording(recorder.file)
    opened_s = time.perf_counter() - begin
    begin = time.perf_counter()
    assert recording.poses[n // 2].seq == n // 2
    one_s = time.perf_counter() - begin
    begin = time.perf_counter()
    for pose in recording.poses:
        assert pose.state == "tracking"
    size_mb = recorder.file.stat().st_size / 1e6
    return {
        "poses": len(recording.poses),
        "lost": recorder.n_lost,
        "megabytes_a_minute": round(size_mb / MINUTES, 2),
        "open_s": round(opened_s, 3),
        "one_pose_ms": round(one_s * 1e3, 3),
        "decode_all_s": round(time.perf_counter() - begin, 2),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "publish_ms": publishing_ms(seconds, None),
            "publish_and_record_ms": publishing_ms(seconds, folder / "short.mcap"),
            "ten_minutes": opening(folder),
        }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
