"""Whether what is not asked for stays: scripted drags of all joints, and how far the others move.

    python -m benchmarks.stream.posing.drags [--models local,sparse,style] [--count 200] [--seed 1] [--json F]

Each drag begins in a pose of the built-in motions or in the first pose, feet held; a joint is moved by 2 to 20 cm in steps of
about a centimetre, and let go. `ratio`: the farthest that a joint moved which is not held, over the way of the dragged one, of
drags below 10 cm; `miss`: how far the dragged joint is from the hand at the end; `leap`: the farthest that a joint moved between
two steps beyond the step itself; `least`: the miss that is left where the pose is brought to what is held without asking a model,
which limits what any can reach while the feet are held.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.report import build_parser, run_main, write_json
from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS
from config.settings import Settings
from database.builtin.catalog import make_builtin_clip
from stream.posing.document import StoredPose, compute_joint_positions_m
from stream.posing.session import PosingSession
from stream.posing.targets import bring_to_constraints, build_pose_constraints
from tools.pose import MODELS, PoseTask
from tools.style.builtin import DEFAULT_MOTIONS

STEP_M, SHORTEST_M, LONGEST_M, SHORT_M = 0.01, 0.02, 0.2, 0.1
MET_M = 0.005
PERCENTILES = (50.0, 95.0, 100.0)


@dataclass(frozen=True)
class DragScript:
    """A drag: pose that it begins in (None: the first one), joint, and its way (3,) [m]."""

    pose: StoredPose | None
    joint: str
    way_m: Floats


@dataclass(frozen=True)
class DragOutcome:
    """Of one drag: its joint, way of the hand [m], miss [m] and the least miss [m], farthest way of a free joint [m], which one,
    largest leap [m]."""

    joint: str
    way_m: float
    miss_m: float
    least_m: float
    free_m: float
    farthest: str
    leap_m: float


def draw_scripts(count: int, seed: int) -> Iterator[DragScript]:
    """Yield drags of all joints in turn, in drawn directions, from drawn poses."""
    rng = np.random.default_rng(seed)
    clips = [make_builtin_clip(name) for name in DEFAULT_MOTIONS]
    for number in range(count):
        clip = clips[rng.integers(len(clips))]
        frame = rng.integers(len(clip.rotvec))
        pose = None if number % 3 == 0 else StoredPose(clip.rotvec[frame].copy(), clip.root_m[frame].copy())
        way = rng.normal(size=3)
        length_m = np.exp(rng.uniform(np.log(SHORTEST_M), np.log(LONGEST_M)))
        yield DragScript(pose, JOINTS[number % len(JOINTS)], length_m * way / np.linalg.norm(way))


def run_script(session: PosingSession, script: DragScript) -> DragOutcome:
    """Drag and let go."""
    session.reset()
    if script.pose is not None:
        session.take(script.pose)
    session.free(script.joint)
    held = {JOINT_INDEX[name] for name in session.document.pins}
    begin_m, row = session.joints_m(), JOINT_INDEX[script.joint]
    steps = max(int(np.linalg.norm(script.way_m) / STEP_M), 1)
    last_m, leap_m = begin_m, 0.0
    for step in range(1, steps + 1):
        session.drag(script.joint, begin_m[row] + script.way_m * step / steps)
        now_m = session.joints_m()
        leap_m = max(leap_m, float(np.linalg.norm(now_m - last_m, axis=1).max()) - float(np.linalg.norm(script.way_m)) / steps)
        last_m = now_m
    session.release()
    end_m = session.joints_m()
    leap_m = max(leap_m, float(np.linalg.norm(end_m - last_m, axis=1).max()))
    moved_m = np.linalg.norm(end_m - begin_m, axis=1)
    moved_m[[row, *held]] = 0.0
    miss_m = float(np.linalg.norm(end_m[row] - begin_m[row] - script.way_m))
    most = int(moved_m.argmax())
    least_m = _measure_least_miss_m(session, script.joint)
    return DragOutcome(
        script.joint, float(np.linalg.norm(script.way_m)), miss_m, least_m, float(moved_m[most]), JOINTS[most], leap_m
    )


def _measure_least_miss_m(session: PosingSession, joint: str) -> float:
    """Return how far a held joint stays from its place in the nearest pose that meets all that is held."""
    document = session.document
    found = bring_to_constraints(session.skeleton, document.pose, build_pose_constraints(document))
    joint_m = compute_joint_positions_m(session.skeleton, StoredPose(found.rotvec, found.root_m))
    return float(np.linalg.norm(joint_m[JOINT_INDEX[joint]] - document.pins[joint]))


def summarise_outcomes(outcomes: list[DragOutcome]) -> dict[str, tuple[float, ...]]:
    """Return percentiles of ratios of short drags that met the hand, and of misses and leaps [mm]."""
    short = [each for each in outcomes if each.way_m < SHORT_M]
    met = [each for each in short if each.miss_m < MET_M]
    can = [each for each in short if each.least_m < MET_M]
    return {
        "ratio": tuple(np.percentile([each.free_m / each.way_m for each in met], PERCENTILES)) if met else (),
        "miss mm": tuple(np.percentile([1e3 * each.miss_m for each in short], PERCENTILES)),
        "leap mm": tuple(np.percentile([1e3 * each.leap_m for each in outcomes], PERCENTILES)),
        "within 5 mm %": (100.0 * len(met) / max(len(short), 1),),
        "within reach %": (100.0 * len(can) / max(len(short), 1),),
        "within 5 mm of them %": (100.0 * float(np.mean([each.miss_m < MET_M for each in can])),),
        "ratio over 1.5 %": (100.0 * float(np.mean([each.free_m > 1.5 * each.way_m for each in short])),),
    }


def main() -> None:
    """Drag with every model; print percentiles 50, 95 and 100."""
    parser = build_parser(__doc__)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=0, help="worst drags that are listed")
    options = parser.parse_args()
    results = {}
    for name in options.models.split(","):
        session = PosingSession(MODELS[name](PoseTask(Settings(), model=name)))
        begin_s = time.process_time()
        outcomes = [run_script(session, script) for script in draw_scripts(options.count, options.seed)]
        results[name] = summarise_outcomes(outcomes)
        print(f"{name}: {len(outcomes)} drags, {(time.process_time() - begin_s) / len(outcomes):.2f} s of processor time each")
        for what, values in results[name].items():
            print(f"  {what:22}" + "".join(f"{value:9.2f}" for value in values))
        for each in sorted(outcomes, key=lambda one: -one.free_m / one.way_m)[: options.worst]:
            free = f"{each.farthest} {1e3 * each.free_m:.0f}"
            print(f"  {each.joint} by {1e3 * each.way_m:.0f} mm: {free}, miss {1e3 * each.miss_m:.1f}")
    write_json(options.json, results)


if __name__ == "__main__":
    run_main(main)
