"""Figures of a stream, one sample a second: poses, cameras' rates, latency by stage, skew, marker residuals, poses missed."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from config.units import MS_PER_NS
from stream.protocol.latency import (
    TOTAL,
    Quantiles,
    Receipt,
    compute_lag_ms,
    compute_latency,
    compute_quantiles_ms,
    compute_stage_durations,
)
from stream.protocol.messages import PoseMessage, StatusMessage

PERIOD_S = 1.0
MAX_SAMPLES = 3600


@dataclass(frozen=True, slots=True)
class MeterSample:
    """Figures of about one second.

    Attributes:
        t_s: end of that second [s].
        poses_hz: rate of poses [Hz].
        latency_ms: quantiles (p50, p95, p99) of the latency of each stage [ms].
        total_ms: quantiles of the latency from capture to receipt [ms].
        skew_ms: median time between the pictures of a moment [ms].
        residual_mm: median residual of the poses [mm]; None if unknown.
        n_missed: number of poses lost on the way, since the beginning.
        cameras_hz: frame rate of each camera by name [Hz].
    """

    t_s: float
    poses_hz: float
    latency_ms: dict[str, Quantiles]
    total_ms: Quantiles
    skew_ms: float
    residual_mm: float | None
    n_missed: int
    cameras_hz: dict[str, float] = field(default_factory=dict)

    @property
    def lag_ms(self) -> float:
        """The lag that was asked for [ms], 0 without one."""
        return compute_lag_ms(self.latency_ms)


@dataclass(slots=True)
class Meter:
    """Compute samples from poses and status messages."""

    samples: deque[MeterSample] = field(default_factory=lambda: deque(maxlen=MAX_SAMPLES))
    _poses: list[Receipt] = field(default_factory=list)
    _begin_s: float = 0.0
    _cameras_hz: dict[str, float] = field(default_factory=dict)

    def add_status(self, status: StatusMessage) -> None:
        """Note the frame rates of the cameras: as the status has them, else as each camera reports."""
        rates = {name: status.rates_hz.get(name, status.camera(name).get("fps")) for name in status.cameras}
        self._cameras_hz = {name: float(rate) for name, rate in rates.items() if isinstance(rate, int | float)}

    def add_pose(self, pose: PoseMessage, t_received_ns: int | None, t_s: float, n_missed: int) -> None:
        """Add a pose of time t_s.

        Args:
            pose: pose of the stream or a recording.
            t_received_ns: time of receipt on the publisher's clock, None if unknown.
            t_s: time of the pose [s].
            n_missed: poses missed so far.
        """
        if self._poses and t_s - self._begin_s >= PERIOD_S:
            self.samples.append(self._sample(t_s, n_missed))
            self._poses.clear()
        if not self._poses:
            self._begin_s = t_s
        self._poses.append(Receipt(pose, t_received_ns))

    def _sample(self, t_s: float, n_missed: int) -> MeterSample:
        """Return the figures of the poses since the last sample."""
        poses = [receipt.pose for receipt in self._poses]
        stages_ms = compute_latency(self._poses, 0.0).stages_ms
        # Poses that only repeat the last one while the cameras are silent have no stages; their age is all that is known.
        total_ms = stages_ms.pop(TOTAL, None) or compute_quantiles_ms(
            [compute_stage_durations(receipt)[TOTAL] for receipt in self._poses]
        )
        residuals_mm = [1e3 * m.residual for pose in poses for m in pose.markers if m.residual is not None]
        return MeterSample(
            t_s=t_s,
            poses_hz=len(poses) / max(t_s - self._begin_s, 1e-3),
            latency_ms=stages_ms,
            total_ms=total_ms,
            skew_ms=float(np.median([pose.skew_ns * MS_PER_NS for pose in poses])),
            residual_mm=float(np.median(residuals_mm)) if residuals_mm else None,
            n_missed=n_missed,
            cameras_hz=self._cameras_hz,
        )
