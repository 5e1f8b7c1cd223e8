"""Styles as in their paper: optical markers missing, motion from keyed curves, annealing and the paper's f on and off, times.

Styles are learned from the first part of a take, or from other takes of the person; the rest is posed. `style-missing` reads real
markers (`cmu_02_05.c3d` beside the motions, or where DUOCAP_SHARED_DATA says; its 41 markers are known with their pose).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.papers.posing import make_constraints
from benchmarks.papers.posing_cases import (
    SPLITS,
    FrameRange,
    TakeSplit,
    held_out_poses,
    pose_query,
    read_ranges,
    splits,
    whole_takes,
)
from benchmarks.report import Column, Row, number_columns, text_columns
from config.arrays import Bools, Floats, Ints
from config.errors import DatabaseError
from config.joints import JOINT_INDEX
from database.clips import Clip, slice_clip
from database.files.resample import resample_clip
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.constraints import Constraints, build_point_handles
from reconstruct.models.style.features import RATE_HZ, build_training_poses, subsample_poses
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.models.style.model import Style
from reconstruct.models.style.synthesis.curves import KeyedCurve
from reconstruct.models.style.synthesis.synthesizer import Synthesizer
from reconstruct.models.style.synthesis.trajectory import follow_constraints
from reconstruct.posing.local import LocalPoser
from reconstruct.posing.protocol import Poser
from reconstruct.posing.style import StylePoser
from tools.evaluate.scores import position_errors_mm
from tools.evaluate.synthesis.vicon import ViconQuery, find_c3d, markers_query, vicon_query

LEARNED_SHARE, N_LEARNED = 0.4, 500  # of a take that is learned from, and poses of it at most
SHARES, QUICK_SHARES = (0.0, 0.5, 0.7, 0.9), (0.0, 0.5, 0.9)  # of markers hidden, others every second
GAPPED = "nick_freeform_001.c3d"  # 53 markers, of which 6.6 % are missing in truth
SHARES_OF_SECOND = (0.0, 0.25, 0.5, 0.75, 1.0)  # share of the second style
MARKER_SIGMA_M, KEY_SIGMA_M = 0.01, 0.01
N_FRAMES, QUICK_FRAMES = 300, 30  # posed of the rest of a take, evenly spaced, or in a row where one begins at the one before
KEYED = ("leftFoot", "rightFoot", "rightHand")  # the feet and one arm, as in Figure 4
KEYS_S = (0.1, 0.25, 0.5)


@dataclass(frozen=True, slots=True)
class Blend:
    """Two styles by the takes that they are learned from, and takes between them: `posed` says what these are."""

    name: str
    learned: tuple[tuple[FrameRange, ...], tuple[FrameRange, ...]]
    posed: str
    between: tuple[FrameRange, ...]


WALKS = {split.name: split.learned for split in SPLITS[:2]}
BLENDS = (
    Blend(
        "16 walking and running",
        (WALKS["16 walking"], whole_takes("16_48", "16_50", "16_51", "16_52")),
        "16 jogging",
        whole_takes("16_35", "16_45"),
    ),
    Blend("07 and 16 walking", (WALKS["07 walking"], WALKS["16 walking"]), "35 walking", whole_takes("35_14")),
)


@dataclass(frozen=True, slots=True)
class OpticalTake:
    """A take with all of its optical markers at 60 Hz: joint (M,), offset (M, 3), positions (N, M, 3) [m], valid (N, M)."""

    clip: Clip
    joint: Ints
    offset_m: Floats
    point_m: Floats
    valid: Bools


def read_optical_takes(request: Request) -> Iterator[OpticalTake]:
    """Yield the markers of 02_05 with their pose, and those of the take with gaps. Raises DuocapError: there are none."""
    file = find_c3d(request.motion)
    if file is None:
        raise DatabaseError("no cmu_02_05.c3d beside the motions; set DUOCAP_SHARED_DATA to the folder that holds it in markers/")
    yield build_optical_take("02_05", vicon_query(file, request.motion, request.markers, 0.0))
    if (file.parent / GAPPED).is_file():
        yield build_optical_take(GAPPED.partition("_")[0], markers_query(file.parent / GAPPED, request.markers, 0.0))


def build_optical_take(name: str, vicon: ViconQuery) -> OpticalTake:
    """Return the markers that a query uses and the others as one take."""
    used, others = vicon.query, vicon.others
    return OpticalTake(
        Clip(name, used.subject.skeleton, 60.0, used.rotvec, used.root_m),
        np.concatenate([used.subject.joint, others.subject.joint]),
        np.concatenate([used.subject.offset_m, others.subject.offset_m]),
        np.concatenate([used.marker_m, others.point_m], axis=1),
        np.concatenate([used.visible, others.valid], axis=1),
    )


def stop_annealing(style: Style) -> Style:
    """Return a style all of whose steps are the learned one."""
    return replace(style, annealed=style.learned)


def learn_style(clips: list[Clip], name: str) -> Style:
    """Learn a style from clips as the paper does: some 500 poses, 100 of them active, three dimensions."""
    return fit_style(subsample_poses(build_training_poses(clips), N_LEARNED), clips[0].skeleton, name, LearnOptions())


def hide_markers(valid: Bools, share: float, frames: int, seed: int) -> Bools:
    """Return which markers are seen, (N, M): a share is hidden, others after some frames."""
    rng, seen = np.random.default_rng(seed), valid.copy()
    for first in range(0, len(valid), frames):
        seen[first : first + frames, rng.permutation(valid.shape[1])[: round(share * valid.shape[1])]] = False
    return seen


def pose_missing(take: OpticalTake, rows: Ints, seen: Bools, poser: Poser) -> Row:
    """Pose frames in a row, each from the one before, of the markers seen, (N, M); return its errors."""
    found, now, spent_s = [], None, 0.0
    for row in rows:
        target_m = np.where(seen[row][:, None], take.point_m[row], np.nan)
        begin_s = time.process_time()
        now = poser.pose(build_point_handles(take.joint, take.offset_m, target_m, MARKER_SIGMA_M), now)
        spent_s += time.process_time() - begin_s
        found.append(now)
    rotvec, root_m = np.array([one.rotvec for one in found]), np.array([one.root_m for one in found])
    skeleton = take.clip.skeleton
    poses, true = (
        compute_forward_kinematics(skeleton, r, t)[1]
        for r, t in ((rotvec, root_m), (take.clip.rotvec[rows], take.clip.root_m[rows]))
    )
    G, p = compute_forward_kinematics(skeleton, rotvec, root_m)
    marker_m = p[:, take.joint] + np.einsum("nmij,mj->nmi", G[:, take.joint], take.offset_m)
    off_mm = 1e3 * np.linalg.norm(marker_m - take.point_m[rows], axis=2)
    hidden = take.valid[rows] & ~seen[rows]
    error_mm = position_errors_mm(poses, true).mean(axis=1)
    return {
        "frames": len(rows),
        "mm": float(error_mm.mean()),
        "mm p95": float(np.percentile(error_mm, 95)),
        "mm hidden": float(off_mm[hidden].mean()) if hidden.any() else None,
        "ms": 1e3 * spent_s / len(rows),
    }


def compute_missing(request: Request) -> Iterator[Row]:
    """Yield a row for each take, share of hidden markers and model. Raises DuocapError."""
    for take in read_optical_takes(request):
        yield from _hide_shares(take, request)


def _hide_shares(take: OpticalTake, request: Request) -> Iterator[Row]:
    """Yield the rows of one take; a share of 0: only its own gaps."""
    first = round(LEARNED_SHARE * take.clip.n_frames)
    learned = slice_clip(take.clip, 0, first)
    style = learn_style([learned], "beginning")
    posers: dict[str, Poser] = {
        "local": LocalPoser(take.clip.skeleton, learned.rotvec),
        "paper's f": StylePoser(Synthesizer([style.keep_active()])),
        "style": StylePoser(Synthesizer([style])),
    }
    count = request.count or (QUICK_FRAMES if request.quick else N_FRAMES)
    rows = np.arange(first + 30, take.clip.n_frames)[:: 2 if not request.quick else 8][:count]
    for share in QUICK_SHARES if request.quick else SHARES:
        seen = hide_markers(take.valid, share, 60, request.seed)
        for name, poser in posers.items():
            about = {"take": take.clip.name, "markers": take.point_m.shape[1], "hidden %": 100.0 * share, "model": name}
            yield about | pose_missing(take, rows, seen, poser)


def build_keyed_constraints(joint_m: Floats, every: int, fps: float) -> list[Constraints]:
    """Return the constraints of each frame: the keyed joints follow curves through every so many-th place, (N, J, 3) [m]."""
    seconds, joint = np.arange(len(joint_m)) / fps, np.array([JOINT_INDEX[name] for name in KEYED])
    keys = np.unique(np.append(np.arange(0, len(joint_m), every), len(joint_m) - 1))
    at_m = np.stack([KeyedCurve(seconds[keys], joint_m[keys, j]).at(seconds) for j in joint], axis=1)
    return [build_point_handles(joint, np.zeros((len(joint), 3)), row, KEY_SIGMA_M) for row in at_m]


def compute_keys(request: Request) -> Iterator[Row]:
    """Yield a row for each behaviour and distance of keys: followed as a motion, and frame by frame. Raises DuocapError."""
    count = request.count or (QUICK_FRAMES if request.quick else 90)
    for split in splits(request.only or tuple(s.name for s in SPLITS[:4])):
        learned, (held, *_) = read_ranges(split.learned, request.motion), read_ranges(split.held_out, request.motion)
        synthesizer = Synthesizer([learn_style(learned, split.name)])
        true = slice_clip(resample_clip(held, RATE_HZ), 0, min(count, resample_clip(held, RATE_HZ).n_frames))
        joint_m = compute_forward_kinematics(true.skeleton, true.rotvec, true.root_m)[1]
        for apart_s in KEYS_S[1:2] if request.quick else KEYS_S:
            asked = build_keyed_constraints(joint_m, round(apart_s * RATE_HZ), RATE_HZ)
            for name in ("motion", "frames alone"):
                alone = name == "frames alone"
                found = [synthesizer.synthesize(c) for c in asked] if alone else follow_constraints(synthesizer, asked)
                poses = np.array([one.rotvec for one in found]), np.array([one.root_m for one in found])
                placed_m = compute_forward_kinematics(true.skeleton, *poses)[1]
                bend = np.diff(placed_m, 2, axis=0), np.diff(joint_m, 2, axis=0)
                yield {
                    "behaviour": split.name,
                    "keys every s": apart_s,
                    "method": name,
                    "frames": len(joint_m),
                    "mm": float(position_errors_mm(placed_m, joint_m).mean()),
                    "jerkier": float(np.abs(bend[0]).mean() / np.abs(bend[1]).mean()),
                }


def compute_switches(request: Request) -> Iterator[Row]:
    """Yield a row for each behaviour, kind of points and style: as it is, not annealed, the paper's f. Raises DuocapError."""
    count = request.count or (8 if request.quick else 40)
    for split in splits(request.only or tuple(s.name for s in SPLITS[:4])):
        yield from _switch_parts(split, request, count)


def _switch_parts(split: TakeSplit, request: Request, count: int) -> Iterator[Row]:
    """Yield the rows of one behaviour."""
    learned = read_ranges(split.learned, request.motion)
    style = learn_style(learned, split.name)
    true = held_out_poses(read_ranges(split.held_out, request.motion), count)
    styles = {"as it is": style, "not annealed": stop_annealing(style), "paper's f": style.keep_active()}
    for kind in ("4 points", "6 image points"):
        for name, changed in styles.items():
            synthesizer, found, cold_s, warm_s = Synthesizer([changed]), list[Floats](), 0.0, 0.0
            for joint_m in true.joint_m:
                asked = make_constraints(pose_query(kind, joint_m))
                begin_s = time.process_time()
                pose = synthesizer.synthesize(asked)
                middle_s = time.process_time()
                synthesizer.synthesize(asked, pose)
                cold_s, warm_s = cold_s + middle_s - begin_s, warm_s + time.process_time() - middle_s
                found.append(compute_forward_kinematics(synthesizer.skeleton, pose.rotvec[None], pose.root_m[None])[1][0])
            errors = position_errors_mm(np.array(found), true.joint_m).mean(axis=1)
            yield {
                "behaviour": split.name,
                "given": kind,
                "style": name,
                "poses": len(errors),
                "mm": float(errors.mean()),
                "error": float(errors.std() / np.sqrt(len(errors))),
                "cold ms": 1e3 * cold_s / len(errors),
                "warm ms": 1e3 * warm_s / len(errors),
            }


def compute_blends(request: Request) -> Iterator[Row]:
    """Yield a row for each pair of styles, kind of points and share of the second, on poses between. Raises DuocapError."""
    for blend in BLENDS:
        yield from _blend_styles(blend, request)


def _blend_styles(blend: Blend, request: Request) -> Iterator[Row]:
    """Yield the rows of one pair of styles."""
    styles = [learn_style(read_ranges(takes, request.motion), blend.name) for takes in blend.learned]
    between = read_ranges(blend.between, request.motion)
    synthesizer = Synthesizer(styles, (0.5, 0.5), between[0].skeleton)
    true = held_out_poses(between, request.count or (8 if request.quick else 40))
    for kind in ("4 points", "6 image points"):
        asked = [make_constraints(pose_query(kind, joint_m)) for joint_m in true.joint_m]
        for share in SHARES_OF_SECOND:
            mixed = synthesizer.with_shares((1.0 - share, share))
            found = [mixed.synthesize(each) for each in asked]
            poses = np.array([one.rotvec for one in found]), np.array([one.root_m for one in found])
            joint_m = compute_forward_kinematics(synthesizer.skeleton, *poses)[1]
            errors = position_errors_mm(joint_m, true.joint_m).mean(axis=1)
            about = {"learned": blend.name, "posed": blend.posed, "given": kind, "share": share, "poses": len(errors)}
            yield about | {"mm": float(errors.mean()), "error": float(errors.std() / np.sqrt(len(errors)))}


TABLES = (
    PaperTable(
        "style-missing",
        "Grochow et al. 2004, section 7.3",
        "real optical markers, a share hidden, others every second; a style of the beginning poses the rest (--count: frames)",
        (
            *text_columns("take", "model"),
            *number_columns(0, "markers", "hidden %", "frames"),
            *number_columns(1, "mm", "mm p95", "mm hidden", "ms"),
        ),
        compute_missing,
        choices=("",),
    ),
    PaperTable(
        "style-blend",
        "Grochow et al. 2004, eq. 9",
        "two styles of a person, poses between them: error by the share of the second, which is 0 or 1 without interpolation",
        (*text_columns("learned", "posed", "given"), Column("share", 2), Column("poses", 0), *number_columns(1, "mm", "error")),
        compute_blends,
        choices=("",),
    ),
    PaperTable(
        "style-keys",
        "Grochow et al. 2004, Figure 4",
        "feet and one hand follow keyed curves of a held-out take, the rest is the style's; jerkier: than the true motion (1)",
        (
            *text_columns("behaviour", "method"),
            Column("keys every s", 2),
            Column("frames", 0),
            Column("mm", 1),
            Column("jerkier", 2),
        ),
        compute_keys,
        choices=tuple(split.name for split in SPLITS),
    ),
    PaperTable(
        "style-switches",
        "Grochow et al. 2004, sections 3 and 6",
        "annealing and the paper's f on and off: error of poses from a few points, times from nothing and from the last pose",
        (
            *text_columns("behaviour", "given", "style"),
            Column("poses", 0),
            *number_columns(1, "mm", "error", "cold ms", "warm ms"),
        ),
        compute_switches,
        choices=tuple(split.name for split in SPLITS),
        mean_over=("behaviour",),
    ),
)
