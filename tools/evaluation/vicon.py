"""Real markers of a known motion: a few of the 41 of CMU clip 02_05 drive the pose, the others are predicted.

The file's world is that of the motion with the axes named otherwise: its (x, y, z) with z up is (z, x, y) with y up. Where each
marker sits on its joint comes from the clip's first second, with the pose of the motion file; what is asked begins after it.
Of the 41, those nearest to the places of the marker set are used, one each.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from calibration.subject import Subject
from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from config.markers import MarkerSet, read_marker_set
from database.c3d import C3dPoints, read_c3d
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.rotations import Floats
from tools.evaluation.asf_angles import AsfAngles, asf_angles
from tools.evaluation.protocol import protocol_clip, query, query_file
from tools.evaluation.queries import FPS, Query, markers_of, query_from_clip

STEM = "02_05"
BEHAVIOUR = "boxing, Vicon"
CALIBRATION_S = 1.0
MAX_NOMINAL_M = 0.25  # a marker of the file farther than this from where the marker set wants one is not that marker
# Joint of each Vicon marker, left and right alike after the side's letter.
SIDED = {
    "BWT": "hips",
    "FWT": "hips",
    "THI": "UpperLeg",
    "KNE": "LowerLeg",
    "SHN": "LowerLeg",
    "ANK": "Foot",
    "HEE": "Foot",
    "MT5": "Foot",
    "TOE": "Foot",
    "SHO": "Shoulder",
    "UPA": "UpperArm",
    "ELB": "LowerArm",
    "FRM": "LowerArm",
    "WRA": "Hand",
    "WRB": "Hand",
    "FIN": "Hand",
    "FHD": "head",
    "BHD": "head",
    "BAC": "upperChest",
}
MIDDLE = {"STRN": "upperChest", "CLAV": "upperChest", "C7": "upperChest", "T10": "upperChest"}


@dataclass(frozen=True, slots=True)
class Others:
    """The markers that are predicted: subject with their joints and offsets, where they were, (N, K, 3) [m], and valid (N, K)."""

    subject: Subject
    point_m: Floats
    valid: NDArray[np.bool_]

    def errors_mm(self, rotvec: Floats, root_m: Floats) -> Floats:
        """Give how far poses put the markers from where they were, one number for each that was seen [mm]."""
        off = markers_of(self.subject, rotvec, root_m) - self.point_m
        return np.asarray(1e3 * np.linalg.norm(off, axis=2)[self.valid])


@dataclass(frozen=True, slots=True)
class ViconQuery:
    """A query with real markers, what is predicted beside it, and the names of the markers used."""

    query: Query
    others: Others
    used: tuple[str, ...]


def found_c3d(motion: Path) -> Path | None:
    """Give the file with the markers where it lies in the motions' folder or in that of the test data; None: neither."""
    shared = os.environ.get("DUOCAP_SHARED_DATA")
    folders = (motion, motion.parent, *((Path(shared),) if shared else ()))
    files = (place / f"cmu_{STEM}.c3d" for folder in folders for place in (folder, folder / "markers"))
    return next((file for file in files if file.is_file()), None)


def joint_of(label: str) -> int:
    """Give the joint a Vicon marker is on, by its name; -1 where the name is unknown."""
    side = {"L": "left", "R": "right"}.get(label[:1], "")
    name = MIDDLE.get(label) or SIDED.get(label[1:], "")
    return JOINT_INDEX.get(name, JOINT_INDEX.get(side + name, -1))


def vicon_query(file: Path, motion: Path, markers: str | Path, seconds: float) -> ViconQuery:
    """Read the real markers of clip 02_05, the motion's pose for truth. Raises DuocapError: unreadable, or of another take."""
    which = protocol_clip(STEM)
    clip, asf, read = query(which, motion), asf_angles(query_file(which, motion)), read_c3d(file)
    wanted = read_marker_set(markers)
    if read.fps != clip.fps or len(read.point_m) != clip.n_frames:
        got = f"{len(read.point_m)} frames at {read.fps:g} Hz"
        raise FileFormatError(f"{file}: {got}, no markers of clip {STEM}, which has {clip.n_frames} at {clip.fps:g}")
    known = np.array([joint_of(label) >= 0 for label in read.labels])
    labels = tuple(label for label, use in zip(read.labels, known, strict=True) if use)
    joint = np.array([joint_of(label) for label in labels])
    point_m = np.ascontiguousarray(read.point_m[:, known][:, :, [1, 2, 0]])
    worn = replace(read, labels=labels, point_m=point_m, valid=np.ascontiguousarray(read.valid[:, known]))
    offset_m = offsets_from(worn, clip, joint, round(CALIBRATION_S * clip.fps))
    chosen = nearest_markers(file, wanted, joint, offset_m, clip)
    return _split(worn, clip, asf, wanted, (joint, offset_m), chosen, seconds)


def offsets_from(points: C3dPoints, clip: Clip, joint: NDArray[np.int64], n_frames: int) -> Floats:
    """Give each marker's mean place in its joint's frame over the first frames, (M, 3) [m]; zero where never seen."""
    first = slice(n_frames)
    G, p = forward(clip.skeleton, clip.rotvec[first], clip.root_m[first])
    local = np.einsum("nmji,nmj->nmi", G[:, joint], points.point_m[first] - p[:, joint])
    seen = points.valid[first, :, None]
    return np.asarray((local * seen).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def nearest_markers(file: Path, wanted: MarkerSet, joint: NDArray[np.int64], offset_m: Floats, clip: Clip) -> NDArray[np.int64]:
    """Give for every marker of a set the file's marker nearest to it in the first pose, (M,), each used once.

    Raises FileFormatError: one is nowhere near.
    """
    G, p = forward(clip.skeleton, clip.rotvec[0], clip.root_m[0])
    theirs = p[joint] + np.einsum("mij,mj->mi", G[joint], offset_m)
    ours = p[wanted.joint] + np.einsum("mij,mj->mi", G[wanted.joint], wanted.offset_m)
    apart_m = np.linalg.norm(ours[:, None] - theirs[None], axis=2)
    rows, columns = linear_sum_assignment(apart_m**2)
    worst = int(np.argmax(apart_m[rows, columns]))
    if len(rows) < len(wanted) or apart_m[rows, columns][worst] > MAX_NOMINAL_M:
        raise FileFormatError(
            f"{file}: no marker within {MAX_NOMINAL_M:g} m of {wanted.names[worst]}; are these the markers of clip {STEM}?"
        )
    return np.asarray(columns, np.int64)


def _split(
    points: C3dPoints,
    clip: Clip,
    asf: AsfAngles,
    wanted: MarkerSet,
    places: tuple[NDArray[np.int64], Floats],
    chosen: NDArray[np.int64],
    seconds: float,
) -> ViconQuery:
    """Give the frames after calibration at 60 Hz: the chosen markers as what is seen, the rest as what is predicted."""
    joint, offset_m = places
    begin, step = round(CALIBRATION_S * clip.fps), round(clip.fps / FPS)
    end = min(clip.n_frames, begin + round(seconds * clip.fps)) if seconds > 0 else clip.n_frames
    frames = slice(begin, end, step)
    part = replace(clip_slice(clip, begin, end), fps=FPS, rotvec=clip.rotvec[frames].copy(), root_m=clip.root_m[frames].copy())
    worn = replace(wanted, joint=joint[chosen], offset_m=offset_m[chosen])
    asked = query_from_clip(part, BEHAVIOUR, worn, asf.part(frames))
    asked = replace(asked, marker_m=points.point_m[frames][:, chosen], visible=points.valid[frames][:, chosen])
    rest = np.setdiff1d(np.arange(len(joint)), chosen)
    names = tuple(points.labels[k] for k in rest)
    dark, no_color = np.zeros((len(rest), 3)), np.zeros(len(rest), bool)
    markers = MarkerSet(names, joint[rest], no_color, offset_m[rest], dark, no_color)
    subject = replace(asked.subject, markers=markers, offset_m=offset_m[rest], residual_mm=np.zeros(len(rest)))
    others = Others(subject, points.point_m[frames][:, rest], points.valid[frames][:, rest])
    return ViconQuery(asked, others, tuple(points.labels[k] for k in chosen))
