"""What the methods of a synthesis table are asked: markers of a known motion, frame by frame, and what is done to them.

A query's markers are those of the true skeleton at 60 Hz. Variants: `exact`; `noise`, 5 mm in every coordinate; `missing`, two
markers hidden, others every second; `six`, only those on hands, feet and shoulders.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration.placement import facing_rig
from calibration.subject import Subject
from capture.packets import MarkerFrame
from config.errors import DatabaseError
from config.markers import MarkerSet, read_marker_set
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.resample import resample
from database.rotations import Floats, matrix_from_rotvec
from reconstruct.history import Moment
from tools.evaluation.asf_angles import AsfAngles, asf_angles, own_angles
from tools.evaluation.protocol import ProtocolClip, query, query_file

FPS = 60.0
NOISE_M = 0.005
EXACT_SIGMA_M = 0.001  # what an estimator is told of exact markers: no real ones are surer
N_HIDDEN = 2
HIDDEN_FRAMES = 60
SIX = ("left_hand", "right_hand", "left_foot", "right_foot", "left_shoulder", "right_shoulder")
RIG = facing_rig((640, 480), 60.0, 4.0, 1.0, 1.0)  # every marker comes triangulated, so cameras are named but not looked through
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Query:
    """A motion to be found again.

    subject: the true skeleton and marker offsets; rotvec: true charted poses, (N, J, 3) [rad]; root_m: (N, 3) [m];
    marker_m: what is observed, (N, M, 3) [m]; visible: (N, M); asf: the true angles of the file's own skeleton;
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
    def start(self) -> Moment:
        """The true first pose, from which every method starts."""
        return Moment(0, self.rotvec[0].copy(), matrix_from_rotvec(self.rotvec[0, 0]), self.root_m[0].copy())

    def frame(self, n: int) -> MarkerFrame:
        """Give what a method sees at frame n."""
        shown, count = self.visible[n], len(self.visible[n])
        point = np.where(shown[:, None], self.marker_m[n], 0.0)
        covariance = np.tile(self.sigma_m**2 * np.eye(3), (count, 1, 1))
        pixels, sigma, zeros = np.zeros((2, count, 2)), np.ones((2, count)), np.zeros(count)
        t_ns = round(n * 1e9 / FPS)
        seen = np.stack([shown, shown])
        return MarkerFrame(n, t_ns, 0, shown.copy(), point, covariance, seen, pixels, sigma, zeros, np.zeros((0, 3)))


def query_of(which: ProtocolClip, motion: Path, markers: str | Path, seconds: float) -> Query:
    """Read a clip of the protocol, at most `seconds` of it (0: all), with exact markers. Raises DuocapError."""
    clip = query(which, motion)
    asf = asf_angles(query_file(which, motion)).part(slice(which.start, None, round(clip.fps / FPS)))
    clip = resample(clip, FPS)
    n = min(clip.n_frames, round(seconds * FPS)) if seconds > 0 else clip.n_frames
    return query_from_clip(clip_slice(clip, 0, n), which.behaviour, read_marker_set(markers), asf.part(slice(n)))


def query_from_clip(clip: Clip, behaviour: str, markers: MarkerSet, asf: AsfAngles) -> Query:
    """Give a clip at 60 Hz with exact markers where the marker set has them; asf: angles near the truth."""
    subject = Subject(clip.skeleton.name, clip.skeleton, markers, markers.offset_m, np.zeros(len(markers)), np.array([0.0, 1, 0]))
    marker_m = markers_of(subject, clip.rotvec, clip.root_m)
    visible = np.ones(marker_m.shape[:2], bool)
    return Query(clip.name, behaviour, subject, clip.rotvec, clip.root_m, marker_m, visible, own_angles(asf, clip.rotvec))


def markers_of(subject: Subject, rotvec: Floats, root_m: Floats) -> Floats:
    """Give the markers of poses in the world, (N, M, 3) [m]."""
    G, p = forward(subject.skeleton, rotvec, root_m)
    return np.asarray(p[:, subject.joint] + np.einsum("nmij,mj->nmi", G[:, subject.joint], subject.offset_m))


def _exact(query: Query, _rng: np.random.Generator) -> Query:
    """Leave the markers as they are."""
    return query


def _noise(query: Query, rng: np.random.Generator) -> Query:
    """Add white noise to every coordinate."""
    noisy = query.marker_m + NOISE_M * rng.normal(size=query.marker_m.shape)
    return replace(query, marker_m=noisy, sigma_m=NOISE_M)


def _missing(query: Query, rng: np.random.Generator) -> Query:
    """Hide two markers, others every second; the first frame shows all."""
    visible = query.visible.copy()
    for first in range(0, len(query), HIDDEN_FRAMES):
        visible[first : first + HIDDEN_FRAMES, rng.choice(visible.shape[1], N_HIDDEN, replace=False)] = False
    visible[0] = True
    return replace(query, visible=visible)


def _six(query: Query, _rng: np.random.Generator) -> Query:
    """Never show any marker but those on hands, feet and shoulders. Raises DatabaseError: the set lacks one of them."""
    names = query.subject.markers.names
    if not set(SIX) <= set(names):
        raise DatabaseError(
            f"variant six needs the markers {', '.join(SIX)}; the set has {', '.join(names)}: take locomotion or boxing"
        )
    return replace(query, visible=query.visible & np.isin(names, SIX))


VARIANTS: dict[str, Callable[[Query, np.random.Generator], Query]] = {
    "exact": _exact,
    "noise": _noise,
    "missing": _missing,
    "six": _six,
}


def varied(query: Query, variant: str, seed: int) -> Query:
    """Give the query as a variant has it; a seed and a clip always give the same. Raises DatabaseError: no such variant."""
    if variant not in VARIANTS:
        raise DatabaseError(f"{variant!r} is no variant; take {', '.join(VARIANTS)}")
    words = np.frombuffer(query.stem.encode(), np.uint8)
    return VARIANTS[variant](query, np.random.default_rng([seed, *words]))
