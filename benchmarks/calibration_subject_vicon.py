"""Real markers of a known skeleton and motion (CMU clip 02_05): how rigidly they sit, and the skeleton that is found from them.

    python -m benchmarks.calibration_subject_vicon --motion DIR --c3d FILE [--frames N] [--draws N] [--json F]

Rigid: each marker's best place in its joint's frame over the whole clip, poses as the motion file has them, and what is left
over. Found: of the file's markers 9 or 14 are worn, their nominal places being those of above moved by about 2 cm. The clip
holds no T-pose: the skeleton comes from the first half second, standing with the arms down, the pose expected as the motion
file has it with the spread a T-pose has; then from frames over the whole clip. Subject 02 is left out of the database.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration_subject import BONES, PLACEMENT_M, by_bone, lengths_mm, people_of
from calibration.subject_adjust import Problem, Take
from calibration.subject_fit import SIGMA_RAD, adjusted_from_torso, length_sigmas, problem_of
from calibration.subject_space import skeleton_space
from config.joints import JOINTS
from config.markers import MarkerSet
from database.c3d import C3dPoints, read_c3d
from database.clips import Clip
from database.kinematics import forward, local_rotations
from database.read import read_clip
from database.rotations import Floats, rotvec_from_matrix
from database.skeleton import Skeleton
from tools.evaluation.vicon import joint_of

SUBJECT = "02"
STANDING_S = 0.5
NOISE_M, SKIN_M = 0.001, 0.015
TORSO = ("LSHO", "RSHO", "STRN", "LFWT", "RFWT")
WORN = {
    "9 markers": (*TORSO[:2], *TORSO[3:], "LFIN", "RFIN", "LTOE", "RTOE", "LFHD"),
    "14 markers": (*TORSO, "LELB", "RELB", "LKNE", "RKNE", "LANK", "RANK", "LTOE", "RTOE", "LFHD"),
}


def labelled(points: C3dPoints) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]:
    """Give markers in the motion's frame, (N, M, 3) [m], which were seen, (N, M), and their joints, (M,)."""
    return points.point_m[:, :, [1, 2, 0]], points.valid, np.array([joint_of(label) for label in points.labels], np.int64)


def rigid(points: C3dPoints, clip: Clip) -> tuple[Floats, Floats]:
    """Give each marker's mean place in its joint's frame, (M, 3) [m], and how far it strays from there, (M, 2) median and p95
    [mm]."""
    point_m, valid, joint = labelled(points)
    G, p = forward(clip.skeleton, clip.rotvec, clip.root_m)
    local = np.einsum("nmji,nmj->nmi", G[:, joint], point_m - p[:, joint])
    offset, off = np.zeros((len(joint), 3)), np.zeros((len(joint), 2))
    for m in range(len(joint)):
        seen = local[valid[:, m], m]
        offset[m] = np.median(seen, axis=0)
        off[m] = 1e3 * np.quantile(np.linalg.norm(seen - offset[m], axis=1), (0.5, 0.95))
    return offset, off


def take_at(points: C3dPoints, clip: Clip, chosen: NDArray[np.int64], frames: slice, skin_m: float) -> Take:
    """Give a moment as a take: markers by their mean, the pose expected as the motion file has it."""
    point_m, valid, _ = labelled(points)
    seen = valid[frames][:, chosen]
    middle = (frames.start + frames.stop) // 2
    mean = np.where(seen[..., None], point_m[frames][:, chosen], 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)[:, None]
    expected = rotvec_from_matrix(local_rotations(clip.rotvec[middle : middle + 1]))[0]
    covariance = np.tile((NOISE_M**2 + skin_m**2) * np.eye(3), (len(chosen), 1, 1))
    return Take(mean, seen.any(axis=0), covariance, expected, SIGMA_RAD, clip.root_m[middle].copy())


def found(
    points: C3dPoints, clip: Clip, worn: MarkerSet, chosen: NDArray[np.int64], others: list[Skeleton], n_frames: int
) -> dict[str, Floats]:
    """Find the skeleton from one moment and from many: errors and sigmas of lengths, (2 B,) [mm] each."""
    space = skeleton_space(others)
    asked = problem_of(space, worn, [])
    still = slice(0, round(STANDING_S * clip.fps))
    starts = np.linspace(0, clip.n_frames - 2, n_frames).astype(int)
    moments = {
        "standing": (take_at(points, clip, chosen, still, 0.002),),
        f"{n_frames} frames": tuple(take_at(points, clip, chosen, slice(int(k), int(k) + 1), SKIN_M) for k in starts),
    }
    result = {}
    for name, takes in moments.items():
        adjusted = adjusted_from_torso(Problem(space, asked.worn, takes), worn)
        skeleton = space.skeleton(adjusted.state.y)
        result[name] = lengths_mm(skeleton) - lengths_mm(clip.skeleton)
        result[f"{name}, sigma"] = 1e3 * by_bone(length_sigmas(space, adjusted)[0])
    return result


def worn_set(labels: Sequence[str], offset_m: Floats, rng: np.random.Generator) -> MarkerSet:
    """Give markers of the file as a set whose nominal places are about 2 cm off."""
    n = len(labels)
    joint = np.array([joint_of(label) for label in labels], np.int64)
    moved = offset_m + rng.normal(0.0, PLACEMENT_M, (n, 3))
    return MarkerSet(tuple(labels), joint, np.isin(labels, TORSO), moved, np.zeros((n, 3)), np.zeros(n, bool))


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration_subject_vicon", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--motion", type=Path, required=True, help="folder with subjects/NN/NN.asf and motions")
    parser.add_argument("--c3d", type=Path, required=True, help="the markers of 02_05")
    parser.add_argument("--frames", type=int, default=40, help="frames over the clip (default 40)")
    parser.add_argument("--draws", type=int, default=10, help="times the nominal places are drawn (default 10)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    points = read_c3d(options.c3d)
    clip = read_clip(next(options.motion.rglob("02_05.amc")), fps=points.fps)
    offset, off = rigid(points, clip)
    print("off the best rigid place, median and p95 over the clip [mm]")
    for m in np.argsort([joint_of(label) for label in points.labels], kind="stable"):
        print(f"  {points.labels[m]:<6}{JOINTS[joint_of(points.labels[m])]:<15}{off[m, 0]:6.1f}{off[m, 1]:7.1f}")
    print(f"  all: median {np.median(off[:, 0]):.1f}, worst marker {off[:, 0].max():.1f}, p95 median {np.median(off[:, 1]):.1f}")
    others = [skeleton for skeleton in people_of(options.motion) if skeleton.name != clip.skeleton.name]
    results = {"rigid_mm": dict(zip(points.labels, off.tolist(), strict=True))}
    rng = np.random.default_rng(5)
    for name, labels in WORN.items():
        chosen = np.array([points.labels.index(label) for label in labels], np.int64)
        drawn = [
            found(points, clip, worn_set(labels, offset[chosen], rng), chosen, others, options.frames)
            for _ in range(options.draws)
        ]
        mean = np.mean([lengths_mm(other) for other in others], axis=0) - lengths_mm(clip.skeleton)
        rows = {"mean body": mean, **{row: np.mean([draw[row] for draw in drawn], axis=0) for row in drawn[0]}}
        absolute = {row: np.abs([draw[row] for draw in drawn]) for row in drawn[0] if "sigma" not in row}
        print(f"{name}, {len(others)} others, mean of {options.draws} draws of nominal places")
        print(f"  {'error, left and right [mm]':<28}" + "".join(f"{bone:>13}" for bone in BONES))
        for row, values in rows.items():
            cells = "".join(f"{values[b]:7.0f}{values[len(BONES) + b]:6.0f}" for b in range(len(BONES)))
            errors = absolute.get(row, np.abs(values))
            print(f"  {row:<28}{cells}   median {np.median(errors):.1f}, worst {errors.max():.1f}")
        results[name] = {row: values.tolist() for row, values in rows.items()}
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
