"""One process of a run, or a camera node on another machine: what is known of it, how it is started and made to end.

When a process that died is started again: at once, then after growing pauses, and no more where that is of no use.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.context import SpawnProcess
from typing import Any

from capture.clock import now_ns
from capture.process.control import MAX_DETAILS, Details, Report
from capture.process.link import SupervisorAddress
from capture.process.plan import CameraPlan
from reconstruct.process.main import ReconstructionPlan
from tools.run.child_start import PreparedProcesses, start_process

log = logging.getLogger(__name__)

FIRST_PAUSE_NS, MAX_PAUSE_NS = 500_000_000, 10_000_000_000
QUICK_NS = 5_000_000_000  # a process that dies within so long of being ready will do so again
GOOD_NS = 60_000_000_000  # one that has worked for so long begins with a clean record
MAX_QUICK = 3


@dataclass(slots=True)
class Restarts:
    """The record of one process: how often it was started again in all, lately, and in a row without having worked."""

    n: int = 0
    _lately: int = 0
    _quick: int = 0

    def died(self, worked_ns: int) -> int | None:
        """Return the pause before it is started again [ns], None where it shall not be. worked_ns: since it was ready, or 0."""
        if worked_ns >= GOOD_NS:
            self._lately = self._quick = 0
        self._quick = self._quick + 1 if worked_ns < QUICK_NS else 0
        if self._quick > MAX_QUICK:
            return None
        pause_ns = min(FIRST_PAUSE_NS << (self._lately - 1), MAX_PAUSE_NS) if 0 < self._lately < 16 else 0
        self.n += 1
        self._lately = min(self._lately + 1, 15)
        return pause_ns


def format_duration(ns: int) -> str:
    """Return in words how long something took."""
    seconds = ns * 1e-9
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


READY_S = 600.0  # every kernel compiled anew on a slow and busy machine; a process that cannot go on ends or says so long before
HUNG_S = 5.0
MAX_TOLD = MAX_DETAILS - 8  # the others say how a node is
NODE_FIGURES = ("clock_offset_ns", "clock_error_ns", "rtt_ns", "clock_jumps", "skipped", "unsent")


@dataclass(slots=True)
class ChildProcess:
    """One process and its state.

    Attributes:
        target: main function of the process; None for a camera node, which nobody here starts.
        greeted: it can hear orders.
        away: a node that is out of reach.
        counts: last figures of the process.
        details: further details it told.
        tuned: settings given to it since the start, by dotted name.
        ready_ns: since when it has been ready, 0 where it is not.
        due_ns: time at which it is started again [ns], 0 while it runs.
        silent_s: for how long it may be silent once it is ready [s].
    """

    name: str
    target: Callable[..., None] | None
    plan: Any
    process: SpawnProcess | None = None
    address: str = ""
    greeted: bool = False
    ready: bool = False
    ended: bool = False
    away: bool = False
    last_heard_ns: int = 0
    ready_ns: int = 0
    due_ns: int = 0
    restarts: Restarts = field(default_factory=Restarts)
    counts: dict[str, int] = field(default_factory=dict)
    details: Details = field(default_factory=dict)
    tuned: Details = field(default_factory=dict)
    complaint: Report | None = None
    silent_s: float = HUNG_S
    _was_hung: bool = False

    @property
    def is_node(self) -> bool:
        """Whether it is a camera node."""
        return self.target is None

    @property
    def described(self) -> Details:
        """Details of a camera for the stream's status: its own, and the state of a node and its clock."""
        details: Details = dict(self.details)
        if self.is_node:
            details["node"] = "away" if self.away else "ready" if self.ready else "opening"
            details |= {name: self.counts[name] for name in NODE_FIGURES if name in self.counts}
        return details

    def hear(self, report: Report, t_ns: int) -> None:
        """Take a report of the process; of a node that reports ever more, only so much as can be passed on."""
        self.last_heard_ns, self.greeted = t_ns, True
        self.counts = dict(islice({**self.counts, **report.counts}.items(), MAX_TOLD))
        self.details = dict(islice({**self.details, **report.details}.items(), MAX_TOLD))

    def forget(self) -> None:
        """Forget the reports of the process."""
        self.greeted = self.ready = self.ended = self.away = False
        self.last_heard_ns, self.complaint = now_ns(), None
        self.ready_ns = self.due_ns = 0

    def spawn(self, link: SupervisorAddress, prepared: PreparedProcesses | None = None) -> None:
        """Start the process; one that is prepared takes its part if there is any left."""
        assert self.target is not None
        self.forget()
        process = None if prepared is None else prepared.take(self.target, link, self.plan)
        self.process = process or start_process(self.target, (link, self.plan), f"duocap-{self.name}")

    def is_hung(self) -> bool:
        """Return whether it has been silent for too long."""
        return now_ns() - self.last_heard_ns > (self.silent_s if self.ready or self.is_node else READY_S) * 1e9

    def has_ended(self) -> bool:
        """Return whether it runs no more; one that hangs is made to end."""
        assert self.process is not None
        if self.is_hung():
            self._was_hung = True
            self.end()
            return True
        self._was_hung = False
        return not self.process.is_alive()

    def plan_restart(self) -> str | None:
        """Settle when it is started again; return that in words, None where it shall not be."""
        pause_ns = self.restarts.died(now_ns() - self.ready_ns if self.ready_ns else 0)
        if pause_ns is None:
            return None
        self.ready, self.due_ns = False, now_ns() + pause_ns
        after = f" in {format_duration(pause_ns)}" if pause_ns >= 1_000_000_000 else ""
        return f"{self.fate()}; starting it again{after}"

    def fate(self) -> str:
        """Return in words how it ended, in its own words if it left any."""
        if self.complaint is not None:
            return self.complaint.text
        if self._was_hung:
            return f"the {self.name} process has not answered for {self.silent_s if self.ready_ns else READY_S:g} s"
        code = self.process.exitcode if self.process is not None else None
        how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
        return f"the {self.name} process {how}"

    def join(self, deadline_ns: int) -> None:
        """Wait until it has ended, then make it end; one that is still being born has not heard the order."""
        if self.process is not None:
            if self.greeted:
                self.process.join(max(0.0, (deadline_ns - now_ns()) / 1e9))
            self.end()

    def again(self) -> None:
        """Prepare to be started once more: a camera that was there is then looked for as long as the run lasts."""
        if isinstance(self.plan, CameraPlan):
            self.plan = self.plan.again()
        elif isinstance(self.plan, ReconstructionPlan):
            self.plan = replace(self.plan, part=self.restarts.n + 1)

    def end(self) -> None:
        """Make the process end that does not end by itself."""
        assert self.process is not None
        for end in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                log.debug("ending %s by force", self.name)
                end()
                self.process.join(1.0)
