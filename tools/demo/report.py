"""What the demo reports: computed from the messages a client hears, against the truth of the simulation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.table import Table

from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINTS
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import matrix_from_quaternion
from database.geometry.skeleton import Skeleton
from stream.protocol.latency import Latency, Quantiles, Receipt, compute_latency
from stream.protocol.messages import PoseMessage, SkeletonMessage

Truth = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class DemoReport:
    """The figures of one demo.

    Attributes:
        frames: due to each camera, (V,).
        captured: not skipped for being late.
        due: times of the part that is reported, to which all that follows belongs.
        poses: published for such a time.
        tracked: those in state tracking.
        error_mm: distance of their joints from the truth, mean, median and p95.
        worst_joint: name of the joint with the largest mean error, and that error.
        latency: p50, p95, p99 by stage, `total` from grab to receipt.
        rate: rate at which the cameras ran, as text.
        cores: processor time of every process over the time that passed.
    """

    frames: tuple[int, ...]
    captured: tuple[int, ...]
    due: int
    poses: int
    tracked: int
    error_mm: tuple[float, float, float]
    worst_joint: tuple[str, float]
    latency: Latency
    rate: str = ""
    cores: Mapping[str, float] = field(default_factory=dict)

    @property
    def dropped(self) -> int:
        """Times that no pose came of: the machine was too slow for them."""
        return max(self.due - self.poses, 0)

    @property
    def lost(self) -> int:
        """Poses that are not tracked: the tracker was not sure of them."""
        return self.poses - self.tracked

    @property
    def latency_ms(self) -> dict[str, Quantiles]:
        """p50, p95, p99 by stage [ms]."""
        return self.latency.stages_ms

    @property
    def tracked_share(self) -> float:
        """Tracked poses of all that were due."""
        return self.tracked / max(self.due, 1)


def compute_stream_joints_m(skeleton: SkeletonMessage, poses: Sequence[PoseMessage]) -> Floats:
    """Return the joints of messages in the world, (N, J, 3) [m]."""
    offsets_m = np.ascontiguousarray(skeleton.offsets_m)
    body = Skeleton(skeleton.subject, offsets_m, np.zeros_like(offsets_m))
    local = matrix_from_quaternion(np.array([pose.rotations_xyzw for pose in poses], float))
    _, positions = compute_forward_kinematics(body, charted_from_local(local), np.array([pose.root_m for pose in poses]))
    return positions


def select_measured(heard: Sequence[Receipt]) -> list[Receipt]:
    """Return the first pose of every capture time: later ones only hold it while the cameras are silent."""
    first: dict[int, Receipt] = {}
    for receipt in heard:
        first.setdefault(receipt.pose.t_capture_ns, receipt)
    return list(first.values())


def build_demo_report(
    skeleton: SkeletonMessage,
    heard: Sequence[Receipt],
    truth: Truth,
    t_start_ns: int,
    frames: tuple[int, ...],
    captured: tuple[int, ...],
    budget_ms: float = 33.0,
    due: int | None = None,
) -> DemoReport:
    """Build the report of a demo: compare the poses heard with the truth.

    Args:
        skeleton: skeleton of the stream.
        heard: poses as they came.
        truth: joint positions (N, J, 3) [m] at seconds after the start (N,).
        t_start_ns: begin of the performance [ns].
        frames: number of frames of each camera, captured or skipped.
        captured: number of those captured.
        budget_ms: budget of the latency [ms].
        due: poses that should have come, None for the frames of one camera.
    Raises: DuocapError: nothing was tracked.
    """
    receipts = select_measured(heard)
    tracked = [receipt.pose for receipt in receipts if receipt.pose.state == "tracking"]
    if not tracked:
        raise DuocapError(
            f"no pose of {len(receipts)} was tracked; is the machine too busy for {len(frames)} cameras at 60 Hz? try again"
        )
    seconds = np.array([pose.t_capture_ns - t_start_ns for pose in tracked]) * 1e-9
    error_mm = 1e3 * np.linalg.norm(compute_stream_joints_m(skeleton, tracked) - truth(seconds), axis=2)
    by_joint = error_mm.mean(axis=0)
    worst = int(np.argmax(by_joint))
    return DemoReport(
        frames=frames,
        captured=captured,
        due=min(frames) if due is None else due,
        poses=len(receipts),
        tracked=len(tracked),
        error_mm=(float(error_mm.mean()), float(np.median(error_mm)), float(np.percentile(error_mm, 95))),
        worst_joint=(JOINTS[worst], float(by_joint[worst])),
        latency=compute_latency(receipts, budget_ms),
    )


def build_report_tables(report: DemoReport) -> list[Table]:
    """Return the report as tables for a person."""
    result = Table("result", "", title="duocap demo", title_justify="left")
    result.add_row("frames in, of each camera", f"{' and '.join(map(str, report.captured))} of {max(report.frames)}")
    if report.rate:
        result.add_row("frame rate", report.rate)
    result.add_row("poses out", f"{report.poses} of {report.due}")
    result.add_row(
        "dropped by the machine", f"{report.dropped}, {100 * report.dropped / max(report.due, 1):.1f} % of the poses due"
    )
    result.add_row("lost by the tracker", f"{report.lost}, {100 * report.lost / max(report.poses, 1):.1f} % of the poses")
    result.add_row("tracked", f"{100 * report.tracked_share:.1f} % of the poses due")
    mean, median, p95 = report.error_mm
    result.add_row("joint position error", f"mean {mean:.1f} mm, median {median:.1f}, p95 {p95:.1f}")
    result.add_row("worst joint", f"{report.worst_joint[0]}, mean {report.worst_joint[1]:.1f} mm")
    if report.cores:
        result.add_row("processor time", ", ".join(f"{name} {100 * cores:.0f} %" for name, cores in report.cores.items()))
    end = "receipt" if "received" in report.latency_ms else "publish"
    latency = Table("milliseconds", title=f"latency, grab to {end}", title_justify="left", caption=format_budget(report.latency))
    for name in ("p50", "p95", "p99"):
        latency.add_column(name, justify="right")
    for stage, values in report.latency_ms.items():
        latency.add_row(*(f"{cell:.2f}" if isinstance(cell, float) else cell for cell in (stage, *values)))
    return [result, latency]


def format_budget(latency: Latency) -> str:
    """Return in words whether the latency keeps to its budget."""
    allowed = f"the budget of {latency.budget_ms:g} ms"
    if latency.allowed_ms > latency.budget_ms:
        allowed += f" after a lag of {latency.allowed_ms - latency.budget_ms:.0f} ms"
    return f"p95 is {latency.over_ms:.1f} ms over {allowed}" if latency.is_over else f"p95 is within {allowed}"
