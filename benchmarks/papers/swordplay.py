"""A sword in both hands, with the markers of Kendo: Chai & Hodgins 2005, section 8.

There is no Kendo among the motions; these are real swordplay. The sword goes through both palms, so that its marker is where a
straight one would be, and moves a little in either hand as it does in truth. Its place in the leading hand is calibrated as the
mean over the first second.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.report import Row, number_columns, text_columns
from calibration.subject.props import find_props
from calibration.subject.subject import Subject
from config.arrays import Bools, Floats
from config.errors import DatabaseError
from config.joints import JOINT_INDEX, mirror_joint_name
from config.markers import MarkerSet
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.search.examples import compute_examples
from tools.evaluate.methods import SolvedMotion, solve
from tools.evaluate.protocol import ProtocolClip, open_once
from tools.evaluate.queries import FPS, MotionQuery, load_query
from tools.evaluate.scores import position_errors_mm

CLIPS = ("02_07", "02_08")
LEAD = "leftHand"  # nearer to the blade in both clips
MARKER_M = 0.6  # from the leading palm, as in the preset
APART_M = 0.3  # palms farther apart than this do not hold one handle
WAYS = ("no sword", "sword", "sword in both hands", "both hands, sword unseen")


@dataclass(frozen=True, slots=True)
class Swordplay:
    """A clip with a sword: the query without a grip, how far apart the palms are [m], the true direction of the sword, (N, 3)."""

    query: MotionQuery
    apart_m: float
    along: Floats


def find_palms(query: MotionQuery) -> tuple[Floats, Floats]:
    """Return the leading and the other palm of the true poses, (N, 3) [m] each."""
    prop = find_props(_arm(query.subject, query.subject.markers, 0.0))[0]
    G, p = compute_forward_kinematics(query.subject.skeleton, query.rotvec, query.root_m)
    other = prop.other_joint
    return p[:, prop.joint] + G[:, prop.joint] @ prop.grip_m, p[:, other] + G[:, other] @ prop.palm_m


def _arm(subject: Subject, markers: MarkerSet, grip_m: float) -> Subject:
    """Return a performer whose sword is in the leading hand, and held by the other so far behind [m]."""
    sword = np.array(markers.names) == "sword"
    joint = np.where(sword, JOINT_INDEX[LEAD], markers.joint)
    return replace(subject, markers=replace(markers, joint=joint, grip_m=np.where(sword, grip_m, np.nan)))


def find_longest_run(held: Bools) -> slice:
    """Return the longest run of true values, (N,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(int), [0]])))
    longest = int(np.argmax(edges[1::2] - edges[::2]))
    return slice(int(edges[2 * longest]), int(edges[2 * longest + 1]))


def take_sword(query: MotionQuery) -> Swordplay:
    """Put the sword through both palms, in the part of a clip where they are near each other. Raises DatabaseError: nowhere."""
    lead_m, other_m = find_palms(query)
    apart_m = np.linalg.norm(lead_m - other_m, axis=1)
    if not (apart_m < APART_M).any():
        raise DatabaseError(f"{query.stem}: the hands are never within {APART_M} m; take {' or '.join(CLIPS)}")
    part = find_longest_run(apart_m < APART_M)
    along = ((lead_m - other_m) / apart_m[:, None])[part]
    m = query.subject.markers.names.index("sword")
    marker_m = query.marker_m[part].copy()
    marker_m[:, m] = lead_m[part] + MARKER_M * along
    G, p = compute_forward_kinematics(query.subject.skeleton, query.rotvec[part], query.root_m[part])
    lead = JOINT_INDEX[LEAD]
    offset_m = query.subject.offset_m.copy()
    in_hand = np.einsum("nij,ni->nj", G[:, lead], marker_m[:, m] - p[:, lead])
    offset_m[m] = in_hand[: round(FPS)].mean(axis=0)
    armed = replace(_arm(query.subject, query.subject.markers, 0.0), offset_m=offset_m)
    cut = replace(query, subject=armed, rotvec=query.rotvec[part], root_m=query.root_m[part], marker_m=marker_m)
    cut = replace(cut, visible=query.visible[part], asf=query.asf.part(part))
    return Swordplay(cut, float(apart_m[part][: round(FPS)].mean()), along)


def hold_sword(play: Swordplay, way: str) -> MotionQuery:
    """Return the query of one way of using the sword."""
    query, both = play.query, "both hands" in way
    held = _arm(query.subject, query.subject.markers, play.apart_m if both else 0.0)
    visible = query.visible.copy()
    if way in ("no sword", "both hands, sword unseen"):
        visible[1:, query.subject.markers.names.index("sword")] = False
    return replace(query, subject=held, visible=visible)


def score_sword(play: Swordplay, query: MotionQuery, found: SolvedMotion) -> Row:
    """Return the errors of joints, of both hands and of the sword's direction, from the second frame on."""
    skeleton, lead = query.subject.skeleton, JOINT_INDEX[LEAD]
    G, p = compute_forward_kinematics(skeleton, found.rotvec, found.root_m)
    off_mm = position_errors_mm(p, compute_forward_kinematics(skeleton, query.rotvec, query.root_m)[1])[1:]
    prop = find_props(query.subject)[0]
    cosine = np.einsum("ni,ni->n", (G[:, lead] @ prop.rotation[:, 2])[1:], play.along[1:])
    found_palms = find_palms(replace(query, rotvec=found.rotvec, root_m=found.root_m))
    gap_m = np.linalg.norm(found_palms[0] - found_palms[1], axis=1)[1:]
    return {
        "frames": len(off_mm),
        "mm": float(off_mm.mean()),
        "hand mm": float(off_mm[:, lead].mean()),
        "other hand mm": float(off_mm[:, JOINT_INDEX[mirror_joint_name(LEAD)]].mean()),
        "sword deg": float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))).mean()),
        "palms mm": float(1e3 * gap_m.mean()),
    }


def _measure_clip(which: ProtocolClip, path: Path, request: Request) -> list[Row]:
    """Return the rows of one clip. Raises DuocapError."""
    query = load_query(which, request.motion, "kendo", 0.0)
    play = take_sword(query)
    frames = round(FPS * request.choose_seconds(10.0)) or len(play.query)
    rows, settings = list[Row](), request.settings.solve
    for way in WAYS:
        armed = hold_sword(play, way)
        examples = compute_examples(armed.subject, open_once(path))
        part = slice(min(frames, len(armed)))
        armed = replace(armed, rotvec=armed.rotvec[part], root_m=armed.root_m[part], marker_m=armed.marker_m[part])
        armed = replace(armed, visible=armed.visible[part])
        short = replace(play, along=play.along[part])
        for model in ("ours", "paper"):
            scores = score_sword(short, armed, solve(armed, examples, settings, model))
            rows.append({"clip": which.stem, "behaviour": which.behaviour, "way": way, "model": model} | scores)
    return rows


def compute_swordplay(request: Request) -> Iterator[Row]:
    """Yield a row for each clip, way and model. Raises DuocapError."""
    clips, path = request.find_clips(CLIPS)
    tasks = [partial(_measure_clip, clip, path, request) for clip in clips]
    return request.run(tasks, "swordplay")


TABLE = PaperTable(
    "swordplay",
    "Chai & Hodgins 2005, section 8",
    "the markers of Kendo on real two-handed swordplay: errors of joints, of both hands, of the sword; distance of the palms",
    (
        *text_columns("behaviour", "clip", "way", "model"),
        *number_columns(0, "frames"),
        *number_columns(1, "mm", "hand mm", "other hand mm", "sword deg"),
        *number_columns(0, "palms mm"),
    ),
    compute_swordplay,
)
