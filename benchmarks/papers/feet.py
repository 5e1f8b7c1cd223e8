"""How far feet slide on the ground before and after they are held, and what holding them costs.

Clips with noisy markers go through the estimator; contacts are then detected in its poses and feet held, frame by frame, as in
live capture. Slide is the distance that ankle and ball of a foot move in a frame in which the true motion has them in contact.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.report import Column, Row, number_columns, text_columns
from config.arrays import Bools, Floats
from config.settings import Settings
from database.contacts import compute_contact_points_m, label_contacts, label_database_contacts
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import compute_geodesic_rad, rotvec_from_matrix
from database.store import PoseDatabase
from reconstruct.finish.contacts import compute_contact_share
from reconstruct.finish.foot_lock import FOOT_JOINTS, FeetLock
from reconstruct.finish.leg import LEGS
from reconstruct.search.examples import compute_examples
from reconstruct.track.estimator import Estimator
from tools.evaluate.protocol import ProtocolClip, open_once
from tools.evaluate.queries import FPS, RIG, MotionQuery, apply_variant
from tools.evaluate.scores import position_errors_mm

CLIPS = ("07_08", "16_15", "35_14", "09_09", "14_02", "16_05")
SIGHTS = ("seen", "hidden")  # of the markers of the feet
HIDDEN_FRAMES = 60
SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SolvedFeet:
    """Poses of the estimator: rotvec (N, J, 3) [rad], root_m (N, 3) [m]; share: of the neighbours in contact, (N, 4); measured:
    whether a marker of each foot was seen, (N, 2)."""

    rotvec: Floats
    root_m: Floats
    share: Floats
    measured: Bools


@dataclass(frozen=True, slots=True)
class LockedFeet:
    """Poses with feet held, (N, J, 3) [rad]; contacts as they were detected, (N, 4); mean time of a frame [us]."""

    rotvec: Floats
    contacts: Bools
    frame_us: float


def hide_feet(query: MotionQuery) -> MotionQuery:
    """Hide the markers of the feet every other second, from the second one on."""
    visible = query.visible.copy()
    feet = np.isin(query.subject.joint, FOOT_JOINTS)
    hidden = (np.arange(len(query)) // HIDDEN_FRAMES) % 2 == 1
    visible[np.ix_(hidden, feet)] = False
    return replace(query, visible=visible)


def solve_feet(query: MotionQuery, database: PoseDatabase, settings: Settings) -> SolvedFeet:
    """Put a query through the estimator."""
    estimator = Estimator(query.subject, compute_examples(query.subject, database), RIG, settings.solve)
    labels = label_database_contacts(database)
    rotvec, root_m = np.empty_like(query.rotvec), np.empty_like(query.root_m)
    share = np.empty((len(query), labels.shape[1]))
    for n in range(len(query)):
        estimate = estimator.estimate(query.frame(n), query.start if n == 0 else None)
        assert estimate is not None, "the torso is always seen"
        estimator.accept(estimate)
        state = estimate.state
        rotvec[n], root_m[n] = state.joints, state.position_m
        rotvec[n, 0] = rotvec_from_matrix(state.rotation)
        share[n] = compute_contact_share(labels, estimate.near.rows, estimate.near.weights)
    feet = np.array([np.isin(query.subject.joint, joints) for joints in FOOT_JOINTS])
    return SolvedFeet(rotvec, root_m, share, (query.visible[:, None] & feet).any(axis=2))


def lock_feet(query: MotionQuery, poses: SolvedFeet, settings: Settings) -> LockedFeet:
    """Hold the feet of solved poses, frame by frame."""
    lock = FeetLock(query.subject.skeleton, settings.feet)
    rotvec, contacts = np.empty_like(poses.rotvec), np.empty(poses.share.shape, bool)
    begin_s = perf_counter()
    for n in range(len(query)):
        step = lock.step(round(n * 1e9 / FPS), poses.rotvec[n], poses.root_m[n], poses.share[n], poses.measured[n])
        rotvec[n], contacts[n] = step.rotvec, step.contact
    return LockedFeet(rotvec, contacts, 1e6 * (perf_counter() - begin_s) / len(query))


def compute_slide_mm(points_m: Floats, contact: Bools) -> Floats:
    """Return the distance that points, (N, 4, 3) [m], move in each frame while in contact, (N, 4) [mm]."""
    return np.asarray(1e3 * np.linalg.norm(np.diff(points_m, axis=0), axis=2)[contact[1:] & contact[:-1]])


def compute_jitter_mm(points_m: Floats, contact: Bools) -> float:
    """Return the RMS distance of points from their mean over 15 frames, if in contact throughout them [mm]."""
    squares, half = list[float](), 7
    for n in range(half, len(points_m) - half):
        window = slice(n - half, n + half + 1)
        still = contact[window].all(axis=0)
        offset = points_m[n, still] - points_m[window][:, still].mean(axis=0)
        squares.extend((offset**2).sum(axis=1))
    return 1e3 * float(np.sqrt(np.mean(squares))) if squares else float("nan")


def compute_delay_ms(points_m: Floats, before_m: Floats, contact: Bools) -> float:
    """Return the delay d of points out of contact, which minimises |after - (before - v d)|^2 [ms]."""
    velocity = np.gradient(before_m, 1.0 / FPS, axis=0)[~contact]
    moved = (points_m - before_m)[~contact]
    return -1e3 * float((moved * velocity).sum() / max((velocity**2).sum(), 1e-12))


def score_feet(query: MotionQuery, rotvec: Floats, root_m: Floats, contact: Bools) -> dict[str, float]:
    """Return the figures of poses, (N, J, 3) [rad] and (N, 3) [m]; contact: true contacts, (N, 4)."""
    skeleton = query.subject.skeleton
    true_m = compute_contact_points_m(skeleton, query.rotvec, query.root_m)
    points_m = compute_contact_points_m(skeleton, rotvec, root_m)
    slide, error = compute_slide_mm(points_m, contact), position_errors_mm(points_m, true_m)
    jumps = np.linalg.norm(np.diff(points_m, axis=0) - np.diff(true_m, axis=0), axis=2)
    joints = position_errors_mm(
        compute_forward_kinematics(skeleton, rotvec, root_m)[1],
        compute_forward_kinematics(skeleton, query.rotvec, query.root_m)[1],
    )
    rotated = np.concatenate([leg[:3] for leg in LEGS])
    leg = compute_geodesic_rad(local_from_charted(rotvec)[:, rotated], local_from_charted(query.rotvec)[:, rotated])
    return {
        "slide mm": float(slide.mean()),
        "p95": float(np.percentile(slide, 95)),
        "jitter mm": compute_jitter_mm(points_m, contact),
        "pops mm": float(np.percentile(1e3 * jumps, 99.9)),
        "contact mm": float(error[contact].mean()),
        "feet mm": float(error.mean()),
        "joints mm": float(joints.mean()),
        "legs deg": float(np.degrees(leg).mean()),
    }


def compare_feet(query: MotionQuery, poses: SolvedFeet, settings: Settings) -> list[Row]:
    """Return the rows of one query: the truth's own figures, and poses before and after their feet are held."""
    skeleton, held = query.subject.skeleton, lock_feet(query, poses, settings)
    contact = label_contacts(compute_contact_points_m(skeleton, query.rotvec, query.root_m), FPS).astype(bool)
    before_m = compute_contact_points_m(skeleton, poses.rotvec, poses.root_m)
    extra = {
        "delay ms": compute_delay_ms(compute_contact_points_m(skeleton, held.rotvec, poses.root_m), before_m, contact),
        "agree": 0.5 * float(held.contacts[contact].mean() + (~held.contacts[~contact]).mean()),
        "us": held.frame_us,
    }
    true = score_feet(query, query.rotvec, query.root_m, contact)
    return [
        {"poses": "true", **{name: true[name] for name in ("slide mm", "p95", "jitter mm")}},
        {"poses": "solved", **score_feet(query, poses.rotvec, poses.root_m, contact)},
        {"poses": "held", **score_feet(query, held.rotvec, poses.root_m, contact), **extra},
    ]


def _compare_clip(clip: ProtocolClip, sight: str, request: Request, database: Path) -> list[Row]:
    """Return the rows of one clip with the markers of the feet seen, or hidden every other second. Raises DuocapError."""
    query = apply_variant(request.load_query(clip, SECONDS), "noise", request.seed)
    query = hide_feet(query) if sight == "hidden" else query
    about: Row = {"clip": clip.stem, "behaviour": clip.behaviour, "feet": sight, "frames": len(query)}
    poses = solve_feet(query, open_once(database), request.settings)
    return [about | row for row in compare_feet(query, poses, request.settings)]


def compute_feet(request: Request) -> Iterator[Row]:
    """Yield the rows of all clips. Raises DuocapError."""
    clips, path = request.find_clips(CLIPS)
    tasks = [partial(_compare_clip, clip, sight, request, path) for sight in SIGHTS for clip in clips]
    return request.run(tasks)


TABLE = PaperTable(
    "feet",
    "Kovar, Schreiner & Gleicher 2002",
    "slide of feet in contact a frame, of the true poses, as solved (5 mm noise), and held",
    (
        *text_columns("feet", "poses", "clip", "behaviour"),
        *number_columns(1, "slide mm", "p95", "jitter mm"),
        Column("pops mm", 0),
        *number_columns(1, "contact mm", "feet mm", "joints mm"),
        *number_columns(2, "legs deg"),
        *number_columns(1, "delay ms"),
        *number_columns(2, "agree"),
        *number_columns(0, "us"),
    ),
    compute_feet,
    mean_over=("clip", "behaviour"),
)
