"""Left-out test: real clips that were not learned from, given by their first and last frame and their contacts.

    python -m benchmarks.physics.left_out --field locomotion.forces --motions .../cmu/subjects [--tuning] [--methods NAME ...]

Prints the RMS distance of all joints from the real motion [mm] and from the start of the search, which is the mean of the nearest
examples bent to the two poses, and the residual of eq. 1 [% of the weight]. *All* is the whole energy; the others leave out one
term each, from the same start. Rivals: splines between the poses; physics in the subspace of states without a field of forces
(Safonova et al. 2004); physics alone (least squared torques, from the splines, as it knows no examples). Clips of people that
the field knows and of others apart. --starts leaves the solves out and prints, beside splines and start, the oracle of a start:
of the best stretch of every example that one which is nearest to the real motion, bent to the two poses. --tuning takes other
clips, on which what is chosen may be tried; --figures writes what the page of the paper has.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.papers.page.figures import format_figures, keep_figures
from benchmarks.report import Row
from config.arrays import Bools, Floats
from database.files.cleaning import clean_clip
from database.files.read import read_clip
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.field.examples import (
    BEND_S,
    FAR,
    bend_stretch,
    build_example_bank,
    find_nearest_stretch,
    sample_configurations,
)
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.file import read_field
from reconstruct.models.physics.field.prepare import prepare_field_motion
from reconstruct.models.physics.field.state import compute_units
from reconstruct.models.physics.field.train import FPS
from reconstruct.models.physics.synthesis.animate import AnimateOptions, animate_motion
from reconstruct.models.physics.synthesis.kinematics import compute_joint_positions
from reconstruct.models.physics.synthesis.measure import measure_motion
from reconstruct.models.physics.synthesis.problem import KeyPose, MotionProblem, SynthesisWeights
from reconstruct.models.physics.synthesis.start import build_from_examples, interpolate_keys, stay_near_examples

CLIPS = (
    ("07_08", 0.8, 2.0),
    ("16_15", 1.0, 2.2),
    ("35_14", 1.0, 2.2),
    ("32_01", 1.0, 2.2),
    ("32_02", 0.8, 2.0),
    ("38_01", 0.8, 2.0),
    ("38_02", 1.0, 2.2),
    ("43_01", 1.0, 2.2),
    ("55_04", 1.0, 2.2),
    ("09_09", 0.15, 1.05),
    ("16_45", 0.1, 1.0),
    ("16_05", 0.5, 2.0),
)
TUNING = (
    ("07_03", 1.0, 2.2),
    ("16_33", 0.4, 1.6),
    ("16_34", 0.3, 1.5),
    ("35_33", 1.0, 2.2),
    ("02_01", 1.0, 2.2),
    ("02_02", 0.6, 1.8),
    ("49_01", 2.0, 3.2),
    ("03_01", 2.4, 3.5),
)
KNOWN = ("07", "09", "16", "35", "49")  # performers that the field has other motions of
GIVEN = AnimateOptions(contacts=0)  # contacts are given
ALONE = "physics alone"
COMMAND = "python -m benchmarks.physics.left_out --field FOLDER/locomotion.forces --motions DIR/cmu/subjects --figures FILE"
TORQUE = 1.0  # weight of the squared torques where no field says which forces are likely


def list_methods(weights: SynthesisWeights) -> dict[str, SynthesisWeights]:
    """Return the weights of each method that begins with the nearest examples."""
    without = {
        "all": {},
        "no physics": {"physics": 0.0},
        "no field": {"field": 0.0, "log_variance": 0.0},
        "no example": {"example": 0.0},
        "constraints / 10": {"constraints": 0.1 * weights.constraints},
        "subspace": {"field": 0.0, "log_variance": 0.0, "force_subspace": 0.0, "example": 0.0, "torque": TORQUE},
    }
    return {name: replace(weights, **changed) for name, changed in without.items()}


@dataclass(frozen=True, slots=True)
class LeftOutFigures:
    """Of one clip.

    Attributes:
        rms_mm: distance from the real motion by method.
        moved_mm: distance from the start by method.
        residual: of eq. 1 by method [% of weight].
        distance: of the examples, in deviations.
        seconds: processor time of "all" [s].
    """

    rms_mm: dict[str, float]
    moved_mm: dict[str, float]
    residual: dict[str, float]
    distance: float
    seconds: float


def find_true_start(problem: MotionProblem, real: Floats, parts: Bools) -> Floats:
    """Return the start that is nearest to the real motion, (N, 95): a stretch of one example, bent to the two poses.

    Args:
        problem: the problem, with its field.
        real: the real motion, (N, 95).
        parts: its contacts, (N, 2, 3).
    """
    assert problem.field is not None
    n, dynamics = len(real), problem.dynamics()
    bank = build_example_bank(problem.field.examples, dynamics, problem.units)
    examples, truth = bank.examples, compute_joint_positions(dynamics, real)
    best, least = real, np.inf
    for k in range(len(examples.start) - 1):
        rows, distance = find_nearest_stretch(bank, real[0], real[-1], n / problem.fps, parts, [k])
        if distance < FAR:
            own = sample_configurations(examples.q, np.linspace(*rows, n))
            bent = bend_stretch(dynamics, own, real[[0, -1]], round(BEND_S * problem.fps))
            off = compute_rms_mm(compute_joint_positions(dynamics, bent), truth)
            if off < least:
                best, least = bent, off
    return best


def measure_left_out(
    field: ForceField, file: Path, first_s: float, last_s: float, methods: Sequence[str], starts: bool = False
) -> LeftOutFigures:
    """Return the figures of one clip.

    Args:
        field: the field.
        file: the clip.
        first_s: time of its first pose [s].
        last_s: time of its last pose [s].
        methods: methods that are tried.
        starts: whether the oracle of a start is sought.
    """
    motion = prepare_field_motion(clean_clip(read_clip(file))[0])
    rows = slice(round(first_s * FPS), round(last_s * FPS) + 1)
    q, parts = motion.q[rows], motion.parts[rows]
    n = len(q)
    body = build_body(motion.skeleton, motion.mass_kg)
    keys = (KeyPose(0, q[0]), KeyPose(n - 1, q[-1]))
    problem = MotionProblem(body, compute_units(body), field, FPS, parts, motion.level_m, keys)
    dynamics = problem.dynamics()
    splines = interpolate_keys(dynamics, keys, n)
    first = build_from_examples(problem, parts)
    problem = stay_near_examples(problem, first)
    found, seconds = {"spline": splines, "start": first.q}, 0.0
    if starts:
        found["oracle"] = find_true_start(problem, q, parts)
        true = stay_near_examples(problem, replace(first, q=q, spread=np.zeros_like(first.spread), distance=0.0))
        found["truth with feet held"] = animate_motion(replace(true, weights=list_methods(true.weights)["no field"]), q, GIVEN).q
    for name, weights in list_methods(problem.weights).items():
        if name not in methods:
            continue
        began = time.process_time()
        found[name] = animate_motion(replace(problem, weights=weights), first.q, GIVEN).q
        seconds = seconds or time.process_time() - began
    if ALONE in methods:
        alone = replace(problem, field=None, example=None, weights=SynthesisWeights(torque=TORQUE))
        found[ALONE] = animate_motion(alone, splines, AnimateOptions(0, 40, 0)).q
    place = {name: compute_joint_positions(dynamics, got) for name, got in found.items()}
    real = compute_joint_positions(dynamics, q)
    return LeftOutFigures(
        {name: compute_rms_mm(each, real) for name, each in place.items()},
        {name: compute_rms_mm(each, place["start"]) for name, each in place.items()},
        {name: 100.0 * measure_motion(problem, got).residual_force for name, got in found.items()},
        first.distance,
        seconds,
    )


def compute_rms_mm(a: Floats, b: Floats) -> float:
    """Return the RMS distance of joints at the same times [mm]."""
    return 1e3 * float(np.sqrt(((a - b) ** 2).sum(axis=2).mean()))


def format_cell(figures: LeftOutFigures, name: str) -> str:
    """Return error, distance from the start and residual."""
    return f"{figures.rms_mm[name]:.0f}, {figures.moved_mm[name]:.0f}, {figures.residual[name]:.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--field", type=Path, required=True)
    parser.add_argument("--motions", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=None)
    every_method = [*list_methods(SynthesisWeights()), ALONE]
    parser.add_argument("--methods", nargs="*", default=every_method, choices=every_method)
    parser.add_argument("--tuning", action="store_true")
    parser.add_argument("--starts", action="store_true")
    parser.add_argument("--figures", type=Path, default=None)
    options = parser.parse_args()
    methods = [] if options.starts else options.methods
    field = read_field(options.field)
    every: dict[bool, list[LeftOutFigures]] = {True: [], False: []}
    rows = list[Row]()
    for name, first_s, last_s in TUNING if options.tuning else CLIPS:
        if options.only and name not in options.only:
            continue
        subject = name[: name.index("_")]
        got = measure_left_out(field, options.motions / subject / f"{name}.amc", first_s, last_s, methods, options.starts)
        if not any(every.values()):
            print("| clip | examples at | " + " | ".join(got.rms_mm) + " | s |\n|" + (len(got.rms_mm) + 3) * "---|")
        every[subject in KNOWN].append(got)
        rows.append(keep_figures({"clip": name, "known": subject in KNOWN, **got.rms_mm}))
        if options.figures is not None:
            options.figures.write_text(format_figures(COMMAND, 0.0, rows), "utf-8")
        cells = " | ".join(format_cell(got, method) for method in got.rms_mm)
        print(f"| {name} | {got.distance:.1f} | {cells} | {got.seconds:.0f} |", flush=True)
    for known, figures in every.items():
        if figures:
            means = [f"{np.mean([each.rms_mm[method] for each in figures]):.1f}" for method in figures[0].rms_mm]
            print(f"| {'known' if known else 'new'} people | | " + " | ".join(means) + " | |")
    if "all" not in methods:
        return
    total = [each for figures in every.values() for each in figures]
    best = sum(min(each.rms_mm, key=lambda method: each.rms_mm[method]) == "all" for each in total)
    no_worse = sum(each.rms_mm["all"] <= each.rms_mm["start"] for each in total)
    print(f"all: best on {best} of {len(total)}, no worse than the start on {no_worse}")


if __name__ == "__main__":
    main()
