"""Time from a command to its first result, with empty caches and with warm ones, of one source folder or of several in turns.

    python -m benchmarks.run.starts [--tree DIR ...] [--repeat N] [--only demo,help,usage,style] [--json F]

demo: seconds from `duocap demo --headless` to the first pose that a subscriber receives; style: `style pose` with a small style,
whole. Both with new folders for numba's cache and the built-in motions, then again with what these hold. help, usage: `--help`
and three usage errors, whole. Also processor time, all processes of the command together, which other programs disturb less.
Modules are compiled to bytecode before, as pip does.
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import (
    ROOT,
    TablePrinter,
    build_command,
    build_parser,
    group_rows,
    number_columns,
    run_main,
    text_columns,
    write_json,
)
from stream.protocol.messages import PoseMessage
from stream.publish.subscriber import Subscriber
from tests.support.ports import free_address

WAIT_S = 600.0
FOLDERS = ("config", "numerics", "database", "calibration", "capture", "reconstruct", "stream", "tools")
SHORT: dict[str, tuple[tuple[str, ...], ...]] = {
    "help": (("--help",),),
    "usage": (("run", "--nope"), ("evaluate", "accuracy"), ("replay", "--model", "none", "nowhere")),
}
POINTS = """
[[point]]
joint = "leftHand"
position_m = [0.25, 1.0, 0.35]
[[point]]
joint = "leftFoot"
position_m = [0.1, 0.09, -0.2]
"""


@dataclass(frozen=True, slots=True)
class Start:
    """One start. wall_s: to the first pose, or to the end; cpu_s: of all processes that have ended by then."""

    what: str
    tree: str
    wall_s: float
    cpu_s: float


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def compile_modules(tree: Path) -> None:
    """Write the bytecode of a source folder."""
    folders = [name for name in FOLDERS if (tree / name).is_dir()]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], cwd=tree, env=ENVIRONMENT, check=False)


def time_command(tree: Path, environment: Mapping[str, str], *words: str) -> tuple[float, float]:
    """Run a command to its end; return wall and processor seconds."""
    before, begun = _read_children_s(), time.perf_counter()
    subprocess.run(
        build_command(*words), cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return time.perf_counter() - begun, _read_children_s() - before


def time_first_pose(tree: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Start the demo and wait for a pose; return wall seconds to it, and processor seconds of all until the demo has ended."""
    address = free_address()
    listener = Subscriber(address, ("pose",))
    words = build_command("demo", "--headless", "--seconds", 4, "--set", f"stream.address={address}", "--set", "stream.service=")
    before, begun = _read_children_s(), time.perf_counter()
    run = subprocess.Popen(words, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not any(isinstance(message, PoseMessage) for message in listener.receive(20)):
            if run.poll() is not None or time.perf_counter() - begun > WAIT_S:
                raise SystemExit(f"{tree}: no pose came")
        wall_s = time.perf_counter() - begun
        run.send_signal(signal.SIGINT)
        run.wait(60.0)
    finally:
        run.kill()
        listener.close()
    return wall_s, _read_children_s() - before


def _read_children_s() -> float:
    """Return the processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_starts(trees: Sequence[Path], wanted: Sequence[str], style: Path, folder: Path, again: int) -> Iterator[Start]:
    """Make each start once for each tree, one tree after the other.

    Args:
        trees: checkouts to compare.
        wanted: names of starts.
        style: a style file.
        folder: of the empty cache.
        again: how often each.
    """
    for what in (what for what in SHORT if what in wanted):
        for words in SHORT[what]:
            for tree in trees:
                yield Start(f"{what}: {' '.join(words)}", tree.name, *time_command(tree, ENVIRONMENT, *words))
    points = folder / "points.toml"
    points.write_text(POINTS, "utf-8")
    for what in (what for what in ("demo", "style") if what in wanted):
        for state in ("cold", "warm"):
            for tree in trees:
                caches = folder / f"{what} {tree.name} {again}"
                environment = {**ENVIRONMENT, "NUMBA_CACHE_DIR": str(caches / "numba"), "XDG_CACHE_HOME": str(caches)}
                out = ("--constraints", str(points), "--out", str(folder / "pose.csv"))
                pose = ("style", "pose", str(style), *out)
                figures = time_first_pose(tree, environment) if what == "demo" else time_command(tree, environment, *pose)
                yield Start(f"{what}, {state}", tree.name, *figures)


def main() -> None:
    """Run and print, each start with the medians over its repetitions."""
    parser = build_parser(__doc__)
    parser.add_argument("--tree", type=Path, action="append", help="source folder, again for another (default this one)")
    parser.add_argument("--repeat", type=int, default=1, help="times that each is started (default 1)")
    parser.add_argument("--only", default="help,usage,demo,style", help="what to start")
    options = parser.parse_args()
    trees, found = [tree.resolve() for tree in options.tree or [ROOT]], list[Start]()
    for tree in trees:
        compile_modules(tree)
    with tempfile.TemporaryDirectory() as temporary:
        folder, wanted = Path(temporary), options.only.split(",")
        style = folder / "punches.style"
        if "style" in wanted:
            time_command(ROOT, ENVIRONMENT, "style", "train", "--builtin", "punches", "--out", str(style))
        for again in range(options.repeat):
            for start in measure_starts(trees, wanted, style, folder, again):
                found.append(start)
                print(f"  {start.what} of {start.tree}: {start.wall_s:.2f} s, processor {start.cpu_s:.2f} s", flush=True)
    table = TablePrinter((*text_columns("what", "tree"), *number_columns(2, "wall_s", "cpu_s")))
    for same in group_rows(found, "what", "tree"):
        medians = {name: float(np.median([getattr(start, name) for start in same])) for name in ("wall_s", "cpu_s")}
        table.show({"what": same[0].what, "tree": same[0].tree, **medians})
    write_json(options.json, found)


if __name__ == "__main__":
    run_main(main)
