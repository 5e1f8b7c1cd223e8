"""Real optical markers solved with labels removed and markers hidden: `duocap solve` against splines and the take's own poses.

    python -m benchmarks.reconstruct.solve --database DB [--clip FILE[=AMC]...] [--case NAME...] [--seconds S] [--labels removed]
        [--shared DIR] [--json F]

Hidden at any time: one marker, 30 % or 60 % of all, or those of a limb, for 0.1, 1 and 5 s, at other times for other markers.
Labels right: of the samples left, those with the marker that the file calls so; with --labels removed all names are taken away
and every stretch between gaps is a point of its own. Hidden markers: distance from where they were measured [mm], median and
mean, against cubic splines and straight lines through the same marker's own samples, whose labels are given to these. Pose:
distance of the joints from those of the AMC of the same take (its own skeleton, fitted by others) and from the poses solved with
all markers. The database must hold no take of the person.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
from scipy.interpolate import CubicSpline

from benchmarks.report import (
    Row,
    TablePrinter,
    build_parser,
    find_database_file,
    number_columns,
    run_main,
    text_columns,
    write_json,
)
from calibration.subject.labelled import LabelledTake, label_take, turn_upright
from config.arrays import Bools, Floats
from config.errors import DatabaseError
from config.joints import JOINT_INDEX, JOINTS
from database.files.asf_amc import read_amc
from database.files.retarget import import_motion
from database.geometry.kinematics import compute_forward_kinematics
from database.marker_files.points import read_points
from database.store import PoseDatabase, open_database
from tools.evaluate.missing.masks import LIMBS, at_random
from tools.evaluate.similar_motions import COMPARED
from tools.solve.solve import SolvedMarkerFile, solve_take

SETS = {"cmu_02_05": "cmu_41", "nick_freeform_001": "vicon_53"}
SHARES = {"one": 0.0, "30": 0.3, "60": 0.6}
GAPS_S = (0.1, 1.0, 5.0)
CASES = (
    "all",
    *(f"{share}-{gap:g}" for share in SHARES for gap in GAPS_S),
    *(f"{limb}-{gap:g}" for limb in LIMBS for gap in GAPS_S[1:]),
)


@dataclass(frozen=True, slots=True)
class SolveRun:
    """One case of a take: what was reached, and seconds of one core for a minute of take."""

    clip: str
    case: str
    labels: str
    right: float
    hidden: int
    hidden_mm: tuple[float, float]
    spline_mm: tuple[float, float]
    line_mm: tuple[float, float]
    amc_mm: float
    whole_mm: float
    seconds_a_minute: float

    def make_row(self) -> Row:
        """Return the row of a table."""
        plain = {"clip": self.clip, "case": self.case, "labels": self.labels, "right %": 100.0 * self.right}
        pairs = {"ours": self.hidden_mm, "spline": self.spline_mm, "line": self.line_mm}
        errors = {f"{name} {what}": mm for name, both in pairs.items() for what, mm in zip(WHAT, both, strict=True)}
        return {**plain, **errors, "AMC mm": self.amc_mm, "whole mm": self.whole_mm, "s/min": self.seconds_a_minute}


WHAT = ("median mm", "mean mm")
COLUMNS = (
    *text_columns("clip", "case", "labels"),
    *number_columns(2, "right %"),
    *number_columns(1, *(f"{name} {what}" for name in ("ours", "spline", "line") for what in WHAT), "AMC mm", "whole mm"),
    *number_columns(0, "s/min"),
)


def hide_markers(take: LabelledTake, case: str, seed: int = 1) -> Bools:
    """Return which samples of the file are left, (N, P)."""
    n, count, fps = len(take.points), len(take.points.labels), take.points.fps
    if case == "all":
        return take.points.valid
    what, _, gap_s = case.rpartition("-")
    gap = round(float(gap_s) * fps)
    if what in SHARES:
        missing = max(1, round(SHARES[what] * count))
        return take.points.valid & at_random(n, count, missing, gap, np.random.default_rng(seed))
    joints = [JOINT_INDEX[name] for name in LIMBS[what]] or [k for k, name in enumerate(JOINTS) if name.startswith("left")]
    of_limb = (take.marker >= 0) & np.isin(take.worn.joint[take.marker], joints)
    if not LIMBS[what]:
        of_limb |= (take.marker >= 0) & (take.worn.offset_m[take.marker, 0] > 0.03)
    dark = (np.arange(n) // gap) % 2 == 1
    dark[-round(0.1 * fps) :] = False  # the end is seen, as the beginning
    return np.asarray(take.points.valid & ~(dark[:, None] & of_limb))


def remove_labels(take: LabelledTake, left: Bools, set_name: str) -> tuple[LabelledTake, np.ndarray]:
    """Return a take in which every stretch is a point without a name, in any order, and the column of each."""
    points, columns, tracks = take.points, list[int](), list[Bools]()
    for p in range(left.shape[1]):
        number = np.cumsum(np.diff(np.concatenate([[False], left[:, p]]).astype(np.int8)) > 0) * left[:, p]
        tracks += [number == k for k in range(1, int(number.max(initial=0)) + 1)]
        columns += [p] * (len(tracks) - len(columns))
    order = np.random.default_rng(2).permutation(len(columns))
    column, valid = np.array(columns)[order], np.stack([tracks[k] for k in order], axis=1)
    names = tuple(f"*{k}" for k in range(len(column)))
    point_m = np.where(valid[..., None], points.point_m[:, column], 0.0)
    unnamed = replace(points, labels=names, point_m=point_m, valid=valid)
    return turn_upright(label_take(unnamed, set_name)), column


def interpolate(point_m: Floats, seen: Bools, lines: bool) -> Floats:
    """Return a marker in all frames by its own samples, (N, 3) [m]: cubic splines, or lines; beyond the ends as there."""
    at, rows = np.flatnonzero(seen), np.arange(len(seen))
    if len(at) < 2 or lines:
        return np.stack([np.interp(rows, at, axis) for axis in point_m[at].T], axis=1)
    return np.asarray(CubicSpline(at, point_m[at])(np.clip(rows, at[0], at[-1])))


def open_without(path: Path, take: Path) -> PoseDatabase:
    """Open a database. Raises DatabaseError: it holds clips of the take's person."""
    database, person = open_database(path), take.stem.removeprefix("cmu_").partition("_")[0]
    own = [name for name in database.clip_names if name.rpartition("/")[2].partition("_")[0] == person]
    if own:
        raise DatabaseError(f"{path}: holds {own[0]} of the person of {take.stem}; leave them out (--leave-out '{person}_*')")
    return database


def measure(
    take: LabelledTake, case: str, removed: bool, database: PoseDatabase, joint_m: Floats | None, whole: SolvedMarkerFile | None
) -> tuple[SolveRun, SolvedMarkerFile]:
    """Solve one case and return what was reached, and the solution.

    Args:
        take: all markers with their labels.
        case: what is hidden.
        removed: whether labels are taken away.
        database: without the person.
        joint_m: joints of the AMC, (N, C, 3) [m].
        whole: the take solved with all markers and labels.
    """
    left = hide_markers(take, case)
    name, points = take.points.file.stem, take.points
    begin = process_time()
    if removed:
        given, column = remove_labels(take, left, SETS[name])
    else:
        given, column = replace(take, points=replace(points, valid=left)), np.arange(left.shape[1])
    solved = solve_take(given, database)
    spent = process_time() - begin
    names = [solved.take.worn.names.index(label) if label in solved.take.worn.names else -1 for label in points.labels]
    own = np.array(names)[column[solved.tracks.column]]
    length = np.bincount(solved.tracks.track[solved.tracks.track >= 0], minlength=len(own))
    right = float(length[solved.label == own].sum() / max(length.sum(), 1))
    ours, spline, line = list[Floats](), list[Floats](), list[Floats]()
    for p, m in enumerate(names):
        dark = points.valid[:, p] & ~left[:, p]
        if m < 0 or not dark.any():
            continue
        true = points.point_m[dark, p]
        ours.append(np.linalg.norm(solved.markers.point_m[dark, m] - true, axis=1))
        for found, lines in ((spline, False), (line, True)):
            found.append(np.linalg.norm(interpolate(points.point_m[:, p], left[:, p], lines)[dark] - true, axis=1))
    place_m = place_compared(solved)
    others = (joint_m, None if whole is None else place_compared(whole))
    amc, same = (float("nan") if at is None else 1e3 * float(np.linalg.norm(place_m - at, axis=2).mean()) for at in others)
    run = SolveRun(
        clip=name,
        case=case,
        labels="removed" if removed else "kept",
        right=right,
        hidden=sum(map(len, ours)),
        hidden_mm=summarise(ours),
        spline_mm=summarise(spline),
        line_mm=summarise(line),
        amc_mm=amc,
        whole_mm=same,
        seconds_a_minute=60.0 * spent * points.fps / len(points),
    )
    return run, solved


def summarise(off_m: list[Floats]) -> tuple[float, float]:
    """Return median and mean [mm]."""
    every = 1e3 * np.concatenate(off_m) if off_m else np.full(1, np.nan)
    return float(np.median(every)), float(np.mean(every))


def place_compared(solved: SolvedMarkerFile) -> Floats:
    """Return the compared joints of a solution, (N, C, 3) [m]."""
    places = compute_forward_kinematics(solved.subject.skeleton, solved.rotvec, solved.root_m)[1]
    return places[:, [JOINT_INDEX[name] for name in COMPARED]]


def place_amc_joints(file: Path | None, n_frames: int) -> Floats | None:
    """Return the compared joints of an AMC with its ASF beside it, (N, C, 3) [m]; None without one."""
    if file is None or not file.is_file():
        return None
    skeleton = file.with_name(f"{file.stem.partition('_')[0]}.asf")
    clip = import_motion(str(file), read_amc(file, skeleton)).clip
    places = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    return places[:n_frames, [JOINT_INDEX[name] for name in COMPARED]]


def main() -> None:
    """Measure and print a table."""
    parser = build_parser(__doc__)
    shared = Path(os.environ.get("DUOCAP_SHARED_DATA", "."))
    parser.add_argument("--shared", type=Path, default=shared, help="folder with markers/; default DUOCAP_SHARED_DATA")
    parser.add_argument("--clip", action="append", help="file=AMC, or file alone; default the two of the shared data")
    parser.add_argument("--motion", type=Path, help="folder of the CMU motions, for the AMC of cmu_02_05")
    parser.add_argument("--database", type=Path, help="without the takes and their people; takes alike are left out")
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--labels", action="append", choices=("kept", "removed"))
    parser.add_argument("--seconds", type=float, default=0.0, help="of each take from its beginning; 0: all")
    options = parser.parse_args()
    amc = None if options.motion is None else options.motion / "cmu" / "subjects" / "02" / "02_05.amc"
    clips = options.clip or [
        f"{options.shared / 'markers' / 'cmu_02_05.c3d'}={amc}",
        str(options.shared / "markers" / "nick_freeform_001.c3d"),
    ]
    runs, table = list[SolveRun](), TablePrinter(COLUMNS)
    for clip in clips:
        name, _, truth = clip.partition("=")
        file = Path(name)
        points = read_points(file)
        if options.seconds:
            n = round(options.seconds * points.fps)
            points = replace(points, point_m=points.point_m[:n], valid=points.valid[:n])
        take = turn_upright(label_take(points))
        joint_m = place_amc_joints(Path(truth) if truth else None, len(points))
        database, whole = open_without(find_database_file(options.database), file), None
        for case in options.case or CASES:
            for labels in options.labels or ("kept", "removed"):
                run, solved = measure(take, case, labels == "removed", database, joint_m, whole)
                whole = solved if case == "all" and labels == "kept" else whole
                table.show(run.make_row())
                runs.append(run)
    write_json(options.json, runs)


if __name__ == "__main__":
    run_main(main)
