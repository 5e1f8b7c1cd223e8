"""What a few seconds of free movement add to a T-pose: people of a motion database, each left out of it, refined over movement.

    python -m benchmarks.calibration_motion --motion DIR [--seconds S] [--people N] [--rounds N] [--json F]

As `benchmarks.calibration_subject`, honest: joints off the T-pose, markers about 2 cm off their nominal places, 3 mm of
noise. Then the person moves (the most varied seconds of their own clips, real motion on their true skeleton), the estimator
tracks the markers with the skeleton found so far and the built-in motions, and lengths, offsets and poses are refined together.
As in the command, the fit before is kept where the movement contradicts it; the movement then counts as refused.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.calibration_subject import BONES, NOISE_M, PLACEMENT_M, by_bone, held, lengths_mm
from calibration.placement import facing_rig
from calibration.subject import Subject
from calibration.subject_fit import SubjectFit, fit_takes
from calibration.subject_motion import MotionFrame, refine
from calibration.subject_motion_verdict import movement_findings
from capture.packets import MarkerFrame
from config.markers import MarkerSet, read_marker_set
from config.settings import Settings
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.read import read_clip
from database.resample import resample
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from database.skeleton import Skeleton
from database.store import PoseDatabase
from reconstruct.basis import basis_for
from reconstruct.estimator import Estimator
from reconstruct.history import Moment
from tools.databases import open_or_default

FPS = 60.0
SKIN_M = 0.004  # by axis, slowly changing: markers slide on skin and cloth
SKIN_HZ = 0.7
SETS = ("boxing", "dark_room", "all_around")
MOST_CLIPS = 6
RIG = facing_rig((640, 480), 60.0, 4.0, 1.0, 1.0)  # markers come triangulated


def people_of(motion: Path, seconds: float, count: int) -> list[tuple[Skeleton, Clip]]:
    """Give people with the most varied seconds of one of their clips."""
    folders = sorted({file.parent for file in motion.rglob("*.asf") if any(file.parent.glob("*.amc"))})[: count or None]
    return [_most_varied(folder, seconds) for folder in folders]


def _most_varied(folder: Path, seconds: float) -> tuple[Skeleton, Clip]:
    """Choose the part of a clip in which joints bend most, by the spread of their rotation vectors."""
    files = sorted(folder.glob("*.amc"), key=lambda path: path.stat().st_size)
    best, spread = None, -1.0
    for file in files[:: max(1, len(files) // MOST_CLIPS)]:
        clip = resample(read_clip(file), FPS)
        n = min(clip.n_frames, round(seconds * FPS))
        for first in range(0, clip.n_frames - n + 1, max(n // 2, 1)):
            here = float(np.std(clip.rotvec[first : first + n, 1:], axis=0).sum()) * min(1.0, n / (2.0 * FPS))
            if here > spread:
                best, spread = clip_slice(clip, first, first + n), here
    assert best is not None
    return best.skeleton, best


def markers_over(clip: Clip, markers: MarkerSet, offset_m: Floats, rng: np.random.Generator) -> Floats:
    """Give the markers of a clip with noise and skin, (N, M, 3) [m]."""
    G, p = forward(clip.skeleton, clip.rotvec, clip.root_m)
    joint = markers.joint
    t = np.arange(clip.n_frames) / FPS
    phase, rate = rng.uniform(0, 2 * np.pi, (2, len(joint), 3)), SKIN_HZ * rng.uniform(0.5, 1.5, (len(joint), 3))
    skin = SKIN_M * np.sin(2 * np.pi * rate * t[:, None, None] + phase[0])
    exact = p[:, joint] + np.einsum("nmij,nmj->nmi", G[:, joint], offset_m + skin)
    return np.asarray(exact + rng.normal(0.0, NOISE_M, exact.shape))


def tracked(subject: Subject, marker_m: Floats, first: Moment, database: PoseDatabase) -> list[MotionFrame]:
    """Track markers with the estimator, labels known."""
    basis = basis_for(subject, database)
    estimator = Estimator(subject, basis.examples, RIG, Settings().solve, basis.search())
    count = marker_m.shape[1]
    shown, covariance = np.ones(count, bool), np.tile(NOISE_M**2 * np.eye(3), (count, 1, 1))
    frames = []
    for n, point in enumerate(marker_m):
        pixels, none = np.zeros((2, count, 2)), np.zeros((0, 3))
        frame = MarkerFrame(
            n,
            round(n * 1e9 / FPS),
            0,
            shown,
            point,
            covariance,
            np.stack([shown, shown]),
            pixels,
            np.ones((2, count)),
            np.zeros(count),
            none,
        )
        estimate = estimator.estimate(frame, first if n == 0 else None)
        assert estimate is not None
        estimator.accept(estimate)
        rotvec = estimate.moment.joints.copy()
        rotvec[0] = rotvec_from_matrix(estimate.moment.rotation)
        frames.append(MotionFrame(point, shown, covariance, rotvec, estimate.moment.position_m.copy()))
    return frames


def refined(fit: SubjectFit, clip: Clip, marker_m: Floats, database: PoseDatabase, rounds: int) -> tuple[list[SubjectFit], int]:
    """Refine so many times, tracking anew each time; give the fits and how many refinements were refused."""
    start = Moment(0, clip.rotvec[0].copy(), matrix_from_rotvec(clip.rotvec[0, 0]), clip.root_m[0].copy())
    fits, n_refused = [fit], 0
    for _ in range(rounds):
        subject = fits[-1].subject
        result = refine(replace(fit, subject=subject), tracked(subject, marker_m, start, database))
        kept = movement_findings(fit, result)[1]
        fits.append(result.fit if kept else fits[-1])
        n_refused += not kept
    return fits, n_refused


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_motion", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--motion", type=Path, required=True, help="folder with subjects/NN/NN.asf and motions")
    parser.add_argument("--sets", nargs="*", default=SETS, help="marker sets")
    parser.add_argument("--seconds", type=float, default=8.0, help="of movement (default 8)")
    parser.add_argument("--people", type=int, default=0, help="only so many")
    parser.add_argument("--rounds", type=int, default=1, help="times it is tracked and refined (default 1)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    people = people_of(options.motion, options.seconds, options.people)
    database = open_or_default(None)
    skeletons = [skeleton for skeleton, _ in people]
    print(f"{len(people)} people, each left out; bone lengths, millimetres; T-pose, then after each refinement")
    told = {}
    for name in options.sets:
        markers, rng = read_marker_set(name), np.random.default_rng(11)
        errors, sigmas, offsets, n_refused = [], [], [], 0
        for k, (true, clip) in enumerate(people):
            offset_m = markers.offset_m + rng.normal(0.0, PLACEMENT_M, (len(markers), 3))
            fit = fit_takes("found", markers, [held(true, markers, offset_m, True, rng)], skeletons[:k] + skeletons[k + 1 :])
            fits, refused = refined(fit, clip, markers_over(clip, markers, offset_m, rng), database, options.rounds)
            errors.append([np.abs(lengths_mm(f.subject.skeleton) - lengths_mm(true)) for f in fits])
            offsets.append([1e3 * np.linalg.norm(f.subject.offset_m - offset_m, axis=1) for f in fits])
            sigmas.append([1e3 * by_bone(f.subject.length_sigma_m) for f in fits if f.subject.length_sigma_m is not None])
            each = " ".join(f"{np.median(e):5.1f}/{e.max():5.1f}" for e in errors[-1])
            n_refused += refused
            print(f"  {name} {true.name:<10} {clip.name:<8} median/worst {each}{' refused' * refused}", flush=True)
        print(f"{name}: {n_refused} refused")
        told[name] = _table(name, np.array(errors), np.array(sigmas), np.array(offsets))
    if options.json is not None:
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0


def _table(name: str, error_mm: Floats, sigma_mm: Floats, offset_mm: Floats) -> dict[str, object]:
    """Print and give the figures of a set: errors and sigmas (people, stages, bones), of offsets (people, stages, markers)."""
    n, by_stage = len(BONES), (0, 2)
    normal = np.sqrt(((error_mm / sigma_mm) ** 2).mean(axis=by_stage))
    print(
        f"{name}: all bones, median {_stages(np.median(error_mm, axis=by_stage))}, worst bone of a person, median "
        f"{_stages(np.median(error_mm.max(axis=2), axis=0))}, worst of all {_stages(error_mm.max(axis=by_stage))}; marker places "
        f"{_stages(np.median(offset_mm, axis=by_stage))}; error/sigma {_stages(normal, 2)}"
    )
    bones = {bone: np.median(error_mm[:, :, [b, n + b]], axis=(0, 2)).tolist() for b, bone in enumerate(BONES)}
    for bone, values in bones.items():
        print(f"  {bone:<10} {_stages(np.array(values))}")
    return {
        "median_mm": np.median(error_mm, axis=(0, 2)).tolist(),
        "worst_mm": error_mm.max(axis=(0, 2)).tolist(),
        "bones": bones,
    }


def _stages(values: Floats, digits: int = 1) -> str:
    """Lay out values by stage."""
    return " -> ".join(f"{value:.{digits}f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
