"""How well a T-pose tells a performer's bones: people of a motion database, each left out of it and recovered from markers.

    python -m benchmarks.calibration_subject --motion DIR [--takes N] [--draws N] [--sets SET...] [--height] [--json F]

DIR holds Acclaim skeletons (subjects/NN/NN.asf beside their motions). Plain: an exact T-pose, markers at their nominal places,
3 mm of noise. Honest: joints a few degrees off, the arms more, and every marker about 2 cm from where its set has it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibration.subject_fit import SIGMA_RAD, SubjectFit, TPose, fit_takes
from calibration.subject_space import skeleton_space
from config.joints import JOINT_INDEX, N_JOINTS
from config.markers import MarkerSet, read_marker_set
from database.kinematics import charted, forward
from database.read import read_clip
from database.rotations import Floats, matrix_from_rotvec
from database.skeleton import Skeleton

NOISE_M = 0.003
PLACEMENT_M = 0.0115  # by axis: 2 cm as a distance
JOINT_RAD = np.radians(4.0)
SETS = ("boxing", "dark_room", "all_around")
# Bones by the joint at their end, or with a + by the one whose tail they are.
BONES = {
    "thigh": "LowerLeg",
    "shin": "Foot",
    "foot": "Toes",
    "upper arm": "LowerArm",
    "forearm": "Hand",
    "shoulder": "UpperArm",
    "hip": "UpperLeg",
    "hand": "+Hand",
}


@dataclass(frozen=True, slots=True)
class Found:
    """Errors and stated sigmas of bones [mm], (people, bones), which were measured, and the errors of the others' mean."""

    error_mm: Floats
    sigma_mm: Floats
    measured: np.ndarray
    of_mean_mm: Floats
    height_mm: Floats


def people_of(motion: Path) -> list[Skeleton]:
    """Read one skeleton of every subject."""
    folders = sorted({file.parent for file in motion.rglob("*.asf")})
    clips = [min(folder.glob("*.amc"), key=lambda path: path.stat().st_size) for folder in folders if any(folder.glob("*.amc"))]
    return [read_clip(clip).skeleton for clip in clips]


def lengths_mm(skeleton: Skeleton) -> Floats:
    """Give the lengths of the bones on both sides, (2 B,) [mm]."""
    found = []
    for side in ("left", "right"):
        for bone in BONES.values():
            joint = JOINT_INDEX[side + bone.removeprefix("+")]
            found.append((skeleton.tails_m if bone.startswith("+") else skeleton.offsets_m)[joint])
    return np.asarray(1e3 * np.linalg.norm(found, axis=1))


def by_bone(values: np.ndarray) -> np.ndarray:
    """Give what belongs to the bones of `lengths_mm`, (2 B,), of values (2, J) for offsets and tails."""
    rows = [(int(bone.startswith("+")), bone.removeprefix("+")) for bone in BONES.values()]
    return np.array([values[row, JOINT_INDEX[side + bone]] for side in ("left", "right") for row, bone in rows])


def held(skeleton: Skeleton, markers: MarkerSet, offset_m: Floats, honest: bool, rng: np.random.Generator) -> TPose:
    """Measure a person in a T-pose."""
    pose = np.zeros((N_JOINTS, 3))
    if honest:
        pose = rng.normal(0.0, np.minimum(JOINT_RAD, SIGMA_RAD))
        for side, sign in (("left", 1.0), ("right", -1.0)):
            pose[JOINT_INDEX[side + "UpperArm"], 2] += sign * rng.normal(-0.05, 0.12)
    G, p = forward(skeleton, charted(matrix_from_rotvec(pose)), np.zeros(3))
    joint, n = markers.joint, len(markers)
    point = p[joint] + np.einsum("mij,mj->mi", G[joint], offset_m) + rng.normal(0.0, NOISE_M, (n, 3))
    turn = matrix_from_rotvec(rng.normal(0.0, 0.3, 3))
    return TPose(point @ turn.T, np.ones(n, bool), np.tile(NOISE_M**2 * np.eye(3), (n, 1, 1)), np.zeros(n), 60)


def recovered(
    true: Skeleton, others: list[Skeleton], markers: MarkerSet, honest: bool, takes: int, told: bool, rng: np.random.Generator
) -> SubjectFit:
    """Fit one person to T-poses among others."""
    offset_m = markers.offset_m + (rng.normal(0.0, PLACEMENT_M, (len(markers), 3)) if honest else 0.0)
    tposes = [held(true, markers, offset_m, honest, rng) for _ in range(takes)]
    stature_m = skeleton_space(others).stature * true.height_m if told else None
    return fit_takes("found", markers, tposes, others, height_m=stature_m)


def measure(people: list[Skeleton], markers: MarkerSet, honest: bool, takes: int, draws: int, told: bool) -> Found:
    """Leave out each person in turn."""
    rng = np.random.default_rng(7)
    errors, sigmas, measured, of_mean, heights = [], [], [], [], []
    for _ in range(draws):
        for k, true in enumerate(people):
            others = people[:k] + people[k + 1 :]
            fit = recovered(true, others, markers, honest, takes, told, rng)
            assert fit.subject.length_sigma_m is not None
            errors.append(lengths_mm(fit.subject.skeleton) - lengths_mm(true))
            sigmas.append(1e3 * by_bone(fit.subject.length_sigma_m))
            measured.append(by_bone(fit.measured))
            of_mean.append(np.mean([lengths_mm(other) for other in others], axis=0) - lengths_mm(true))
            heights.append(1e3 * (fit.subject.skeleton.height_m - true.height_m))
    return Found(*map(np.array, (errors, sigmas, measured, of_mean, heights)))


def figures(found: Found) -> dict[str, object]:
    """Put what was found in numbers; both sides of a bone together."""
    n = len(BONES)
    bones = {}
    for b, bone in enumerate(BONES):
        error, sigma = found.error_mm[:, [b, n + b]], found.sigma_mm[:, [b, n + b]]
        bones[bone] = {
            "median_mm": float(np.median(np.abs(error))),
            "p95_mm": float(np.quantile(np.abs(error), 0.95)),
            "worst_mm": float(np.abs(error).max()),
            "sigma_mm": float(np.median(sigma)),
            "error_by_sigma": float(np.sqrt(((error / sigma) ** 2).mean())),
            "measured": float(found.measured[:, [b, n + b]].mean()),
            "median_of_mean_body_mm": float(np.median(np.abs(found.of_mean_mm[:, [b, n + b]]))),
        }
    error = np.abs(found.error_mm)
    return {
        "bones": bones,
        "median_mm": float(np.median(error)),
        "p95_mm": float(np.quantile(error, 0.95)),
        "median_of_worst_bone_mm": float(np.median(error.max(axis=1))),
        "worst_mm": float(error.max()),
        "error_by_sigma": float(np.sqrt(((found.error_mm / found.sigma_mm) ** 2).mean())),
        "median_of_mean_body_mm": float(np.median(np.abs(found.of_mean_mm))),
        "worst_of_mean_body_mm": float(np.abs(found.of_mean_mm).max()),
        "height_median_mm": float(np.median(np.abs(found.height_mm))),
    }


def table(name: str, found: dict[str, object]) -> str:
    """Lay it out for reading."""
    bones = found["bones"]
    assert isinstance(bones, dict)
    head = f"{'':<11}{'median':>8}{'p95':>8}{'worst':>8}{'sigma':>8}{'err/sig':>9}{'measured':>10}{'mean body':>11}"
    lines = [name, "  " + head]
    for bone, row in bones.items():
        cells = "".join(f"{row[key]:8.1f}" for key in ("median_mm", "p95_mm", "worst_mm", "sigma_mm"))
        lines.append(
            f"  {bone:<11}{cells}{row['error_by_sigma']:9.2f}{100 * row['measured']:9.0f}%{row['median_of_mean_body_mm']:11.1f}"
        )
    lines += [
        f"  all: median {found['median_mm']:.1f}, p95 {found['p95_mm']:.1f}, worst {found['worst_mm']:.1f}; worst bone of a "
        f"person: median {found['median_of_worst_bone_mm']:.1f}; error/sigma {found['error_by_sigma']:.2f}",
        f"  mean body: median {found['median_of_mean_body_mm']:.1f}, worst {found['worst_of_mean_body_mm']:.1f}; "
        f"height of the fit: {found['height_median_mm']:.0f} mm off",
    ]
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_subject", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--motion", type=Path, required=True, help="folder with subjects/NN/NN.asf and motions")
    parser.add_argument("--sets", nargs="*", default=SETS, help="marker sets")
    parser.add_argument("--takes", type=int, default=1, help="T-poses a person (default 1)")
    parser.add_argument("--draws", type=int, default=2, help="times every person is measured (default 2)")
    parser.add_argument("--height", action="store_true", help="tell the fit how tall the performer is")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    people = people_of(options.motion)
    print(f"{len(people)} people, each left out; millimetres")
    found = {}
    for name in options.sets:
        markers = read_marker_set(name)
        for honest in (False, True):
            label = f"{name}, {len(markers)} markers, {'honest' if honest else 'plain'}"
            found[label] = figures(measure(people, markers, honest, options.takes, options.draws, options.height))
            print(table(label, found[label]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
