"""Cost of recording: publishing with and without, megabytes a minute, time to open ten minutes.

    python -m benchmarks.stream.recording [--seconds 5] [--json F]

Published is a moving pose with 12 markers, 60 times a second, through the outputs of a run.
"""

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.report import build_parser, compute_percentiles, write_json
from benchmarks.stream.examples import FPS, SKELETON, build_moving_poses
from capture.clock import now_ns
from reconstruct.pose import TrackingState
from stream.protocol.codec import encode_message
from stream.publish.fanout import OutputFanout
from stream.publish.publisher import Publisher
from stream.recording.recorder import Recorder
from stream.recording.recording import open_recording

N_MARKERS = 12
MINUTES = 10
MAX_WAITING = 4000  # messages that the recorder has not written yet


def measure_publishing_ms(seconds: float, file: Path | None) -> dict[str, float]:
    """Publish at 60 Hz and return the time of each call [ms]; file: recorded to, None: not recorded."""
    outputs = OutputFanout(Publisher("tcp://127.0.0.1:0"), "bench")
    outputs.publish(SKELETON)
    if file is not None:
        outputs.record(file)
    times_ms = []
    for pose in build_moving_poses(round(seconds * FPS), N_MARKERS):
        begin_ns = now_ns()
        outputs.publish(replace(pose, t_publish_ns=begin_ns))
        times_ms.append((now_ns() - begin_ns) * 1e-6)
        outputs.serve(now_ns())
        time.sleep(max(0.0, 1.0 / FPS - (now_ns() - begin_ns) * 1e-9))
    outputs.close()
    return dict(
        zip(("p50", "p99", "worst"), (round(value, 3) for value in compute_percentiles(times_ms, 50, 99, 100)), strict=True)
    )


def measure_opening(folder: Path, minutes: int = MINUTES) -> dict[str, float]:
    """Record minutes as fast as possible and open them; return seconds and megabytes."""
    minute = build_moving_poses(round(60 * FPS), N_MARKERS)
    recorder = Recorder(folder / "long.mcap", {"subject": "benchmark"})
    recorder.write(encode_message(SKELETON), 0)
    for n in range(minutes * len(minute)):
        while n - recorder.n_recorded > MAX_WAITING:
            time.sleep(0.01)
        t_ns = round(n * 1e9 / FPS)
        recorder.write(encode_message(replace(minute[n % len(minute)], seq=n, t_publish_ns=t_ns)), t_ns, n)
    recorder.close()
    n, times_s = minutes * len(minute), [time.perf_counter()]
    recording = open_recording(recorder.file)
    times_s.append(time.perf_counter())
    assert recording.poses[n // 2].seq == n // 2
    times_s.append(time.perf_counter())
    assert all(pose.state is TrackingState.TRACKING for pose in recording.poses)
    times_s.append(time.perf_counter())
    open_s, one_s, all_s = np.diff(times_s)
    return {
        "poses": len(recording.poses),
        "lost": recorder.n_lost,
        "megabytes_a_minute": round(recorder.file.stat().st_size / 1e6 / minutes, 2),
        "open_s": round(float(open_s), 3),
        "one_pose_ms": round(float(one_s) * 1e3, 3),
        "decode_all_s": round(float(all_s), 2),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = build_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "publish_ms": measure_publishing_ms(options.seconds, None),
            "publish_and_record_ms": measure_publishing_ms(options.seconds, folder / "short.mcap"),
            "ten_minutes": measure_opening(folder),
        }
    print(json.dumps(figures, indent=2))
    write_json(options.json, figures)


if __name__ == "__main__":
    main()
