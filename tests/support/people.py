"""People for tests: a body of unequal sides, the markers it wears, cameras in front of it, what they would see of it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import Blobs, MarkerFrame, Views
from config.arrays import Floats
from config.joints import N_JOINTS
from config.markers import read_marker_set
from database.builtin import build_person_skeleton, make_builtin_clip
from database.clips import Clip
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from tests.support.rigs import synthetic_rig

PERIOD_NS = 16_666_667


def person(markers: str = "dark_room", seed: int = 0, skeleton: Skeleton | None = None) -> Subject:
    """Return a performer whose markers sit about 1 cm from their nominal places."""
    worn = read_marker_set(markers)
    skeleton = build_person_skeleton(1.71, leg_ratio=1.04, arm_ratio=0.97) if skeleton is None else skeleton
    offset = worn.offset_m + np.random.default_rng(seed).normal(0.0, 0.006, worn.offset_m.shape)
    return Subject("tester", skeleton, worn, offset, np.zeros(len(worn)))


def bent_pose(seed: int = 0, angle_rad: float = 0.35) -> Floats:
    """Return a random pose about the middle of the joints' ranges, (J, 3) [rad], root unturned."""
    pose = np.random.default_rng(seed).normal(0.0, angle_rad, (N_JOINTS, 3))
    pose[0] = 0.0
    return pose


def t_pose() -> Floats:
    """Return the T-pose, charted, (J, 3) [rad]."""
    return charted_from_local(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))


def front_rig(noise_free_size: tuple[int, int] = (640, 480)) -> Rig:
    """Return two cameras 1 m apart, 4.5 m before the origin, with distortion."""
    left, right = (-0.5, 1.25, 4.5), (0.55, 1.2, 4.6)
    return synthetic_rig(left, right, (0.0, 0.9, 0.0), noise_free_size, np.radians(50.0), (-0.05, 0.08, 0.001, -0.0005, 0.0))


@dataclass(frozen=True, slots=True)
class Table:
    """Poses as the reconstruction reads them of a database."""

    rotvec: NDArray[np.float32]
    fps: float
    clip_start: NDArray[np.int64]
    root_m: NDArray[np.float32]


def table_of(clips: list[Clip]) -> Table:
    """Put clips end to end."""
    rotvec = np.concatenate([clip.rotvec for clip in clips]).astype(np.float32)
    root_m = np.concatenate([clip.root_m for clip in clips]).astype(np.float32)
    return Table(rotvec, clips[0].fps, np.concatenate([[0], np.cumsum([clip.n_frames for clip in clips])]), root_m)


def t_pose_clip(skeleton: Skeleton, n_frames: int = 20) -> Clip:
    """Return the T-pose held."""
    return Clip("t_pose", skeleton, 60.0, np.tile(t_pose(), (n_frames, 1, 1)), np.zeros((n_frames, 3)))


def walk(skeleton: Skeleton, seed: int = 0, **parameters: float) -> Clip:
    """Return a walk at 60 Hz about the origin."""
    clip = make_builtin_clip("walk", skeleton, 60.0, seed, **parameters)
    middle = np.median(clip.root_m, axis=0) * [1.0, 0.0, 1.0]
    return Clip(clip.name, clip.skeleton, clip.fps, clip.rotvec.copy(), np.ascontiguousarray(clip.root_m - middle))


def worn_markers(subject: Subject, rotvec: Floats, root_m: Floats) -> tuple[Floats, Floats]:
    """Return markers (N, M, 3) and joints (N, J, 3) of poses, world [m]."""
    G, p = compute_forward_kinematics(subject.skeleton, rotvec, root_m)
    return p[:, subject.joint] + np.einsum("nmij,mj->nmi", G[:, subject.joint], subject.offset_m), p


def blobs_of(camera: int, index: int, points_px: Floats, sigma_px: float = 0.3) -> Blobs:
    """Return blobs at image points at 60 Hz, all of one colour."""
    n = len(points_px)
    return Blobs(camera, index, index * PERIOD_NS, points_px, np.full(n, 20.0), np.full((n, 3), 200.0), np.full(n, sigma_px))


def lone_views(blobs: Blobs, n_cameras: int) -> Views:
    """Return one camera's view without those of the others."""
    return Views(tuple(blobs if camera == blobs.camera else None for camera in range(n_cameras)))


def seen_pair(
    rig: Rig,
    index: int,
    markers_m: Floats,
    noise_px: float,
    rng: np.random.Generator,
    hidden: tuple[list[int], list[int]] = ([], []),
) -> Views:
    """Return both views of markers, shuffled; `hidden` are unseen by the left and by the right camera."""
    views = []
    for c, camera in enumerate(rig.cameras):
        kept = rng.permutation([m for m in range(len(markers_m)) if m not in hidden[c]]).astype(np.int64)
        px = camera.project(markers_m[kept]) + rng.normal(0.0, noise_px, (len(kept), 2))
        views.append(blobs_of(c, index, np.ascontiguousarray(px)))
    return Views((views[0], views[1]))


def marker_frame_of(markers_m: Floats, valid: NDArray[np.bool_] | None = None, sigma_m: float = 0.003) -> MarkerFrame:
    """Return a frame of triangulated markers, nothing else known of them."""
    n = len(markers_m)
    valid = np.ones(n, bool) if valid is None else valid
    point = np.where(valid[:, None], markers_m, 0.0)
    covariance = np.tile(sigma_m**2 * np.eye(3), (n, 1, 1)) * valid[:, None, None]
    seen, image, sigma = np.stack([valid, valid]), np.zeros((2, n, 2)), np.full((2, n), 0.3)
    return MarkerFrame(0, 0, 0, valid, point, covariance, seen, image, sigma, np.zeros(n), np.zeros((0, 3)))


def random_rotation(rng: np.random.Generator) -> Floats:
    """Return a rotation from any side."""
    axis = rng.normal(size=3)
    return matrix_from_rotvec(axis / np.linalg.norm(axis) * rng.uniform(0.2, 3.0))
