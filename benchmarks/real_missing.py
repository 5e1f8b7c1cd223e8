"""Markers taken out of a real recording of two webcams for two seconds: how far off they are predicted, with and without a style.

    python -m benchmarks.real_missing --recording DIR [--json F] [--seed 1] [--local]

DIR holds left.avi, right.avi, timestamps.csv, rig.toml and markers.toml. At seven places after the T-pose three markers are taken
out of both views, others each time; the pairs go through the pipeline of live capture. Compared with where the markers were
triangulated when nothing was taken out; `seen` is how far the solved pose has them from there when they are seen. hold: where a
marker was last seen, in the frame of the root that is solved without it. With style: learned, before each place anew, from the
poses up to it, the T-pose's among them. --local: without a style only.
"""

import argparse
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.real_recording import SAME_PX, T_POSE_S, Recorded, Seen, recorded, watched
from capture.packets import Blobs, Floats, MarkerFrame, PairedBlobs
from database.clips import Clip
from database.rotations import matrix_from_rotvec
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, State
from reconstruct.style.features import TrainingPoses, some, training_poses
from reconstruct.style.learn import learn
from reconstruct.style.model import Style, StyleError

PLACES, TAKEN, GAP_S = 7, 3, 2.0
POSES = 500  # that a style is learned from, at most


@dataclass(frozen=True, slots=True)
class Place:
    """Pairs first to last (not included) in which some markers, (TAKEN,), are taken out."""

    first: int
    last: int
    markers: tuple[int, ...]


@dataclass
class Errors:
    """Distances of predicted markers from their triangulated places, by method [mm]; lost: pairs that were not tracked."""

    mm: dict[str, list[float]] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)

    def add(self, method: str, off_mm: Floats) -> None:
        """Take the distances of one pair."""
        self.mm.setdefault(method, []).extend(off_mm.tolist())

    def figures(self) -> dict[str, dict[str, float]]:
        """Give mean, median and 95th percentile by method."""
        return {
            name: {
                "mean": round(float(np.mean(mm)), 1),
                "median": round(float(np.median(mm)), 1),
                "p95": round(float(np.percentile(mm, 95)), 1),
            }
            for name, mm in self.mm.items()
        }


def places_of(times_s: Floats, n_markers: int, seed: int) -> list[Place]:
    """Spread the places evenly over what comes after the T-pose; every marker is taken once before any is a second time."""
    room = np.linspace(T_POSE_S[1] + 0.5, times_s[-1] - GAP_S - 0.3, PLACES)
    rng = np.random.default_rng(seed)
    a_round = n_markers // TAKEN
    order = [rng.permutation(n_markers)[: a_round * TAKEN] for _ in range(-(-PLACES // a_round))]
    sets = np.sort(np.concatenate(order).reshape(-1, TAKEN), axis=1)
    found = []
    for begin_s, markers in zip(room, sets, strict=False):
        first, last = np.searchsorted(times_s, [begin_s, begin_s + GAP_S])
        found.append(Place(int(first), int(last), tuple(int(m) for m in markers)))
    return found


def without(blobs: Blobs, places_px: Floats) -> Blobs:
    """Take the blobs at some image points, (K, 2), out of a view."""
    if not len(blobs) or not len(places_px):
        return blobs
    kept = np.linalg.norm(blobs.points_px[:, None] - places_px[None], axis=2).min(axis=1) >= SAME_PX
    points, area, color, sigma = (x[kept] for x in (blobs.points_px, blobs.area_px, blobs.color_rgb, blobs.sigma_px))
    return replace(blobs, points_px=np.ascontiguousarray(points), area_px=area, color_rgb=color, sigma_px=sigma)


def taken_out(pair: PairedBlobs, markers: MarkerFrame, taken: tuple[int, ...]) -> PairedBlobs:
    """Take markers out of both views of a pair, as far as they were labelled there."""
    index = list(taken)
    views = [
        without(blobs, markers.image_px[c, index][markers.seen[c, index]]) for c, blobs in enumerate((pair.left, pair.right))
    ]
    return replace(pair, left=views[0], right=views[1])


def poses_before(seen: list[Seen], end: int, recording: Recorded) -> TrainingPoses:
    """Give the poses that were tracked up to a pair, as a style is learned from them."""
    clips, rows = [], []
    for k in range(end + 1):
        if k < end and seen[k].pose.state is State.TRACKING:
            rows.append(k)
            continue
        if len(rows) > 2:
            poses = [seen[row].pose for row in rows]
            fps = (len(rows) - 1) / (1e-9 * (poses[-1].t_capture_ns - poses[0].t_capture_ns))
            rotvec, root_m = np.array([p.rotvec for p in poses]), np.array([p.root_m for p in poses])
            clips.append(Clip("before", recording.subject.skeleton, fps, rotvec, root_m))
        rows = []
    up = (0.0, 1.0, 0.0) if recording.rig.floor_known else recording.subject.up
    return some(training_poses(clips, up), POSES)


def style_before(seen: list[Seen], end: int, recording: Recorded) -> Style | None:
    """Learn a style of what came before a pair; None where that is nothing."""
    try:
        return learn(poses_before(seen, end, recording), recording.subject.skeleton, "before")
    except StyleError:
        return None


def markers_held(last_m: Floats, pose: Pose) -> Floats:
    """Give places, (M, 3) [m] in the root's frame, in the world."""
    return np.asarray(last_m @ matrix_from_rotvec(pose.rotvec[0]).T + pose.root_m)


def run(seen: list[Seen], places: list[Place], recording: Recorded, with_style: bool, errors: list[Errors]) -> None:
    """Put all pairs through a pipeline, markers taken out; add the distances to the places' errors."""
    pipeline = Pipeline(recording.rig, recording.subject, recording.database, recording.settings)
    method = "with style" if with_style else "local"
    last_m = np.zeros((len(recording.names), 3))
    at = {k: n for n, place in enumerate(places) for k in range(place.first, place.last)}
    for k, one in enumerate(seen):
        n = at.get(k)
        if n is None:
            pose = pipeline.step(one.pair)
            points = one.markers.valid
            local = (one.markers.point_m - pose.root_m) @ matrix_from_rotvec(pose.rotvec[0])
            last_m = np.where(points[:, None], local, last_m)
            continue
        place = places[n]
        if with_style and k == place.first:
            pipeline.take_style(style_before(seen, k, recording))
        pose = pipeline.step(taken_out(one.pair, one.markers, place.markers))
        index = [m for m in place.markers if one.markers.valid[m]]
        true_m = one.markers.point_m[index]
        errors[n].lost[method] = errors[n].lost.get(method, 0) + (pose.state is not State.TRACKING)
        errors[n].add(method, 1e3 * np.linalg.norm(pose.marker_m[index] - true_m, axis=1))
        if not with_style:
            errors[n].add("hold", 1e3 * np.linalg.norm(markers_held(last_m, pose)[index] - true_m, axis=1))
            errors[n].add("seen", 1e3 * np.linalg.norm(one.pose.marker_m[index] - true_m, axis=1))


def line(head: str, figures: dict[str, dict[str, float]]) -> str:
    """Give a line: mean / 95th percentile by method."""
    cells = (figures.get(name, {"mean": np.nan, "p95": np.nan}) for name in ("seen", "hold", "local", "with style"))
    return f"{head:<58}" + "".join(f"{cell['mean']:>8.0f} /{cell['p95']:>4.0f}" for cell in cells)


def main() -> None:
    """Print a line for every place."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--recording", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--local", action="store_true", help="without a style only")
    given = parser.parse_args()
    recording = recorded(given.recording, live=False)
    seen = watched(recording)
    times_s = np.array([1e-9 * one.pair.t_capture_ns for one in seen])
    places = places_of(times_s, len(recording.names), given.seed)
    errors = [Errors() for _ in places]
    for with_style in (False,) if given.local else (False, True):
        run(seen, places, recording, with_style, errors)
    print(f"{'mm, mean / 95th percentile':<58}{'seen':>14}{'hold':>14}{'local':>14}{'with style':>14}")
    for place, found in zip(places, errors, strict=True):
        names = ", ".join(recording.names[m] for m in place.markers)
        print(line(f"{times_s[place.first]:5.1f} s {names}", found.figures()))
    total = Errors()
    for found in errors:
        for name, mm in found.mm.items():
            total.mm.setdefault(name, []).extend(mm)
    print(line("all", total.figures()))
    print("pairs not tracked:", {name: sum(e.lost.get(name, 0) for e in errors) for name in ("local", "with style")})
    if given.json is not None:
        named = [{"first": p.first, "markers": [recording.names[m] for m in p.markers]} for p in places]
        told = [a | {"mm": e.figures(), "lost": e.lost} for a, e in zip(named, errors, strict=True)]
        given.json.write_text(json.dumps({"places": told, "all": total.figures()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
