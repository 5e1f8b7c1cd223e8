"""The process that learns styles: started when it is first asked for, started again when it dies, and done without otherwise."""

from collections.abc import Callable

from capture.clock import now_ns
from capture.process.control import Report, ReportKind, StartOrder, StopOrder
from capture.process.link import SupervisorAddress
from reconstruct.process.learner import LearnerPlan, learner_main
from tools.run.child import ChildProcess
from tools.run.router import Router

STYLE = "style"
SILENT_S = 60.0  # it steps back behind all others, so on a busy machine it may be silent for long


class LearnerProcess:
    """The learner of one run. link: its connection; announce: tells news in words. Whatever happens to it, the run goes on.

    has_saved: a style was written to the file that was wanted, by this process or one before it that died.
    """

    def __init__(self, plan: LearnerPlan, board: Router, link: SupervisorAddress, announce: Callable[[str], None]) -> None:
        self.child = ChildProcess(STYLE, learner_main, plan, silent_s=SILENT_S)
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
        elif child.has_ended():
            words = child.plan_restart()
            self._given_up = words is None
            self._announce(words or f"{child.fate()}; no style is learned any more, poses go on without")

    def stop(self) -> None:
        """Ask the learner process to end."""
        self._board.send(self.child, StopOrder())

    def _tell_address(self) -> None:
        """Tell where tasks are."""
        self._board.send(self.child, StartOrder(address=self._address))
