"""Cost of a pose by VMC in the process that publishes: composed and sent, against python-osc encoding every message again.

    python -m benchmarks.stream.vmc [--poses 3000] [--json F]

`sent`: to a receiver on this machine; `nobody`: to a port without a receiver, where the system refuses every datagram.
"""

import socket
import time
from collections.abc import Callable, Sequence

import numpy as np
from pythonosc.osc_message_builder import OscMessageBuilder

from benchmarks.report import parser_of, write_json
from benchmarks.stream.examples import SKELETON, moving_poses
from stream.protocol.messages import PoseMessage
from stream.vmc.composer import Composer, sent_bones
from stream.vmc.output import MIN_PERIOD_NS, VmcOutput
from stream.vmc.sender import VmcTarget


def compose(composer: Composer, pose: PoseMessage) -> None:
    """Compose a pose without sending it."""
    composer.put_pose(pose)
    composer.datagrams(True, 1.0)


def sender(port: int, poses: list[PoseMessage]) -> Callable[[int], None]:
    """Return a function that sends the n-th pose, as the stream's output does."""
    output = VmcOutput(VmcTarget(port=port))
    output.write(SKELETON, b"", 0)
    return lambda n: output.write(poses[n % len(poses)], b"", n * MIN_PERIOD_NS)


def encode_again(n_messages: int) -> None:
    """Encode the messages of a pose with python-osc."""
    for _ in range(n_messages):
        builder = OscMessageBuilder("/VMC/Ext/Bone/Pos")
        builder.add_arg("LeftUpperArm", "s")
        for _ in range(7):
            builder.add_arg(0.5, "f")
        builder.build()


def times_us(work: Callable[[int], None], n: int) -> tuple[float, float]:
    """Return median and 99th percentile of a call."""
    times_ns = []
    for step in range(n):
        begin_ns = time.perf_counter_ns()
        work(step)
        times_ns.append(time.perf_counter_ns() - begin_ns)
    p50, p99 = np.percentile(times_ns, [50, 99]) / 1e3
    return float(p50), float(p99)


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--poses", type=int, default=3000)
    options = parser.parse_args(given)
    poses, composer, n_bones = moving_poses(100), Composer(SKELETON), len(sent_bones(SKELETON))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        figures = {
            "composed": times_us(lambda n: compose(composer, poses[n % 100]), options.poses),
            "sent": times_us(sender(port, poses), options.poses),
        }
    figures["nobody"] = times_us(sender(port, poses), options.poses)
    figures["python-osc"] = times_us(lambda n: encode_again(n_bones + 3), options.poses // 10)
    print(f"{len(SKELETON.names)} joints, {n_bones} bones   p50 us   p99 us")
    for name, (p50, p99) in figures.items():
        print(f"{name:<20} {p50:8.1f} {p99:8.1f}")
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
