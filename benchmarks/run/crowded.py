"""How old poses are when frames come faster than they can be solved, in time that is only counted: the same on every machine.

    python -m benchmarks.run.crowded [--hz 60] [--json F]

Both cameras send at that rate, a step takes from half a frame to four frames. From capture to the end of the step, in frames.
"""

import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.report import build_parser, write_json
from calibration.camera import Rig
from capture.packets import Blobs
from capture.process.control import RequestedOrder
from capture.sockets.wire import SentBlobs
from reconstruct.pose import Pose
from reconstruct.process.reconstruction import Reconstruction
from reconstruct.process.sink import RunStatus
from tests.support.crowded import MS, ages_ns
from tests.support.fakes import IndexPipeline

T0_NS = 50_000 * MS
TURNS = 600
STEPS = (0.5, 0.9, 1.2, 1.5, 1.8, 2.5, 4.0)


class PoseList:
    """A sink that keeps poses and counts how often it was told of a load."""

    def __init__(self) -> None:
        self.poses: list[Pose] = []
        self.n_events = 0

    def pose(self, pose: Pose) -> None:
        """Keep a pose."""
        self.poses.append(pose)

    def status(self, status: RunStatus) -> None:
        """Ignore a status."""

    def rig(self, rig: Rig) -> None:
        """Ignore the rig."""

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Count an event.

        Args:
            t_ns: time of the frame [ns].
            kind: of event.
            text: for the user.
        """
        self.n_events += 1

    def serve(self, t_ns: int) -> None:
        """Serve nobody."""

    def asks(self) -> list[RequestedOrder]:
        """Ask for nothing."""
        return []

    def close(self) -> None:
        """Keep all."""


def build_sent_blobs(camera: int, index: int, t_ns: int) -> tuple[SentBlobs, int]:
    """Return blobs captured at a time and received 4 ms later.

    Args:
        camera: the camera.
        index: its number.
        t_ns: time of the frame [ns].
    """
    blobs = Blobs(camera, index, t_ns, np.array([[float(index), 0.0]]), np.ones(1), np.zeros((1, 3)), np.ones(1))
    return SentBlobs(blobs, t_ns + MS, t_ns + 3 * MS), t_ns + 4 * MS


def main(given: Sequence[str] | None = None) -> int:
    """Print a line for every duration of a step."""
    parser = build_parser(__doc__)
    parser.add_argument("--hz", type=float, default=60.0)
    options = parser.parse_args(given)
    period_ns, rows = round(1e9 / options.hz), list[dict[str, float]]()
    print(f"{'step, frames':>14}{'p50':>8}{'p95':>8}{'worst':>8}{'skipped %':>11}{'told':>6}")
    for step in STEPS:
        sink = PoseList()
        reconstruction = Reconstruction(IndexPipeline(), sink, period_ns // 2)
        ages = ages_ns(reconstruction, sink.poses, build_sent_blobs, (T0_NS, period_ns, round(step * period_ns)), TURNS)
        p50, p95 = np.percentile(ages, (50, 95)) / period_ns
        counts = reconstruction.counts
        skipped = 100.0 * counts["overrun"] / counts["pairs"]
        rows.append({"step": step, "p50": p50, "p95": p95, "worst": max(ages) / period_ns, "skipped": skipped})
        print(f"{step:14.1f}{p50:8.2f}{p95:8.2f}{max(ages) / period_ns:8.2f}{skipped:11.1f}{sink.n_events:6d}")
    write_json(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
