"""Keyframed motion against the truth: feet and one hand of held-out takes, followed by a style and by its peers.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.style.trajectory --motion DIR [--split NAME]... [--seconds S] [--json F]

As in Grochow et al. 2004, section 7.2, both feet and one arm are keyed: ankles and left wrist, every frame, exactly. Compared
are the style over time (`reconstruct/models/style/synthesis/trajectory.py`), the style with every frame on its own, the nearest
learned pose, and damped least squares from that pose and from the style's mean pose, placed for every frame or where the last
one ended. Takes are those of `tools/evaluate/posing/cases.py`; times are processor time.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.report import parser_of, write_json
from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.clips import Clip, clip_slice
from database.files.resample import resample
from database.geometry.kinematics import forward, local_rotations
from database.geometry.rotations import geodesic_rad
from reconstruct.models.style.features import RATE_HZ, subsample, training_poses
from reconstruct.models.style.learn.train import learn
from reconstruct.models.style.synthesis.constraints import points
from reconstruct.models.style.synthesis.synthesizer import Synthesis, Synthesizer
from reconstruct.models.style.synthesis.trajectory import follow
from tools.evaluate.posing.cases import PoseQuery, TakeSplit, pose_pool, read_ranges, splits
from tools.evaluate.posing.peers import damped_least_squares, mean_pose, nearest, place
from tools.style.report import acceleration_m_s2

KEYED = ("leftFoot", "rightFoot", "leftHand")
SIGMA_M = 0.001
COLUMNS = ("mm", "p95", "degrees", "keys", "m/s^2", "ms")
Motion = tuple[Floats, Floats]


def learned_of(split: TakeSplit, motion: Path) -> tuple[Synthesizer, Floats, float]:
    """Learn a style; return it, all poses it could learn from, and the processor time [s]."""
    clips = read_ranges(split.learned, motion)
    poses = subsample(training_poses(clips), 500)
    begin_s = time.process_time()
    style = learn(poses, clips[0].skeleton, split.name)
    return Synthesizer([style]), pose_pool(clips)[1], time.process_time() - begin_s


def motions(synthesizer: Synthesizer, known: Floats, truth: Clip) -> dict[str, tuple[Motion, float]]:
    """Follow the keys of a take by all methods; return the motions and the processor time of a frame [ms]."""
    skeleton, joint = truth.skeleton, np.array([JOINT_INDEX[name] for name in KEYED], np.int64)
    p = forward(skeleton, truth.rotvec, truth.root_m)[1]
    constraints = [points(joint, np.zeros((len(joint), 3)), row[joint], SIGMA_M) for row in p]
    queries = [PoseQuery(joint, np.ascontiguousarray(row[joint])) for row in p]
    mean = mean_pose(known)[None]

    def mean_at(query: PoseQuery) -> Motion:
        placed = place(skeleton, mean, query)
        return placed.rotvec[0], placed.root_m[0]

    def from_last() -> list[Motion]:
        poses = [damped_least_squares(skeleton, mean_at(queries[0]), queries[0])]
        for query in queries[1:]:
            poses.append(damped_least_squares(skeleton, poses[-1], query))
        return poses

    methods: dict[str, Callable[[], list[Motion]]] = {
        "style over time": lambda: _poses(follow(synthesizer, constraints)),
        "style, frames alone": lambda: _poses([synthesizer.synthesize(each) for each in constraints]),
        "nearest neighbour": lambda: [nearest(skeleton, known, query) for query in queries],
        "nearest, then IK": lambda: [damped_least_squares(skeleton, nearest(skeleton, known, q), q) for q in queries],
        "IK from the mean": lambda: [damped_least_squares(skeleton, mean_at(query), query) for query in queries],
        "IK from the last": from_last,
    }
    result: dict[str, tuple[Motion, float]] = {"truth": ((truth.rotvec, truth.root_m), 0.0)}
    for name, method in methods.items():
        begin_s = time.process_time()
        poses = method()
        frame_ms = 1e3 * (time.process_time() - begin_s) / truth.n_frames
        result[name] = (np.array([pose[0] for pose in poses]), np.array([pose[1] for pose in poses])), frame_ms
    return result


def _poses(found: Sequence[Synthesis]) -> list[Motion]:
    """Return the poses of syntheses."""
    return [(pose.rotvec, pose.root_m) for pose in found]


def figures(motion: Motion, truth: Clip, frame_ms: float) -> dict[str, float]:
    """Return the errors of a motion."""
    keyed = [JOINT_INDEX[name] for name in KEYED]
    p, true = (forward(truth.skeleton, *m)[1] for m in (motion, (truth.rotvec, truth.root_m)))
    error_mm = 1e3 * np.linalg.norm(p - true, axis=2)
    rotation = geodesic_rad(local_rotations(motion[0])[:, 1:], local_rotations(truth.rotvec)[:, 1:])
    return {
        "mm": float(error_mm.mean()),
        "p95": float(np.percentile(error_mm, 95)),
        "degrees": float(np.degrees(rotation.mean())),
        "keys": float(error_mm[:, keyed].mean()),
        "m/s^2": acceleration_m_s2(p, RATE_HZ),
        "ms": frame_ms,
    }


def main() -> int:
    """Print a table for each split."""
    parser = parser_of(__doc__)
    parser.add_argument("--motion", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--split", action="append", metavar="NAME", default=[], help="such as '07 walking'; default three of them"
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="of each take at most")
    options = parser.parse_args()
    table: dict[str, dict[str, float]] = {}
    for split in splits(tuple(options.split) or ("07 walking", "09 running", "14 boxing")):
        synthesizer, known, seconds = learned_of(split, options.motion)
        print(f"\n{split.name}: learned in {seconds:.1f} s of the processor; {', '.join(KEYED)} keyed")
        for whole in read_ranges(split.held_out, options.motion):
            even = resample(whole, RATE_HZ)
            truth = clip_slice(even, 0, min(even.n_frames, int(options.seconds * RATE_HZ)))
            print(f"{truth.name + f', {truth.n_frames} frames':<22}" + "".join(f"{name:>8}" for name in COLUMNS))
            for name, (motion, frame_ms) in motions(synthesizer, known, truth).items():
                row = table[f"{split.name}, {truth.name}, {name}"] = figures(motion, truth, frame_ms)
                print(f"{name:<22}" + "".join(f"{row[column]:8.2f}" for column in COLUMNS), flush=True)
    write_json(options.json, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
