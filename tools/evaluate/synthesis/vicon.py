"""Real markers: a few determine the pose, the others are predicted. The 41 of CMU clip 02_05, whose motion is known, or any C3D.

The file's axes (x, y, z) with z up are the motion's (z, x, y) with y up. Marker offsets come from the clip's first second with
the poses of the motion file; the query begins after it. Of the 41, those nearest to the positions of the marker set are used.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from calibration.subject.subject import Subject
from config.arrays import Floats
from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from config.markers import MarkerSet, read_marker_set
from database.clips import Clip, slice_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.marker_files.c3d import C3dPoints, read_c3d
from tools.evaluate.asf_angles import AsfAngles, asf_angles
from tools.evaluate.protocol import protocol_clip, query_path, read_query
from tools.evaluate.queries import FPS, MotionQuery, marker_positions, query_from_clip
from tools.evaluate.user_clips import read_markers

STEM = "02_05"
BEHAVIOUR, GIVEN = "boxing, Vicon", "given, Vicon"
CALIBRATION_S = 1.0
MAX_NOMINAL_M = 0.25  # a marker of the file farther than this from the marker set's position is not that marker
# Joint of each Vicon marker: of both sides, after the letter of the side, and in the middle.
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
class PredictedMarkers:
    """Markers to be predicted: a subject with their joints and offsets, true positions (N, K, 3) [m], valid (N, K)."""

    subject: Subject
    point_m: Floats
    valid: NDArray[np.bool_]

    def errors_mm(self, rotvec: Floats, root_m: Floats) -> Floats:
        """Return the errors of the markers that poses predict, one for each valid one [mm]."""
        error_m = marker_positions(self.subject, rotvec, root_m) - self.point_m
        return np.asarray(1e3 * np.linalg.norm(error_m, axis=2)[self.valid])


@dataclass(frozen=True, slots=True)
class ViconQuery:
    """A query with real markers, the other markers, and the names of those used."""

    query: MotionQuery
    others: PredictedMarkers
    used: tuple[str, ...]


def find_c3d(motion: Path | None) -> Path | None:
    """Return the file of the markers in or beside the motions' folder or in that of the test data; None: in neither."""
    shared = os.environ.get("DUOCAP_SHARED_DATA")
    folders = (*((motion, motion.parent) if motion is not None else ()), *((Path(shared),) if shared else ()))
    files = (parent / f"cmu_{STEM}.c3d" for folder in folders for parent in (folder, folder / "markers"))
    return next((file for file in files if file.is_file()), None)


def joint_of(label: str) -> int:
    """Return the joint of a Vicon marker by its name, -1 for an unknown name."""
    side = {"L": "left", "R": "right"}.get(label[:1], "")
    name = MIDDLE.get(label) or SIDED.get(label[1:], "")
    return JOINT_INDEX.get(name, JOINT_INDEX.get(side + name, -1))


def vicon_query(file: Path, motion: Path | None, markers: str | Path, seconds: float) -> ViconQuery:
    """Read the real markers of clip 02_05 with the poses of the motion file as truth.

    Raises DuocapError: a file is unreadable, or the markers are of another take.
    """
    which = protocol_clip(STEM)
    clip, asf, read = read_query(which, motion), asf_angles(query_path(which, motion)), read_c3d(file)
    wanted = read_marker_set(markers)
    if read.fps != clip.fps or len(read.point_m) != clip.n_frames:
        got = f"{len(read.point_m)} frames at {read.fps:g} Hz"
        raise FileFormatError(f"{file}: {got}, no markers of clip {STEM}, which has {clip.n_frames} at {clip.fps:g}")
    known = np.array([joint_of(label) >= 0 for label in read.labels])
    labels = tuple(label for label, use in zip(read.labels, known, strict=True) if use)
    joint = np.array([joint_of(label) for label in labels])
    point_m = np.ascontiguousarray(read.point_m[:, known][:, :, [1, 2, 0]])
    points = replace(read, labels=labels, point_m=point_m, valid=np.ascontiguousarray(read.valid[:, known]))
    offset_m = offsets_from(points, clip, joint, round(CALIBRATION_S * clip.fps))
    chosen = nearest_markers(file, wanted, joint, offset_m, clip)
    return _split(points, clip, asf, wanted, (joint, offset_m), chosen, seconds)


def markers_query(file: Path, markers: str | Path, seconds: float) -> ViconQuery:
    """Read the real markers of any C3D; the truth is a body fitted to all of its markers.

    Raises DuocapError: the file is unreadable, or its markers are not known by their names.
    """
    motion, wanted = read_markers(file), read_marker_set(markers)
    clip, worn, (point_m, valid) = motion.clip, motion.take.worn, motion.take.markers()
    points = C3dPoints(worn.names, clip.fps, point_m, valid, "")
    offset_m = offsets_from(points, clip, worn.joint, clip.n_frames)
    chosen = nearest_markers(file, wanted, worn.joint, offset_m, clip)
    return _split(points, clip, AsfAngles((), ()), wanted, (worn.joint, offset_m), chosen, seconds)


def offsets_from(points: C3dPoints, clip: Clip, joint: NDArray[np.int64], n_frames: int) -> Floats:
    """Return each marker's mean position in its joint's frame over the first frames, (M, 3) [m]; zero where never seen."""
    first = slice(n_frames)
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec[first], clip.root_m[first])
    local = np.einsum("nmji,nmj->nmi", G[:, joint], points.point_m[first] - p[:, joint])
    seen = points.valid[first, :, None]
    return np.asarray((local * seen).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def nearest_markers(file: Path, wanted: MarkerSet, joint: NDArray[np.int64], offset_m: Floats, clip: Clip) -> NDArray[np.int64]:
    """Return for every marker of a set the nearest one of the file in the first pose, (M,), each used once.

    Raises FileFormatError: one has none within MAX_NOMINAL_M.
    """
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec[0], clip.root_m[0])
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
    attached: tuple[NDArray[np.int64], Floats],
    chosen: NDArray[np.int64],
    seconds: float,
) -> ViconQuery:
    """Return the frames after the first second at 60 Hz: the chosen markers are observed, the others predicted.

    attached: joint and offset of every marker of the file.
    """
    joint, offset_m = attached
    begin, step = round(CALIBRATION_S * clip.fps), round(clip.fps / FPS)
    end = min(clip.n_frames, begin + round(seconds * clip.fps)) if seconds > 0 else clip.n_frames
    frames = slice(begin, end, step)
    part = replace(slice_clip(clip, begin, end), fps=FPS, rotvec=clip.rotvec[frames].copy(), root_m=clip.root_m[frames].copy())
    worn = replace(wanted, joint=joint[chosen], offset_m=offset_m[chosen])
    query = query_from_clip(part, BEHAVIOUR if asf.chains else GIVEN, worn, asf.part(frames))
    query = replace(query, marker_m=points.point_m[frames][:, chosen], visible=points.valid[frames][:, chosen])
    rest = np.setdiff1d(np.arange(len(joint)), chosen)
    names = tuple(points.labels[k] for k in rest)
    dark, no_color = np.zeros((len(rest), 3)), np.zeros(len(rest), bool)
    markers = MarkerSet(names, joint[rest], no_color, offset_m[rest], dark, no_color)
    subject = replace(query.subject, markers=markers, offset_m=offset_m[rest], residual_mm=np.zeros(len(rest)))
    others = PredictedMarkers(subject, points.point_m[frames][:, rest], points.valid[frames][:, rest])
    return ViconQuery(query, others, tuple(points.labels[k] for k in chosen))
