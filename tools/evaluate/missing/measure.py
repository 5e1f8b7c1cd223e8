"""Solve clips of the protocol with some of their noisy markers missing, and compare markers and poses with the truth."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from config.arrays import Bools, Floats
from config.errors import DatabaseError
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import Settings
from database.clips import Clip
from database.files.resample import resample_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import rotvec_from_matrix
from database.geometry.skeleton import Skeleton
from reconstruct.models.sparse.model import PoseDictionary, read_dictionary
from reconstruct.models.style.model import Style, StyleError
from reconstruct.offline.motion import build_take_motion
from reconstruct.offline.take import TakeSolver
from reconstruct.pose import TrackingState
from reconstruct.search.index import load_search_index
from tools.evaluate.asf_angles import AsfAngles
from tools.evaluate.missing.masks import GapPlan, MissingCase, scored, seen_in
from tools.evaluate.missing.methods import METHODS, WITH_DICTIONARY, WITH_STYLE, MethodInput, SolvedMarkers, checked_records
from tools.evaluate.missing.styles import SPLITS, TrainingSplit, find_learnable, learn_dictionary, learn_style, strangeness_deg
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import ProtocolClip, open_for_clip
from tools.evaluate.queries import FPS, RIG, MotionQuery, apply_variant, first_seconds, marker_positions, query_from_clip
from tools.evaluate.scores import geodesic_errors_deg
from tools.evaluate.states import JudgedPoses

OFFLINE = "offline"  # as `duocap replay` solves takes: from the live poses, with frames on both sides of each gap


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingOptions(GapPlan):
    """Options of `duocap evaluate missing`.

    Attributes:
        methods: methods to measure, none for all.
        styles: keys of `SPLITS`.
        exact: whether the markers have no noise.
        dictionary: file of a pose dictionary; None to learn one from the motions that the styles are learned from.
    """

    methods: tuple[str, ...] = ()
    styles: tuple[str, ...] = ("known",)
    exact: bool = False
    dictionary: Path | None = None


@dataclass(frozen=True, slots=True)
class MissingErrors:
    """Errors over the scored frames.

    Attributes:
        marker_mm: mean error of the missing markers [mm].
        marker_p95_mm: 95th percentile of these errors [mm].
        geodesic_deg: mean rotation error of all joints but the root [deg].
        position_mm: mean position error of all joints [mm].
    """

    marker_mm: float
    marker_p95_mm: float
    geodesic_deg: float
    position_mm: float


@dataclass(frozen=True, slots=True)
class MissingRun:
    """One cell: errors of a method, and of the local model on the same frames and markers with none missing.

    Attributes:
        style: known, unknown or none.
        source: motion that the method's model was learned from.
        strange_deg: distance of the motion from that.
        missing: mean share of the markers missing in the scored frames.
        frames: number of frames.
        poses: all poses compared with the truth.
        frame_ms: mean processor time of a frame.
    """

    clip: str
    behaviour: str
    markers: str
    style: str
    source: str
    strange_deg: float
    case: MissingCase
    method: str
    missing: float
    frames: int
    errors: MissingErrors
    whole: MissingErrors
    poses: JudgedPoses
    frame_ms: float

    def as_json(self) -> dict[str, Any]:
        """Return the run without nested objects."""
        plain = {k: v for k, v in asdict(self).items() if k not in ("case", "errors", "whole", "poses")}
        errors = asdict(self.errors) | {f"whole_{key}": value for key, value in asdict(self.whole).items()}
        return plain | {"what": self.case.what, "gap_s": self.case.gap_s} | errors | self.poses.as_json()


def measure_missing(options: MissingOptions, settings: Settings) -> list[MissingRun]:
    """Run all cases, methods and styles on all clips. Raises DuocapError."""
    for kind in options.styles:
        if kind not in SPLITS:
            raise DatabaseError(f"{kind!r} is no kind of style; take {', '.join(SPLITS)}")
    for name in options.methods or tuple(METHODS):
        if name not in (*METHODS, OFFLINE):
            raise DatabaseError(f"{name!r} is no method; take {', '.join((*METHODS, OFFLINE))}")
        if "none" in options.styles and name in WITH_STYLE + WITH_DICTIONARY:
            raise DatabaseError(f"{name} needs something learned; take --style known, or --method hold, linear, local")
    clips = options.find_clips()
    learnable = find_learnable(clips, options.motion) if "known" in options.styles else clips
    options_of = {clip: options if clip in learnable else _without_learning(options) for clip in clips}
    measured = [clip for clip in clips if options_of[clip].methods or clip in learnable]
    if not measured:
        raise StyleError("nothing can be learned for any of the clips; take longer ones, or --style none --method local")
    tasks = [
        partial(_runs_of_clip, clip, markers, options_of[clip], settings) for markers in options.markers for clip in measured
    ]
    return [run for found in run_tasks(tasks, options.workers) for run in found]


def _without_learning(options: MissingOptions) -> MissingOptions:
    """Return what can be measured of a clip for which nothing is learned: the methods that need nothing, on all of it."""
    names = tuple(name for name in options.methods or tuple(METHODS) if name not in WITH_STYLE + WITH_DICTIONARY)
    return replace(options, styles=("none",), methods=names)


def clip_query(clip: Clip, which: ProtocolClip, markers: str, seconds: float) -> MotionQuery:
    """Return a clip at 60 Hz, at most `seconds` of it (0: all), with exact markers, named as a clip of the protocol."""
    clip = replace(first_seconds(resample_clip(clip, FPS), seconds), name=which.stem)
    return query_from_clip(clip, which.behaviour, read_marker_set(markers), AsfAngles((), ()))


def solve(name: str, given: MethodInput) -> SolvedMarkers:
    """Return the poses and markers that a method, live or offline, finds for all frames of a query."""
    if name == OFFLINE:
        return solve_offline(given, solve("local", given))
    query, method = given.query, METHODS[name](given)
    n_frames = len(query)
    rotvec, root_m, marker_m = np.empty((n_frames, N_JOINTS, 3)), np.empty((n_frames, 3)), np.empty(query.marker_m.shape)
    error_m = np.full((n_frames, N_JOINTS), np.nan)
    spent_s = 0.0
    for n in range(n_frames):
        frame = query.frame(n)
        begin_s = process_time()
        answer = method.step(n, frame)
        spent_s += process_time() - begin_s
        rotvec[n], root_m[n], marker_m[n] = answer.state.joints, answer.state.position_m, answer.marker_m
        rotvec[n, 0] = rotvec_from_matrix(answer.state.rotation)
        error_m[n] = np.nan if answer.error_m is None else answer.error_m
    return SolvedMarkers(rotvec, root_m, marker_m, error_m, 1e3 * spent_s / n_frames)


def solve_offline(given: MethodInput, live: SolvedMarkers) -> SolvedMarkers:
    """Solve a query offline; live: result of the local model. The time of a frame is that of both."""
    query, n = given.query, len(given.query)
    begin_s = process_time()
    start = build_take_motion(np.arange(n) / FPS, live.rotvec, live.root_m, given.index.examples.fps)
    solved = TakeSolver(query.subject, given.index, RIG).solve([query.frame(k) for k in range(n)], start, errors=True)
    spent_ms = 1e3 * (process_time() - begin_s) / n
    found, error_m = solved.motion, solved.error_m
    assert error_m is not None  # asked for
    marker_m = marker_positions(query.subject, found.rotvec, found.position_m)
    return SolvedMarkers(found.rotvec, found.position_m, marker_m, error_m, live.frame_ms + spent_ms)


def compute_joint_errors(query: MotionQuery, found: SolvedMarkers) -> Floats:
    """Return how far joints are from the truth, (N, J) [m]."""
    poses = ((found.rotvec, found.root_m), (query.rotvec, query.root_m))
    estimated, true = (compute_forward_kinematics(query.subject.skeleton, *each)[1] for each in poses)
    return np.asarray(np.linalg.norm(estimated - true, axis=2))


def judge_solution(query: MotionQuery, found: SolvedMarkers) -> JudgedPoses:
    """Return the poses of a query beside the truth; those whose error nobody knows coast."""
    known = np.isfinite(found.error_m[:, 0])
    states = tuple(TrackingState.TRACKING if each else TrackingState.COASTING for each in known)
    return JudgedPoses(states, compute_joint_errors(query, found), found.error_m, FPS)


def errors_of(query: MotionQuery, visible: Bools, found: SolvedMarkers) -> MissingErrors:
    """Compare with the truth in the scored frames of a mask, (N, M)."""
    frames = scored(visible)
    true_m = marker_positions(query.subject, query.rotvec, query.root_m)
    marker_mm = 1e3 * np.linalg.norm(found.marker_m - true_m, axis=2)[frames[:, None] & ~visible]
    geodesic = geodesic_errors_deg(found.rotvec, query.rotvec)[frames]
    position = 1e3 * compute_joint_errors(query, found)[frames]
    p95_mm = float(np.percentile(marker_mm, 95))
    return MissingErrors(float(marker_mm.mean()), p95_mm, float(geodesic.mean()), float(position.mean()))


def _runs_of_clip(which: ProtocolClip, markers: str, options: MissingOptions, settings: Settings) -> list[MissingRun]:
    """Run all cases, methods and styles on one clip with one marker set. Raises DuocapError."""
    names = options.methods or tuple(METHODS)
    runs: list[MissingRun] = []
    plain: dict[tuple[MissingCase, str], SolvedMarkers] = {}  # of methods without a style
    whole: SolvedMarkers | None = None
    for kind in options.styles:
        split = SPLITS[kind](which, options.motion)
        query = _measured(clip_query(split.query, which, markers, options.seconds), options)
        index = load_search_index(query.subject, open_for_clip(options.database, which))
        given = MethodInput(query, index, settings, *_pose_models(split, query.subject.skeleton, options))
        if given.style is not None or given.dictionary is not None:
            seen = _measured(clip_query(split.seen, which, markers, 0), options)
            given = replace(given, records=checked_records(replace(given, query=seen)))
        whole = solve("local", given) if whole is None else whole
        strange_deg = strangeness_deg(split.poses(), query.rotvec) if split.clips else float("nan")
        for case in options.cases:
            visible = seen_in(case, query.subject, len(query), options.seed, which.stem)
            if visible is None:
                continue
            with_gaps = replace(given, query=replace(query, visible=visible))
            frames = scored(visible)
            counts = (float((~visible)[frames].mean()), int(frames.sum()))
            reference = errors_of(query, visible, whole)
            for name in names:
                known = plain.get((case, name))
                found = solve(name, with_gaps) if known is None else known
                if name not in WITH_STYLE + WITH_DICTIONARY:
                    plain[case, name] = found
                cell = (which.stem, which.behaviour, markers, kind, split.source, strange_deg, case, name, *counts)
                judged = judge_solution(query, found)
                runs.append(MissingRun(*cell, errors_of(query, visible, found), reference, judged, found.frame_ms))
    return runs


def _pose_models(split: TrainingSplit, skeleton: Skeleton, options: MissingOptions) -> tuple[Style | None, PoseDictionary | None]:
    """Return the style and the dictionary that the methods need. Raises DuocapError."""
    names = set(options.methods or METHODS)
    style = learn_style(split, skeleton) if names & set(WITH_STYLE) else None
    if not names & set(WITH_DICTIONARY):
        return style, None
    return style, learn_dictionary(split, skeleton) if options.dictionary is None else read_dictionary(options.dictionary)


def _measured(query: MotionQuery, options: MissingOptions) -> MotionQuery:
    """Return the query with noise, unless exact markers are wanted."""
    return query if options.exact else apply_variant(query, "noise", options.seed)
