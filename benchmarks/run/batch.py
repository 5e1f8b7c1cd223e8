"""Many short takes: a shell's loop of `duocap replay` against `duocap batch` with 1 and 2 workers, and a cluster that loses one.

    python -m benchmarks.run.batch FOLDER --takes 40 [--recording DIR] [--loop 12] [--turns 2]

Takes are pieces of 2 s: of rendered motions, of the recording of two webcams in DIR (left.avi, right.avi, timestamps.csv,
rig.toml, markers.toml; its T-pose at 1 to 7 s), and one session. They are made once and kept in FOLDER. Processor time is of all
processes of a way; the wall time of a busy machine tells little, so the ways take turns.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import build_command, build_parser, run_main, write_json
from tests.support.clusters import Cluster, kill_after
from tests.support.kept import Kept
from tests.support.ports import free_address
from tests.tools.commands.walked import cut
from tools.batch.job import read_job
from tools.batch.record import DONE

FPS, PIECE = 30.0, 60  # frames
MOTIONS = ("walk", "run", "punches", "squat")
RENDERED_S = 8.0
KINDS = ("bvh", "csv")


@dataclass(frozen=True, slots=True)
class TimedWork:
    """One way to do takes: wall and processor time [s], load of the machine before, takes that differ from the loop's."""

    name: str
    wall_s: float
    cpu_s: float
    load: float
    different: int


def time_work(name: str, work: Callable[[], object], different: Callable[[], int] = int) -> TimedWork:
    """Do work in processes of its own and measure it.

    Args:
        name: what is measured.
        work: the work.
        different: returns how many takes differ.
    """
    load, before, begun_s = os.getloadavg()[0], os.times(), time.perf_counter()
    work()
    wall_s, after = time.perf_counter() - begun_s, os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    found = TimedWork(name, wall_s, cpu_s, load, different())
    times = f"{found.wall_s:8.1f} s, processor {found.cpu_s:7.1f} s, load before {found.load:4.1f}"
    print(f"{name:<34}{times}, takes that differ {found.different}", flush=True)
    return found


def run_duocap(*words: object) -> None:
    """Run a command of duocap in a process of its own."""
    subprocess.run(build_command(*words), check=True, stdout=subprocess.DEVNULL)


def cut_takes(source: Path, to: Path, count: int, first: int, subject: Path) -> None:
    """Cut a recording of 640x480 into takes, which overlap if they have to, beside its rig and a subject.

    Args:
        source: folder of the recording.
        to: folder of the takes.
        count: how many takes.
        first: number of the first frame.
        subject: its file.
    """
    to.mkdir(parents=True)
    shutil.copy(source / "rig.toml", to)
    shutil.copy(subject, to / "subject.toml")
    head, *rows = (source / "timestamps.csv").read_text("utf-8").splitlines()
    step = min(PIECE, (len(rows) - first - PIECE) // max(count - 1, 1))
    for k in range(count):
        take = to / f"{source.name}-{k:02d}"
        take.mkdir()
        part = slice(first + k * step, first + k * step + PIECE)
        for side in ("left", "right"):
            cut(source / f"{side}.avi", take / f"{side}.avi", part, FPS, (640, 480))
        stamps = [f"{n},{row.partition(',')[2]}" for n, row in enumerate(rows[part])]
        (take / "timestamps.csv").write_text("\n".join([head, *stamps, ""]), encoding="utf-8")


def calibrate_subject(source: Path, subject: Path, begin_s: float, end_s: float) -> None:
    """Calibrate the performer of a recording from its T-pose.

    Args:
        source: folder of the recording.
        subject: file that is written.
        begin_s: of the T-pose [s].
        end_s: likewise.
    """
    given = (source / "left.avi", source / "right.avi", "--rig", source / "rig.toml", "--markers", source / "markers.toml")
    stamps = ("--timestamps", source / "timestamps.csv")
    run_duocap("calibrate", "subject", *given, *stamps, "--from", begin_s, "--to", end_s, "--out", subject)


def prepare_takes(folder: Path, n_takes: int, recording: Path | None) -> None:
    """Make the takes.

    Args:
        folder: where files are written.
        n_takes: how many.
        recording: folder of a recording, None to simulate one.
    """
    rest = n_takes - 1
    real = rest // 2 if recording is not None else 0
    for k, motion in enumerate(MOTIONS):
        source = folder / "sources" / motion
        words = ("--seconds", RENDERED_S, "--fps", FPS, "--tpose", 2, "--markers", "dark_room")
        run_duocap("simulate", motion, "--out", source, *words)
        calibrate_subject(source, source / "subject.toml", 0.2, 1.8)
        cut_takes(source, folder / "takes" / motion, (rest - real + k) // len(MOTIONS), 60, source / "subject.toml")
    if recording is not None:
        subject = folder / "sources" / "real-subject.toml"
        calibrate_subject(recording, subject, 1, 7)
        cut_takes(recording, folder / "takes" / "real", real, 150, subject)
    record_session(folder, folder / "sources" / MOTIONS[0])


def record_session(folder: Path, source: Path) -> None:
    """Record a session from the videos of a rendered motion."""
    cameras = ("--left", source / "left.avi", "--right", source / "right.avi", "--rig", source / "rig.toml")
    quiet = ("--headless", "--seconds", 4, "--set", f"stream.address={free_address()}", "--set", "stream.service=")
    run_duocap("run", *cameras, "--subject", source / "subject.toml", "--record", folder / "takes" / "session", *quiet)


def replay_one_by_one(folder: Path, names: Sequence[str]) -> None:
    """Replay takes by one command each."""
    shutil.rmtree(folder / "loop", ignore_errors=True)
    for task in read_job([folder / "job.toml"], None).tasks:
        if task.name in names:
            out = folder / "loop" / task.name
            out.mkdir(parents=True)
            run_duocap(*task.command(task.inputs, out))


def run_batch(folder: Path, out: str, *words: object) -> None:
    """Run the batch."""
    shutil.rmtree(folder / out, ignore_errors=True)
    run_duocap("batch", folder / "job.toml", "--out", folder / out, *words)


def count_different_takes(folder: Path, out: str, names: Sequence[str]) -> int:
    """Return how many takes differ from the loop's in any byte of their motion.

    Args:
        folder: where files are written.
        out: folder of what is compared, in `folder`.
        names: of the takes.
    """

    def files(where: str, name: str) -> list[bytes]:
        return [(folder / where / name / f"{name.rpartition('/')[2]}.{kind}").read_bytes() for kind in KINDS]

    return sum(files("loop", name) != files(out, name) for name in names)


def measure_worker_s(folder: Path, out: str) -> float:
    """Return the time that workers spent in takes."""
    return sum(float(row["wall_s"]) for row in json.loads((folder / out / "report.json").read_text("utf-8"))["tasks"])


def main() -> None:
    """Measure."""
    parser = build_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--takes", type=int, default=40)
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--loop", type=int, help="so many takes in the shell's loop, all by default")
    parser.add_argument("--turns", type=int, default=1)
    options = parser.parse_args()
    folder: Path = options.folder.absolute()
    if not (folder / "takes" / "session").is_dir():
        for old in ("takes", "sources"):
            shutil.rmtree(folder / old, ignore_errors=True)
        prepare_takes(folder, options.takes, options.recording)
    (folder / "job.toml").write_text(
        '[[replay]]\ntakes = ["takes/*/*-*", "takes/session"]\nout = ["bvh", "csv"]\n', encoding="utf-8"
    )
    names = [task.name for task in read_job([folder / "job.toml"], None).tasks][: options.loop]

    def time_batch(name: str, out: str, *words: object) -> TimedWork:
        return time_work(name, lambda: run_batch(folder, out, *words), lambda: count_different_takes(folder, out, names))

    found = []
    for _ in range(options.turns):
        found.append(time_work(f"loop of {len(names)} commands", lambda: replay_one_by_one(folder, names)))
        for n in (1, 2):
            found.append(time_batch(f"batch, --workers {n}", f"workers-{n}", "--workers", n))
            spent_s = measure_worker_s(folder, f"workers-{n}") / n
            print(f"    {n}: {spent_s:.1f} s of takes a worker, {found[-1].wall_s - spent_s:.1f} s beside them")
    with Kept() as kept:
        cluster = Cluster(kept)
        workers = [cluster.worker(), cluster.worker()]
        cluster.wait(2)
        shutil.rmtree(folder / "cluster", ignore_errors=True)
        killer = kill_after(folder / "cluster", DONE, workers[0])
        found.append(time_batch("cluster, one of two killed with -9", "cluster", "--scheduler", cluster.address))
        killer.join()
    write_json(options.json, found)


if __name__ == "__main__":
    run_main(main)
