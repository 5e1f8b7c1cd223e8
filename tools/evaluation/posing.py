"""`duocap evaluate posing`: whole poses from a few points in space or in an image, in a style learned of other takes."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

import numpy as np

from config.joints import N_JOINTS
from database.kinematics import forward
from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.observations import Observations
from reconstruct.style.constraints import Constraints, Handles, points
from reconstruct.style.features import some, training_poses
from reconstruct.style.learn import LearnOptions, learn
from reconstruct.style.synthesis import Synthesizer
from tools.evaluation.figures_file import write_figures
from tools.evaluation.parallel import in_processes
from tools.evaluation.posing_cases import KINDS, Asked, Poses, Split, asked, held_out, parts, pool, splits
from tools.evaluation.posing_peers import damped_least_squares, mean_pose, nearest, placed
from tools.evaluation.posing_table import print_tables
from tools.evaluation.scores import geodesic_errors_deg, position_errors_mm
from tools.progress import progress_bar
from tools.style_pose_entries import IMAGE_SIGMA_PX, POINT_SIGMA_M

LEARNED = 500  # poses a style is learned of, as in the paper
Pose = tuple[Floats, Floats]
Method = Callable[[Asked], tuple[Pose, bool]]


@dataclass(frozen=True, slots=True)
class PosingOptions:
    """What is measured: behaviours (all if none), held-out poses of each, how styles are learned, how many at once."""

    behaviours: tuple[str, ...] = ()
    poses: int = 40
    learning: LearnOptions = field(default_factory=LearnOptions)
    processes: int = 2


@dataclass(frozen=True, slots=True)
class Run:
    """One method on the held-out poses of one behaviour, told of in one way.

    position_mm, geodesic_deg: of each pose the mean over its joints, (N,); off_mm: mean distance of the joints told of from
    where they are, (N,); met: share of poses that do what is asked, by the method's own word; pose_ms: processor time of a pose;
    rotvec (N, J, 3) [rad], root_m (N, 3) [m]: the poses found.
    """

    behaviour: str
    kind: str
    method: str
    position_mm: Floats
    geodesic_deg: Floats
    off_mm: Floats
    met: float
    pose_ms: float
    rotvec: Floats
    root_m: Floats


@dataclass(frozen=True, slots=True)
class Outcome:
    """One behaviour: who it is, the true poses, all runs, and the error of the nearest neighbour were all joints told [mm]."""

    behaviour: str
    skeleton: Skeleton
    true: Poses
    learned: int
    learning_s: float
    whole_mm: float
    runs: list[Run]


def constraints(asked: Asked) -> Constraints:
    """Give what is told, which is exact, as `duocap style pose` asks for it unless a sigma is given."""
    offset_m = np.zeros((len(asked.joint), 3))
    if asked.target_m is not None:
        return points(asked.joint, offset_m, asked.target_m, POINT_SIGMA_M)
    assert asked.image is not None and asked.camera is not None
    n, camera = len(asked.joint), asked.camera
    ideal, weight_px = np.zeros((2, n, 2)), np.zeros((2, n))
    ideal[0], weight_px[0] = asked.image, IMAGE_SIGMA_PX**-2
    rotation, translation = np.stack([camera.rotation] * 2), np.stack([camera.translation] * 2)
    views = (rotation, translation, np.full(2, camera.focal_px))
    return Constraints(
        Handles(asked.joint, offset_m), Observations(np.zeros((n, 3)), np.zeros((n, 3, 3)), ideal, weight_px, *views)
    )


def methods(skeleton: Skeleton, poses: Floats, mean: Floats, synthesizer: Synthesizer) -> dict[str, Method]:
    """Give the ways to a pose by name; poses: all that were to be learned of, (N, J, 3) [rad]; mean: (J, 3) [rad]."""

    def from_mean(told: Asked) -> Pose:
        at = placed(skeleton, mean[None], told)
        return at.rotvec[0], at.root_m[0]

    def ours(told: Asked) -> tuple[Pose, bool]:
        found = synthesizer.synthesize(constraints(told))
        return (found.rotvec, found.root_m), found.reached and found.converged

    return {
        "mean": lambda told: (from_mean(told), False),
        "DLS": lambda told: (damped_least_squares(skeleton, from_mean(told), told), True),
        "NN": lambda told: (nearest(skeleton, poses, told), False),
        "NN+DLS": lambda told: (damped_least_squares(skeleton, nearest(skeleton, poses, told), told), True),
        "ours": ours,
    }


def run(behaviour: str, kind: str, name: str, method: Method, skeleton: Skeleton, true: Poses) -> Run:
    """Have one method find all held-out poses of a behaviour."""
    found, met, begun = [], [], time.process_time()
    for joint_m in true.joint_m:
        pose, meets = method(asked(kind, joint_m))
        found.append(pose)
        met.append(meets)
    pose_ms = 1e3 * (time.process_time() - begun) / max(len(found), 1)
    rotvec, root_m = (np.array(each) for each in zip(*found, strict=True))
    joint_m = forward(skeleton, rotvec, root_m)[1]
    position_mm = position_errors_mm(joint_m, true.joint_m)
    told = asked(kind, true.joint_m[0]).joint
    errors = position_mm.mean(axis=1), geodesic_errors_deg(rotvec, true.rotvec).mean(axis=1), position_mm[:, told].mean(axis=1)
    return Run(behaviour, kind, name, *errors, float(np.mean(met)), pose_ms, rotvec, root_m)


def whole_mm(skeleton: Skeleton, poses: Floats, true: Poses) -> float:
    """Give the mean error of the nearest neighbour by all joints: less is not to be had by choosing among poses, (N, J, 3)."""
    every = np.arange(N_JOINTS)
    found = [nearest(skeleton, poses, Asked(every, joint_m)) for joint_m in true.joint_m]
    rotvec, root_m = (np.array(each) for each in zip(*found, strict=True))
    return float(position_errors_mm(forward(skeleton, rotvec, root_m)[1], true.joint_m).mean())


def outcome(split: Split, motion: Path, options: PosingOptions) -> Outcome:
    """Learn of a behaviour and pose its held-out takes. Raises DuocapError."""
    clips = parts(split.learned, motion)
    skeleton, poses = pool(clips)
    true = held_out(parts(split.asked, motion), options.poses)
    training = some(training_poses(clips), LEARNED)
    begun = time.process_time()
    synthesizer = Synthesizer([learn(training, skeleton, split.name, options.learning)])
    learning_s = time.process_time() - begun
    ways = methods(skeleton, poses, mean_pose(training.rotvec), synthesizer)
    synthesizer.synthesize(constraints(asked("3 points", true.joint_m[0])))  # compiles
    runs = [run(split.name, kind, name, way, skeleton, true) for kind in KINDS for name, way in ways.items()]
    return Outcome(split.name, skeleton, true, len(training), learning_s, whole_mm(skeleton, poses, true), runs)


def figures(outcome: Outcome) -> dict[str, object]:
    """Give what is written of an outcome: all but the poses themselves."""
    names = [each.name for each in fields(Run) if each.name not in ("rotvec", "root_m")]
    runs = [{name: getattr(run, name) for name in names} for run in outcome.runs]
    about = {name: getattr(outcome, name) for name in ("behaviour", "learned", "learning_s", "whole_mm")}
    return about | {"runs": runs}


def evaluate_posing(motion: Path, options: PosingOptions, json_file: Path | None = None, plot: Path | None = None) -> None:
    """Measure, print the tables, write figures and pictures. Raises DuocapError."""
    which = splits(options.behaviours)
    tasks = [partial(outcome, split, motion, options) for split in which]
    found: list[Outcome | None] = [None] * len(tasks)
    with progress_bar("posing") as progress:
        for done, (index, each) in enumerate(in_processes(tasks, options.processes), 1):
            found[index] = each
            progress(done, len(tasks))
    outcomes = [each for each in found if each is not None]
    print_tables(outcomes)
    if json_file is not None:
        write_figures(json_file, [figures(each) for each in outcomes])
    if plot is not None:
        from tools.evaluation.posing_plot import plot_outcomes

        for file in plot_outcomes(outcomes, plot):
            print(file, file=sys.stderr)
