"""The report of a replay or a demo as JSON, and the versions of the packages that determine its results."""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from capture.rate import count_missing_frames, estimate_frame_period_s
from config.arrays import Bools
from config.files import write_atomically
from reconstruct.doubt import Doubt, find_doubtful_spans
from reconstruct.pose import Pose, TrackingState
from stream.protocol.compose import name_exchanges
from stream.protocol.landmarks import LandmarkTally

N_WORST = 3
PACKAGES = ("duocap", "opencv-python", "numpy", "scipy", "numba", "pyzmq")


def build_replay_report(
    poses: Sequence[Pose],
    wall_s: float,
    hidden_mm: Mapping[str, ArrayLike] | None = None,
    swaps_suspected: int = 0,
    n_repeated: Sequence[int] = (),
    landmark: Bools | None = None,
) -> dict[str, Any]:
    """Return the report of a replay.

    The result is valid JSON: unknown figures are null.

    Args:
        poses: poses of all frames in order.
        wall_s: time that all frames took [s].
        hidden_mm: prediction errors of each marker that was hidden from the solver [mm].
        swaps_suspected: number of frames whose labels look swapped.
        n_repeated: pictures of each camera that were the one before once more.
        landmark: which markers are landmarks of the body, (M,); None: none.
    """
    tracking = [pose for pose in poses if pose.state == TrackingState.TRACKING]
    stages = dict.fromkeys(stage for pose in poses for stage in pose.latency_ns)
    return {
        "frames": len(poses),
        "tracked": len(tracking) / len(poses) if poses else None,
        "time": {**_summarize_times([pose.t_capture_ns for pose in poses]), "repeated_pictures": list(n_repeated)},
        "reprojection_px": compute_spread(_join_arrays(pose.residual_px[pose.seen] for pose in tracking)),
        "marker_residual_mm": compute_spread(_join_arrays(pose.residual_m[pose.measured] * 1e3 for pose in tracking)),
        "hidden": {
            name: {**_compute_percentiles(errors, {"median_mm": 50, "p95_mm": 95}), "frames": int(np.size(errors))}
            for name, errors in (hidden_mm or {}).items()
        },
        "swaps_suspected": swaps_suspected,
        "landmarks": None if landmark is None else _count_landmarks(poses, landmark),
        "jumps": _count_label_jumps(poses),
        "doubtful": _find_doubtful_spans(poses),
        "worst_seconds": _find_worst_seconds(poses),
        "ms_by_stage": {
            stage: _compute_percentiles(
                np.array([pose.latency_ns[stage] for pose in poses if stage in pose.latency_ns]) / 1e6,
                {"p50": 50, "p95": 95, "p99": 99},
            )
            for stage in stages
        },
        "fps": len(poses) / wall_s if wall_s > 0 else None,
        "versions": list_versions(),
    }


def _summarize_times(stamps_ns: Sequence[int]) -> dict[str, Any]:
    """Return how long a recording is, the rate that its stamps tell, and its gaps: how many, the longest and when that begins."""
    seconds = 1e-9 * (np.array(stamps_ns, np.float64) - stamps_ns[0]) if len(stamps_ns) else np.zeros(0)
    if len(seconds) < 2:
        return {"seconds": 0.0, "rate_hz": None, "gaps": 0, "longest_gap_s": None, "longest_gap_at_s": None}
    missing, steps = count_missing_frames(seconds), np.diff(seconds)
    gaps, longest = int((missing > 0).sum()), int(np.where(missing > 0, steps, 0.0).argmax())
    where = (float(steps[longest]), float(seconds[longest])) if gaps else (None, None)
    return {
        "seconds": float(seconds[-1]),
        "rate_hz": 1.0 / estimate_frame_period_s(seconds),
        "gaps": gaps,
        "longest_gap_s": where[0],
        "longest_gap_at_s": where[1],
    }


def _count_landmarks(poses: Sequence[Pose], landmark: Bools) -> dict[str, Any] | None:
    """Return what became of the landmarks, (M,) of the markers; None where there are none."""
    tally, n_landmarks = LandmarkTally(), int(np.count_nonzero(landmark))
    for pose in poses:
        tally.add(name_exchanges(pose.exchanged), n_landmarks, np.count_nonzero(pose.seen[:, landmark], axis=1).tolist())
    return tally.as_plain()


def _count_label_jumps(poses: Sequence[Pose]) -> dict[str, Any]:
    """Return how often other labels became the likelier ones, and how far the markers then went on average [mm]."""
    by_mm = [
        1e3 * float(np.linalg.norm(after.marker_m - before.marker_m, axis=1).mean())
        for before, after in pairwise(poses)
        if Doubt.EXCHANGED in after.doubts
    ]
    return {"count": len(by_mm), "median_mm": float(np.median(by_mm)) if by_mm else None, "most_mm": max(by_mm, default=None)}


def _find_doubtful_spans(poses: Sequence[Pose]) -> list[dict[str, Any]]:
    """Return the spans in which something speaks against labels or poses, with their times since the first pose [s]."""
    return [
        {
            "at_s": 1e-9 * (span.begin_ns - poses[0].t_capture_ns),
            "seconds": span.seconds,
            "frames": span.frames,
            "doubts": sorted(span.doubts),
            "reasons": span.words,
        }
        for span in find_doubtful_spans((pose.t_capture_ns, pose.doubts) for pose in poses)
    ]


def _find_worst_seconds(poses: Sequence[Pose]) -> list[dict[str, float | None]]:
    """Return the seconds that were tracked least or, where all were, explain the markers worst; N_WORST of them at most."""
    seconds: dict[int, list[Pose]] = {}
    for pose in poses:
        seconds.setdefault((pose.t_capture_ns - poses[0].t_capture_ns) // 1_000_000_000, []).append(pose)
    found = []
    for second, part in seconds.items():
        tracking = [pose for pose in part if pose.state == TrackingState.TRACKING]
        residual_mm = compute_spread(_join_arrays(pose.residual_m[pose.measured] * 1e3 for pose in tracking))["p95"]
        found.append({"at_s": float(second), "tracked": len(tracking) / len(part), "marker_residual_mm": residual_mm})
    return sorted(found, key=lambda one: (one["tracked"], -(one["marker_residual_mm"] or 0.0)))[:N_WORST]


def write_replay_report(file: Path, report: Mapping[str, Any]) -> None:
    """Write a report, indented."""
    write_atomically(file, json.dumps(report, indent=2, allow_nan=False) + "\n")


def compute_spread(values: ArrayLike) -> dict[str, float | None]:
    """Return median and 95th percentile; None for no values."""
    return _compute_percentiles(values, {"median": 50, "p95": 95})


def list_versions() -> dict[str, str]:
    """Return the versions of the packages that determine the result, by name."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed as a package"
    return found


def _compute_percentiles(values: ArrayLike, wanted: Mapping[str, float]) -> dict[str, float | None]:
    """Return percentiles of the finite values, by name."""
    array = np.asarray(values, float)
    array = array[np.isfinite(array)]
    return {name: float(np.percentile(array, share)) if array.size else None for name, share in wanted.items()}


def _join_arrays(arrays: Iterable[ArrayLike]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the values of all arrays as one."""
    return np.concatenate([np.zeros(0), *(np.asarray(array, float).ravel() for array in arrays)])
