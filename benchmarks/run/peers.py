"""What a simple program of well-known libraries takes for the stages of a run, one frame after the other at 60 Hz.

`detect`: OpenCV's imdecode of compressed frames, inRange, contours and their moments; `transport`: 2 kB of msgpack by PUB and
SUB from another process; `match`: undistortPoints, assignment by the distances to epipolar lines (scipy), triangulatePoints;
`solve`: K nearest poses by scipy's cKDTree, PCA by numpy's SVD, least_squares (lm) over seven components and the root with our
kinematics and their derivatives, of markers whose labels are given. Nothing is filtered, judged or finished.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from functools import partial

import cv2
import msgpack
import numpy as np
import zmq
from scipy.optimize import least_squares, linear_sum_assignment
from scipy.spatial import cKDTree

from benchmarks.report import compute_percentiles
from calibration.camera import Camera, Rig
from calibration.epipolar import compute_fundamental_matrix
from calibration.subject.subject import Subject
from capture.clock import now_ns
from capture.sources.simulated.performer import Performer
from config.arrays import Floats, Image
from database.geometry.kinematics import compute_local_markers, compute_markers_and_jacobian
from database.store import PoseDatabase
from tests.support.ports import free_address

LEVEL = 60.0  # of the markers, grey levels
N_NEAREST, N_COMPONENTS = 100, 7
MARKER_M = 0.01  # deviation of markers from a pose, beside one of a component
MESSAGE_BYTES = 2000
JOIN_S = 0.5  # until a subscriber is known
MS = 1e-6


def iterate_paced(n: int, fps: float) -> Iterator[int]:
    """Yield numbers from 0 to n at a rate, each when it is due."""
    begun = time.perf_counter()
    for k in range(n):
        time.sleep(max(0.0, begun + k / fps - time.perf_counter()))
        yield k


def detect_bright(image: Image) -> Floats:
    """Return centres of what is bright, (N, 2) [px]; of a JPEG's bytes, (1, N, 1), too."""
    if image.shape[2] == 1:
        image = np.asarray(cv2.imdecode(image.reshape(-1), cv2.IMREAD_COLOR), np.uint8)
    mask = cv2.bitwise_not(cv2.inRange(image, np.zeros(3), np.full(3, LEVEL)))
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    moments = [m for m in map(cv2.moments, outlines) if m["m00"] > 0.0]
    return np.array([(m["m10"] / m["m00"], m["m01"] / m["m00"]) for m in moments]).reshape(-1, 2)


def _undistort_points(camera: Camera, points_px: Floats) -> Floats:
    return np.asarray(cv2.undistortPoints(points_px[:, None], camera.matrix, camera.distortions, P=camera.matrix)[:, 0])


def match_points(rig: Rig, left_px: Floats, right_px: Floats) -> Floats:
    """Return the points of pairs of least distance from each other's epipolar lines, (N, 3) [m].

    Args:
        rig: the cameras, in the world.
        left_px: (N, 2) [px].
        right_px: (M, 2) [px].
    """
    left, right = _undistort_points(rig.cameras[0], left_px), _undistort_points(rig.cameras[1], right_px)
    lines = np.c_[left, np.ones(len(left))] @ compute_fundamental_matrix(*rig.cameras).T
    far = np.abs(lines @ np.c_[right, np.ones(len(right))].T) / np.linalg.norm(lines[:, :2], axis=1)[:, None]
    i, j = linear_sum_assignment(far)
    first, second = (c.matrix @ np.c_[c.rotation, c.translation] for c in rig.cameras)
    X = cv2.triangulatePoints(first, second, left[i].T, right[j].T)
    return np.asarray((X[:3] / X[3]).T)


class PoseFit:
    """A pose to labelled markers, from the nearest poses of a database and the solution before."""

    def __init__(self, subject: Subject, database: PoseDatabase) -> None:
        self._subject, self._poses = subject, np.asarray(database.rotvec, float)
        features = compute_local_markers(subject.skeleton, self._poses, subject.joint, subject.offset_m)
        self._tree = cKDTree(features.reshape(len(features), -1))
        self._root = np.zeros(6)

    def fit(self, local_m: Floats, points_m: Floats) -> Floats:
        """Return the root's rotation and position after the fit, (6,). local_m: markers as the search sees them, (M, 3)."""
        subject = self._subject
        _, rows = self._tree.query(local_m.reshape(-1), N_NEAREST)
        near = self._poses[rows].reshape(N_NEAREST, -1)
        mean = near.mean(axis=0)
        _, s, Vt = np.linalg.svd(near - mean, full_matrices=False)
        U = np.zeros((mean.size, N_COMPONENTS + 3))
        U[:, :N_COMPONENTS] = Vt[:N_COMPONENTS].T * (s[:N_COMPONENTS] / np.sqrt(N_NEAREST))
        U[:3] = np.eye(3, N_COMPONENTS + 3, N_COMPONENTS)
        mean[:3] = 0.0
        U = U.reshape(-1, 3, N_COMPONENTS + 3)

        def placed(x: Floats) -> tuple[Floats, Floats]:
            rotvec = mean.reshape(-1, 3) + U @ x[:-3]
            return compute_markers_and_jacobian(subject.skeleton, rotvec, U, subject.joint, subject.offset_m)

        def residual(x: Floats) -> Floats:
            return np.asarray(np.r_[(placed(x)[0] + x[-3:] - points_m).ravel() / MARKER_M, x[:N_COMPONENTS]])

        def jacobian(x: Floats) -> Floats:
            J = placed(x)[1].reshape(-1, N_COMPONENTS + 3) / MARKER_M
            root = np.tile(np.eye(3), (len(points_m), 1)) / MARKER_M
            return np.asarray(np.r_[np.c_[J, root], np.eye(N_COMPONENTS, N_COMPONENTS + 6)])

        x = least_squares(residual, np.r_[np.zeros(N_COMPONENTS), self._root], jacobian, method="lm").x
        self._root = x[N_COMPONENTS:]
        return self._root


def _publish_timestamps(address: str, n: int, fps: float) -> None:
    """Publish messages with the time of each; the work of a process."""
    publisher: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PUB)
    with publisher:
        publisher.bind(address)
        time.sleep(JOIN_S)
        for _ in iterate_paced(n, fps):
            publisher.send(msgpack.packb({"t_ns": now_ns(), "data": bytes(MESSAGE_BYTES)}))


def measure_transport_ms(n: int, fps: float) -> list[float]:
    """Return how long messages from another process are on their way [ms]."""
    address = free_address()
    sender = multiprocessing.get_context("spawn").Process(target=_publish_timestamps, args=(address, n, fps))
    taken = list[float]()
    subscriber: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
    with subscriber:
        subscriber.connect(address)
        subscriber.setsockopt(zmq.SUBSCRIBE, b"")
        sender.start()
        while subscriber.poll(2000 if taken else 30_000):
            taken.append((now_ns() - msgpack.unpackb(subscriber.recv())["t_ns"]) * MS)
    sender.join()
    return taken


def measure_peers_ms(
    images: tuple[list[Image], list[Image]], performer: Performer, subject: Subject, database: PoseDatabase, first: int, n: int
) -> dict[str, tuple[float, ...]]:
    """Return p50, p95 and p99 of each stage and of their sum [ms].

    Args:
        images: of both cameras.
        performer: who is drawn.
        subject: the performer.
        database: the motion database.
        first: frame of the first image.
        n: number of images.
    """
    cv2.setNumThreads(1)
    fps, pose = performer.scene.fps, PoseFit(subject, database)
    taken: dict[str, list[float]] = {"detect": [], "transport": measure_transport_ms(n, fps), "match": [], "solve": []}

    def timed(stage: str, call: Callable[[], Floats]) -> Floats:
        begun_ns = time.perf_counter_ns()
        result = call()
        taken[stage].append((time.perf_counter_ns() - begun_ns) * MS)
        return result

    for k in iterate_paced(n, fps):
        at = k % len(images[0])
        rotvec, root_m = performer.poses_at(np.array([(first + at) / fps]))
        local_m = compute_local_markers(subject.skeleton, rotvec, subject.joint, subject.offset_m)[0]
        points_m = compute_markers_and_jacobian(
            subject.skeleton, rotvec[0], np.zeros((*rotvec[0].shape, 1)), subject.joint, subject.offset_m
        )
        right_px = detect_bright(images[1][at])
        left_px = timed("detect", partial(detect_bright, images[0][at]))
        timed("match", partial(match_points, performer.rig, left_px, right_px))
        timed("solve", partial(pose.fit, local_m, points_m[0] + root_m[0]))
    shortest = min(map(len, taken.values()))
    taken["total"] = np.sum([values[:shortest] for values in taken.values()], axis=0).tolist()
    return {stage: compute_percentiles(values) for stage, values in taken.items()}
