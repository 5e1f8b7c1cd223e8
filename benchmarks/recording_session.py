"""What recording a whole session costs a live run: latency with and without, in turns, from two network cameras on loopback.

    python -m benchmarks.recording_session [--seconds 8] [--rounds 2] [--fps 60]

The cameras send rendered JPEGs from processes of their own. Each round runs once without and once with recording (videos, stamps,
journal, poses), so that whatever else the machine does weighs on both.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from calibration.rig_toml import read_rig
from calibration.subject_toml import read_subject
from config.loading import load_settings
from tests.camera_server import MjpegProcess, Play
from tests.ports import free_address
from tests.recorded import Stage, set_stage
from tools.run import LiveRun, run_live


def live_ms(stage: Stage, urls: tuple[str, str], seconds: float, record: Path | None) -> tuple[float, ...]:
    """Run live and give p50, p95 and p99 from capture to receipt [ms]."""
    settings = load_settings(None, [f"stream.address={free_address()}", "stream.service=", "stream.preview=false"])
    rig, subject = read_rig(stage.folder / "rig.toml"), read_subject(stage.folder / "subject.toml")
    what = LiveRun(urls, rig, subject, stage.database, record=record, seconds=seconds)
    return run_live(settings, what, lambda words: None, lambda tally, status: None).latency_ms


def measured(folder: Path, seconds: float, rounds: int, fps: float) -> dict[str, Any]:
    """Run in turns without and with recording."""
    stage = set_stage(folder)
    t0_s = time.perf_counter()
    plays = [Play(jpegs, fps, t0_s=t0_s) for jpegs in stage.jpegs]
    found: dict[str, list[tuple[float, ...]]] = {"without": [], "with": []}
    with MjpegProcess(plays[0]) as left, MjpegProcess(plays[1]) as right:
        for n in range(rounds):
            found["without"].append(live_ms(stage, (left.url, right.url), seconds, None))
            found["with"].append(live_ms(stage, (left.url, right.url), seconds, folder / f"session {n}"))
    middle = {name: np.median(np.array(rows), axis=0) for name, rows in found.items()}
    last = folder / f"session {rounds - 1}"
    return {
        "latency_ms": {
            name: dict(zip(("p50", "p95", "p99"), row.round(2).tolist(), strict=True)) for name, row in middle.items()
        },
        "with_to_without": dict(zip(("p50", "p95", "p99"), (middle["with"] / middle["without"]).round(2).tolist(), strict=True)),
        "megabytes_a_minute": {
            file.name: round(file.stat().st_size * 60e-6 / seconds, 2)
            for file in sorted(last.iterdir())
            if file.suffix != ".toml"
        },
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--fps", type=float, default=60.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(measured(Path(name), asked.seconds, asked.rounds, asked.fps), indent=2))


if __name__ == "__main__":
    main()
