"""How far feet slide before and after they are locked to the ground, and what locking costs: `duocap evaluate feet`.

Clips of the protocol with noisy markers go through the estimator; contacts are then detected in its poses and feet locked,
frame by frame, as in live capture. Slide is the distance that ankle and ball of a foot move in a frame in which the true motion
has them in contact. Measured with all markers seen, and with those of the feet hidden every other second.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from config.arrays import Bools, Floats
from config.settings import Settings
from database.contacts import compute_contact_points_m, label_contacts, label_database_contacts
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import compute_geodesic_rad, rotvec_from_matrix
from database.store import PoseDatabase, open_database
from reconstruct.finish.contacts import compute_contact_share
from reconstruct.finish.feet import FOOT_JOINTS, FeetLock
from reconstruct.finish.leg import LEGS
from reconstruct.search.examples import compute_examples
from reconstruct.track.estimator import Estimator
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import ProtocolClip, measurable_clips, protocol_clip
from tools.evaluate.queries import FPS, RIG, MotionQuery, apply_variant, load_query

CLIPS = ("07_08", "16_15", "35_14", "09_09", "14_02", "16_05")
SIGHTS = ("seen", "hidden")  # of the markers of the feet
HIDDEN_FRAMES = 60


@dataclass(frozen=True, slots=True)
class SolvedFeet:
    """Poses of the estimator: rotvec (N, J, 3) [rad], root_m (N, 3) [m]; share: of the neighbours in contact, (N, 4); measured:
    whether a marker of each foot was seen, (N, 2)."""

    rotvec: Floats
    root_m: Floats
    share: Floats
    measured: Bools


@dataclass(frozen=True, slots=True)
class FeetFigures:
    """Figures of one motion.

    slide_mm, slide_p95_mm: distance that points in contact move in a frame; jitter_mm: RMS distance of points in contact from
    their mean over 0.25 s; pop_mm: 99.9th percentile of a point's movement in a frame relative to the truth's; contact_mm:
    error of points in contact; foot_mm: of all points; joint_mm: of all joints; leg_deg: geodesic, of hip, knee and ankle;
    delay_ms: of points not in contact against the poses before locking.
    """

    slide_mm: float
    slide_p95_mm: float
    jitter_mm: float
    pop_mm: float
    contact_mm: float
    foot_mm: float
    joint_mm: float
    leg_deg: float
    delay_ms: float


@dataclass(frozen=True, slots=True)
class FeetRun:
    """One clip: slide and jitter of the truth, figures before and after locking, agreement of contacts with the true ones (mean
    of the rates in contact and out of it), and the time of a frame."""

    clip: str
    behaviour: str
    sight: str
    frames: int
    true_slide_mm: float
    true_jitter_mm: float
    before: FeetFigures
    after: FeetFigures
    agreement: float
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


def lock_feet(query: MotionQuery, poses: SolvedFeet, settings: Settings) -> tuple[Floats, Bools, float]:
    """Return poses with feet locked, (N, J, 3), detected contacts, (N, 4), and the mean time of a frame [us]."""
    lock = FeetLock(query.subject.skeleton, settings.feet)
    rotvec, contacts = np.empty_like(poses.rotvec), np.empty(poses.share.shape, bool)
    spent_s = 0.0
    for n in range(len(query)):
        begin_s = perf_counter()
        step = lock.step(round(n * 1e9 / FPS), poses.rotvec[n], poses.root_m[n], poses.share[n], poses.measured[n])
        spent_s += perf_counter() - begin_s
        rotvec[n], contacts[n] = step.rotvec, step.contact
    return rotvec, contacts, 1e6 * spent_s / len(query)


def figures(query: MotionQuery, rotvec: Floats, root_m: Floats, before_m: Floats, contact: Bools) -> FeetFigures:
    """Measure poses, (N, J, 3) and (N, 3). before_m: points before locking; contact: true contacts, (N, 4)."""
    skeleton = query.subject.skeleton
    true_m = compute_contact_points_m(skeleton, query.rotvec, query.root_m)
    points_m = compute_contact_points_m(skeleton, rotvec, root_m)
    moved, true_moved = np.diff(points_m, axis=0), np.diff(true_m, axis=0)
    slide = 1e3 * np.linalg.norm(moved, axis=2)[contact[1:] & contact[:-1]]
    error = 1e3 * np.linalg.norm(points_m - true_m, axis=2)
    joints = (
        compute_forward_kinematics(skeleton, rotvec, root_m)[1]
        - compute_forward_kinematics(skeleton, query.rotvec, query.root_m)[1]
    )
    rotated = np.concatenate([leg[:3] for leg in LEGS])
    leg = compute_geodesic_rad(local_from_charted(rotvec)[:, rotated], local_from_charted(query.rotvec)[:, rotated])
    return FeetFigures(
        slide_mm=float(slide.mean()),
        slide_p95_mm=float(np.percentile(slide, 95)),
        jitter_mm=jitter_mm(points_m, contact),
        pop_mm=float(np.percentile(1e3 * np.linalg.norm(moved - true_moved, axis=2), 99.9)),
        contact_mm=float(error[contact].mean()),
        foot_mm=float(error.mean()),
        joint_mm=float(1e3 * np.linalg.norm(joints, axis=2).mean()),
        leg_deg=float(np.degrees(leg).mean()),
        delay_ms=delay_ms(points_m, before_m, contact),
    )


def jitter_mm(points_m: Floats, contact: Bools, half: int = 7) -> float:
    """Return the RMS distance of points from their mean over 2 half + 1 frames, if in contact throughout them [mm]."""
    squares = []
    for n in range(half, len(points_m) - half):
        window = slice(n - half, n + half + 1)
        still = contact[window].all(axis=0)
        offset = points_m[n, still] - points_m[window][:, still].mean(axis=0)
        squares.extend((offset**2).sum(axis=1))
    return 1e3 * float(np.sqrt(np.mean(squares))) if squares else float("nan")


def delay_ms(points_m: Floats, before_m: Floats, contact: Bools) -> float:
    """Return the delay d of points out of contact, which minimises |after - (before - v d)|^2 [ms]."""
    velocity = np.gradient(before_m, 1.0 / FPS, axis=0)[~contact]
    moved = (points_m - before_m)[~contact]
    return -1e3 * float((moved * velocity).sum() / max((velocity**2).sum(), 1e-12))


@dataclass(frozen=True, slots=True)
class FeetOptions:
    """What is measured. No clips: CLIPS; seconds 0: whole clips."""

    motion: Path
    database: Path
    clips: tuple[str | ProtocolClip, ...] = ()
    markers: str = "boxing"
    seconds: float = 10.0
    seed: int = 1
    workers: WorkerPlan = ALONE


def measure_feet(options: FeetOptions, settings: Settings) -> list[FeetRun]:
    """Measure clips with the markers of the feet seen, and hidden every other second; each part ends with its mean.

    Raises DuocapError.
    """
    clips = measurable_clips(open_database(options.database), options.clips, [protocol_clip(stem) for stem in CLIPS])
    tasks = [partial(_run_of_clip, clip, sight, options, settings) for sight in SIGHTS for clip in clips]
    found = run_tasks(tasks, options.workers)
    runs: list[FeetRun] = []
    for sight in SIGHTS:
        part = [run for run in found if run.sight == sight]
        runs += [*part, mean_run(part, sight)]
    return runs


def _run_of_clip(clip: ProtocolClip, sight: str, options: FeetOptions, settings: Settings) -> FeetRun:
    """Measure one clip with the markers of the feet seen or hidden. Raises DuocapError."""
    query = load_query(clip, options.motion, options.markers, options.seconds)
    query = apply_variant(query, "noise", options.seed)
    query = hide_feet(query) if sight == "hidden" else query
    return feet_run(query, solve_feet(query, open_database(options.database), settings), settings, sight)


def feet_run(query: MotionQuery, poses: SolvedFeet, settings: Settings, sight: str) -> FeetRun:
    """Lock the feet of solved poses and measure before and after."""
    skeleton = query.subject.skeleton
    rotvec, detected, frame_us = lock_feet(query, poses, settings)
    true_m = compute_contact_points_m(skeleton, query.rotvec, query.root_m)
    contact = label_contacts(true_m, FPS).astype(bool)
    before_m = compute_contact_points_m(skeleton, poses.rotvec, poses.root_m)
    slide = 1e3 * np.linalg.norm(np.diff(true_m, axis=0), axis=2)[contact[1:] & contact[:-1]]
    return FeetRun(
        clip=query.stem,
        behaviour=query.behaviour,
        sight=sight,
        frames=len(query),
        true_slide_mm=float(slide.mean()),
        true_jitter_mm=jitter_mm(true_m, contact),
        before=figures(query, poses.rotvec, poses.root_m, before_m, contact),
        after=figures(query, rotvec, poses.root_m, before_m, contact),
        agreement=0.5 * float(detected[contact].mean() + (~detected[~contact]).mean()),
        frame_us=frame_us,
    )


COLUMNS = (
    ("slide_mm", "slide mm/frame", 1),
    ("slide_p95_mm", "p95", 1),
    ("jitter_mm", "jitter mm", 1),
    ("pop_mm", "pops mm", 0),
    ("contact_mm", "contact mm", 1),
    ("foot_mm", "feet mm", 1),
    ("joint_mm", "joints mm", 1),
    ("leg_deg", "legs deg", 2),
)


def table(runs: Sequence[FeetRun]) -> list[str]:
    """Return the lines of a table, before > after in every column."""
    lines = [f"{'clip':<8}{'behaviour':<13}{'feet':<8}{'truth':>7}" + "".join(f"{title:>16}" for _, title, _ in COLUMNS)]
    lines[0] += f"{'delay ms':>10}{'agree':>7}{'us':>6}"
    for run in runs:
        line = f"{run.clip:<8}{run.behaviour:<13}{run.sight:<8}{run.true_slide_mm:>7.1f}"
        for name, _, digits in COLUMNS:
            line += f"{f'{getattr(run.before, name):.{digits}f} > {getattr(run.after, name):.{digits}f}':>16}"
        lines.append(f"{line}{run.after.delay_ms:>10.1f}{run.agreement:>7.2f}{run.frame_us:>6.0f}")
    return lines


def mean_run(runs: Sequence[FeetRun], sight: str) -> FeetRun:
    """Return the mean over clips, each weighted equally."""
    names = [name for name, _, _ in COLUMNS] + ["delay_ms"]
    both = [
        {name: float(np.nanmean([getattr(getattr(r, k), name) for r in runs])) for name in names} for k in ("before", "after")
    ]
    rest = [
        float(np.nanmean([getattr(r, k) for r in runs])) for k in ("true_slide_mm", "true_jitter_mm", "agreement", "frame_us")
    ]
    frames = sum(run.frames for run in runs)
    return FeetRun("mean", "", sight, frames, rest[0], rest[1], FeetFigures(**both[0]), FeetFigures(**both[1]), rest[2], rest[3])


def report(runs: Sequence[FeetRun], settings: Settings) -> Iterator[str]:
    """Yield the lines that are printed."""
    yield f"feet held: {settings.feet.lock}; every column before > after, truth: slide of the true motion; 5 mm noise"
    yield from table(runs)
