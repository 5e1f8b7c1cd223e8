"""`duocap physics clean` on reconstructed walks, against the truth.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.physics.clean --motion DIR [--clip 07_08 ...] [--seconds 6] [--rendered]

Clips of the evaluation's protocol go through the estimator with nine markers and 5 mm of noise, or with --rendered through the
whole chain of two simulated cameras, calibrated from a T-pose. The poses found, not filtered and feet not locked, are cleaned.
Before and after: slide of ankles and balls of the feet where the true motion has them in contact (which slide there themselves),
slide of soles that stand, error of all joints, of the feet, and of the joints
relative to the hips, jitter of the joints as RMS jerk error, and what no contact gives.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.report import build_parser, write_json
from config.arrays import Floats
from config.settings import Settings
from database.contacts import CONTACT_INDEX, label_contacts
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from database.store import open_database
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.clean import clean_by_windows, measure_quality, prepare_motion
from reconstruct.models.physics.dynamics import Dynamics, configurations_from_poses, poses_from_configurations
from tools.evaluate.feet import solve_feet
from tools.evaluate.protocol import protocol_clip, protocol_database, read_query
from tools.evaluate.queries import FPS, apply_variant, load_query
from tools.evaluate.rendered import RenderedOptions, calibrate, render, track

CLIPS = ("07_08", "16_15", "35_14")


@dataclass(frozen=True, slots=True)
class KnownMotion:
    """Poses found of a motion and where its joints truly were, (N, J, 3) [m]."""

    clip: str
    skeleton: Skeleton
    fps: float
    rotvec: Floats
    root_m: Floats
    true_m: Floats


@dataclass(frozen=True, slots=True)
class CleanFigures:
    """One clip before and after. seconds: of processor time, for so many seconds of motion; moved_mm: mean of all joints."""

    clip: str
    frames: int
    seconds: float
    moved_mm: float
    true_slide_mm: float
    slide_mm: tuple[float, float]
    standing_mm: tuple[float, float]
    joint_mm: tuple[float, float]
    foot_mm: tuple[float, float]
    local_mm: tuple[float, float]
    jerk: tuple[float, float]
    jitter: tuple[float, float]
    residual_share: tuple[float, float]
    sunk_mm: tuple[float, float]


def estimate_clip(stem: str, motion: Path, database: Path, seconds: float) -> KnownMotion:
    """Return a clip through the estimator with nine markers and noise."""
    query = apply_variant(load_query(protocol_clip(stem), motion, "boxing", seconds), "noise", 1)
    settings = Settings()
    found = solve_feet(query, open_database(database), settings)
    skeleton = query.subject.skeleton
    true_m = compute_forward_kinematics(skeleton, query.rotvec, query.root_m)[1]
    return KnownMotion(stem, skeleton, FPS, found.rotvec, found.root_m, true_m)


def render_clip(stem: str, motion: Path, database: Path, seconds: float) -> KnownMotion:
    """Return a clip through two simulated cameras, without the output filter and the feet's lock."""
    settings = Settings()
    settings = replace(settings, filter=replace(settings.filter, output=False), feet=replace(settings.feet, lock=False))
    options = RenderedOptions(seconds=seconds)
    seen = render(read_query(protocol_clip(stem), motion), options, settings)
    store = open_database(database)
    subject = calibrate(seen, options, store, settings)
    found = track(seen, subject, store, settings)[0][seen.begin :]
    fps = 1.0 / float(np.median(np.diff(seen.seconds)))
    rotvec, root_m = np.array([pose.rotvec for pose in found]), np.array([pose.root_m for pose in found])
    true = seen.performer.poses_at(seen.seconds[seen.begin :])
    return KnownMotion(
        stem, subject.skeleton, fps, rotvec, root_m, compute_forward_kinematics(seen.performer.clip.skeleton, *true)[1]
    )


def measure_cleaning(known: KnownMotion) -> CleanFigures:
    """Clean a motion and measure it before and after."""
    dynamics = Dynamics(build_body(known.skeleton))
    begun = process_time()
    task = prepare_motion(dynamics, configurations_from_poses(known.rotvec, known.root_m), known.fps)
    *_, q = clean_by_windows(task)
    spent = process_time() - begun
    before = compute_forward_kinematics(known.skeleton, known.rotvec, known.root_m)[1]
    after = compute_forward_kinematics(known.skeleton, *poses_from_configurations(q))[1]
    both = (before, after)
    true = known.true_m
    contact = label_contacts(np.ascontiguousarray(true[:, CONTACT_INDEX]), known.fps).astype(bool)
    still = contact[1:] & contact[:-1]
    found = (measure_quality(task, task.given), measure_quality(task, q))

    def error(joints: Floats, truth: Floats) -> float:
        return 1e3 * float(np.linalg.norm(joints - truth, axis=2).mean())

    def slide(joints: Floats) -> float:
        return 1e3 * float(np.linalg.norm(np.diff(joints[:, CONTACT_INDEX], axis=0), axis=2)[still].mean())

    def jerk(joints: Floats) -> float:
        return float(np.sqrt(((np.diff(joints - true, n=3, axis=0) * known.fps**3) ** 2).sum(axis=2).mean()))

    return CleanFigures(
        clip=known.clip,
        frames=len(q),
        seconds=spent,
        moved_mm=error(after, before),
        true_slide_mm=slide(true),
        slide_mm=_pair_figures(slide(p) for p in both),
        standing_mm=_pair_figures(each.slide_mm for each in found),
        joint_mm=_pair_figures(error(p, true) for p in both),
        foot_mm=_pair_figures(error(p[:, CONTACT_INDEX], true[:, CONTACT_INDEX]) for p in both),
        local_mm=_pair_figures(error(p - p[:, :1], true - true[:, :1]) for p in both),
        jerk=_pair_figures(jerk(p) for p in both),
        jitter=_pair_figures(each.jitter for each in found),
        residual_share=_pair_figures(each.residual for each in found),
        sunk_mm=_pair_figures(each.sunk_mm for each in found),
    )


def _pair_figures(values: Iterable[float]) -> tuple[float, float]:
    """Return before and after."""
    first, second = values
    return first, second


COLUMNS = (
    ("slide_mm", "slide mm/frame", 1.0, 1),
    ("standing_mm", "of soles", 1.0, 2),
    ("joint_mm", "joints mm", 1.0, 1),
    ("foot_mm", "feet mm", 1.0, 1),
    ("local_mm", "relative mm", 1.0, 1),
    ("jerk", "jerk m/s3", 1.0, 0),
    ("jitter", "jitter %", 100.0, 0),
    ("residual_share", "residual %", 100.0, 1),
    ("sunk_mm", "below mm", 1.0, 1),
)


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--motion", type=Path, required=True, metavar="DIR", help="unpacked CMU motions")
    parser.add_argument("--clip", nargs="*", default=CLIPS, metavar="CLIP")
    parser.add_argument("--seconds", type=float, default=6.0, metavar="S")
    parser.add_argument("--rendered", action="store_true", help="through two simulated cameras")
    given = parser.parse_args()
    database = protocol_database(given.motion, None)
    find = render_clip if given.rendered else estimate_clip
    print(
        f"{'clip':<8}{'frames':>7}{'s':>7}{'moved mm':>10}{'true slide':>12}"
        + "".join(f"{title:>18}" for _, title, _, _ in COLUMNS)
    )
    runs = []
    for stem in given.clip:
        run = measure_cleaning(find(stem, given.motion, database, given.seconds))
        runs.append(run)
        line = f"{run.clip:<8}{run.frames:>7}{run.seconds:>7.1f}{run.moved_mm:>10.1f}{run.true_slide_mm:>12.1f}"
        for name, _, scale, digits in COLUMNS:
            first, second = getattr(run, name)
            line += f"{f'{scale * first:.{digits}f} > {scale * second:.{digits}f}':>18}"
        print(line, flush=True)
    write_json(given.json, runs)


if __name__ == "__main__":
    main()
