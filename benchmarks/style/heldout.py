"""How well a style predicts hidden joints from seen ones in held-out takes, against the nearest pose and a regression.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.style.heldout --motion DIR [--behaviours NAME...] [--methods M...]
        [--latent Q...] [--active M] [--steps N] [--poses N] [--json F]

Takes are those of `duocap evaluate posing`, or fewer of the walks and runs. x is fitted to the static features of some joints,
and f(x) of the others is compared with the truth: root mean square of all components of their rotation vectors [deg], constant
ones included, for all methods alike. Hidden is a random half of the joints (mean of several), both arms, or both legs. z2: mean
square of errors over the style's standard deviation s(x) / w of the components that move; ideally 1.

The nearest pose is the learned one whose seen features are nearest. The regression (a Gaussian process for each set of hidden
joints, with a fixed length scale) is made for these joints, unlike a style: an upper limit.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import parser_of, write_json
from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINTS
from reconstruct.models.style.features import N_STATIC, TrainingPoses, feature_names, subsample, training_poses
from reconstruct.models.style.learn.latent import best_active, find_latent, latent_query
from reconstruct.models.style.learn.train import LearnOptions, learn
from reconstruct.models.style.model import Style, evaluator_of, predict
from tools.evaluate.posing.cases import SPLITS, TakeSplit, read_ranges, whole_takes

Mask = NDArray[np.bool_]


FEWER = (
    TakeSplit("07 from five", whole_takes("07_01", "07_02", "07_03", "07_05", "07_06"), whole_takes("07_07", "07_08", "07_10")),
    TakeSplit("09 from five", whole_takes("09_01", "09_02", "09_03", "09_05", "09_06"), whole_takes("09_07", "09_09")),
)
KNOWN = {split.name: split for split in SPLITS + FEWER}
BEHAVIOURS = "07 walking", "09 running", "14 boxing", "07 from five", "09 from five"
N_LEARNED, N_HELD_OUT = 500, 100
HALVES, SEED = 3, 5
ARMS = "Shoulder", "UpperArm", "LowerArm", "Hand"
LEGS = "UpperLeg", "LowerLeg", "Foot", "Toes"
PLACE_STEPS = 60
LENGTH, NOISE = 2.0, 0.01  # of the regression: in root mean square distances from the mean, and a share of the variance


@dataclass(frozen=True, slots=True)
class Row:
    """Errors of one method on one behaviour [deg], z2 (0: it states no variance), and processor time of learning [s]."""

    behaviour: str
    way: str
    half_deg: float
    arms_deg: float
    legs_deg: float
    z2: float = 0.0
    learning_s: float = 0.0


def seen_of() -> list[Mask]:
    """Return which static features are seen, (S,) each: all but random halves of the joints, both arms, both legs."""
    joint = [name.split(".")[0] for name in feature_names()[:N_STATIC]]
    joints, rng = list(JOINTS[1:]), np.random.default_rng(SEED)
    halves = [set(rng.choice(joints, len(joints) // 2, replace=False)) for _ in range(HALVES)]
    limbs = [{each for each in joints if each.endswith(words)} for words in (ARMS, LEGS)]
    return [np.array([each not in hidden for each in joint]) for hidden in halves + limbs]


def by_nearest(known: Floats, true: Floats, seen: Mask) -> Floats:
    """Return static features, (P, S), of the pose of (N, S) whose seen ones are nearest."""
    nearest = [np.argmin(((known[:, seen] - pose) ** 2).sum(axis=1)) for pose in true[:, seen]]
    return np.asarray(known[np.array(nearest)])


def by_regression(known: Floats, true: Floats, seen: Mask) -> Floats:
    """Return static features, (P, S), by a Gaussian process from the seen ones, fitted to (N, S)."""
    mean = known.mean(axis=0)
    a, b = (known - mean)[:, seen], (true - mean)[:, seen]
    length2 = LENGTH**2 * float(np.mean((a**2).sum(axis=1)))

    def kernel(x: Floats, y: Floats) -> Floats:
        distance2 = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2.0 * x @ y.T
        return np.asarray(np.exp(-0.5 * distance2 / length2))

    return np.asarray(mean + kernel(b, a) @ np.linalg.solve(kernel(a, a) + NOISE * np.eye(len(a)), known - mean))


def by_style(style: Style, true: Floats, seen: Mask) -> tuple[Floats, float]:
    """Return static features, (P, S), of where a style puts poses by those seen, and z2 of the hidden ones."""
    level = evaluator_of(style, style.learned)
    at = np.flatnonzero(style.modelled)
    static = at < N_STATIC
    Y = np.zeros((len(true), len(at)))
    Y[:, static] = true[:, at[static]] - style.mean[at[static]]
    known = static.copy()
    known[static] = seen[at[static]]
    poses = latent_query(level, Y, known)
    f, s2 = predict(level, find_latent(poses, best_active(poses), PLACE_STEPS))
    found = np.tile(style.mean[:N_STATIC], (len(true), 1))
    found[:, at[static]] = f[:, static]
    hidden = static & ~known
    off = (f - level.mean - Y)[:, hidden] * level.scale[hidden]
    return found, float(np.mean(off**2 / s2[:, None]))


def row(behaviour: str, way: str, found: list[Floats], true: Floats, z2: list[float], learning_s: float = 0.0) -> Row:
    """Return one row, of what was found for each of `seen_of`, (P, S)."""
    errors = [_error_deg(each, true, ~seen) for each, seen in zip(found, seen_of(), strict=True)]
    *halves, arms, legs = errors
    return Row(behaviour, way, float(np.mean(halves)), arms, legs, float(np.median(z2)) if z2 else 0.0, learning_s)


def _error_deg(found: Floats, true: Floats, hidden: Mask) -> float:
    """Return the root mean square error of hidden features [deg]."""
    return float(np.degrees(np.sqrt(np.mean((found - true)[:, hidden] ** 2))))


def poses_of(split: TakeSplit, motion: Path, n_poses: int) -> tuple[TrainingPoses, TrainingPoses]:
    """Return the poses to learn from and the held-out ones. Raises DuocapError."""
    learned, held_out = (training_poses(read_ranges(ranges, motion)) for ranges in (split.learned, split.held_out))
    return subsample(learned, N_LEARNED), subsample(held_out, n_poses)


def rows(split: TakeSplit, motion: Path, ways: Sequence[LearnOptions], n_poses: int) -> list[Row]:
    """Return all ways' rows on one behaviour. Raises DuocapError."""
    training, held_out = poses_of(split, motion, n_poses)
    skeleton = read_ranges(split.learned[:1], motion)[0].skeleton
    known, true = training.features[:, :N_STATIC], held_out.features[:, :N_STATIC]
    out = [row(split.name, "nearest pose", [by_nearest(known, true, seen) for seen in seen_of()], true, [])]
    out.append(row(split.name, "regression", [by_regression(known, true, seen) for seen in seen_of()], true, []))
    for options in ways:
        begun = time.process_time()
        style = learn(training, skeleton, split.name, options)
        learning_s = time.process_time() - begun
        found, z2 = zip(*(by_style(style, true, seen) for seen in seen_of()), strict=True)
        steps = f" {options.steps} steps" if options.steps else ""
        out.append(row(split.name, f"{options.method}{steps}, Q = {options.latent}", list(found), true, list(z2), learning_s))
    return out


def printed(each: Row) -> None:
    """Print a row."""
    own = f"{each.z2:5.2f} {each.learning_s:6.1f}" if each.z2 else ""
    print(f"{each.behaviour:12} {each.way:24} {each.half_deg:6.2f} {each.arms_deg:6.2f} {each.legs_deg:6.2f} {own}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="folder with cmu/subjects")
    parser.add_argument("--behaviours", nargs="+", default=list(BEHAVIOURS), choices=list(KNOWN))
    parser.add_argument("--methods", nargs="+", default=["heuristic", "direct"], choices=["heuristic", "direct"])
    parser.add_argument("--latent", nargs="+", type=int, default=[LearnOptions().latent])
    parser.add_argument("--active", type=int, default=LearnOptions().active)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--poses", type=int, default=N_HELD_OUT, help="held-out poses of each behaviour")
    o = parser.parse_args(arguments)
    ways = [LearnOptions(latent=q, active=o.active, method=method, steps=o.steps) for method in o.methods for q in o.latent]
    print(f"{'':12} {'':24} {'half':>6} {'arms':>6} {'legs':>6} {'z2':>5} {'CPU s':>6}   (hidden: degrees)")
    table: list[Row] = []
    try:
        for split in (KNOWN[name] for name in o.behaviours):
            for each in rows(split, o.motion, ways, o.poses):
                printed(each)
                table.append(each)
    except DuocapError as error:
        print(error, file=sys.stderr)
        return 1
    write_json(o.json, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
