"""Left-out test: real clips that were not learned from, given by their first and last frame and their contacts.

    python -m benchmarks.physics.left_out --field locomotion.forces --motions .../cmu/subjects

Prints the RMS distance of all joints from the real motion [mm] for: splines between the two poses; the nearest example bent to
them (what the search begins with); statistics without physics; physics without statistics (least squared torques, from the
splines, as it knows no examples); all of it; and the residual of eq. 1, and processor seconds.
"""

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from config.arrays import Floats
from database.files.cleaning import clean_clip
from database.files.read import read_clip
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.file import read_field
from reconstruct.models.physics.field.prepare import prepare_field_motion
from reconstruct.models.physics.field.state import compute_units
from reconstruct.models.physics.field.train import FPS
from reconstruct.models.physics.synthesis.animate import AnimateOptions, animate_motion
from reconstruct.models.physics.synthesis.kinematics import compute_joint_positions
from reconstruct.models.physics.synthesis.measure import measure_motion
from reconstruct.models.physics.synthesis.problem import KeyPose, MotionProblem, SynthesisWeights
from reconstruct.models.physics.synthesis.start import build_from_examples, interpolate_keys, weigh_example_trust

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
METHODS = ("spline", "example", "statistics", "physics", "all")


@dataclass(frozen=True, slots=True)
class LeftOutFigures:
    """RMS [mm] by method; residuals of eq. 1 of statistics and of all, per cent of weight; processor seconds of all."""

    rms_mm: dict[str, float]
    residual: tuple[float, float]
    seconds: float


def measure_left_out(field: ForceField, file: Path, first_s: float, last_s: float, torque: float) -> LeftOutFigures:
    """Return the figures of one clip."""
    motion = prepare_field_motion(clean_clip(read_clip(file))[0])
    rows = slice(round(first_s * FPS), round(last_s * FPS) + 1)
    q, parts = motion.q[rows], motion.parts[rows]
    n = len(q)
    body = build_body(motion.skeleton, motion.mass_kg)
    keys = (KeyPose(0, q[0]), KeyPose(n - 1, q[-1]))
    problem = MotionProblem(body, compute_units(body), field, FPS, parts, motion.level_m, keys)
    dynamics = problem.dynamics()
    real = compute_joint_positions(dynamics, q)

    def rms_mm(got: Floats) -> float:
        return 1e3 * float(np.sqrt(((compute_joint_positions(dynamics, got) - real) ** 2).sum(axis=2).mean()))

    began = time.process_time()
    splines = interpolate_keys(dynamics, keys, n)
    first = build_from_examples(field, dynamics, keys, parts, problem.units, n, FPS)
    problem, example = weigh_example_trust(problem, first), first.q
    whole = animate_motion(problem, example)
    seconds = time.process_time() - began
    alone = replace(problem, field=None, example=None, weights=SynthesisWeights(torque=torque))
    physics = animate_motion(alone, splines, AnimateOptions(0, 40)).q
    motions = dict(zip(METHODS, (splines, example, whole.start, physics, whole.q), strict=True))
    residual = [100.0 * measure_motion(problem, got).residual_force for got in (whole.start, whole.q)]
    return LeftOutFigures({name: rms_mm(got) for name, got in motions.items()}, (residual[0], residual[1]), seconds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--field", type=Path, required=True)
    parser.add_argument("--motions", type=Path, required=True)
    parser.add_argument("--torque", type=float, default=1.0, help="weight of the squared torques of physics without statistics")
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    field = read_field(options.field)
    print(f"{'clip':<8}" + "".join(f"{name:>12}" for name in METHODS) + f"{'residual %':>16}{'CPU s':>8}")
    best, every = 0, []
    for name, first_s, last_s in CLIPS:
        if options.only and name not in options.only:
            continue
        got = measure_left_out(field, options.motions / name[: name.index("_")] / f"{name}.amc", first_s, last_s, options.torque)
        every.append(list(got.rms_mm.values()))
        best += min(got.rms_mm, key=lambda method: got.rms_mm[method]) == "all"
        figures = "".join(f"{value:>12.1f}" for value in every[-1])
        print(f"{name:<8}{figures}{got.residual[0]:>9.2f} {got.residual[1]:>6.2f}{got.seconds:>8.1f}", flush=True)
    print(
        f"{'mean':<8}" + "".join(f"{value:>12.1f}" for value in np.mean(every, axis=0)) + f"   all best on {best} of {len(every)}"
    )


if __name__ == "__main__":
    main()
