"""A stream for the viewer's tests: somebody who walks in a circle, waves, is lost for a moment, and is seen by two cameras."""

import os
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from capture.clock import now_ns
from config.joints import JOINTS, N_JOINTS, PARENTS, VRM_BONE
from config.settings import CAMERA_NAMES, StreamSettings
from database.builtin.bodies import build_person_skeleton
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.pose import TrackingState
from stream.protocol.messages import (
    CameraReading,
    EventMessage,
    MarkerReading,
    Message,
    PoseMessage,
    RigMessage,
    SkeletonMessage,
    StatusMessage,
)
from stream.publish.fanout import OutputFanout
from stream.publish.publisher import Publisher
from stream.publish.tuning import TuningState
from stream.web.server import find_free_port

MARKERS = ("chest", "left_hand", "right_hand", "left_foot", "right_foot")
HZ = 60
LEFT_ARM, HIPS = JOINTS.index("leftUpperArm"), 0


def skeleton() -> SkeletonMessage:
    ann = build_person_skeleton(1.7, arm_ratio=1.05)
    return SkeletonMessage(
        hash="00112233aabbccdd",
        names=JOINTS,
        parents=PARENTS,
        offsets_m=ann.offsets_m,
        rest_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (N_JOINTS, 1)),
        humanoid=dict(VRM_BONE),
        markers=MARKERS,
        subject="Ann",
        tails_m=ann.tails_m,
    )


def rig(session: str, n_cameras: int = 2) -> RigMessage:
    """Two cameras in front, further ones around: at the sides, behind."""
    matrix = np.array([[900.0, 0, 640], [0, 900, 360], [0, 0, 1]])
    # Half a turn about x: the cameras look along -z of the world, their y axes point down.
    cameras = tuple(
        CameraReading(name, (1280, 720), matrix, np.zeros(5), np.array([np.pi, 0.0, 0.0]), np.array([-x, 1.2, 4.5]))
        for name, x in (("left", -1.0), ("right", 1.0))
    )
    around = tuple(
        replace(cameras[0], name=f"cam_{n}", rotation=turned(angle), translation=np.array([0.0, 1.2, 4.5]))
        for n, angle in enumerate(np.deg2rad([90.0, -90.0, 180.0, 135.0, -135.0, 60.0]), 2)
    )
    return RigMessage(session, (*cameras, *around)[:n_cameras], floor_known=True)


def turned(angle_rad: float) -> np.ndarray:
    """Return the rotation of a camera that stands so far around the performer, (3,)."""
    rotation = matrix_from_rotvec(np.array([np.pi, 0.0, 0.0])) @ matrix_from_rotvec(np.array([0.0, -angle_rad, 0.0]))
    return np.asarray(rotvec_from_matrix(rotation))


def state_at(t_s: float) -> TrackingState:
    """Coasting, then lost, for a moment of every eight seconds."""
    within = t_s % 8.0
    if 6.4 < within < 7.0:
        return TrackingState.LOST
    return TrackingState.COASTING if 6.0 < within <= 6.4 else TrackingState.TRACKING


def pose(session: str, seq: int, t_ns: int | None = None, n_cameras: int = 2) -> PoseMessage:
    t_s = seq / HZ
    angle = 0.5 * t_s
    now = now_ns() if t_ns is None else t_ns
    rotations = np.tile(np.array([0, 0, 0, 1], np.float32), (N_JOINTS, 1))
    rotations[HIPS] = (0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2))
    wave = 0.9 * np.sin(3.0 * t_s)
    rotations[LEFT_ARM] = (0.0, 0.0, np.sin(wave / 2), np.cos(wave / 2))
    root = (0.6 * np.sin(angle), 0.95, 0.6 * np.cos(angle))
    state = state_at(t_s)
    seen = state is TrackingState.TRACKING
    places = ((0.0, 1.35, 0.1), (0.75, 1.4, 0.0), (-0.75, 1.4, 0.0), (0.1, 0.1, 0.05), (-0.1, 0.1, 0.05))
    markers = tuple(
        MarkerReading(
            name,
            (x + root[0], y, z + root[2]),
            0.006 + 0.002 * np.sin(t_s) if seen and m != 2 else None,
            tuple(range(n_cameras))[m % 2 :] if seen and m != 2 and n_cameras > 2 else (0, 1) if seen and m != 2 else (0,),
            (x + root[0], y + 0.005, z + root[2]) if seen and m != 2 else None,
        )
        for m, (name, (x, y, z)) in enumerate(zip(MARKERS, places, strict=True))
    )
    stages = {"read": 0.4, "detect": 2.1, "transport": 0.3, "wait": 1.2, "match": 0.6, "label": 0.2, "solve": 5.0, "finish": 0.3}
    latency = {name: int(1e6 * ms * (1.0 + 0.2 * np.sin(7 * t_s + n))) for n, (name, ms) in enumerate(stages.items())}
    return PoseMessage(
        hash="00112233aabbccdd",
        session=session,
        seq=seq,
        t_capture_ns=now - sum(latency.values()),
        t_publish_ns=now,
        skew_ns=int(1.5e6 * np.sin(t_s)),
        state=state,
        root_m=(float(root[0]), root[1], float(root[2])),
        rotations_xyzw=rotations,
        joint_source=(np.arange(N_JOINTS) % 3).astype(np.uint8),
        confidence=np.full(N_JOINTS, 0.8, np.float32),
        contacts=("leftFoot",) if np.sin(3 * t_s) > 0 else ("rightFoot",),
        markers=markers,
        latency_ns={**latency, "publish": 90_000},
    )


def status(session: str, t_ns: int, state: str, n_cameras: int = 2) -> StatusMessage:
    cameras = {name: {"state": "live", "frames": 100, "fps": 59.8} for name in CAMERA_NAMES[:n_cameras]}
    rates = {"left": 59.8, "right": 60.1, "pose": 59.7}
    return StatusMessage(session, t_ns, state, rates, {"late": 0, "unpaired": 1}, {"median": 1e5}, {"baseline_m": 2.0}, cameras)


def performance(session: str, seconds: float) -> list[tuple[int, Message]]:
    """Return the messages of a whole session with their times, from t = 1 s of the clock on."""
    messages: list[tuple[int, Message]] = [(10**9, skeleton()), (10**9, rig(session))]
    for seq in range(round(seconds * HZ)):
        t_ns = 10**9 + round(seq * 1e9 / HZ)
        messages.append((t_ns, pose(session, seq, t_ns)))
        if seq % HZ == 0:
            messages.append((t_ns, status(session, t_ns, state_at(seq / HZ))))
    return messages


@dataclass
class WalkingStream:
    """Publish the performance in a thread until closed, as a run does.

    recordings: the folder, None: no service; hz: poses a second; n_cameras: that see the performer; tuning: of the cameras, if
    the service has some; cameras: what the status says of them besides.
    service: the address of requests.
    """

    address: str = "tcp://127.0.0.1:0"
    session: str = "s1"
    seq: int = 0
    recordings: Path | None = None
    service: str = ""
    hz: int = HZ
    n_cameras: int = 2
    tuning: TuningState | None = None
    cameras: dict[str, dict[str, Any]] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "WalkingStream":
        self._publisher = OutputFanout(Publisher(self.address), self.session)
        self.address = self._publisher.address
        if self.recordings is not None:
            self.service = f"tcp://127.0.0.1:{find_free_port('127.0.0.1', 40000 + os.getpid() % 9000)}"
            self._publisher.open_service(StreamSettings(service=self.service, recordings=str(self.recordings)), self.tuning)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    @property
    def fanout(self) -> OutputFanout:
        """What publishes."""
        return self._publisher

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._publisher.close()

    def _run(self) -> None:
        self._publisher.publish(skeleton())
        self._publisher.publish(rig(self.session, self.n_cameras))
        due_s = time.monotonic()
        while not self._stop.is_set():
            message = pose(self.session, self.seq * HZ // self.hz, n_cameras=self.n_cameras)
            message = replace(message, seq=self.seq)
            self._publisher.publish(message)
            if self.seq % max(self.hz // 4, 1) == 0:
                self._publisher.publish(rig(self.session, self.n_cameras))
                told = status(self.session, now_ns(), message.state, self.n_cameras)
                told = replace(told, cameras={name: camera | self.cameras.get(name, {}) for name, camera in told.cameras.items()})
                self._publisher.publish(told)
            if self.seq % (5 * self.hz) == self.hz:
                text = "no pairs for 120 ms: the right camera is silent"
                self._publisher.publish(EventMessage(self.session, now_ns(), "camera", text))
            self._publisher.serve(now_ns())
            self.seq += 1
            due_s += 1 / self.hz
            time.sleep(max(0.0, due_s - time.monotonic()))
