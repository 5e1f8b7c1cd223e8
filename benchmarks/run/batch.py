"""Many short takes: a shell's loop of `duocap replay` against `duocap batch` with 1 and 2 workers, and a cluster that loses one.

    python -m benchmarks.run.batch FOLDER --takes 40 [--recording DIR] [--loop 12]

Takes are pieces of 2 s: of rendered motions, of the recording of two webcams in DIR (left.avi, right.avi, timestamps.csv,
rig.toml, markers.toml; its T-pose at 1 to 7 s), and one session. They are made once and kept in FOLDER.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.clusters import Cluster, kill_after
from tests.support.kept import Kept
from tests.support.ports import free_address
from tests.tools.commands.walked import cut
from tools.batch.job import job_of
from tools.batch.record import DONE

FPS, PIECE = 30.0, 60  # frames
MOTIONS = ("walk", "run", "punches", "squat")
RENDERED_S = 8.0
KINDS = ("bvh", "csv")


@dataclass(frozen=True, slots=True)
class Timed:
    """One way to do all takes: wall time [s], load of the machine before, and takes that differ from the loop's."""

    name: str
    seconds: float
    load: float
    different: int

    def line(self) -> str:
        """Return it as a line."""
        return f"{self.name:<34}{self.seconds:8.1f} s   load before {self.load:4.1f}   takes that differ {self.different}"


def duocap(*words: object) -> None:
    """Run a command of duocap in a process of its own."""
    subprocess.run([sys.executable, "-m", "tools.launch", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def pieces(source: Path, to: Path, count: int, first: int, size: tuple[int, int]) -> None:
    """Cut a recording into takes, which overlap if they have to."""
    head, *rows = (source / "timestamps.csv").read_text("utf-8").splitlines()
    step = min(PIECE, (len(rows) - first - PIECE) // max(count - 1, 1))
    for k in range(count):
        take = to / f"{source.name}-{k:02d}"
        take.mkdir(parents=True)
        part = slice(first + k * step, first + k * step + PIECE)
        for side in ("left", "right"):
            cut(source / f"{side}.avi", take / f"{side}.avi", part, FPS, size)
        stamps = [f"{n},{row.partition(',')[2]}" for n, row in enumerate(rows[part])]
        (take / "timestamps.csv").write_text("\n".join([head, *stamps, ""]), encoding="utf-8")


def prepare(folder: Path, n_takes: int, recording: Path | None) -> None:
    """Make the takes."""
    rest = n_takes - 1
    real = rest // 2 if recording is not None else 0
    for k, motion in enumerate(MOTIONS):
        source = folder / "sources" / motion
        duocap("simulate", motion, "--out", source, "--seconds", RENDERED_S, "--fps", FPS, "--tpose", 2, "--markers", "dark_room")
        words = ("--rig", source / "rig.toml", "--markers", source / "markers.toml", "--timestamps", source / "timestamps.csv")
        duocap(
            "calibrate",
            "subject",
            source / "left.avi",
            source / "right.avi",
            *words,
            "--take",
            "0.2:1.8",
            "--out",
            source / "subject.toml",
        )
        count = (rest - real + k) // len(MOTIONS)
        place(source, folder / "takes" / motion)
        pieces(source, folder / "takes" / motion, count, 60, (640, 480))
    if recording is not None:
        words = ("--rig", recording / "rig.toml", "--markers", recording / "markers.toml", "--from", 1, "--to", 7)
        subject = folder / "sources" / "real-subject.toml"
        stamps = ("--timestamps", recording / "timestamps.csv")
        duocap("calibrate", "subject", recording / "left.avi", recording / "right.avi", *words, *stamps, "--out", subject)
        place(recording, folder / "takes" / "real", subject)
        pieces(recording, folder / "takes" / "real", real, 150, (640, 480))
    session(folder, folder / "sources" / MOTIONS[0])


def place(source: Path, to: Path, subject: Path | None = None) -> None:
    """Put rig and subject where takes find them."""
    to.mkdir(parents=True)
    shutil.copy(source / "rig.toml", to)
    shutil.copy(subject or source / "subject.toml", to / "subject.toml")


def session(folder: Path, source: Path) -> None:
    """Record a session from the videos of a rendered motion."""
    cameras = ("--left", source / "left.avi", "--right", source / "right.avi", "--rig", source / "rig.toml")
    quiet = ("--headless", "--seconds", 4, "--set", f"stream.address={free_address()}", "--set", "stream.service=")
    duocap("run", *cameras, "--subject", source / "subject.toml", "--record", folder / "takes" / "session", *quiet)


def loop(folder: Path, n: int | None) -> tuple[float, list[str]]:
    """Replay takes by one command each; return the time, and their names."""
    tasks = job_of([folder / "job.toml"], None).tasks[:n]
    begun_s = time.perf_counter()
    for task in tasks:
        out = folder / "loop" / task.name
        out.mkdir(parents=True)
        duocap(*task.command(task.inputs, out))
    return time.perf_counter() - begun_s, [task.name for task in tasks]


def batch(folder: Path, out: str, *words: object) -> float:
    """Run the batch; return the time."""
    begun_s = time.perf_counter()
    duocap("batch", folder / "job.toml", "--out", folder / out, *words)
    return time.perf_counter() - begun_s


def different(folder: Path, out: str, names: Sequence[str]) -> int:
    """Return how many takes differ from the loop's in any byte of their motion."""

    def files(where: str, name: str) -> list[bytes]:
        return [(folder / where / name / f"{name.rpartition('/')[2]}.{kind}").read_bytes() for kind in KINDS]

    return sum(files("loop", name) != files(out, name) for name in names)


def alone_s(folder: Path, out: str) -> float:
    """Return the time that workers spent in takes."""
    return sum(row["wall_s"] for row in json.loads((folder / out / "report.json").read_text("utf-8"))["tasks"])


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--takes", type=int, default=40)
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--loop", type=int, help="so many takes in the shell's loop, all by default")
    options = parser.parse_args()
    folder: Path = options.folder.absolute()
    if not (folder / "takes").is_dir():
        prepare(folder, options.takes, options.recording)
    (folder / "job.toml").write_text(
        '[[replay]]\ntakes = ["takes/*/*-*", "takes/session"]\nout = ["bvh", "csv"]\n', encoding="utf-8"
    )
    for old in ("loop", "one", "two", "cluster"):
        shutil.rmtree(folder / old, ignore_errors=True)
    load = os.getloadavg()[0]
    seconds, names = loop(folder, options.loop)
    print(f"loop of {len(names)} commands{'':<14}{seconds:8.1f} s   load before {load:4.1f}", flush=True)
    for out, n in (("one", 1), ("two", 2)):
        load = os.getloadavg()[0]
        took = batch(folder, out, "--workers", n)
        print(Timed(f"batch, workers {n}", took, load, different(folder, out, names)).line(), flush=True)
        print(f"    time spent in takes {alone_s(folder, out):.1f} s, beside them {took - alone_s(folder, out) / n:.1f} s")
    with Kept() as kept:
        cluster = Cluster(kept)
        workers = [cluster.worker(), cluster.worker()]
        cluster.wait(2)
        load = os.getloadavg()[0]
        killer = kill_after(folder / "cluster", DONE, workers[0])
        took = batch(folder, "cluster", "--scheduler", cluster.address)
        killer.join()
    print(Timed("cluster, one of two killed with -9", took, load, different(folder, "cluster", names)).line())


if __name__ == "__main__":
    main()
