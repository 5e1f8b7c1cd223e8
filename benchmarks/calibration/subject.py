"""How well a T-pose determines a performer's bones: people of a motion database, each left out of it and fitted to markers.

    python -m benchmarks.calibration.subject --motion DIR [--takes N] [--draws N] [--sets SET...] [--height] [--json F]

DIR holds Acclaim skeletons (subjects/NN/NN.asf beside their motions). Plain: an exact T-pose, markers at their nominal positions,
3 mm of noise. Honest: joints a few degrees off, the arms more, and every marker about 2 cm from where its set has it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import parser_of, write_json
from calibration.subject.fit import SIGMA_RAD, SubjectFit, TPose, fit_takes
from calibration.subject.model import skeleton_space
from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS
from config.markers import MarkerSet, read_marker_set
from database.files.read import read_clip
from database.geometry.kinematics import charted, forward
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton

NOISE_M = 0.003
PLACEMENT_M = 0.0115  # by axis: 2 cm as a distance
JOINT_RAD = np.radians(4.0)
SETS = ("boxing", "dark_room", "all_around")
# Bones by the joint at their end, or with a + by the joint whose tail they are.
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
    """Errors and stated sigmas of bones [mm], (people, bones), which were measured, and the errors of the others' mean body."""

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
    """Return the lengths of the bones on both sides, (2 B,) [mm]."""
    found = []
    for side in ("left", "right"):
        for bone in BONES.values():
            joint = JOINT_INDEX[side + bone.removeprefix("+")]
            found.append((skeleton.tails_m if bone.startswith("+") else skeleton.offsets_m)[joint])
    return np.asarray(1e3 * np.linalg.norm(found, axis=1))


def by_bone(values: np.ndarray) -> np.ndarray:
    """Return the values of the bones of `lengths_mm`, (2 B,), from values (2, J) of offsets and tails."""
    rows = [(int(bone.startswith("+")), bone.removeprefix("+")) for bone in BONES.values()]
    return np.array([values[row, JOINT_INDEX[side + bone]] for side in ("left", "right") for row, bone in rows])


def tpose_of(skeleton: Skeleton, markers: MarkerSet, offset_m: Floats, honest: bool, rng: np.random.Generator) -> TPose:
    """Return the markers of a person in a T-pose."""
    pose = np.zeros((N_JOINTS, 3))
    if honest:
        pose = rng.normal(0.0, np.minimum(JOINT_RAD, SIGMA_RAD))
        for side, sign in (("left", 1.0), ("right", -1.0)):
            pose[JOINT_INDEX[side + "UpperArm"], 2] += sign * rng.normal(-0.05, 0.12)
    G, p = forward(skeleton, charted(matrix_from_rotvec(pose)), np.zeros(3))
    joint, n = markers.joint, len(markers)
    point = p[joint] + np.einsum("mij,mj->mi", G[joint], offset_m) + rng.normal(0.0, NOISE_M, (n, 3))
    R = matrix_from_rotvec(rng.normal(0.0, 0.3, 3))
    return TPose(point @ R.T, np.ones(n, bool), np.tile(NOISE_M**2 * np.eye(3), (n, 1, 1)), np.zeros(n), 60)


def fit_person(
    true: Skeleton, others: list[Skeleton], markers: MarkerSet, honest: bool, takes: int, told: bool, rng: np.random.Generator
) -> SubjectFit:
    """Fit one person, who is not among the others; told: whether the fit is given the height."""
    offset_m = markers.offset_m + (rng.normal(0.0, PLACEMENT_M, (len(markers), 3)) if honest else 0.0)
    tposes = [tpose_of(true, markers, offset_m, honest, rng) for _ in range(takes)]
    stature_m = skeleton_space(others).stature * true.height_m if told else None
    return fit_takes("found", markers, tposes, others, height_m=stature_m)


def measure(people: list[Skeleton], markers: MarkerSet, honest: bool, takes: int, draws: int, told: bool) -> Found:
    """Leave out and fit each person."""
    rng = np.random.default_rng(7)
    rows = []
    for _ in range(draws):
        for k, true in enumerate(people):
            others = people[:k] + people[k + 1 :]
            fit = fit_person(true, others, markers, honest, takes, told, rng)
            assert fit.subject.length_sigma_m is not None
            true_mm = lengths_mm(true)
            rows.append(
                (
                    lengths_mm(fit.subject.skeleton) - true_mm,
                    1e3 * by_bone(fit.subject.length_sigma_m),
                    by_bone(fit.measured),
                    np.mean([lengths_mm(other) for other in others], axis=0) - true_mm,
                    1e3 * (fit.subject.skeleton.height_m - true.height_m),
                )
            )
    return Found(*(np.array(column) for column in zip(*rows, strict=True)))


def spread(error: Floats, sigma: Floats, of_mean: Floats) -> dict[str, float]:
    """Return figures of errors, stated sigmas and errors of the mean body [mm]."""
    return {
        "median_mm": float(np.median(np.abs(error))),
        "p95_mm": float(np.quantile(np.abs(error), 0.95)),
        "worst_mm": float(np.abs(error).max()),
        "sigma_mm": float(np.median(sigma)),
        "error_by_sigma": float(np.sqrt(((error / sigma) ** 2).mean())),
        "median_of_mean_body_mm": float(np.median(np.abs(of_mean))),
    }


def report(name: str, found: Found) -> dict[str, object]:
    """Print and return the figures; both sides of a bone together."""
    n, bones = len(BONES), {}
    head = f"{'':<11}{'median':>8}{'p95':>8}{'worst':>8}{'sigma':>8}{'err/sig':>9}{'mean body':>11}{'measured':>10}"
    print(f"{name}\n  {head}")
    for b, bone in enumerate(BONES):
        both = (slice(None), [b, n + b])
        bones[bone] = spread(found.error_mm[both], found.sigma_mm[both], found.of_mean_mm[both])
        bones[bone]["measured"] = float(found.measured[both].mean())
        *lengths, by_sigma, of_mean, measured = bones[bone].values()
        cells = "".join(f"{value:8.1f}" for value in lengths)
        print(f"  {bone:<11}{cells}{by_sigma:9.2f}{of_mean:11.1f}{100 * measured:9.0f}%")
    every = spread(found.error_mm, found.sigma_mm, found.of_mean_mm)
    every["median_of_worst_bone_mm"] = float(np.median(np.abs(found.error_mm).max(axis=1)))
    every["worst_of_mean_body_mm"] = float(np.abs(found.of_mean_mm).max())
    every["height_median_mm"] = float(np.median(np.abs(found.height_mm)))
    print("  all: " + ", ".join(f"{key.removesuffix('_mm').replace('_', ' ')} {value:.2f}" for key, value in every.items()))
    return {"bones": bones, **every}


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="folder with subjects/NN/NN.asf and motions")
    parser.add_argument("--sets", nargs="*", default=SETS, help="marker sets")
    parser.add_argument("--takes", type=int, default=1, help="T-poses of each person (default 1)")
    parser.add_argument("--draws", type=int, default=2, help="times every person is measured (default 2)")
    parser.add_argument("--height", action="store_true", help="give the fit the performer's height")
    options = parser.parse_args(given)
    people = people_of(options.motion)
    print(f"{len(people)} people, each left out; millimetres")
    found = {}
    for name in options.sets:
        markers = read_marker_set(name)
        for honest in (False, True):
            label = f"{name}, {len(markers)} markers, {'honest' if honest else 'plain'}"
            found[label] = report(label, measure(people, markers, honest, options.takes, options.draws, options.height))
    write_json(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
