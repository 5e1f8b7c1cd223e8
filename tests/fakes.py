"""Stand-ins that travel to spawned processes: a source, a detector, a pipeline and a subject of known numbers."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig
from calibration.subject import Subject
from capture.clock import now_ns
from capture.packets import Blobs, Frame, PairedBlobs
from capture.sources import Facts, Stamp
from config.errors import SourceError
from config.joints import N_JOINTS
from config.markers import MarkerSet
from database.skeleton import Skeleton
from reconstruct.pose import Pose, State
from reconstruct.style.learn import LearnOptions
from reconstruct.style.model import Style
from reconstruct.style.session import StyleBook


class CountingSource:
    """Gives small grey frames at a steady rate; stamps count from 0."""

    def __init__(self, camera: int, fps: float = 60.0, n_frames: int | None = None) -> None:
        self.name, self.size, self.fps, self.n_frames, self.truncated = "fake", (32, 24), fps, n_frames, False
        self.stamp, self.facts = Stamp.FILE, Facts()
        self._camera, self._index = camera, 0

    def read(self) -> Frame | None:
        if self.n_frames is not None and self._index >= self.n_frames:
            return None
        image = np.full((24, 32, 3), self._index % 256, np.uint8)
        frame = Frame(self._camera, self._index, round(self._index * 1e9 / self.fps), image)
        self._index += 1
        return frame

    def close(self) -> None:
        pass


class MissingSource:
    """Cannot be opened."""

    def __init__(self) -> None:
        raise SourceError("camera 7: no such camera; plug it in")


class BrokenSource(CountingSource):
    """Fails with a bug of ours after ten frames."""

    def read(self) -> Frame | None:
        if self._index == 10:
            raise ZeroDivisionError("a bug")
        return super().read()


class StuckSource(CountingSource):
    """Hangs in its driver after ten frames."""

    def read(self) -> Frame | None:
        if self._index == 10:
            time.sleep(3600)
        return super().read()


class ComingSource(CountingSource):
    """A camera that is there while a file is, stamps in the clock of all, at 50 Hz; an error else, also at opening."""

    def __init__(self, camera: int, here: Path) -> None:
        super().__init__(camera, 50.0)
        self._here = here
        self._check()

    def _check(self) -> None:
        if not self._here.exists():
            raise SourceError(f"{self._here.name}: unplugged")

    def read(self) -> Frame | None:
        time.sleep(0.02)
        self._check()
        frame = super().read()
        # Both cameras' stamps fall on one grid, so that they make pairs whenever they were opened.
        return None if frame is None else replace(frame, t_capture_ns=now_ns() // 20_000_000 * 20_000_000)


class Corner:
    """Sees one blob whose place tells the frame: x the index, y the camera."""

    def step(self, frame: Frame) -> Blobs:
        point = np.array([[float(frame.index), float(frame.camera)]])
        return Blobs(frame.camera, frame.index, frame.t_capture_ns, point, np.ones(1), np.zeros((1, 3)), np.ones(1))


def corner(source: object) -> Corner:
    """Give the detector of a source."""
    return Corner()


def subject() -> Subject:
    """Give a subject with an asymmetric skeleton and two markers."""
    offsets = np.arange(N_JOINTS * 3.0).reshape(N_JOINTS, 3) / 100.0
    offsets[0] = 0.0
    skeleton = Skeleton("fake", offsets, np.zeros((N_JOINTS, 3)))
    markers = MarkerSet(
        ("chest", "hand"), np.array([11, 18]), np.array([True, False]), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(2, bool)
    )
    return Subject("Ann", skeleton, markers, np.zeros((2, 3)), np.zeros(2), np.array([0.0, 1.0, 0.0]))


def rig() -> Rig:
    """Give two cameras 2 m apart."""
    left = Camera("cam_0", (32, 24), np.eye(3), np.zeros(4), np.eye(3), np.zeros(3))
    return Rig(left, replace(left, name="cam_1", translation=np.array([-2.0, 0.0, 0.0])))


class IndexPipeline:
    """Gives poses whose root x is the left frame's index and y the right one's, -1 for one that sees nothing."""

    def __init__(self, step_s: float = 0.0) -> None:
        self._step_s = step_s

    def warm(self) -> None:
        pass

    def step(self, pair: PairedBlobs) -> Pose:
        time.sleep(self._step_s)
        seen = [blobs.points_px[0, 0] if len(blobs) else -1.0 for blobs in (pair.left, pair.right)]
        root = np.array([*seen, 0.0])
        return pose(pair.left.index, pair.t_capture_ns, root, pair.skew_ns)


class CrashingPipeline(IndexPipeline):
    """Fails while it is made ready, with a bug of ours."""

    def warm(self) -> None:
        raise KeyError("a bug")


class SwingingPipeline(IndexPipeline):
    """Gives poses that swing, and takes styles."""

    def step(self, pair: PairedBlobs) -> Pose:
        phase = 4e-9 * pair.t_capture_ns
        rotvec = np.zeros((N_JOINTS, 3))
        rotvec[3:9, 0] = 0.8 * np.sin(phase + 0.3 * np.sin(0.37 * phase) + np.arange(6))
        return replace(super().step(pair), rotvec=rotvec)

    def take_style(self, style: Style | None) -> None:
        pass


class OftenBook(StyleBook):
    """Learns of the first poses, and again every two seconds."""

    def _due(self) -> bool:
        return len(self._store) >= 25 and self._t_last_ns - self._t_task_ns > 2_000_000_000


def often_book(pipeline: object) -> StyleBook:
    """Give a book that has much learned."""
    return OftenBook(subject().skeleton, options=LearnOptions(active=20, steps=10))


def pose(index: int, t_ns: int, root: np.ndarray, skew_ns: int = 0) -> Pose:
    """Give a tracked pose of the fake subject."""
    rotvec = np.linspace(-0.6, 0.7, N_JOINTS * 3).reshape(N_JOINTS, 3)
    return Pose(
        index=index,
        t_capture_ns=t_ns,
        skew_ns=skew_ns,
        state=State.TRACKING,
        rotvec=rotvec,
        root_m=root,
        joint_source=np.zeros(N_JOINTS, np.uint8),
        confidence=np.full(N_JOINTS, 0.75),
        marker_m=np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        measured=np.array([True, False]),
        residual_m=np.array([0.004, 0.0]),
        seen=np.array([[True, False], [True, True]]),
        residual_px=np.zeros((2, 2)),
        latency_ns={"solve": 1000},
    )


def touch(path: Path) -> None:
    """Leave a sign that a process came this far."""
    path.write_text("here", encoding="utf-8")
