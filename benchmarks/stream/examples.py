"""Messages of full size for benchmarks: a skeleton of all joints, poses with markers."""

from dataclasses import replace

import numpy as np

from config.joints import JOINTS, N_JOINTS, PARENTS, VRM_BONE
from stream.protocol.messages import MarkerReading, PoseMessage
from tests.support.stream_messages import POSE
from tests.support.stream_messages import SKELETON as SMALL

FPS = 60.0
STAGES = ("read", "detect", "transport", "wait", "match", "label", "solve", "finish", "publish")
SKELETON = replace(
    SMALL,
    names=JOINTS,
    parents=tuple(PARENTS),
    offsets_m=np.random.default_rng(1).normal(0.0, 0.1, (N_JOINTS, 3)),
    tails_m=np.tile([0.0, 0.1, 0.0], (N_JOINTS, 1)),
    rest_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (N_JOINTS, 1)),
    humanoid=dict(VRM_BONE),
)


def build_moving_poses(n: int, n_markers: int = 9) -> list[PoseMessage]:
    """Return n poses at 60 Hz whose joints swing at different rates, with markers."""
    t = np.arange(n) / FPS
    half = 0.3 * np.sin(t[:, None] * np.linspace(0.5, 4.0, N_JOINTS))
    quaternions = np.stack([np.sin(half), 0.0 * half, 0.0 * half, np.cos(half)], axis=2).astype(np.float32)
    positions = np.cumsum(np.random.default_rng(2).normal(0.0, 0.002, (n, n_markers, 3)), axis=0)
    source, confidence = np.zeros(N_JOINTS, np.uint8), np.full(N_JOINTS, 0.9, np.float32)
    poses = []
    for k in range(n):
        points = [(x, y, z) for x, y, z in positions[k].tolist()]
        poses.append(
            replace(
                POSE,
                seq=k,
                t_capture_ns=round(t[k] * 1e9),
                root_m=(0.1, 1.0, float(t[k])),
                rotations_xyzw=quaternions[k],
                joint_source=source,
                confidence=confidence,
                markers=tuple(MarkerReading(f"marker_{m}", p, 0.004, (0, 1), p) for m, p in enumerate(points)),
                latency_ns=dict.fromkeys(STAGES, 1_234_567),
            )
        )
    return poses
