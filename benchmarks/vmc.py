"""What a pose by VMC costs the process that publishes: composed and sent, and against python-osc encoding every message anew.

    python -m benchmarks.vmc [--poses 3000]

`sent`: to a receiver on this machine; `nobody`: to a port at which nobody listens, where the system refuses every datagram.
"""

import argparse
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from pythonosc.osc_message_builder import OscMessageBuilder

from benchmarks.fuzz_real import POSE
from benchmarks.fuzz_real import SKELETON as SMALL
from config.joints import JOINTS, N_JOINTS, PARENTS, VRM_BONE
from stream.messages import PoseMessage
from stream.vmc.composer import Composer
from stream.vmc.output import MIN_PERIOD_NS, VmcOutput
from stream.vmc.target import VmcTarget

SKELETON = replace(
    SMALL,
    names=JOINTS,
    parents=PARENTS,
    offsets_m=np.full((N_JOINTS, 3), 0.1),
    rest_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (N_JOINTS, 1)),
    humanoid=dict(VRM_BONE),
)


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.vmc", description="The cost of a pose by VMC.")
    parser.add_argument("--poses", type=int, default=3000)
    n_poses = parser.parse_args(given).poses
    poses = _poses(100)
    composer = Composer(SKELETON)
    print(f"{len(SKELETON.names)} joints, {len(composer.bones)} bones   p50 us   p99 us")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        _show("composed", lambda n: _compose(composer, poses[n % 100]), n_poses)
        _show("sent", _taker(port, poses), n_poses)
    _show("nobody", _taker(port, poses), n_poses)
    _show("python-osc", lambda n: _encode_anew(len(composer.bones) + 3), n_poses // 10)
    return 0


def _poses(n: int) -> list[PoseMessage]:
    """Give poses with random rotations."""
    q = np.random.default_rng(1).normal(size=(n, len(SKELETON.names), 4))
    q /= np.linalg.norm(q, axis=2, keepdims=True)
    return [replace(POSE, hash=SKELETON.hash, state="tracking", rotations_xyzw=rotations.astype(np.float32)) for rotations in q]


def _compose(composer: Composer, pose: PoseMessage) -> None:
    """Compose without sending."""
    composer.put_pose(pose)
    composer.datagrams(True, 1.0)


def _taker(port: int, poses: list[PoseMessage]) -> Callable[[int], None]:
    """Give what sends the n-th pose, as the stream's outlet does."""
    output = VmcOutput(VmcTarget(port=port))
    output.take(SKELETON, b"", 0)
    return lambda n: output.take(poses[n % len(poses)], b"", n * MIN_PERIOD_NS)


def _encode_anew(n_messages: int) -> None:
    """Encode as many messages as a pose has, as python-osc alone would."""
    for _ in range(n_messages):
        builder = OscMessageBuilder("/VMC/Ext/Bone/Pos")
        builder.add_arg("LeftUpperArm", "s")
        for _ in range(7):
            builder.add_arg(0.5, "f")
        builder.build()


def _show(name: str, work: Callable[[int], None], n: int) -> None:
    """Time a piece of work n times and print it."""
    times_ns = []
    for step in range(n):
        t_ns = time.perf_counter_ns()
        work(step)
        times_ns.append(time.perf_counter_ns() - t_ns)
    p50, p99 = np.percentile(times_ns, [50, 99]) / 1e3
    print(f"{name:<20} {p50:8.1f} {p99:8.1f}")


if __name__ == "__main__":
    raise SystemExit(main())
