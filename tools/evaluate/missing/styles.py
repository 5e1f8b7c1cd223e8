"""Which frames a style is learned from and which are then queried: never the same ones.

known: learned from the frames before the protocol's query where it begins late (14_02, 49_02); for short clips from other takes
of the same person and behaviour; else from the first half of the clip, the query being the second.
unknown: learned from another behaviour of another person: walking, or boxing where the query is a walk or run.
none: nothing is learned and the whole clip is queried.

In a session a style is in use before markers are missing, and held-out checks measure it. So the last take or the last seconds
are not learned from but seen first, with all markers.
"""

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.arrays import Floats
from database.clips import Clip, slice_clip
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import compute_geodesic_rad
from database.geometry.skeleton import Skeleton
from reconstruct.models.sparse.model import PoseDictionary
from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary
from reconstruct.models.style.features import TrainingPoses, build_training_poses, subsample_poses
from reconstruct.models.style.learn.train import MIN_POSES, fit_style
from reconstruct.models.style.model import Style
from reconstruct.models.style.session import MAX_POSES
from tools.evaluate.protocol import MAIN, OTHERS, ProtocolClip, read_query, read_take

logger = logging.getLogger(__name__)
TAKES = {
    "07_08": ("07_01", "07_02", "07_03", "07_06", "07_07", "07_10"),
    "16_15": ("16_16", "16_21", "16_31", "16_32", "16_47"),
    "35_14": ("35_01", "35_02", "35_05", "35_07", "35_11"),
    "09_09": ("09_01", "09_02", "09_03", "09_05", "09_06", "09_07", "09_10"),
    "16_45": ("16_35", "16_37", "16_38", "16_48", "16_50", "16_55"),
    "16_05": ("16_06", "16_09", "16_10"),
    "06_10": ("06_02", "06_03", "06_04", "06_11"),
    "02_08": ("02_07",),
    "32_01": ("32_02",),
    "32_02": ("32_01",),
    "38_01": ("38_02",),
    "38_02": ("38_01",),
}
WALK, BOXING = "07_01", "14_02"
UNRELATED = {"walking": BOXING, "running": BOXING, "transitions": BOXING, "unseen subjects": BOXING}
GAP_S = 1.7  # between learned and queried frames of one take
MAX_LEARNED_S = 25.0  # of motion, the last before the query
SEEN_S = 4.0  # of motion seen with all markers before the query; at most a fourth of a single take


@dataclass(frozen=True, slots=True)
class TrainingSplit:
    """Motion to learn from and motion to measure.

    Attributes:
        clips: clips to learn from.
        query: clip with missing markers.
        source: description of `clips`.
        seen: motion that is seen whole before the query.
    """

    clips: list[Clip]
    query: Clip
    source: str
    seen: Clip

    def poses(self) -> TrainingPoses:
        """Return at most MAX_POSES poses, evenly over the motions."""
        return subsample_poses(build_training_poses(self.clips), MAX_POSES)


def split_from(clips: list[Clip], query: Clip, source: str) -> TrainingSplit:
    """Return the split that learns from clips, without the last one, or without the end of the only one."""
    *learned, last = clips
    n = min(round(SEEN_S * last.fps), last.n_frames if learned else last.n_frames // 4)
    if not learned:
        learned = [slice_clip(last, 0, last.n_frames - n)]
    seen = slice_clip(last, last.n_frames - n, last.n_frames)
    return TrainingSplit(learned, query, f"{source}, the last {seen.seconds:.1f} s only seen", seen)


def known_split(which: ProtocolClip, motion: Path | None) -> TrainingSplit:
    """Return the split of a style that knows the query's motion. Raises DuocapError: a file is missing."""
    query = read_query(which, motion)
    if which.start == 0 and which.stem in TAKES:
        takes = TAKES[which.stem]
        return split_from([read_take(stem, motion) for stem in takes], query, "takes " + " ".join(takes))
    take, start = (read_take(which, motion), which.start) if which.start > 0 else (query, query.n_frames // 2)
    end = max(0, start - round(GAP_S * query.fps))
    begin = max(0, end - round(MAX_LEARNED_S * query.fps))
    later = query if which.start > 0 else slice_clip(query, start, query.n_frames)
    return split_from([slice_clip(take, begin, end)], later, f"frames {begin + 1}-{end} of the take")


def unknown_split(which: ProtocolClip, motion: Path | None) -> TrainingSplit:
    """Return the split of a style that does not know the query's motion; query and seen motion are those of `known_split`."""
    known = known_split(which, motion)
    stem = UNRELATED.get(which.behaviour, WALK)
    take = read_take(stem, motion)
    take = slice_clip(take, 0, min(take.n_frames, round(MAX_LEARNED_S * take.fps), 2800))
    return TrainingSplit([take], known.query, f"frames 1-{take.n_frames} of {stem}", known.seen)


def no_split(which: ProtocolClip, motion: Path | None) -> TrainingSplit:
    """Return the whole clip, of which nothing is learned. Raises DuocapError: a file is missing."""
    query = read_query(which, motion)
    return TrainingSplit([], query, "nothing", query)


SPLITS = {"known": known_split, "unknown": unknown_split, "none": no_split}


def learn_style(split: TrainingSplit, skeleton: Skeleton) -> Style:
    """Learn the style of a split for a skeleton. Raises StyleError."""
    return fit_style(split.poses(), skeleton, split.source)


def learn_dictionary(split: TrainingSplit, skeleton: Skeleton) -> PoseDictionary:
    """Learn a dictionary of all poses of a split for a skeleton. Raises SparseError."""
    poses = np.concatenate([clip.rotvec for clip in split.clips]).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        return train_pose_dictionary(lambda: [poses], skeleton, split.source, Path(folder) / "part", TrainOptions(1))


def find_learnable(clips: Sequence[ProtocolClip], motion: Path | None) -> list[ProtocolClip]:
    """Return the clips for which a style of their motion can be learned, with a warning for each of the others."""
    found = []
    for clip in clips:
        n_poses = MAX_POSES if clip in (*MAIN, *OTHERS) else len(build_training_poses(known_split(clip, motion).clips))
        if n_poses >= MIN_POSES:
            found.append(clip)
        else:
            logger.warning("%s: %d poses are too few to learn a style from; measured without one, if at all", clip.stem, n_poses)
    return found


def strangeness_deg(poses: TrainingPoses, rotvec: Floats) -> float:
    """Return the distance of a motion, (N, J, 3) [rad], from learned poses: to the nearest, mean over frames and joints [deg]."""
    learned, queried = local_from_charted(poses.rotvec)[:, 1:], local_from_charted(rotvec)[:, 1:]
    nearest = [float(compute_geodesic_rad(learned, pose).mean(axis=1).min()) for pose in queried]
    return float(np.degrees(np.mean(nearest)))
