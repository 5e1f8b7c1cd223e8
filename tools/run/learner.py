"""The process that learns styles: started when it is first asked for, started again when it dies, and done without otherwise."""

from collections.abc import Callable

from capture.clock import now_ns
from capture.process.control import Report, ReportKind, StartOrder, StopOrder
from capture.process.link import SupervisorAddress
from reconstruct.process.learner import LearnerPlan, learner_main
from tools.run.child import READY_S, ChildProcess, format_duration
from tools.run.router import Router

STYLE = "style"
SILENT_S = 60.0  # it steps back behind all others, so on a busy machine it may be silent for long


class LearnerProcess:
    """The learner of one run. link: its connection; announce: tells news in words. Whatever happens to it, the run goes on.

    has_saved: a style was written to the file that was wanted, by this process or one before it that died.
    """

    def __init__(self, plan: LearnerPlan, board: Router, link: SupervisorAddress, announce: Callable[[str], None]) -> None:
        self.child = ChildProcess(STYLE, learner_main, plan)
        self._board, self._link, self._announce = board, link, announce
        self._address, self._given_up, self.has_saved = "", False, False

    def ask(self, address: str) -> None:
        """Have the reconstruction at this address served: start the process if it is not there."""
        self._address = address
        if self.child.process is None and not self._given_up:
            self.child.spawn(self._link)
        elif self.child.greeted:
            self._tell_address()

    def take(self, report: Report) -> None:
        """Carry out the request of a report."""
        self.has_saved |= report.counts.get("saved", 0) > 0
        if report.kind is ReportKind.HELLO:
            self._tell_address()
        elif report.kind is ReportKind.READY:
            self.child.ready, self.child.ready_ns = True, now_ns()
        elif report.kind in (ReportKind.FAILED, ReportKind.FAULT):
            self.child.complaint = report

    def turn(self) -> None:
        """Start it again if it has died, when that is due; give up a learner that cannot work."""
        child = self.child
        if child.process is None or self._given_up:
            return
        if child.due_ns:
            if now_ns() >= child.due_ns:
                child.spawn(self._link)
            return
        hung = now_ns() - child.last_heard_ns > (SILENT_S if child.ready else READY_S) * 1e9
        if child.process.is_alive() and not hung:
            return
        if hung:
            child.end()
        worked_ns = now_ns() - child.ready_ns if child.ready_ns else 0
        pause_ns = child.restarts.died(worked_ns)
        if pause_ns is None:
            self._given_up = True
            self._announce(f"{child.fate(hung)}; no style is learned any more, poses go on without")
            return
        child.ready, child.due_ns = False, now_ns() + pause_ns
        after = f" in {format_duration(pause_ns)}" if pause_ns >= 1_000_000_000 else ""
        self._announce(f"{child.fate(hung)}; starting it again{after}")

    def stop(self) -> None:
        """Ask the learner process to end."""
        self._board.send(self.child, StopOrder())

    def end(self, deadline_ns: int) -> None:
        """Wait until it has ended, then make it end."""
        if self.child.process is not None:
            if self.child.greeted:
                self.child.process.join(max(0.0, (deadline_ns - now_ns()) / 1e9))
            self.child.end()

    def _tell_address(self) -> None:
        """Tell where tasks are."""
        self._board.send(self.child, StartOrder(address=self._address))
