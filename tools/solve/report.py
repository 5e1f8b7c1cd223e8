"""What was found in a marker file, in numbers and in words: labels, gaps, residuals, frames that are not solved."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibration.subject.labelled import describe_mirrored
from calibration.subject.marker_motion import describe_start, list_unmoved, list_unmoved_ends
from config.arrays import Bools
from config.words import format_count
from database.clips import find_runs
from database.marker_files.c3d_extras import read_c3d_extras
from reconstruct.pose import TrackingState
from stream.take.take import MarkerTracks, Take, TakeInfo
from tools.solve.solve import SolvedMarkerFile

MOST_LINES = 20  # of each list that is printed; the report in a file has all


@dataclass(frozen=True, slots=True)
class GapReport:
    """A gap of a marker: from when on, how long [s], and how far off it may be filled, at most [mm]."""

    marker: str
    at_s: float
    seconds: float
    error_mm: float


def build_take(solved: SolvedMarkerFile) -> Take:
    """Return a solution as a take for export; frames that are not solved are lost."""
    points, markers = solved.take.points, solved.markers
    ever: Bools = np.asarray(solved.valid.any(axis=0))
    shown = (solved.valid | (markers.filled & solved.solved[:, None]))[:, ever]
    names = tuple(name for name, seen in zip(solved.take.worn.names, ever.tolist(), strict=True) if seen)
    point_m = np.where(shown[..., None], markers.point_m[:, ever], 0.0)
    return Take(
        skeleton=solved.subject.skeleton,
        seconds=np.arange(len(points)) / points.fps,
        states=tuple(TrackingState.TRACKING if good else TrackingState.LOST for good in solved.solved),
        rotvec=solved.rotvec,
        root_m=solved.root_m,
        markers=MarkerTracks(names, point_m, shown, None, markers.filled[:, ever] & shown),
        info=TakeInfo(solved.subject.name, source=points.file.name),
        error_m=solved.joint_error_m,
        extras=read_c3d_extras(points.file, solved.take.turn) if points.file.suffix.lower() == ".c3d" else None,
    )


def build_report(solved: SolvedMarkerFile) -> dict[str, Any]:
    """Return everything that is reported, as plain values."""
    points = solved.take.points
    joint = solved.subject.joint[solved.valid.any(axis=0)]
    return {
        "file": points.file.name,
        "frames": len(points),
        "fps": points.fps,
        "marker_set": solved.take.set_name,
        "height_m": round(solved.subject.skeleton.height_m, 3),
        "labels_changed": _list_changes(solved),
        "unlabelled_tracks": int((solved.label < 0).sum()),
        "not_used": list(solved.take.unused),
        "gaps": [asdict(gap) | {"error_mm": round(gap.error_mm, 1)} for gap in list_gaps(solved)],
        "residual_mm": _measure_residuals(solved),
        "not_solved": _list_spans(~solved.solved, points.fps),
        "no_markers_on": [*list_unmoved(joint), *list_unmoved_ends(joint)],
        "notes": list(describe_start(points)),
        "warnings": list(describe_mirrored(solved.take)),
    }


def _list_changes(solved: SolvedMarkerFile) -> list[dict[str, Any]]:
    """Return the tracks whose label is another than in the file, by column and time."""
    points, names = solved.take.points, solved.take.worn.names
    given = solved.take.marker[solved.tracks.column]
    result = []
    for k in np.flatnonzero(solved.label != given).tolist():
        rows = np.flatnonzero(solved.tracks.track[:, solved.tracks.column[k]] == k)
        result.append(
            {
                "point": points.labels[solved.tracks.column[k]],
                "label": names[solved.label[k]] if solved.label[k] >= 0 else None,
                "at_s": round(float(rows[0]) / points.fps, 3),
                "seconds": round(len(rows) / points.fps, 3),
            }
        )
    return result


def list_gaps(solved: SolvedMarkerFile) -> list[GapReport]:
    """Return the gaps that were filled, marker by marker."""
    fps, result = solved.take.points.fps, []
    filled = solved.markers.filled & solved.solved[:, None]
    for m, name in enumerate(solved.take.worn.names):
        for first, stop in find_runs(filled[:, m]):
            worst_mm = 1e3 * float(solved.markers.error_m[first:stop, m].max())
            result.append(GapReport(name, round(first / fps, 4), round((stop - first) / fps, 4), worst_mm))
    return result


def _measure_residuals(solved: SolvedMarkerFile) -> dict[str, dict[str, float]]:
    """Return the median and the 95th percentile of how far each marker is from where the body has it [mm]."""
    result = {}
    for m, name in enumerate(solved.take.worn.names):
        off_mm = 1e3 * solved.markers.residual_m[solved.valid[:, m], m]
        if len(off_mm):
            result[name] = {"median": round(float(np.median(off_mm)), 1), "p95": round(float(np.percentile(off_mm, 95)), 1)}
    return result


def _list_spans(which: Bools, fps: float) -> list[dict[str, float]]:
    """Return where frames are marked: from when on, and how long [s]."""
    return [{"at_s": round(first / fps, 4), "seconds": round((stop - first) / fps, 4)} for first, stop in find_runs(which)]


def format_report(report: Mapping[str, Any], most: int | None = MOST_LINES) -> list[str]:
    """Return a report in words; most: lines of each list, None for all."""
    gaps = sorted(report["gaps"], key=lambda gap: -gap["error_mm"])
    residuals = sorted(report["residual_mm"].items(), key=lambda item: -item[1]["median"])
    bare = ", ".join(report["no_markers_on"])
    usual = np.median([each["median"] for _, each in residuals]) if residuals else 0.0
    lines = [
        f"{format_count(report['frames'], 'frame')} at {report['fps']:g} Hz, {len(residuals)} markers ({report['marker_set']}), "
        f"body {report['height_m']:.2f} m",
        f"residual {usual:.1f} mm, median over the markers; largest: "
        + ", ".join(f"{name} {each['median']:g}" for name, each in residuals[:3]),
        *(f"warning: {line}" for line in report["warnings"]),
        *report["notes"],
        *([f"no markers on {bare}: these move as is likely by the database, not as measured"] if bare else []),
        f"labels changed: {len(report['labels_changed'])}; points without a label: {report['unlabelled_tracks']}",
    ]
    if report["not_used"]:
        lines.append(f"not used, no markers of the body: {', '.join(report['not_used'][:MOST_LINES])}")
    lines += _cut(
        [
            f"  {each['at_s']:.2f} s, {each['seconds']:.2f} s long: {each['point']} is {each['label'] or 'no marker'}"
            for each in report["labels_changed"]
        ],
        most,
    )
    lines.append(f"gaps filled: {len(gaps)}")
    lines += _cut(
        [
            f"  {gap['marker']} at {gap['at_s']:.2f} s for {gap['seconds']:.2f} s, {gap['error_mm']:.0f} mm expected"
            for gap in gaps
        ],
        most,
    )
    lines += [f"not solved: {span['at_s']:.2f} s for {span['seconds']:.2f} s" for span in report["not_solved"]]
    return lines


def _cut(lines: list[str], most: int | None) -> list[str]:
    """Return the first lines and how many there are more."""
    if most is None or len(lines) <= most:
        return lines
    return [*lines[:most], f"  and {len(lines) - most} more (--report FILE has all)"]
