"""Stand-ins that travel to spawned processes: pipelines and a subject of known numbers; cameras and detectors from beside."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame, Views
from config.joints import N_JOINTS
from config.markers import MarkerSet
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.learn.train import LearnOptions
from reconstruct.models.style.model import Style
from reconstruct.models.style.session import SessionStyle
from reconstruct.pose import Pose, TrackingState
from tests.support.cameras.fakes import (  # their own module, for the sake of camera processes
    BrokenSource,
    ComingSource,
    Corner,
    CountingSource,
    MissingSource,
    StuckSource,
    corner,
)

__all__ = ["BrokenSource", "ComingSource", "Corner", "CountingSource", "MissingSource", "StuckSource", "corner"]


def subject() -> Subject:
    """Return a subject with an asymmetric skeleton and two markers."""
    offsets = np.arange(N_JOINTS * 3.0).reshape(N_JOINTS, 3) / 100.0
    offsets[0] = 0.0
    skeleton = Skeleton("fake", offsets, np.zeros((N_JOINTS, 3)))
    markers = MarkerSet(
        ("chest", "hand"), np.array([11, 18]), np.array([True, False]), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(2, bool)
    )
    return Subject("Ann", skeleton, markers, np.zeros((2, 3)), np.zeros(2))


def rig() -> Rig:
    """Return two cameras 2 m apart."""
    left = Camera("cam_0", (32, 24), np.eye(3), np.zeros(4), np.eye(3), np.zeros(3))
    return Rig((left, replace(left, name="cam_1", translation=np.array([-2.0, 0.0, 0.0]))))


class FakePipeline:
    """A pipeline without a rig, whose poses a subclass makes."""

    rig: Rig | None = None
    markers: MarkerFrame | None = None

    def warm(self) -> None:
        pass

    def take_style(self, style: Style | None) -> None:
        pass

    def recentre(self) -> bool:
        return False


class IndexPipeline(FakePipeline):
    """Return poses whose root x, y and z are the frames' indices of the first three cameras, -1 for one that sees nothing."""

    def __init__(self, step_s: float = 0.0) -> None:
        self._step_s = step_s

    def step(self, pair: Views) -> Pose:
        time.sleep(self._step_s)
        seen = [blobs.points_px[0, 0] if blobs is not None and len(blobs) else -1.0 for blobs in pair.blobs[:3]]
        root = np.array([*seen, *[0.0] * (3 - len(seen))])
        return replace(pose(pair.first.index, pair.t_capture_ns, root, pair.skew_ns), n_views=len(pair.present))


class CrashingPipeline(IndexPipeline):
    """Fails while it is made ready, with a bug of ours."""

    def warm(self) -> None:
        raise KeyError("a bug")


class SwingingPipeline(IndexPipeline):
    """Return poses that swing."""

    def step(self, pair: Views) -> Pose:
        phase = 4e-9 * pair.t_capture_ns
        rotvec = np.zeros((N_JOINTS, 3))
        rotvec[3:9, 0] = 0.8 * np.sin(phase + 0.3 * np.sin(0.37 * phase) + np.arange(6))
        return replace(super().step(pair), rotvec=rotvec)


class EagerSessionStyle(SessionStyle):
    """Learns of the first poses, and again every two seconds."""

    def _due(self) -> bool:
        return len(self._store) >= 25 and self._t_last_ns - self._t_task_ns > 2_000_000_000


def often_learning(pipeline: object) -> SessionStyle:
    """Return a session style that has much to learn."""
    return EagerSessionStyle(subject().skeleton, options=LearnOptions(active=20, steps=10))


def pose(index: int, t_ns: int, root: np.ndarray, skew_ns: int = 0, n_cameras: int = 2) -> Pose:
    """Return a tracked pose of the fake subject; cameras beyond the second see its first marker."""
    rotvec = np.linspace(-0.6, 0.7, N_JOINTS * 3).reshape(N_JOINTS, 3)
    return Pose(
        index=index,
        t_capture_ns=t_ns,
        skew_ns=skew_ns,
        state=TrackingState.TRACKING,
        rotvec=rotvec,
        root_m=root,
        joint_source=np.zeros(N_JOINTS, np.uint8),
        confidence=np.full(N_JOINTS, 0.75),
        marker_m=np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        measured=np.array([True, False]),
        residual_m=np.array([0.004, 0.0]),
        seen=np.array([[True, False], [True, True], *[[True, False]] * (n_cameras - 2)]),
        residual_px=np.zeros((n_cameras, 2)),
        latency_ns={"solve": 1000},
    )


def touch(path: Path) -> None:
    """Leave a sign that a process came this far."""
    path.write_text("here", encoding="utf-8")
