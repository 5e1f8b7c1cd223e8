"""Motion between keys: how near it is to the motion that the keys are of, how hard joints are accelerated, and whether they hold.

    python -m benchmarks.stream.posing.motion [--models average,local,sparse,style] [--json F]

Keys are poses of built-in motions, four intervals each; where feet stand they are held. Beside the models: rotations that are
interpolated from key to key. `off`: mean and 95th percentile of all joints' distances [mm] from the motion itself; `acc`: the
largest acceleration of a joint [m/s^2]; `held`: the farthest that a held joint is from its curve [mm].
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from benchmarks.report import TablePrinter, build_parser, number_columns, run_main, text_columns, write_json
from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS
from config.settings import Settings
from database.builtin.catalog import make_builtin_clip
from database.clips import Clip
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.synthesis.curves import KeyedCurve
from stream.posing.document import Document, Keyframe, StoredPose, check_point, compute_joint_positions_m
from stream.posing.motion import SHOWN_HZ, solve_keyframe_motion
from tools.pose import MODELS, PoseTask

FEET = ("leftFoot", "rightFoot")
# Motion, time between keys [s], joints that are held.
CASES: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    ("squat", 1.0, FEET),
    ("wave", 0.7, ()),
    ("reach", 1.0, FEET),
    ("walk", 0.3, ()),
    ("jump", 0.3, ()),
    ("side_steps", 0.4, ()),
)
BEGIN_S, INTERVALS = 1.0, 4
FIGURES = ("off", "p95", "acc", "held")


@dataclass(frozen=True)
class KeyedMotion:
    """A motion and keys of it. true_m: joints from the first key to the last, (F, J, 3) at SHOWN_HZ; held: joints."""

    name: str
    document: Document
    true_m: Floats
    held: tuple[str, ...]


def build_case(name: str, gap_s: float, held: tuple[str, ...], skeleton: Skeleton) -> KeyedMotion:
    """Return keys of a built-in motion on a body.

    Args:
        name: of the motion.
        gap_s: time between keys [s].
        held: joints that each key holds.
        skeleton: the body.
    """
    clip: Clip = make_builtin_clip(name, fps=SHOWN_HZ)
    step, begin = round(gap_s * SHOWN_HZ), round(BEGIN_S * SHOWN_HZ)
    rows = range(begin, min(begin + INTERVALS * step, clip.n_frames - 1) + 1)
    poses = [StoredPose(clip.rotvec[row].copy(), clip.root_m[row].copy()) for row in rows]
    true_m = np.array([compute_joint_positions_m(skeleton, pose) for pose in poses])
    numbers = range(0, len(poses), step)
    keys = tuple(
        Keyframe(n / SHOWN_HZ, poses[n], {joint: check_point(true_m[n, JOINT_INDEX[joint]]) for joint in held}) for n in numbers
    )
    return KeyedMotion(name, Document(poses[0], keys=keys), true_m[: numbers[-1] + 1], held)


def interpolate_keys(case: KeyedMotion, skeleton: Skeleton) -> Floats:
    """Return joints of rotations that are interpolated from key to key, (F, J, 3) [m]."""
    keys, seconds = case.document.keys, np.arange(len(case.true_m)) / SHOWN_HZ
    times_s = np.array([key.time_s for key in keys])
    turns = [Slerp(times_s, Rotation.from_rotvec([key.pose.rotvec[j] for key in keys]))(seconds) for j in range(len(JOINTS))]
    rotvec = np.stack([each.as_rotvec() for each in turns], axis=1)
    root_m = KeyedCurve(times_s, np.array([key.pose.root_m for key in keys])).at(seconds)
    return np.array([compute_joint_positions_m(skeleton, StoredPose(*pose)) for pose in zip(rotvec, root_m, strict=True)])


def measure_motion(case: KeyedMotion, joint_m: Floats) -> dict[str, float]:
    """Return off (mean, p95), acc and held of joints of a motion, (F, J, 3) [m]."""
    off_mm = 1e3 * np.linalg.norm(joint_m - case.true_m, axis=2)
    times_s, seconds = [key.time_s for key in case.document.keys], np.arange(len(joint_m)) / SHOWN_HZ
    held_mm = [0.0]
    for row in (JOINT_INDEX[name] for name in case.held):
        at_keys_m = joint_m[[round(time_s * SHOWN_HZ) for time_s in times_s], row]
        held_mm.append(
            1e3 * float(np.linalg.norm(joint_m[:, row] - KeyedCurve(np.array(times_s), at_keys_m).at(seconds), axis=1).max())
        )
    acceleration = float(np.linalg.norm(np.diff(joint_m, 2, axis=0), axis=2).max()) * SHOWN_HZ**2
    figures = (float(off_mm.mean()), float(np.percentile(off_mm, 95)), acceleration, max(held_mm))
    return dict(zip(FIGURES, figures, strict=True))


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--models", default=",".join(MODELS))
    options = parser.parse_args()
    table = TablePrinter((*text_columns("model", "motion"), *number_columns(1, *FIGURES)))
    for n, name in enumerate(options.models.split(",")):
        poser = MODELS[name](PoseTask(Settings(), model=name)).poser
        cases = [build_case(*case, poser.skeleton) for case in CASES]
        found = {name: [solve_keyframe_motion(case.document, poser).take.positions_m() for case in cases]}
        if n == 0:
            found = {"interpolated": [interpolate_keys(case, poser.skeleton) for case in cases]} | found
        for model, motions in found.items():
            rows = [measure_motion(case, joint_m) for case, joint_m in zip(cases, motions, strict=True)]
            for case, row in zip(cases, rows, strict=True):
                table.add({"model": model, "motion": case.name, **row})
            means = {name: float(np.mean([row[name] for row in rows])) for name in FIGURES}
            table.add({"model": model, "motion": "mean", **means})
    write_json(options.json, table.rows)


if __name__ == "__main__":
    run_main(main)
