"""Keyframed motion against the truth: feet and one hand of held-out takes, followed by a style and by its peers.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.trajectory --motion DIR [--split NAME]... [--seconds S]

As in Grochow et al. 2004, section 7.2, both feet and one arm are keyed: ankles and left wrist, every frame, exactly. Compared
are the style over time (`reconstruct/style/trajectory.py`), the style with every frame on its own, the nearest of the poses
learned of, and damped least squares: from that pose, and from the style's mean pose, put anew in every frame or where the last
one ended. Takes and persons are those of `tools/evaluation/posing_cases.py`; times are processor time.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from config.joints import JOINT_INDEX
from database.clips import Clip, clip_slice
from database.kinematics import forward, local_rotations
from database.resample import resample
from database.rotations import Floats, geodesic_rad
from reconstruct.style.constraints import points
from reconstruct.style.features import RATE_HZ, some, training_poses
from reconstruct.style.learn import learn
from reconstruct.style.synthesis import Synthesis, Synthesizer
from reconstruct.style.trajectory import follow
from tools.evaluation.posing_cases import Asked, Split, parts, pool, splits
from tools.evaluation.posing_peers import damped_least_squares, mean_pose, nearest, placed
from tools.style_pose_report import acceleration_m_s2

KEYED = ("leftFoot", "rightFoot", "leftHand")
SIGMA_M = 0.001
Motion = tuple[Floats, Floats]


def learned_of(split: Split, motion: Path) -> tuple[Synthesizer, Floats, float]:
    """Learn a style; give it, all poses it could learn of, and how long it took [s of the processor]."""
    clips = parts(split.learned, motion)
    poses = some(training_poses(clips), 500)
    begun = time.process_time()
    style = learn(poses, clips[0].skeleton, split.name)
    return Synthesizer([style]), pool(clips)[1], time.process_time() - begun


def motions(synthesizer: Synthesizer, known: Floats, truth: Clip) -> dict[str, tuple[Motion, float]]:
    """Follow the keys of a take by all methods; give the motions and what a frame cost, [ms of the processor]."""
    joint = np.array([JOINT_INDEX[name] for name in KEYED], np.int64)
    p = forward(truth.skeleton, truth.rotvec, truth.root_m)[1]
    constraints = [points(joint, np.zeros((len(joint), 3)), row[joint], SIGMA_M) for row in p]
    told = [Asked(joint, np.ascontiguousarray(row[joint])) for row in p]
    mean = mean_pose(known)[None]
    start = placed(truth.skeleton, mean, told[0])

    def from_mean() -> Motion:
        anew = [placed(truth.skeleton, mean, asked) for asked in told]
        starts = [(at.rotvec[0], at.root_m[0]) for at in anew]
        return _stacked([damped_least_squares(truth.skeleton, at, asked) for at, asked in zip(starts, told, strict=True)])

    def from_before() -> Motion:
        poses = [damped_least_squares(truth.skeleton, (start.rotvec[0], start.root_m[0]), told[0])]
        for asked in told[1:]:
            poses.append(damped_least_squares(truth.skeleton, poses[-1], asked))
        return _stacked(poses)

    def over_time() -> Motion:
        return _arrays(follow(synthesizer, constraints))

    def alone() -> Motion:
        return _arrays([synthesizer.synthesize(asked) for asked in constraints])

    def likest() -> Motion:
        return _stacked([nearest(truth.skeleton, known, asked) for asked in told])

    def from_likest() -> Motion:
        return _stacked([damped_least_squares(truth.skeleton, nearest(truth.skeleton, known, a), a) for a in told])

    methods = {
        "style over time": over_time,
        "style, frames alone": alone,
        "nearest neighbour": likest,
        "nearest, then IK": from_likest,
        "IK from the mean": from_mean,
        "IK from the last": from_before,
    }
    result = {"truth": ((truth.rotvec, truth.root_m), 0.0)}
    for name, method in methods.items():
        begun = time.process_time()
        found = method()
        result[name] = found, 1e3 * (time.process_time() - begun) / truth.n_frames
    return result


def _arrays(poses: Sequence[Synthesis]) -> Motion:
    """Give poses as arrays."""
    return np.array([pose.rotvec for pose in poses]), np.array([pose.root_m for pose in poses])


def _stacked(poses: Sequence[Motion]) -> Motion:
    """Give poses as arrays."""
    return np.array([pose[0] for pose in poses]), np.array([pose[1] for pose in poses])


def line(name: str, motion: Motion, truth: Clip, frame_ms: float) -> str:
    """Give a row of the table."""
    joint = [JOINT_INDEX[keyed] for keyed in KEYED]
    p, true = (forward(truth.skeleton, *m)[1] for m in (motion, (truth.rotvec, truth.root_m)))
    off_mm = 1e3 * np.linalg.norm(p - true, axis=2)
    turn = geodesic_rad(local_rotations(motion[0])[:, 1:], local_rotations(truth.rotvec)[:, 1:])
    return (
        f"{name:<20} {off_mm.mean():7.1f} {np.percentile(off_mm, 95):7.1f} {np.degrees(turn.mean()):7.2f} "
        f"{off_mm[:, joint].mean():7.1f} {acceleration_m_s2(p, RATE_HZ):7.1f} {frame_ms:7.1f}"
    )


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trajectory", description="Keyframed motion against the truth.")
    parser.add_argument("--motion", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--split", action="append", metavar="NAME", default=[], help="such as '07 walking'; default three of them"
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="of each take at most")
    options = parser.parse_args()
    for split in splits(tuple(options.split) or ("07 walking", "09 running", "14 boxing")):
        synthesizer, known, seconds = learned_of(split, options.motion)
        print(f"\n{split.name}: learned in {seconds:.1f} s of the processor; {', '.join(KEYED)} keyed")
        print(f"{'':<20} {'mm':>7} {'p95':>7} {'degrees':>7} {'keys':>7} {'m/s^2':>7} {'ms':>7}")
        for whole in parts(split.asked, options.motion):
            even = resample(whole, RATE_HZ)
            truth = clip_slice(even, 0, min(even.n_frames, int(options.seconds * RATE_HZ)))
            print(f"{truth.name}, {truth.n_frames} frames")
            for name, (motion, frame_ms) in motions(synthesizer, known, truth).items():
                print(line(name, motion, truth, frame_ms), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
