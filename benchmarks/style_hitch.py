"""What learning a style beside a run costs the stream: latency and evenness while it learns, and while it does not.

    python -m benchmarks.style_hitch [--seconds 30] [--every 6] [--where process thread off] [--json F.json]

Supervisor, camera processes and reconstruction are those of `duocap run`; the cameras give stored frames at 60 Hz. So that there
is enough to measure, a style is learned anew every `--every` seconds, of all poses there are. --where thread: in a thread of the
reconstruction itself, for comparison; off: never. Latency: from capture to publication; interval: between publications.
"""

import argparse
import json
import os
import re
import tempfile
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil

from benchmarks.pipeline import SETTLED_S, Scene, free_address, open_stored, scene_of
from capture.clock import now_ns
from capture.plan import CameraPlan
from config.settings import Settings
from database.default import default_database, default_database_path
from reconstruct import process
from reconstruct.learner_line import LearnerLine
from reconstruct.pipeline import Pipeline
from reconstruct.reconstruction import Steps
from reconstruct.style.learn import learn
from reconstruct.style.session import StyleBook
from reconstruct.style.task import Learned, LearnTask, learned_part
from stream.messages import EventMessage, PoseMessage
from stream.subscriber import Subscriber
from tools.live import open_detector, reconstruction_plan
from tools.supervisor import Supervisor, new_session

MS = 1e-6
DRAWN_S = 6.0  # of a performance, forth and back
SECONDS = re.compile(r"learned a style from (\d+) poses in ([\d.]+) s")


class OftenBook(StyleBook):
    """Learns again and again."""

    every_ns = 6_000_000_000

    def _due(self) -> bool:
        return len(self._store) >= 30 and self._t_last_ns - self._t_task_ns > self.every_ns


def often(every_s: float, where: str, pipeline: Steps) -> StyleBook | None:
    """Make the book, in the reconstruction's process; there also have learning done in a thread, if so wished."""
    if where == "off" or not isinstance(pipeline, Pipeline):
        return None
    if where == "thread":
        process.LearnerLine = ThreadLine  # type: ignore[misc]
    book = OftenBook(pipeline.subject.skeleton, pipeline.up)
    book.every_ns = round(every_s * 1e9)
    return book


class ThreadLine(LearnerLine):
    """Learns in a thread of this process instead."""

    _done: Learned | None = None

    def offer(self, task: LearnTask) -> None:
        """Begin to learn."""
        threading.Thread(target=self._work, args=(task,), daemon=True).start()

    def _work(self, task: LearnTask) -> None:
        """Learn."""
        begun = time.perf_counter()
        self._done = learned_part(task, learn(task.poses, task.skeleton, task.name, task.options), time.perf_counter() - begun)

    def learned(self) -> list[Learned]:
        """Give what was learned."""
        done, self._done = self._done, None
        return [] if done is None else [done]


def main() -> None:
    """Run and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=6.0)
    parser.add_argument("--where", nargs="+", choices=["process", "thread", "off"], default=["process"])
    parser.add_argument("--json", type=Path)
    wishes = parser.parse_args()
    default_database()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        scene = scene_of((640, 480), default_database_path(), Path(folder) / "scene", DRAWN_S)
        for where in wishes.where:
            runs.append(measured(scene, wishes.seconds, wishes.every, where))
            for name, value in runs[-1].items():
                print(f"{name:34s} {value}", flush=True)
    if wishes.json is not None:
        wishes.json.write_text(json.dumps(runs, indent=1), "utf-8")


def measured(scene: Scene, seconds: float, every_s: float, where: str) -> dict[str, object]:
    """Run the processes and give the figures."""
    database = default_database_path()
    settings = replace(Settings(), stream=replace(Settings().stream, address=free_address(), service="", preview=False))
    stored = replace(scene.stored, n_shown=round(seconds * scene.stored.fps))
    left, right = (
        CameraPlan(camera, partial(open_stored, stored, camera), partial(open_detector, settings.detector), paced=True)
        for camera in (0, 1)
    )
    session, rig = new_session(), scene.show.performer.rig
    plan = reconstruction_plan(rig, scene.subject, database, settings, session, stored.fps)
    plan = replace(plan, book=partial(often, every_s, where))
    subscriber, poses = Subscriber(settings.stream.address, ("pose", "event")), list[PoseMessage]()
    asked, ended, spans, words, memory_mb = list[int](), list[int](), list[tuple[int, int]](), list[str](), 0.0
    with Supervisor((left, right), plan, session, words.append) as run:
        run.wait_ready()
        ask = run._learner.ask
        run._learner.ask = (
            (lambda address: asked.append(now_ns()))
            if where == "thread"
            # type: ignore[method-assign]
            else (lambda address: (asked.append(now_ns()), ask(address))[0])
        )
        t_start_ns = run.start()
        turns_left = 50
        while turns_left:
            run.turn(2)
            for message in subscriber.heard():
                if isinstance(message, PoseMessage):
                    poses.append(message)
                elif isinstance(message, EventMessage) and message.kind == "style":
                    ended.append(message.t_ns)
                    words.append(message.text)
            learner = run._learner.child.process
            if learner is not None and learner.pid and learner.is_alive() and len(ended) > 0:
                memory_mb = max(memory_mb, psutil.Process(learner.pid).memory_full_info().uss / 1e6)
            turns_left -= run.ended
        skipped = sum(child.counts.get("skipped", 0) for child in run.cameras)
        ready_s = (run._learner.child.ready_ns - asked[0]) * 1e-9 if asked and run._learner.child.ready_ns else float("nan")
    subscriber.close()
    for begin, end in zip(asked, ended, strict=False):
        spans.append((begin, end))
    settled = [pose for pose in poses if pose.t_capture_ns > t_start_ns + SETTLED_S * 1e9]
    ready_ns = asked[0] + round(ready_s * 1e9) if asked and np.isfinite(ready_s) else 0
    starting = np.array([bool(asked) and asked[0] <= pose.t_publish_ns <= ready_ns for pose in settled])
    spans = [(max(begin, ready_ns), end) for begin, end in spans]
    learning = np.array([any(begin <= pose.t_publish_ns <= end for begin, end in spans) for pose in settled])
    taken = np.array([any(end <= pose.t_publish_ns <= end + 100e6 for _, end in spans) for pose in settled])
    latency = np.array([(pose.t_publish_ns - pose.t_capture_ns) * MS for pose in settled])
    interval = np.diff([pose.t_publish_ns for pose in settled], prepend=settled[0].t_publish_ns - 16_666_667) * MS
    done = [found for found in map(SECONDS.search, words) if found is not None]
    return {
        "where": where,
        "load": os.getloadavg()[0],
        "poses": len(settled),
        "frames skipped by the cameras": skipped,
        "styles": [f"{found[1]} poses in {found[2]} s" for found in done],
        "learner ready after [s]": round(ready_s, 2),
        "learner's own memory [MB]": round(memory_mb),
        "poses while learning": int(learning.sum()),
        "latency, not learning [ms]": spread(latency[~learning & ~starting]),
        "latency, learner starting [ms]": spread(latency[starting]),
        "latency, learning [ms]": spread(latency[learning]),
        "latency, 0.1 s after a style [ms]": spread(latency[taken]),
        "interval, not learning [ms]": spread(interval[~learning & ~starting]),
        "interval, learner starting [ms]": spread(interval[starting]),
        "interval, learning [ms]": spread(interval[learning]),
        "words": [text for text in words if not SECONDS.search(text)],
    }


def spread(values: np.ndarray) -> str:
    """Give the shares of some values in words."""
    if not len(values):
        return "-"
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    return f"p50 {p50:.1f}  p95 {p95:.1f}  p99 {p99:.1f}  max {values.max():.1f}"


if __name__ == "__main__":
    main()
