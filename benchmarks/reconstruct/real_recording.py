"""What the detectors find in a real recording of two webcams: markers found, paired, missing and false, by view and by cause.

    python -m benchmarks.reconstruct.real_recording --recording DIR [--live] [--json F]

DIR has left.avi, right.avi, timestamps.csv, rig.toml and markers.toml. --live: with the background of live runs, which does not
know the room at first, instead of that of replay. `duocap replay --overlay` shows the blobs and labels of each frame.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.report import build_parser, run_main, write_json
from calibration.camera import Camera, Rig
from calibration.formats.rig_toml import read_rig_toml
from calibration.subject.subject import Subject
from calibration.world import place_rig_in_world
from capture.detection.detector import Detector
from capture.packets import Blobs, Frame, MarkerFrame, Views
from capture.process.detector import open_detector
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.markers import read_marker_set
from config.settings import CAMERA_NAMES, Settings
from database.default import open_default_database
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState, find_swapped_markers
from tools.calibrate.session import fit_subject_to_pairs
from tools.evaluate.figures import convert_to_plain
from tools.evaluate.tracking import track_views

T_POSE_S = (0.5, 8.0)
SAME_PX = 0.01  # a labelled image point is that of its blob
NEAR_PX, MERGED_PX = 10.0, 12.0  # distances from a marker's expected image: of its light, of a blob that may contain it
LIT = 25  # grey level of a marker that is too dim for the detector


@dataclass(frozen=True, slots=True)
class SeenPair:
    """One pair: images, blobs, labels, pose, and the pixel thresholds of both detectors."""

    frames: tuple[Frame, Frame]
    pair: Views
    markers: MarkerFrame
    pose: Pose
    thresholds: tuple[float, float]


@dataclass
class Tally:
    """Counts over the recording."""

    pairs: int = 0
    complete: int = 0
    swaps: int = 0
    tracked: int = 0
    blobs: dict[str, list[int]] = field(default_factory=lambda: {view: [] for view in CAMERA_NAMES[:2]})
    false: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    missing_by: Counter[str] = field(default_factory=Counter)
    unpaired: Counter[str] = field(default_factory=Counter)
    incomplete: list[int] = field(default_factory=list)
    thresholds: list[tuple[float, float]] = field(default_factory=list)

    def add(self, seen: SeenPair, names: tuple[str, ...], cameras: tuple[Camera, ...]) -> None:
        """Count one pair."""
        self.pairs += 1
        self.tracked += seen.pose.state is TrackingState.TRACKING
        self.swaps += bool(find_swapped_markers(seen.pose, seen.markers)) if seen.pose.state is TrackingState.TRACKING else 0
        self.thresholds.append(seen.thresholds)
        whole = bool(seen.markers.valid.all())
        self.complete += whole
        if not whole:
            self.incomplete.append(seen.pair[0].index)
        for view, (name, blobs) in enumerate(zip(CAMERA_NAMES[:2], (seen.pair[0], seen.pair[1]), strict=True)):
            self.blobs[name].append(len(blobs))
            self.false[name] += int((~find_labelled_blobs(blobs, seen.markers, view)).sum())
            for m in np.flatnonzero(~seen.markers.seen[view]):
                why = find_loss_cause(seen, view, int(m), cameras[view])
                self.missing[f"{names[m]} {name}: {why}"] += 1
                self.missing_by[why] += 1
        for m in np.flatnonzero(seen.markers.seen.all(axis=0) & ~seen.markers.valid):
            self.unpaired[names[m]] += 1

    def figures(self, n_markers: int) -> dict[str, object]:
        """Return the counts as a report."""
        thresholds = np.array(self.thresholds)
        steps = np.abs(np.diff(np.log(np.maximum(thresholds, 1.0)), axis=0))
        return {
            "pairs": self.pairs,
            "tracked": self.tracked,
            "complete": self.complete,
            "complete_percent": round(100.0 * self.complete / self.pairs, 2),
            "swaps_suspected": self.swaps,
            "incomplete_pairs": self.incomplete,
            "views_with_all_blobs": {view: int((np.array(n) >= n_markers).sum()) for view, n in self.blobs.items()},
            "blobs": {view: dict(sorted(Counter(n).items())) for view, n in self.blobs.items()},
            "false_per_frame": {view: round(self.false[view] / self.pairs, 4) for view in self.blobs},
            "missing": dict(self.missing.most_common()),
            "missing_by_cause": dict(self.missing_by),
            "seen_by_both_but_unpaired": dict(self.unpaired),
            "threshold": {
                view: {
                    "first": level[0],
                    "median": float(np.median(level)),
                    "lowest": level.min(),
                    "highest": level.max(),
                    "largest_step_percent": 100.0 * float(np.expm1(step.max())),
                    "mean_step_percent": 100.0 * step.mean(),
                }
                for view, level, step in zip(CAMERA_NAMES[:2], thresholds.T, steps.T, strict=True)
            },
        }


def find_labelled_blobs(blobs: Blobs, markers: MarkerFrame, view: int) -> np.ndarray:
    """Return which blobs of a view are labelled, (N,)."""
    points = markers.image_px[view, markers.seen[view]]
    if not len(points):
        return np.zeros(len(blobs), bool)
    return np.asarray(np.linalg.norm(blobs.points_px[:, None] - points[None], axis=2).min(axis=1) < SAME_PX)


def find_loss_cause(seen: SeenPair, view: int, marker: int, camera: Camera) -> str:
    """Return why a marker has no label in a view: out of view, merged with another, too dim, found but unlabelled, or hidden."""
    expected = camera.project(seen.pose.marker_m[marker : marker + 1])[0]
    image, blobs = seen.frames[view].image, (seen.pair[0], seen.pair[1])[view]
    height, width = image.shape[:2]
    if not (0 <= expected[0] < width and 0 <= expected[1] < height):
        return "out of view"
    if len(blobs):
        distance = np.linalg.norm(blobs.points_px - expected, axis=1)
        free = ~find_labelled_blobs(blobs, seen.markers, view)
        if (distance[free] < NEAR_PX).any():
            return "found, not labelled"
        near = int(np.argmin(distance))
        radius = np.sqrt(blobs.area_px[near] / np.pi)
        if distance[near] < max(MERGED_PX, 1.5 * radius) and blobs.area_px[near] > 1.35 * np.median(blobs.area_px):
            return "merged"
    x, y, r = round(float(expected[0])), round(float(expected[1])), round(NEAR_PX)
    patch = image[max(y - r, 0) : y + r + 1, max(x - r, 0) : x + r + 1].max(axis=2).copy()
    ys, xs = np.mgrid[max(y - r, 0) : max(y - r, 0) + patch.shape[0], max(x - r, 0) : max(x - r, 0) + patch.shape[1]]
    for point, area in zip(blobs.points_px, blobs.area_px, strict=True):  # light of the others
        patch[(xs - point[0]) ** 2 + (ys - point[1]) ** 2 < (1.6 * np.sqrt(area / np.pi) + 2.0) ** 2] = 0
    return "too dim" if patch.max(initial=0) > LIT else "hidden"


def detect_pairs(
    recording: CaptureRecording, settings: Settings, live: bool
) -> list[tuple[tuple[Frame, Frame], Views, tuple[float, float]]]:
    """Detect in the whole recording, as replay or as a live run does."""
    recording.learn_background()
    assert recording.backgrounds is not None
    if live:
        detectors = [open_detector(settings.detector, source) for source in recording._open()]
    else:
        detectors = [Detector(settings.detector, background) for background in recording.backgrounds]
    found = []
    for left, right in recording.frames():
        if left is None or right is None:
            break
        blobs = [detector.step(frame) for detector, frame in zip(detectors, (left, right), strict=True)]
        levels = [0.0 if d.threshold is None else d.threshold.pixel for d in detectors]
        found.append(((left, right), Views((blobs[0], blobs[1])), (levels[0], levels[1])))
    return found


@dataclass(frozen=True, slots=True)
class DetectedRecording:
    """A recording: pairs found in it, as `detect_pairs` gives them, and all that a pipeline for it needs."""

    settings: Settings
    rig: Rig
    names: tuple[str, ...]
    found: list[tuple[tuple[Frame, Frame], Views, tuple[float, float]]]
    subject: Subject
    database: PoseDatabase


def load_recording(folder: Path, live: bool) -> DetectedRecording:
    """Detect in a recording and fit the performer to its T-pose."""
    settings, rig, worn = Settings(), read_rig_toml(folder / "rig.toml"), read_marker_set(folder / "markers.toml")
    spec = RecordingSpec((str(folder / "left.avi"), str(folder / "right.avi")), folder / "timestamps.csv")
    found = detect_pairs(CaptureRecording(spec, settings.detector, worn), settings, live)
    times_s = np.array([1e-9 * pair.t_capture_ns for _, pair, _ in found])
    standing = [found[k][1] for k in np.flatnonzero((times_s >= T_POSE_S[0]) & (times_s <= T_POSE_S[1]))]
    database = open_default_database()
    subject = fit_subject_to_pairs("performer", standing, rig, worn, database, settings).subject
    return DetectedRecording(settings, place_rig_in_world(rig, subject.world), worn.names, found, subject, database)


def track_recording(recording: DetectedRecording) -> list[SeenPair]:
    """Put every pair through a pipeline."""
    pipeline = Pipeline(recording.rig, recording.subject, recording.database, recording.settings)
    take = track_views(pipeline, [pair for _, pair, _ in recording.found]).take
    found = zip(recording.found, take.markers, take.poses, strict=True)
    return [SeenPair(frames, pair, markers, pose, levels) for (frames, pair, levels), markers, pose in found]


def main() -> None:
    """Print the figures as JSON."""
    parser = build_parser(__doc__)
    parser.add_argument("--recording", type=Path, required=True)
    parser.add_argument("--live", action="store_true")
    given = parser.parse_args()
    recording = load_recording(given.recording, given.live)
    tally = Tally()
    for one in track_recording(recording):
        tally.add(one, recording.names, recording.rig.cameras)
    figures = tally.figures(len(recording.names))
    print(json.dumps(convert_to_plain(figures), indent=2))
    write_json(given.json, figures)


if __name__ == "__main__":
    run_main(main)
