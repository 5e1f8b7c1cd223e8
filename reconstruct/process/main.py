"""The reconstruction process: each turn it takes the blobs that came, and it follows orders between turns."""

from collections.abc import Callable
from dataclasses import dataclass, field

from capture.clock import now_ns
from capture.process.control import (
    CameraStatusOrder,
    EventOrder,
    Order,
    RecentreOrder,
    ReportKind,
    StartOrder,
    StopOrder,
    SyncOrder,
)
from capture.process.link import SupervisorAddress, SupervisorLink, freeze_objects, run_child
from capture.sockets.endpoints import KeySettings
from capture.timing.synchronise import warm_synchroniser
from config.settings import TimeSettings
from reconstruct.models.style.session import SessionStyle
from reconstruct.process.inbox import Inbox
from reconstruct.process.journal import Journal, NoJournal
from reconstruct.process.learner import LearnerPlan
from reconstruct.process.learner_connection import LearnerConnection, LearnFailure
from reconstruct.process.reconstruction import Reconstruction, Stepper
from reconstruct.process.sink import Sink

TURN_MS = 20


@dataclass(frozen=True, slots=True)
class ReconstructionPlan:
    """Plan of the reconstruction process; picklable factories, as pipeline and sink are made in the process.

    Attributes:
        budget_ns: largest skew of a pair, until the supervisor knows better.
        nodes: address for the blobs of camera nodes, empty without nodes.
        keys: keys for that address.
        time: settings of the cameras' clocks.
        journal: factory of the journal, which records everything that poses depend on, given the sink; None: not recorded.
        session_style: factory of the source of learned styles, given the pipeline; None: none are learned.
        learner: the process that learns.
        part: 1, counted up whenever the process is started again within a run.
        sink_again: makes the sink of such a part where it must differ from the first, as when it records to a file.
    """

    pipeline: Callable[[], Stepper]
    sink: Callable[[], Sink]
    budget_ns: int
    nodes: str = ""
    keys: KeySettings | None = None
    time: TimeSettings = field(default_factory=TimeSettings)
    journal: Callable[[Sink], Journal] | None = None
    session_style: Callable[[Stepper], SessionStyle | None] | None = None
    learner: LearnerPlan = field(default_factory=LearnerPlan)
    part: int = 1
    sink_again: Callable[[int], Sink] | None = None

    def make_sink(self) -> Sink:
        """Make the sink of this part."""
        return self.sink_again(self.part) if self.part > 1 and self.sink_again is not None else self.sink()


def reconstruction_main(link: SupervisorAddress, plan: ReconstructionPlan) -> None:
    """Run the reconstruction process; the target of its supervisor."""
    run_child(link, lambda supervisor: _serve_turns(supervisor, link.session, plan))


def _serve_turns(supervisor: SupervisorLink, session: str, plan: ReconstructionPlan) -> None:
    """Make everything, compile every kernel, report ready, then take turns until a stop order."""
    inbox, sink = Inbox(plan.nodes, plan.keys), plan.make_sink()
    supervisor.report(ReportKind.HELLO, inbox.address, details={"nodes": inbox.nodes_address})
    pipeline = plan.pipeline()
    pipeline.warm()
    warm_synchroniser(plan.time)
    session_style = None if plan.session_style is None else plan.session_style(pipeline)
    run = Reconstruction(pipeline, sink, plan.budget_ns, plan.time, session_style)
    journal = NoJournal() if plan.journal is None else plan.journal(sink)
    learner = None if session_style is None else LearnerConnection(session)
    freeze_objects()
    supervisor.report(ReportKind.READY)
    while not any(_record_and_follow_order(order, run, sink, journal) for order in supervisor.orders(0)):
        received, t_ns = inbox.drain(TURN_MS), now_ns()
        journal.turn(received, t_ns)
        run.turn(received, t_ns)
        if learner is not None:
            _exchange_with_learner(learner, run, sink, journal, supervisor)
        t_ns = now_ns()
        sink.serve(t_ns)
        for ask in sink.asks():
            supervisor.report(ReportKind.ASK, ask.process, details=ask.report_details())
        run.report(t_ns, inbox.n_malformed)
        supervisor.beat(lambda: {**run.counts, "malformed": inbox.n_malformed})
    inbox.close()
    sink.close()
    if learner is not None:
        learner.close()


def _exchange_with_learner(
    learner: LearnerConnection, run: Reconstruction, sink: Sink, journal: Journal, supervisor: SupervisorLink
) -> None:
    """Offer a task if there is one, and use the results that came; never waits."""
    learner.rest(run.is_late)
    task = None if run.session_style is None or run.is_late else run.session_style.task()
    if task is not None:
        learner.offer(task)
        supervisor.report(ReportKind.LEARN, learner.address)
    for result in learner.results():
        t_ns = now_ns()
        if isinstance(result, LearnFailure):
            sink.event(t_ns, "style", result.text)
        elif run.take_style(result, t_ns):  # a result that came too late changes no pose, and a replay would use it
            journal.style(result, t_ns)


def _record_and_follow_order(order: Order, run: Reconstruction, sink: Sink, journal: Journal) -> bool:
    """Record an order and follow it; return True for stop."""
    journal.order(order, now_ns())
    return follow_order(order, run, sink)


def follow_order(order: Order, run: Reconstruction, sink: Sink) -> bool:
    """Follow one order; return True for stop. A replay follows the orders of its journal again.

    Args:
        order: order to follow.
        run: the reconstruction that follows it.
        sink: receives the events.
    """
    match order:
        case EventOrder():
            sink.event(now_ns(), "process", order.text)
        case CameraStatusOrder():
            run.describe(order.camera, order.details)
        case StartOrder() if order.budget_ns:
            run.set_budget(order.budget_ns)
        case SyncOrder():
            run.synchronise(order)
        case RecentreOrder():
            run.recentre(now_ns())
    return isinstance(order, StopOrder)
