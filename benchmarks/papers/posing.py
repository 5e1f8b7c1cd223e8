"""Whole poses from a few points, by every model that poses, learned from other takes, and by their peers."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.papers.posing_cases import (
    KINDS,
    SPLITS,
    PersonPoses,
    PoseQuery,
    TakeSplit,
    held_out_poses,
    pose_pool,
    pose_query,
    read_ranges,
    splits,
)
from benchmarks.papers.posing_peers import damped_least_squares, mean_pose, nearest, place
from benchmarks.report import Column, Row, number_columns, text_columns
from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints, Handles, build_point_handles
from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary
from reconstruct.models.style.features import build_training_poses, subsample_poses
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.models.style.synthesis.synthesizer import Synthesizer
from reconstruct.observations import Observations
from reconstruct.posing.average import AveragePoser
from reconstruct.posing.local import LocalPoser
from reconstruct.posing.protocol import Poser
from reconstruct.posing.sparse import SparsePoser
from reconstruct.posing.style import StylePoser
from tools.evaluate.scores import geodesic_errors_deg, position_errors_mm
from tools.style.entries import IMAGE_SIGMA_PX, POINT_SIGMA_M

N_LEARNED = 500  # poses that a style is learned from, as in the paper
N_POSES = 40  # held out of each behaviour
Pose = tuple[Floats, Floats]
Method = Callable[[PoseQuery], tuple[Pose, bool | None]]  # also whether it says that it met the targets; None: it cannot say


def make_constraints(query: PoseQuery) -> Constraints:
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
    seen = Observations(np.zeros((n, 3)), np.zeros((n, 3, 3)), ideal, weight_px, *views)
    return Constraints(Handles(query.joint, offset_m), seen)


def make_methods(skeleton: Skeleton, poses: Floats, mean: Floats, posers: Mapping[str, Poser]) -> dict[str, Method]:
    """Return the peers and models by name. poses: all that could be learned from, (N, J, 3) [rad]; mean: (J, 3) [rad]."""

    def place_mean(query: PoseQuery) -> Pose:
        placed = place(skeleton, mean[None], query)
        return placed.rotvec[0], placed.root_m[0]

    def pose_by_model(poser: Poser, query: PoseQuery) -> tuple[Pose, bool]:
        found = poser.pose(make_constraints(query))
        return (found.rotvec, found.root_m), found.reached and found.converged

    def pose_by_choice(query: PoseQuery) -> tuple[Pose, bool]:
        """Of the models that reach the points the one that is surest of its pose, as the posing page shows it."""
        every = [poser.pose(make_constraints(query)) for poser in posers.values()]
        found = min(every, key=lambda one: (not one.reached, one.variance))
        return (found.rotvec, found.root_m), found.reached and found.converged

    return {
        "mean": lambda query: (place_mean(query), None),
        "DLS": lambda query: (damped_least_squares(skeleton, place_mean(query), query), None),
        "NN": lambda query: (nearest(skeleton, poses, query), None),
        "NN+DLS": lambda query: (damped_least_squares(skeleton, nearest(skeleton, poses, query), query), None),
        **{name: partial(pose_by_model, poser) for name, poser in posers.items()},
        "choice": pose_by_choice,
        "average": partial(pose_by_model, AveragePoser(tuple(posers.values()))),
        # Given all joints: no choice among the learned poses is better.
        "NN of all joints": lambda query: (nearest(skeleton, poses, query), None),
    }


def run_method(kind: str, name: str, method: Method, skeleton: Skeleton, true: PersonPoses) -> Row:
    """Find all held-out poses by one method, given one kind of points; return its row."""
    every = name == "NN of all joints"
    queries = [PoseQuery(np.arange(N_JOINTS), joint_m) if every else pose_query(kind, joint_m) for joint_m in true.joint_m]
    begin_s = time.process_time()
    found, met = zip(*(method(query) for query in queries), strict=True)
    pose_ms = 1e3 * (time.process_time() - begin_s) / len(queries)
    rotvec, root_m = (np.array(each) for each in zip(*found, strict=True))
    position_mm = position_errors_mm(compute_forward_kinematics(skeleton, rotvec, root_m)[1], true.joint_m)
    return {
        "given": kind,
        "method": name,
        "poses": len(queries),
        "mm": position_mm.mean(),
        "deg": geodesic_errors_deg(rotvec, true.rotvec).mean(),
        "mm off": position_mm[:, queries[0].joint].mean(),
        "reached %": None if met[0] is None else 100.0 * np.mean(met),
        "ms": pose_ms,
        "each_mm": position_mm.mean(axis=1),
    }


def learn_posers(split: TakeSplit, request: Request) -> tuple[Skeleton, dict[str, Method]]:
    """Return the skeleton of a behaviour's takes, and all methods after learning from them. Raises DuocapError."""
    clips = read_ranges(split.learned, request.motion)
    skeleton, poses = pose_pool(clips)
    training = subsample_poses(build_training_poses(clips), N_LEARNED)
    with tempfile.TemporaryDirectory() as folder:
        dictionary = train_pose_dictionary(
            lambda: [poses.astype(np.float32)], skeleton, "learned", Path(folder) / "part", TrainOptions(1)
        )
    posers: dict[str, Poser] = {
        "local": LocalPoser(skeleton, poses),
        "sparse": SparsePoser(dictionary),
        "style": StylePoser(Synthesizer([fit_style(training, skeleton, split.name, LearnOptions())])),
    }
    return skeleton, make_methods(skeleton, poses, mean_pose(training.rotvec), posers)


def _pose_behaviour(split: TakeSplit, request: Request) -> list[Row]:
    """Learn a behaviour and pose its held-out takes. Raises DuocapError."""
    skeleton, methods = learn_posers(split, request)
    true = held_out_poses(read_ranges(split.held_out, request.motion), request.count or (8 if request.quick else N_POSES))
    for method in methods.values():
        method(pose_query("3 points", true.joint_m[0]))  # compiles
    rows = [run_method(kind, name, method, skeleton, true) for kind in KINDS for name, method in methods.items()]
    return [{"behaviour": split.name, **row} for row in rows]


def compute_posing(request: Request) -> Iterator[Row]:
    """Yield a row for each behaviour, kind of points and method. Raises DuocapError."""
    tasks = [partial(_pose_behaviour, split, request) for split in splits(request.only)]
    return request.run(tasks, "posing")


COLUMNS = (
    *text_columns("given", "behaviour", "method"),
    *number_columns(1, "mm"),
    *number_columns(2, "deg"),
)
TABLES = (
    PaperTable(
        "posing",
        "Grochow et al. 2004, section 6",
        "error per joint of whole poses from a few exact points (--count: poses of each behaviour)",
        COLUMNS,
        compute_posing,
        choices=tuple(split.name for split in SPLITS),
        mean_over=("behaviour",),
        spread="method",
        cells=("mm", "deg"),
    ),
    PaperTable(
        "posing-reach",
        "Grochow et al. 2004, section 6",
        "how far the given joints are from their points, whether the method says that it reached them, and processor time",
        (
            *text_columns("given", "method", "behaviour"),
            Column("poses", 0),
            *number_columns(1, "mm off"),
            Column("reached %", 0),
            Column("ms", 2),
        ),
        compute_posing,
        choices=tuple(split.name for split in SPLITS),
        mean_over=("behaviour",),
    ),
)
