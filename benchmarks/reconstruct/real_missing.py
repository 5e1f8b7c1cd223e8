"""Markers taken out of a real recording of two webcams for two seconds: errors of their predictions, with and without a style.

    python -m benchmarks.reconstruct.real_missing --recording DIR [--seed 1] [--local] [--json F]

DIR has left.avi, right.avi, timestamps.csv, rig.toml and markers.toml. At seven times after the T-pose three markers, different
ones each time, are taken out of both views; the pairs go through the pipeline of live capture. Predictions are compared with the
triangulated markers; `seen`: the pose's error when they are seen; hold: where they were last seen, in the frame of the root. With
style: learned each time from all poses before. --local: without a style only.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.real_recording import SAME_PX, T_POSE_S, DetectedRecording, SeenPair, load_recording, track_recording
from benchmarks.report import build_parser, write_json
from capture.packets import Blobs, MarkerFrame, Views
from config.arrays import Floats
from database.clips import Clip
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.models.style.features import TrainingPoses, build_training_poses, subsample_poses
from reconstruct.models.style.learn.train import fit_style
from reconstruct.models.style.model import Style, StyleError
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState

N_GAPS, TAKEN, GAP_S = 7, 3, 2.0
MAX_POSES = 500  # that a style is learned from


@dataclass(frozen=True, slots=True)
class Gap:
    """Pairs first..last-1, in which some markers, (TAKEN,), are taken out."""

    first: int
    last: int
    markers: tuple[int, ...]


@dataclass
class GapErrors:
    """Distances of predicted from triangulated markers, by method [mm]; lost: pairs that were not tracked."""

    mm: dict[str, list[float]] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)

    def add(self, method: str, off_mm: Floats) -> None:
        """Add the distances of one pair."""
        self.mm.setdefault(method, []).extend(off_mm.tolist())

    def figures(self) -> dict[str, dict[str, float]]:
        """Return mean, median and 95th percentile by method."""
        return {
            name: {
                "mean": round(float(np.mean(mm)), 1),
                "median": round(float(np.median(mm)), 1),
                "p95": round(float(np.percentile(mm, 95)), 1),
            }
            for name, mm in self.mm.items()
        }


def plan_gaps(times_s: Floats, n_markers: int, seed: int) -> list[Gap]:
    """Return gaps evenly spread after the T-pose; every marker is taken out once before any is a second time."""
    room = np.linspace(T_POSE_S[1] + 0.5, times_s[-1] - GAP_S - 0.3, N_GAPS)
    rng = np.random.default_rng(seed)
    a_round = n_markers // TAKEN
    order = [rng.permutation(n_markers)[: a_round * TAKEN] for _ in range(-(-N_GAPS // a_round))]
    sets = np.sort(np.concatenate(order).reshape(-1, TAKEN), axis=1)
    found = []
    for begin_s, markers in zip(room, sets, strict=False):
        first, last = np.searchsorted(times_s, [begin_s, begin_s + GAP_S])
        found.append(Gap(int(first), int(last), tuple(int(m) for m in markers)))
    return found


def remove_blobs(blobs: Blobs, points_px: Floats) -> Blobs:
    """Take the blobs at some image points, (K, 2), out of a view."""
    if not len(blobs) or not len(points_px):
        return blobs
    kept = np.linalg.norm(blobs.points_px[:, None] - points_px[None], axis=2).min(axis=1) >= SAME_PX
    points, area, color, sigma = (x[kept] for x in (blobs.points_px, blobs.area_px, blobs.color_rgb, blobs.sigma_px))
    return replace(blobs, points_px=np.ascontiguousarray(points), area_px=area, color_rgb=color, sigma_px=sigma)


def remove_markers(pair: Views, markers: MarkerFrame, taken: tuple[int, ...]) -> Views:
    """Take markers out of both views of a pair, as far as they were labelled there."""
    index = list(taken)
    views = [
        remove_blobs(blobs, markers.image_px[c, index][markers.seen[c, index]]) for c, blobs in enumerate((pair[0], pair[1]))
    ]
    return replace(pair, left=views[0], right=views[1])


def collect_poses_before(seen: list[SeenPair], end: int, recording: DetectedRecording) -> TrainingPoses:
    """Return the poses that were tracked up to a pair, as a style is learned from them."""
    clips, rows = [], []
    for k in range(end + 1):
        if k < end and seen[k].pose.state is TrackingState.TRACKING:
            rows.append(k)
            continue
        if len(rows) > 2:
            poses = [seen[row].pose for row in rows]
            fps = (len(rows) - 1) / (1e-9 * (poses[-1].t_capture_ns - poses[0].t_capture_ns))
            rotvec, root_m = np.array([p.rotvec for p in poses]), np.array([p.root_m for p in poses])
            clips.append(Clip("before", recording.subject.skeleton, fps, rotvec, root_m))
        rows = []
    return subsample_poses(build_training_poses(clips), MAX_POSES)


def learn_style_before(seen: list[SeenPair], end: int, recording: DetectedRecording) -> Style | None:
    """Learn a style from the poses before a pair; None where there are too few."""
    try:
        return fit_style(collect_poses_before(seen, end, recording), recording.subject.skeleton, "before")
    except StyleError:
        return None


def hold_markers(last_m: Floats, pose: Pose) -> Floats:
    """Return markers, (M, 3) [m] in the root's frame, in the world."""
    return np.asarray(last_m @ matrix_from_rotvec(pose.rotvec[0]).T + pose.root_m)


def run_gaps(
    seen: list[SeenPair], gaps: list[Gap], recording: DetectedRecording, with_style: bool, errors: list[GapErrors]
) -> None:
    """Put all pairs through a pipeline, markers taken out; add the distances to the errors of each gap."""
    pipeline = Pipeline(recording.rig, recording.subject, recording.database, recording.settings)
    method = "with style" if with_style else "local"
    last_m = np.zeros((len(recording.names), 3))
    at = {k: n for n, gap in enumerate(gaps) for k in range(gap.first, gap.last)}
    for k, one in enumerate(seen):
        n = at.get(k)
        if n is None:
            pose = pipeline.step(one.pair)
            points = one.markers.valid
            local = (one.markers.point_m - pose.root_m) @ matrix_from_rotvec(pose.rotvec[0])
            last_m = np.where(points[:, None], local, last_m)
            continue
        gap = gaps[n]
        if with_style and k == gap.first:
            pipeline.take_style(learn_style_before(seen, k, recording))
        pose = pipeline.step(remove_markers(one.pair, one.markers, gap.markers))
        index = [m for m in gap.markers if one.markers.valid[m]]
        true_m = one.markers.point_m[index]
        errors[n].lost[method] = errors[n].lost.get(method, 0) + (pose.state is not TrackingState.TRACKING)
        errors[n].add(method, 1e3 * np.linalg.norm(pose.marker_m[index] - true_m, axis=1))
        if not with_style:
            errors[n].add("hold", 1e3 * np.linalg.norm(hold_markers(last_m, pose)[index] - true_m, axis=1))
            errors[n].add("seen", 1e3 * np.linalg.norm(one.pose.marker_m[index] - true_m, axis=1))


def format_line(head: str, figures: dict[str, dict[str, float]]) -> str:
    """Return a line: mean / 95th percentile by method."""
    cells = (figures.get(name, {"mean": np.nan, "p95": np.nan}) for name in ("seen", "hold", "local", "with style"))
    return f"{head:<58}" + "".join(f"{cell['mean']:>8.0f} /{cell['p95']:>4.0f}" for cell in cells)


def main() -> None:
    """Print a line for every gap."""
    parser = build_parser(__doc__)
    parser.add_argument("--recording", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--local", action="store_true", help="without a style only")
    given = parser.parse_args()
    recording = load_recording(given.recording, live=False)
    seen = track_recording(recording)
    times_s = np.array([1e-9 * one.pair.t_capture_ns for one in seen])
    gaps = plan_gaps(times_s, len(recording.names), given.seed)
    errors = [GapErrors() for _ in gaps]
    for with_style in (False,) if given.local else (False, True):
        run_gaps(seen, gaps, recording, with_style, errors)
    print(f"{'mm, mean / 95th percentile':<58}{'seen':>14}{'hold':>14}{'local':>14}{'with style':>14}")
    for gap, found in zip(gaps, errors, strict=True):
        names = ", ".join(recording.names[m] for m in gap.markers)
        print(format_line(f"{times_s[gap.first]:5.1f} s {names}", found.figures()))
    total = GapErrors()
    for found in errors:
        for name, mm in found.mm.items():
            total.mm.setdefault(name, []).extend(mm)
    print(format_line("all", total.figures()))
    print("pairs not tracked:", {name: sum(e.lost.get(name, 0) for e in errors) for name in ("local", "with style")})
    named = [{"first": p.first, "markers": [recording.names[m] for m in p.markers]} for p in gaps]
    by_gap = [a | {"mm": e.figures(), "lost": e.lost} for a, e in zip(named, errors, strict=True)]
    write_json(given.json, {"places": by_gap, "all": total.figures()})


if __name__ == "__main__":
    main()
