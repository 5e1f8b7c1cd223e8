"""The reconstruction process: it drains the socket that blobs come in by, turn after turn, and follows orders between turns."""

from collections.abc import Callable
from dataclasses import dataclass, field

from capture.clock import now_ns
from capture.control import Order
from capture.endpoints import KeySettings
from capture.lifeline import Lifeline, Link, live
from capture.synchronise import warm_synchroniser
from config.long_lived import set_aside
from config.settings import TimeSettings
from reconstruct.inbox import Inbox
from reconstruct.journal import Journal, NoJournal
from reconstruct.learner import LearnerPlan
from reconstruct.learner_line import LearnerLine
from reconstruct.reconstruction import Reconstruction, Steps
from reconstruct.sink import Sink
from reconstruct.style.session import StyleBook

TURN_MS = 20


def no_journal(sink: Sink) -> Journal:
    """Write nothing down."""
    return NoJournal()


def no_book(pipeline: Steps) -> StyleBook | None:
    """Learn no style."""
    return None


@dataclass(frozen=True, slots=True)
class ReconstructionPlan:
    """The reconstruction process: pipeline and sink are made inside it, so picklable.

    budget_ns: largest skew of a pair, until the supervisor knows better; nodes: address for the blobs of camera nodes, empty
    where none is expected; keys: that are asked for there; time: of the cameras' clocks; journal: where all that poses follow
    from is written down, found at the sink; book: from which styles are learned, made for the pipeline; learner: who does so;
    part: 1, then counted up whenever the process is started again within a run; sink_again: makes the sink of such a part, where
    it must not be the first one over again, as when it records to a file.
    """

    pipeline: Callable[[], Steps]
    sink: Callable[[], Sink]
    budget_ns: int
    nodes: str = ""
    keys: KeySettings | None = None
    time: TimeSettings = field(default_factory=TimeSettings)
    journal: Callable[[Sink], Journal] = no_journal
    book: Callable[[Steps], StyleBook | None] = no_book
    learner: LearnerPlan = field(default_factory=LearnerPlan)
    part: int = 1
    sink_again: Callable[[int], Sink] | None = None

    def made_sink(self) -> Sink:
        """Make the sink of this part."""
        return self.sink_again(self.part) if self.part > 1 and self.sink_again is not None else self.sink()


def reconstruction_main(link: Link, plan: ReconstructionPlan) -> None:
    """Run the reconstruction process; the target of its supervisor."""
    live(link, lambda lifeline: _serve(lifeline, link.session, plan))


def _serve(lifeline: Lifeline, session: str, plan: ReconstructionPlan) -> None:
    """Make everything, compile every kernel, say ready, then take turns until told to stop."""
    inbox, sink = Inbox(plan.nodes, plan.keys), plan.made_sink()
    lifeline.report("hello", inbox.address, details={"nodes": inbox.nodes_address})
    pipeline = plan.pipeline()
    pipeline.warm()
    warm_synchroniser(plan.time)
    run = Reconstruction(pipeline, sink, plan.budget_ns, plan.time, plan.book(pipeline))
    journal, line = plan.journal(sink), LearnerLine(session) if run.book is not None else None
    set_aside()
    lifeline.report("ready")
    while not any(_obeyed(order, run, sink, journal) for order in lifeline.orders(0)):
        received, t_ns = inbox.drain(TURN_MS), now_ns()
        journal.turn(received, t_ns)
        run.turn(received, t_ns)
        if line is not None:
            _learn(line, run, sink, journal, lifeline)
        t_ns = now_ns()
        sink.serve(t_ns)
        for ask in sink.asks():
            lifeline.report("ask", ask.process, details=ask.report_details())
        run.report(t_ns, inbox.n_malformed)
        lifeline.beat(lambda: {**run.counts, "malformed": inbox.n_malformed})
    inbox.close()
    sink.close()
    if line is not None:
        line.close()


def _learn(line: LearnerLine, run: Reconstruction, sink: Sink, journal: Journal, lifeline: Lifeline) -> None:
    """Give away what is to be learned, and use what has been; never waits."""
    task = None if run.book is None else run.book.task()
    if task is not None:
        line.offer(task)
        lifeline.report("learn", line.address)
    for learned in line.learned():
        t_ns = now_ns()
        if run.take_style(learned, t_ns):  # what came too late changes no pose, and a replay would learn in its place
            journal.style(learned, t_ns)
    if line.failure:
        sink.event(now_ns(), "style", line.failure)
        line.failure = ""


def _obeyed(order: Order, run: Reconstruction, sink: Sink, journal: Journal) -> bool:
    """Write an order down and follow it; True for stop."""
    journal.order(order, now_ns())
    return obey(order, run, sink)


def obey(order: Order, run: Reconstruction, sink: Sink) -> bool:
    """Follow one order; True for stop. A replay gives the orders of its journal once more."""
    if order.kind == "event":
        sink.event(now_ns(), "process", order.text)
    elif order.kind == "camera":
        run.describe(order.text, order.details)
    elif order.kind == "start" and isinstance(budget_ns := order.details.get("budget_ns"), int) and budget_ns > 0:
        run.pair_within(budget_ns)
    elif order.kind == "sync":
        run.synchronise(order.text, order.details)
    return order.kind == "stop"
