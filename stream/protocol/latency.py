"""The latency of poses from capture to receipt, by stage.

The stages follow each other without gaps, so their sum is the total within some microseconds: read (the picture is in memory),
detect, transport (to the reconstruction), wait, match, label, solve, finish, lag (by how much newer views had been seen when the
pose was decided), publish, received. Percentiles do not add up: those of the total are computed from the totals.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from config.units import MS_PER_NS
from stream.protocol.messages import PoseMessage

STAGES = ("read", "decode", "detect", "transport", "wait", "match", "label", "solve", "finish", "lag", "publish", "received")
TOTAL, LAG = "total", "lag"
REPEATED_STAGES = frozenset(("publish",))  # of a pose that only repeats an earlier one
Quantiles = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A pose and its time of receipt on the publisher's clock [ns], None if unknown."""

    pose: PoseMessage
    t_received_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of some poses.

    Attributes:
        stages_ms: p50, p95 and p99 of each stage and of the total, in order [ms].
        n: number of poses.
        budget_ms: budget for the p95 of the total without the lag [ms].
    """

    stages_ms: dict[str, Quantiles]
    n: int
    budget_ms: float

    @property
    def total_ms(self) -> Quantiles | None:
        """From capture to receipt (to publishing if receipts are unknown); None without poses."""
        return self.stages_ms.get(TOTAL)

    @property
    def allowed_ms(self) -> float:
        """The budget and the lag that was asked for [ms]."""
        return self.budget_ms + compute_lag_ms(self.stages_ms)

    @property
    def over_ms(self) -> float:
        """Excess of the total's p95 over the limit [ms], negative within it; 0 without poses."""
        return self.total_ms[1] - self.allowed_ms if self.total_ms else 0.0

    @property
    def is_over(self) -> bool:
        """Whether the budget is exceeded."""
        return self.over_ms > 0.0


def compute_latency(receipts: Iterable[Receipt], budget_ms: float) -> Latency:
    """Compute the latency of poses; those that only repeat an earlier one while the cameras are silent are left out."""
    measured = [receipt for receipt in receipts if set(receipt.pose.latency_ns) - REPEATED_STAGES]
    table: dict[str, list[int]] = {stage: [] for stage in (*_list_stages(measured), TOTAL)}
    for receipt in measured:
        for stage, duration_ns in compute_stage_durations(receipt).items():
            table[stage].append(duration_ns)
    return Latency(
        {stage: compute_quantiles_ms(durations) for stage, durations in table.items() if durations}, len(measured), budget_ms
    )


def compute_stage_durations(receipt: Receipt) -> dict[str, int]:
    """Return the duration of each stage and the total of one pose [ns]."""
    pose, t_received_ns = receipt.pose, receipt.t_received_ns
    if t_received_ns is None:
        return {**pose.latency_ns, TOTAL: pose.t_publish_ns - pose.t_capture_ns}
    return {**pose.latency_ns, "received": t_received_ns - pose.t_publish_ns, TOTAL: t_received_ns - pose.t_capture_ns}


def compute_lag_ms(stages_ms: Mapping[str, Quantiles]) -> float:
    """Return the requested delay of the poses behind the newest views [ms]; 0 without a lag."""
    return stages_ms[LAG][0] if LAG in stages_ms else 0.0


def compute_quantiles_ms(durations_ns: Sequence[int]) -> Quantiles:
    """Return p50, p95 and p99 [ms]."""
    p50, p95, p99 = np.percentile(np.asarray(durations_ns, float) * MS_PER_NS, [50, 95, 99])
    return float(p50), float(p95), float(p99)


def _list_stages(receipts: Sequence[Receipt]) -> list[str]:
    """Return the stages that occur, in order; unknown ones last."""
    named = {stage for receipt in receipts for stage in compute_stage_durations(receipt)} - {TOTAL}
    return [stage for stage in STAGES if stage in named] + sorted(named - set(STAGES))
