"""The processes of a run as seen from outside: processor time, memory and threads of each."""

import contextlib
from dataclasses import dataclass, field

import numpy as np
import psutil

MB = 1e-6
NAMES = {f"duocap-{name}"[:15]: name for name in ("reconstruction", "left", "right", "style", "viewer")}  # that Linux shows


@dataclass(slots=True)
class WatchedProcess:
    """One process; a camera that is started again keeps its name.

    cpu_before_s: of those it replaced; samples: seconds, CPU seconds, RSS and USS [MB]; with_children: as of a browser, whose
    processes share the work.
    """

    name: str
    process: psutil.Process
    n_restarts: int = 0
    cpu_before_s: float = 0.0
    samples: list[tuple[float, float, float, float]] = field(default_factory=list)
    with_children: bool = False
    n_threads: int = 0

    def sample(self, t_s: float) -> None:
        """Take a sample, unless the process has ended."""
        try:
            used = [self._used(self.process)]
            used += [self._used(child) for child in self.process.children(recursive=True)] if self.with_children else []
        except psutil.Error:
            return
        cpu_s, rss, uss, n_threads = (sum(column) for column in zip(*used, strict=True))
        self.n_threads = int(n_threads)
        self.samples.append((t_s, self.cpu_before_s + cpu_s, rss * MB, uss * MB))

    @staticmethod
    def _used(process: psutil.Process) -> tuple[float, int, int, int]:
        """Return CPU seconds, RSS and USS [bytes] and threads of one process."""
        with process.oneshot():
            times, rss = process.cpu_times(), process.memory_info().rss
            uss = getattr(process.memory_full_info(), "uss", rss)
            return times.user + times.system, rss, uss, process.num_threads()

    def cpu_percent(self, from_s: float, to_s: float) -> float:
        """Return the share of one core between two times, NaN without samples."""
        seen = [sample for sample in self.samples if from_s <= sample[0] <= to_s]
        if len(seen) < 2 or seen[-1][0] <= seen[0][0]:
            return float("nan")
        return 100.0 * (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])

    def growth_mb_h(self, from_s: float) -> float:
        """Return the slope of its own memory (USS) from a time on [MB an hour], NaN for fewer than four samples."""
        seen = np.array([sample for sample in self.samples if sample[0] >= from_s])
        if len(seen) < 4:
            return float("nan")
        return float(np.polyfit(seen[:, 0] / 3600.0, seen[:, 3], 1)[0])


class Processes:
    """The processes of `duocap run`, and others given by name."""

    def __init__(self, supervisor: int, others: dict[str, int | None]) -> None:
        self._supervisor = psutil.Process(supervisor)
        self.watched = {name: WatchedProcess(name, psutil.Process(pid)) for name, pid in others.items()}
        self.watched["supervisor"] = WatchedProcess("supervisor", self._supervisor)

    def watch_browser(self, pid: int) -> None:
        """Watch the browser with all that it starts."""
        self.watched["browser"] = WatchedProcess("browser", psutil.Process(pid), with_children=True)

    def sample(self, t_s: float) -> None:
        """Sample all of them, new ones included."""
        self._recognise()
        for watched in self.watched.values():
            watched.sample(t_s)

    def _recognise(self) -> None:
        """Find the supervisor's children by their names; a new one replaces one that has ended."""
        with contextlib.suppress(psutil.Error):
            for child in self._supervisor.children():
                name = NAMES.get(child.name()[:15], "")
                watched = self.watched.get(name)
                if name and watched is None:
                    self.watched[name] = WatchedProcess(name, child)
                elif watched is not None and watched.process != child and not watched.process.is_running():
                    watched.process, watched.n_restarts = child, watched.n_restarts + 1
                    watched.cpu_before_s = watched.samples[-1][1] if watched.samples else 0.0
