"""Measure whole poses found from a few points, by every model that poses, learned from other takes, and by their peers."""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints, Handles, build_point_handles
from reconstruct.models.sparse.model import PoseDictionary
from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary
from reconstruct.models.style.features import build_training_poses, subsample_poses
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.models.style.synthesis.synthesizer import Synthesizer
from reconstruct.observations import Observations
from reconstruct.posing.local import LocalPoser
from reconstruct.posing.protocol import Poser
from reconstruct.posing.sparse import SparsePoser
from reconstruct.posing.style import StylePoser
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.parallel import run_tasks
from tools.evaluate.posing.cases import (
    KINDS,
    PersonPoses,
    PoseQuery,
    TakeSplit,
    held_out_poses,
    pose_pool,
    pose_query,
    read_ranges,
    splits,
)
from tools.evaluate.posing.peers import damped_least_squares, mean_pose, nearest, place
from tools.evaluate.scores import geodesic_errors_deg, position_errors_mm
from tools.style.entries import IMAGE_SIGMA_PX, POINT_SIGMA_M

N_LEARNED = 500  # poses that a style is learned from, as in the paper
Pose = tuple[Floats, Floats]
Method = Callable[[PoseQuery], tuple[Pose, bool]]  # also returns whether the method says that it met the targets


@dataclass(frozen=True, slots=True)
class PosingOptions:
    """What is measured. No behaviours: all; poses: held out of each; learning: of the styles."""

    behaviours: tuple[str, ...] = ()
    poses: int = 40
    learning: LearnOptions = field(default_factory=LearnOptions)
    workers: WorkerPlan = ALONE


@dataclass(frozen=True, slots=True)
class PosingRun:
    """One method on the held-out poses of one behaviour, given one kind of points.

    position_mm, geodesic_deg: mean over the joints of each pose, (N,); off_mm: mean distance of the given joints from their
    targets, (N,); met: share of poses that meet the targets, as the method itself says; pose_ms: processor time of a pose; rotvec
    (N, J, 3) [rad], root_m (N, 3) [m]: the poses found.
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
class PosingOutcome:
    """One behaviour: the true poses, all runs. whole_mm: error of the nearest neighbour if all joints are given."""

    behaviour: str
    skeleton: Skeleton
    true: PersonPoses
    learned: int
    learning_s: float
    whole_mm: float
    runs: list[PosingRun]

    def as_json(self) -> dict[str, object]:
        """Return the figures without the poses themselves."""
        names = [each.name for each in fields(PosingRun) if each.name not in ("rotvec", "root_m")]
        runs = [{name: getattr(run, name) for name in names} for run in self.runs]
        about = {name: getattr(self, name) for name in ("behaviour", "learned", "learning_s", "whole_mm")}
        return about | {"runs": runs}


def measure_posing(motion: Path, options: PosingOptions) -> list[PosingOutcome]:
    """Measure the behaviours. Raises DuocapError."""
    tasks = [partial(_outcome, split, motion, options) for split in splits(options.behaviours)]
    return run_tasks(tasks, options.workers, "posing")


def constraints(query: PoseQuery) -> Constraints:
    """Return the constraints of exact points with the default sigmas of `duocap style pose`."""
    offset_m = np.zeros((len(query.joint), 3))
    if query.target_m is not None:
        return build_point_handles(query.joint, offset_m, query.target_m, POINT_SIGMA_M)
    assert query.image is not None and query.camera is not None
    n, camera = len(query.joint), query.camera
    ideal, weight_px = np.zeros((2, n, 2)), np.zeros((2, n))
    ideal[0], weight_px[0] = query.image, IMAGE_SIGMA_PX**-2
    rotation, translation = np.stack([camera.rotation] * 2), np.stack([camera.translation] * 2)
    views = (rotation, translation, np.full(2, camera.focal_px))
    return Constraints(
        Handles(query.joint, offset_m), Observations(np.zeros((n, 3)), np.zeros((n, 3, 3)), ideal, weight_px, *views)
    )


def methods(skeleton: Skeleton, poses: Floats, mean: Floats, posers: Mapping[str, Poser]) -> dict[str, Method]:
    """Return the peers and models by name. poses: all that could be learned from, (N, J, 3) [rad]; mean: (J, 3) [rad]."""

    def from_mean(query: PoseQuery) -> Pose:
        placed = place(skeleton, mean[None], query)
        return placed.rotvec[0], placed.root_m[0]

    def by_model(poser: Poser, query: PoseQuery) -> tuple[Pose, bool]:
        found = poser.pose(constraints(query))
        return (found.rotvec, found.root_m), found.reached and found.converged

    def by_choice(query: PoseQuery) -> tuple[Pose, bool]:
        """Of the models that reach the points the one that is surest of its pose, as the posing page shows it."""
        every = [poser.pose(constraints(query)) for poser in posers.values()]
        found = min(every, key=lambda one: (not one.reached, one.variance))
        return (found.rotvec, found.root_m), found.reached and found.converged

    def by_average(query: PoseQuery) -> tuple[Pose, bool]:
        """The mean of the models' poses, brought to the points."""
        every = [poser.pose(constraints(query)) for poser in posers.values()]
        mean_rotvec = np.mean([found.rotvec for found in every], axis=0)
        mean_rotvec[0] = Rotation.from_rotvec([found.rotvec[0] for found in every]).mean().as_rotvec()
        begin = mean_rotvec, np.mean([found.root_m for found in every], axis=0)
        return damped_least_squares(skeleton, begin, query), all(found.reached for found in every)

    return {
        "mean": lambda query: (from_mean(query), False),
        "DLS": lambda query: (damped_least_squares(skeleton, from_mean(query), query), True),
        "NN": lambda query: (nearest(skeleton, poses, query), False),
        "NN+DLS": lambda query: (damped_least_squares(skeleton, nearest(skeleton, poses, query), query), True),
        **{name: partial(by_model, poser) for name, poser in posers.items()},
        "choice": by_choice,
        "average": by_average,
    }


def run_method(behaviour: str, kind: str, name: str, method: Method, skeleton: Skeleton, true: PersonPoses) -> PosingRun:
    """Find all held-out poses of a behaviour by one method."""
    found, met, begin_s = [], [], time.process_time()
    for joint_m in true.joint_m:
        pose, meets = method(pose_query(kind, joint_m))
        found.append(pose)
        met.append(meets)
    pose_ms = 1e3 * (time.process_time() - begin_s) / max(len(found), 1)
    rotvec, root_m = (np.array(each) for each in zip(*found, strict=True))
    position_mm = position_errors_mm(compute_forward_kinematics(skeleton, rotvec, root_m)[1], true.joint_m)
    given = pose_query(kind, true.joint_m[0]).joint
    errors = position_mm.mean(axis=1), geodesic_errors_deg(rotvec, true.rotvec).mean(axis=1), position_mm[:, given].mean(axis=1)
    return PosingRun(behaviour, kind, name, *errors, float(np.mean(met)), pose_ms, rotvec, root_m)


def whole_mm(skeleton: Skeleton, poses: Floats, true: PersonPoses) -> float:
    """Return the mean error of the nearest neighbour by all joints: no choice among poses, (N, J, 3), is better."""
    every = np.arange(N_JOINTS)
    found = [nearest(skeleton, poses, PoseQuery(every, joint_m)) for joint_m in true.joint_m]
    rotvec, root_m = (np.array(each) for each in zip(*found, strict=True))
    return float(position_errors_mm(compute_forward_kinematics(skeleton, rotvec, root_m)[1], true.joint_m).mean())


def _outcome(split: TakeSplit, motion: Path, options: PosingOptions) -> PosingOutcome:
    """Learn a behaviour and pose its held-out takes. Raises DuocapError."""
    clips = read_ranges(split.learned, motion)
    skeleton, poses = pose_pool(clips)
    true = held_out_poses(read_ranges(split.held_out, motion), options.poses)
    training = subsample_poses(build_training_poses(clips), N_LEARNED)
    begin_s = time.process_time()
    posers: dict[str, Poser] = {
        "local": LocalPoser(skeleton, poses),
        "sparse": SparsePoser(_dictionary(skeleton, poses)),
        "style": StylePoser(Synthesizer([fit_style(training, skeleton, split.name, options.learning)])),
    }
    learning_s = time.process_time() - begin_s
    by_name = methods(skeleton, poses, mean_pose(training.rotvec), posers)
    for poser in posers.values():
        poser.pose(constraints(pose_query("3 points", true.joint_m[0])))  # compiles
    runs = [run_method(split.name, kind, name, method, skeleton, true) for kind in KINDS for name, method in by_name.items()]
    return PosingOutcome(split.name, skeleton, true, len(training), learning_s, whole_mm(skeleton, poses, true), runs)


def _dictionary(skeleton: Skeleton, poses: Floats) -> PoseDictionary:
    """Learn a dictionary of poses, (N, J, 3) [rad]."""
    with tempfile.TemporaryDirectory() as folder:
        return train_pose_dictionary(
            lambda: [poses.astype(np.float32)], skeleton, "learned", Path(folder) / "part", TrainOptions(1)
        )
