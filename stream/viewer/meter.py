"""Figures of a stream, one sample a second: poses, cameras' rates, latency by stage, skew, marker residuals, poses missed."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from stream.latency import TOTAL, Quantiles, Receipt, latency_of, quantiles, stages_of
from stream.messages import PoseMessage, StatusMessage

PERIOD_S = 1.0
MAX_SAMPLES = 3600
MS = 1e-6


@dataclass(frozen=True, slots=True)
class Sample:
    """The figures of about one second that ended at t_s.

    poses_hz; latency_ms: p50, p95, p99 by stage; total_ms: the same from the grab of the picture to here; cameras_hz: by name;
    skew_ms, residual_mm: medians, None where unknown; n_missed: poses that never came, since the beginning.
    """

    t_s: float
    poses_hz: float
    latency_ms: dict[str, Quantiles]
    total_ms: Quantiles
    skew_ms: float
    residual_mm: float | None
    n_missed: int
    cameras_hz: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Meter:
    """Turn poses and status into samples."""

    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=MAX_SAMPLES))
    _poses: list[Receipt] = field(default_factory=list)
    _begin_s: float = 0.0
    _cameras_hz: dict[str, float] = field(default_factory=dict)

    def status(self, status: StatusMessage) -> None:
        """Note the rates of the cameras."""
        self._cameras_hz = camera_rates(status)

    def pose(self, pose: PoseMessage, t_received_ns: int | None, t_s: float, n_missed: int) -> None:
        """Take a pose of time t_s, received at t_received_ns on the publisher's clock, None if that is not known."""
        if self._poses and t_s - self._begin_s >= PERIOD_S:
            self.samples.append(self._sample(t_s, n_missed))
            self._poses.clear()
        if not self._poses:
            self._begin_s = t_s
        self._poses.append(Receipt(pose, t_received_ns))

    def _sample(self, t_s: float, n_missed: int) -> Sample:
        """Sum up the poses since the last sample."""
        poses = [receipt.pose for receipt in self._poses]
        stages_ms = latency_of(self._poses, 0.0).stages_ms
        # Cameras that are silent leave poses that only hold the last one; their age is all there is to say.
        total_ms = stages_ms.pop(TOTAL, None) or quantiles([stages_of(receipt)[TOTAL] for receipt in self._poses])
        residuals_mm = [1e3 * m.residual for pose in poses for m in pose.markers if m.residual is not None]
        return Sample(
            t_s=t_s,
            poses_hz=len(poses) / max(t_s - self._begin_s, 1e-3),
            latency_ms=stages_ms,
            total_ms=total_ms,
            skew_ms=float(np.median([pose.skew_ns * MS for pose in poses])),
            residual_mm=float(np.median(residuals_mm)) if residuals_mm else None,
            n_missed=n_missed,
            cameras_hz=self._cameras_hz,
        )


def camera_rates(status: StatusMessage) -> dict[str, float]:
    """Give each camera's frames a second, as far as the status tells."""
    rates = {}
    for name in status.cameras:
        value = status.rates_hz.get(name, status.cameras[name].get("fps"))
        if isinstance(value, int | float):
            rates[name] = float(value)
    return rates
