"""Motions to be found again from their markers, frame by frame, and what is done to the markers.

A query's markers are those of the true skeleton at 60 Hz. Variants: `exact`; `noise`, 5 mm in every coordinate; `missing`, two
markers hidden, others every second; `six`, only the markers on hands, feet and shoulders.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.placement import make_facing_rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats
from config.errors import DatabaseError
from config.markers import MarkerSet, read_marker_set
from database.clips import Clip, slice_clip
from database.files.resample import resample_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from reconstruct.body_state import BodyState
from tools.evaluate.asf_angles import AsfAngles, asf_angles, own_angles
from tools.evaluate.protocol import ProtocolClip, query_path, read_query

FPS = 60.0
NOISE_M = 0.005
EXACT_SIGMA_M = 0.001  # what an estimator is told of exact markers: real ones are never more certain
N_HIDDEN = 2
HIDDEN_FRAMES = 60
SIX = ("left_hand", "right_hand", "left_foot", "right_foot", "left_shoulder", "right_shoulder")
RIG = make_facing_rig((640, 480), 60.0, 4.0, 1.0, 1.0)  # markers come triangulated: the rig is needed, its images are not


@dataclass(frozen=True, slots=True)
class MotionQuery:
    """A motion of known truth that an estimator has to reconstruct from its markers.

    Attributes:
        subject: the true skeleton and marker offsets.
        rotvec: true charted poses, (N, J, 3) [rad].
        root_m: (N, 3) [m].
        marker_m: observed markers, (N, M, 3) [m].
        visible: (N, M).
        asf: the true angles of the file's own skeleton.
        sigma_m: standard deviation of the markers' coordinates [m].
    """

    stem: str
    behaviour: str
    subject: Subject
    rotvec: Floats
    root_m: Floats
    marker_m: Floats
    visible: Bools
    asf: AsfAngles
    sigma_m: float = EXACT_SIGMA_M

    def __len__(self) -> int:
        return len(self.root_m)

    @property
    def start(self) -> BodyState:
        """The true first pose, which every method is given."""
        return BodyState(0, self.rotvec[0].copy(), matrix_from_rotvec(self.rotvec[0, 0]), self.root_m[0].copy())

    def frame(self, n: int) -> MarkerFrame:
        """Return the markers of frame n."""
        return marker_frame(self.marker_m[n], self.visible[n], self.sigma_m, n)


def marker_frame(point_m: Floats, visible: Bools, sigma_m: float, n: int) -> MarkerFrame:
    """Return frame n at 60 Hz of triangulated markers, (M, 3) [m], of which both cameras see those `visible`, (M,)."""
    count = len(point_m)
    covariance = np.tile(sigma_m**2 * np.eye(3), (count, 1, 1))
    pixels, sigma_px, zeros = np.zeros((2, count, 2)), np.ones((2, count)), np.zeros(count)
    point = np.where(visible[:, None], point_m, 0.0)
    seen = np.stack([visible, visible])
    t_ns = round(n * 1e9 / FPS)
    return MarkerFrame(n, t_ns, 0, visible.copy(), point, covariance, seen, pixels, sigma_px, zeros, np.zeros((0, 3)))


def true_subject(name: str, skeleton: Skeleton, markers: MarkerSet) -> Subject:
    """Return a performer who wears every marker exactly where the marker set has it."""
    return Subject(name, skeleton, markers, markers.offset_m, np.zeros(len(markers)))


def marker_positions(subject: Subject, rotvec: Floats, root_m: Floats) -> Floats:
    """Return the markers of poses in the world, (N, M, 3) [m]."""
    G, p = compute_forward_kinematics(subject.skeleton, rotvec, root_m)
    return np.asarray(p[:, subject.joint] + np.einsum("nmij,mj->nmi", G[:, subject.joint], subject.offset_m))


def first_seconds(clip: Clip, seconds: float) -> Clip:
    """Return the beginning of a clip, all of it for 0 seconds."""
    return slice_clip(clip, 0, min(clip.n_frames, round(seconds * clip.fps)) if seconds > 0 else clip.n_frames)


def load_query(which: ProtocolClip, motion: Path | None, markers: str | Path, seconds: float) -> MotionQuery:
    """Read a clip of the protocol, at most `seconds` of it (0: all), with exact markers. Raises DuocapError."""
    clip = read_query(which, motion)
    asf = query_angles(which, motion).part(slice(which.start, None, round(clip.fps / FPS)))
    clip = first_seconds(resample_clip(clip, FPS), seconds)
    return query_from_clip(clip, which.behaviour, read_marker_set(markers), asf.part(slice(clip.n_frames)))


def query_angles(which: ProtocolClip, motion: Path | None) -> AsfAngles:
    """Return the joint angles of a clip's file, none where it is no AMC. Raises FileFormatError, DatabaseError."""
    file = query_path(which, motion)
    return asf_angles(file, which.skeleton) if file.suffix.lower() == ".amc" else AsfAngles((), ())


def query_from_clip(clip: Clip, behaviour: str, markers: MarkerSet, asf: AsfAngles) -> MotionQuery:
    """Return a clip at 60 Hz as a query with exact markers; asf: angles close to the true ones."""
    subject = true_subject(clip.skeleton.name, clip.skeleton, markers)
    marker_m = marker_positions(subject, clip.rotvec, clip.root_m)
    visible = np.ones(marker_m.shape[:2], bool)
    return MotionQuery(clip.name, behaviour, subject, clip.rotvec, clip.root_m, marker_m, visible, own_angles(asf, clip.rotvec))


def _noise(query: MotionQuery, rng: np.random.Generator) -> MotionQuery:
    """Add white noise to every coordinate."""
    noisy = query.marker_m + NOISE_M * rng.normal(size=query.marker_m.shape)
    return replace(query, marker_m=noisy, sigma_m=NOISE_M)


def _missing(query: MotionQuery, rng: np.random.Generator) -> MotionQuery:
    """Hide two markers, others every second; all are visible in the first frame."""
    visible = query.visible.copy()
    for first in range(0, len(query), HIDDEN_FRAMES):
        visible[first : first + HIDDEN_FRAMES, rng.choice(visible.shape[1], N_HIDDEN, replace=False)] = False
    visible[0] = True
    return replace(query, visible=visible)


def _six(query: MotionQuery, _rng: np.random.Generator) -> MotionQuery:
    """Hide all markers but those on hands, feet and shoulders. Raises DatabaseError: the set lacks one of them."""
    names = query.subject.markers.names
    if not set(SIX) <= set(names):
        raise DatabaseError(
            f"variant six needs the markers {', '.join(SIX)}; the set has {', '.join(names)}: take locomotion or boxing"
        )
    return replace(query, visible=query.visible & np.isin(names, SIX))


VARIANTS: dict[str, Callable[[MotionQuery, np.random.Generator], MotionQuery]] = {
    "exact": lambda query, _rng: query,
    "noise": _noise,
    "missing": _missing,
    "six": _six,
}


def check_variants(names: Iterable[str]) -> None:
    """Raise DatabaseError unless all are variants."""
    for name in names:
        if name not in VARIANTS:
            raise DatabaseError(f"{name!r} is no variant; take {', '.join(VARIANTS)}")


def apply_variant(query: MotionQuery, variant: str, seed: int) -> MotionQuery:
    """Return a variant of a query, the same for the same seed and clip. Raises DatabaseError: no such variant."""
    check_variants([variant])
    stem = np.frombuffer(query.stem.encode(), np.uint8)
    return VARIANTS[variant](query, np.random.default_rng([seed, *stem]))
