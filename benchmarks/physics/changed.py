"""Changed physics: the same script with a change of body or surroundings and without, and what the change did.

    python -m benchmarks.physics.changed --motions .../cmu/subjects --fields FOLDER [NAME...]

moon: a jump under a sixth of the gravity, tempo free: seconds without a foot on the ground; heavy_foot: a walk with 2.5 kg on
the left foot: how far the trunk leans to the right, mean [degrees]; resistance: a run against a spring at the hips: how far the
trunk leans forwards, mean [degrees]; ice: a walk with a friction of 0.05: mean length of its steps [m].
FOLDER has walk.forces, run.forces and jump.forces, as `benchmarks.physics.examples` trains them.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from config.joints import JOINT_INDEX
from database.clips import find_runs
from reconstruct.models.physics.synthesis.animate import AnimateOptions
from reconstruct.models.physics.synthesis.kinematics import compute_joint_positions
from tools.physics.animate import AnimateTask, Animation, animate_script
from tools.physics.script import MotionScript, read_script

EXAMPLES = Path(__file__).parents[2] / "examples" / "physics"
USUAL = AnimateOptions()
BALLS = ("leftToes", "rightToes")


def measure_flight_s(made: Animation) -> float:
    """Return the time without a foot on the ground [s]."""
    return float((~made.problem.parts.any(axis=(1, 2))).sum() / made.problem.fps)


def measure_lean_deg(made: Animation, right: bool = False) -> float:
    """Return how far the trunk leans to where the motion goes, mean [degrees]; right: to the right of that."""
    place = compute_joint_positions(made.problem.dynamics(), made.q)
    trunk = place[:, JOINT_INDEX["neck"]] - place[:, 0]
    x, z = place[-1, 0, [0, 2]] - place[0, 0, [0, 2]]
    way = np.array((-z, x) if right else (x, z)) / np.hypot(x, z)
    return float(np.degrees(np.arctan2(trunk[:, [0, 2]] @ way, trunk[:, 1])).mean())


def measure_step_m(made: Animation) -> float:
    """Return the mean distance of footholds that follow each other [m]."""
    place = compute_joint_positions(made.problem.dynamics(), made.q)
    holds = []
    for foot, ball in enumerate(BALLS):
        for first, stop in find_runs(np.asarray(made.problem.parts[:, foot].any(axis=1))):
            holds.append((first, np.median(place[first:stop, JOINT_INDEX[ball]][:, [0, 2]], axis=0)))
    order = [at for _, at in sorted(holds, key=lambda hold: hold[0])]
    return float(np.mean([np.linalg.norm(b - a) for a, b in pairwise(order)]))


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a script: the script, what is done to it with and without the change, and what is measured."""

    script: str
    changed: Callable[[MotionScript], MotionScript]
    usual: Callable[[MotionScript], MotionScript]
    measured: Callable[[Animation], float]
    unit: str


CHANGES = {
    "moon": Change(
        "jump",
        lambda script: replace(script, tempo=None, gravity=1.62),
        lambda script: replace(script, tempo=None),
        measure_flight_s,
        "s of flight",
    ),
    "heavy_foot": Change(
        "heavy_foot",
        lambda script: script,
        lambda script: replace(script, loads=()),
        partial(measure_lean_deg, right=True),
        "deg to the right",
    ),
    "resistance": Change(
        "resistance", lambda script: script, lambda script: replace(script, forces=()), measure_lean_deg, "deg of lean"
    ),
    "ice": Change("slippery", lambda script: script, lambda script: replace(script, friction=0.8), measure_step_m, "m a step"),
}


def measure_change(name: str, folders: list[Path], options: AnimateOptions = USUAL) -> tuple[Animation, Animation]:
    """Return the motions of a change, without it and with it."""
    change = CHANGES[name]
    script = read_script(EXAMPLES / f"{change.script}.toml")
    usual, changed = (
        animate_script(AnimateTask(each(script), folders, options=options)) for each in (change.usual, change.changed)
    )
    return usual, changed


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--motions", type=Path, action="append", required=True)
    parser.add_argument("--fields", type=Path, required=True)
    options = parser.parse_args()
    print(f"{'change':<12}{'without':>9}{'with':>9}  {'':<18}{'tempo':>12}{'residual %':>14}")
    for name in options.names or CHANGES:
        change = CHANGES[name]
        both = measure_change(name, [*options.motions, options.fields])
        values = "".join(f"{change.measured(each):>9.2f}" for each in both)
        tempo = ", ".join(f"{each.tempo:.2f}" for each in both)
        residual = ", ".join(f"{100 * each.figures[1].residual_force:.2f}" for each in both)
        print(f"{name:<12}{values}  {change.unit:<18}{tempo:>12}{residual:>14}", flush=True)


if __name__ == "__main__":
    main()
