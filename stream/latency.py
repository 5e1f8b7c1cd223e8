"""How long a pose takes, from the grab of its pictures to its receipt, stage by stage; pure, times are passed in.

The stages follow each other without gaps, so that their sum is the total up to some microseconds: read (the picture is in
memory), detect, transport (to the reconstruction), wait (its turn), match, label, solve, finish, publish, received (by whoever
measures). Percentiles do not add up: those of the total are its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stream.messages import PoseMessage

STAGES = ("read", "decode", "detect", "transport", "wait", "match", "label", "solve", "finish", "publish", "received")
TOTAL = "total"
HELD_STAGES = frozenset(("publish",))
MS = 1e-6
Quantiles = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A pose and when it was received, on the publisher's clock [ns]; None where that is not known."""

    pose: PoseMessage
    t_received_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """p50, p95 and p99 of each stage and of the total [ms], in the order of the way; n: poses; budget_ms: for the total's p95."""

    stages_ms: dict[str, Quantiles]
    n: int
    budget_ms: float

    @property
    def total_ms(self) -> Quantiles | None:
        """From grab to receipt (to publish where receipts are not known); None without poses."""
        return self.stages_ms.get(TOTAL)

    @property
    def over_ms(self) -> float:
        """By how much the total's p95 exceeds the budget [ms]; below 0: what is left of it. 0 without poses."""
        return self.total_ms[1] - self.budget_ms if self.total_ms else 0.0

    @property
    def is_over(self) -> bool:
        """Whether the budget is exceeded."""
        return self.over_ms > 0.0


def latency_of(receipts: Iterable[Receipt], budget_ms: float) -> Latency:
    """Sum up poses; those that only hold an earlier one while the cameras are silent are left out."""
    measured = [receipt for receipt in receipts if set(receipt.pose.latency_ns) - HELD_STAGES]
    table: dict[str, list[int]] = {stage: [] for stage in (*_named(measured), TOTAL)}
    for receipt in measured:
        for stage, duration_ns in stages_of(receipt).items():
            table[stage].append(duration_ns)
    return Latency({stage: quantiles(durations) for stage, durations in table.items() if durations}, len(measured), budget_ms)


def stages_of(receipt: Receipt) -> dict[str, int]:
    """Give the duration of each stage and the total of one pose [ns]."""
    pose, t_received_ns = receipt.pose, receipt.t_received_ns
    known = t_received_ns is not None
    end_ns = t_received_ns if t_received_ns is not None else pose.t_publish_ns
    received = {"received": end_ns - pose.t_publish_ns} if known else {}
    return {**pose.latency_ns, **received, TOTAL: end_ns - pose.t_capture_ns}


def quantiles(durations_ns: Sequence[int]) -> Quantiles:
    """Give p50, p95 and p99 [ms]."""
    p50, p95, p99 = np.percentile(np.asarray(durations_ns, float) * MS, [50, 95, 99])
    return float(p50), float(p95), float(p99)


def _named(receipts: Sequence[Receipt]) -> list[str]:
    """Give the stages there are, in the order of the way; those that no version of duocap knows come last."""
    named = {stage for receipt in receipts for stage in stages_of(receipt)} - {TOTAL}
    return [stage for stage in STAGES if stage in named] + sorted(named - set(STAGES))
