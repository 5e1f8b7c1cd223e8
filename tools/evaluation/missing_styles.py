"""What a style is learned from, and what is then asked for: never the same frames.

known: the frames before the protocol's query where it begins late (14_02, 49_02); for short clips, other takes of the subject
doing the same; else the first half of the clip, and the second is asked for.
unknown: another behaviour of somebody else, walking, and boxing for those who walk or run.
In a session a style is in use, and on trial, before markers are missing: so some of the motion is not learned from but seen whole
first, the last take or the last seconds.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.errors import DatabaseError
from database.asf_amc import DEFAULT_FPS
from database.cleaning import clean
from database.clips import Clip, clip_slice
from database.kinematics import local_rotations
from database.read import read_clip
from database.rotations import Floats, geodesic_rad
from database.skeleton import Skeleton
from reconstruct.style.features import TrainingPoses, some, training_poses
from reconstruct.style.learn import LearnOptions, learn
from reconstruct.style.model import Style
from tools.evaluation.protocol import ProtocolClip, query, query_file

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
STRANGE = {"walking": BOXING, "running": BOXING, "transitions": BOXING, "unseen subjects": BOXING}
KEPT_BACK_S = 1.7  # between what the style is learned from and what is asked for, of one take
LEARNED_S = 25.0  # of motion at the most, the last before what is asked for
SEEN_S = 4.0  # of motion seen whole before what is asked for; no more than a fourth of a single take
FRAMES = 500  # poses that a style is learned from


@dataclass(frozen=True, slots=True)
class Lesson:
    """Motions to learn from, the clip to be asked for, in words where the motions are from, and one that is seen whole before."""

    clips: list[Clip]
    asked: Clip
    source: str
    seen: Clip

    def poses(self) -> TrainingPoses:
        """Give at most `FRAMES` poses, evenly over the motions."""
        return some(training_poses(self.clips), FRAMES)


def take(stem: str, motion: Path) -> Clip:
    """Read a whole take, mended as the database's clips are. Raises DuocapError."""
    return clean(read_clip(query_file(ProtocolClip(stem, ""), motion), fps=DEFAULT_FPS))[0]


def lesson_from(clips: list[Clip], asked: Clip, source: str) -> Lesson:
    """Give a lesson of motions, the last of them or its end kept to be seen whole."""
    *learned, last = clips
    n = min(round(SEEN_S * last.fps), last.n_frames if learned else last.n_frames // 4)
    if not learned:
        learned = [clip_slice(last, 0, last.n_frames - n)]
    seen = clip_slice(last, last.n_frames - n, last.n_frames)
    return Lesson(learned, asked, f"{source}, the last {seen.seconds:.1f} s only seen", seen)


def lesson(which: ProtocolClip, motion: Path) -> Lesson:
    """Give what a style that knows the clip's motion is learned from. Raises DuocapError: files that are not there."""
    asked = query(which, motion)
    if which.start > 0:
        end = which.start - round(KEPT_BACK_S * asked.fps)
        begin = max(0, end - round(LEARNED_S * asked.fps))
        return lesson_from([clip_slice(take(which.stem, motion), begin, end)], asked, f"frames {begin + 1}-{end} of the take")
    if which.stem in TAKES:
        return lesson_from([take(stem, motion) for stem in TAKES[which.stem]], asked, "takes " + " ".join(TAKES[which.stem]))
    middle = asked.n_frames // 2
    end = max(0, middle - round(KEPT_BACK_S * asked.fps))
    begin = max(0, end - round(LEARNED_S * asked.fps))
    later = clip_slice(asked, middle, asked.n_frames)
    return lesson_from([clip_slice(asked, begin, end)], later, f"frames {begin + 1}-{end} of the take")


def strange_lesson(which: ProtocolClip, motion: Path) -> Lesson:
    """Give what a style that does not know the clip's motion is learned from; asked for are the same frames."""
    known = lesson(which, motion)
    stem = STRANGE.get(which.behaviour, WALK)
    strange = take(stem, motion)
    strange = clip_slice(strange, 0, min(strange.n_frames, round(LEARNED_S * strange.fps), 2800))
    return Lesson([strange], known.asked, f"frames 1-{strange.n_frames} of {stem}", known.seen)


LESSONS = {"known": lesson, "unknown": strange_lesson}


def lesson_of(kind: str, which: ProtocolClip, motion: Path) -> Lesson:
    """Give the lesson of a kind. Raises DatabaseError: no such kind; DuocapError: files that are not there."""
    if kind not in LESSONS:
        raise DatabaseError(f"{kind!r} is no kind of style; take {', '.join(LESSONS)}")
    return LESSONS[kind](which, motion)


def style_of(given: Lesson, skeleton: Skeleton, options: LearnOptions | None = None) -> Style:
    """Learn the style of a lesson for whoever is asked for. Raises StyleError."""
    return learn(given.poses(), skeleton, given.source, options)


def strangeness_deg(poses: TrainingPoses, rotvec: Floats) -> float:
    """Give how far a motion, (N, J, 3) [rad], is from what was learned: mean over its frames and joints of the nearest pose."""
    learned, asked = local_rotations(poses.rotvec)[:, 1:], local_rotations(rotvec)[:, 1:]
    nearest = [float(geodesic_rad(learned, one).mean(axis=1).min()) for one in asked]
    return float(np.degrees(np.mean(nearest)))
