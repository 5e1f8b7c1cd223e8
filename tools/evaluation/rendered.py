"""Real motions rendered as two videos and reconstructed again: `python -m tools.evaluation.rendered --motion DIR`.

Every clip is drawn by the simulated cameras of `duocap simulate`, its markers are detected in the images, the subject is
calibrated from its T-pose, and every pair goes through the pipeline of live capture. Compared with the truth is what comes
after the T-pose and the change to the clip's first pose. Images do not go through a video codec.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from capture.detector import Detector
from capture.packets import PairedBlobs
from capture.simulated import SimulatedCamera
from capture.simulated_performer import Performer, performer_from_scene
from capture.simulated_scene import SimulatedScene
from config.errors import DuocapError
from config.loading import load_settings
from config.settings import Settings
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.rotations import Floats
from database.store import PoseDatabase, open_database
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, State
from tools.evaluation.protocol import MAIN, OTHERS, ProtocolClip, build_protocol_database, protocol_clip, query
from tools.evaluation.scores import LabelCheck, Motion, Score, check_labels, score
from tools.evaluation.tables import print_scores
from tools.subject_session import subject_from_pairs

TPOSE_S = 3.0
SHOWN = 0.5  # share of a marker's disc that must be seen for the marker to count as seen
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Options:
    """How the clips are rendered and reconstructed: marker preset, seconds of each clip (0: all), share of markers occluded,
    whether the pipeline is given the true skeleton and offsets, and the seed."""

    markers: str = "boxing"
    seconds: float = 20.0
    occlude: float = 0.0
    true_subject: bool = False
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Rendered:
    """A performance as the cameras saw it.

    pairs: N of them; seconds: (N,); shown: markers visible to both cameras, (N, M); begin: first pair of the clip itself.
    """

    performer: Performer
    pairs: list[PairedBlobs]
    seconds: Floats
    shown: Bools
    begin: int


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table.

    occlude: share of the markers hidden; distance_m: cameras to the middle of the motion; skeleton_mm: mean error of the fitted
    bone lengths; offset_mm: mean error of the fitted marker offsets; fps: pipeline only.
    """

    clip: str
    behaviour: str
    occlude: float
    distance_m: float
    skeleton_mm: float
    offset_mm: float
    fps: float
    score: Score


def render(clip: Clip, options: Options, settings: Settings) -> Rendered:
    """Draw a clip with a T-pose before it for two 640x480 cameras at 60 Hz and detect its markers. Raises DuocapError."""
    if options.seconds > 0:
        clip = clip_slice(clip, 0, min(clip.n_frames, round(options.seconds * clip.fps) + 1))
    scene = SimulatedScene(
        motion=clip.name, markers=options.markers, tpose_s=TPOSE_S, pixel_noise_px=0.3, occlude=options.occlude, seed=options.seed
    )
    performer = performer_from_scene(scene, clip)
    cameras = [SimulatedCamera(scene, index, performer) for index in (0, 1)]
    detectors = [Detector(settings.detector) for _ in cameras]
    n = min(len(camera.times_s) for camera in cameras)
    pairs, shown = [], np.empty((n, len(performer.markers)), bool)
    for k in range(n):
        drawn = [camera.frame_with_truth(k) for camera in cameras]
        left, right = (detector.step(frame) for detector, (frame, _, _) in zip(detectors, drawn, strict=True))
        pairs.append(PairedBlobs(left, right))
        shown[k] = (drawn[0][2] >= SHOWN) & (drawn[1][2] >= SHOWN)
    seconds = np.array([pair.t_capture_ns for pair in pairs]) * 1e-9
    begin_s = performer.duration_s - (clip.n_frames - 1) / clip.fps
    return Rendered(performer, pairs, seconds, shown, int(np.searchsorted(seconds, begin_s)))


def calibrated(rendered: Rendered, options: Options, database: PoseDatabase, settings: Settings) -> Subject:
    """Fit the subject to the rendered T-pose, or take the true one. Raises CalibrationError: no T-pose found."""
    performer = rendered.performer
    held = [pair for pair, t in zip(rendered.pairs, rendered.seconds, strict=True) if t < performer.tpose_s[1]]
    result = subject_from_pairs(performer.clip.name, held, performer.rig, performer.markers, database, settings).subject
    if not options.true_subject:
        return result
    skeleton = performer.clip.skeleton
    return Subject(result.name, skeleton, result.markers, performer.offset_m, result.residual_mm, result.up)


def replayed(
    rendered: Rendered, subject: Subject, database: PoseDatabase, settings: Settings
) -> tuple[list[Pose], list[LabelCheck], float]:
    """Put every pair through the pipeline; give poses, labels against the truth and pairs a second."""
    performer = rendered.performer
    pipeline = Pipeline(performer.rig, subject, database, settings)
    pipeline.warm()
    marker_m = performer.markers_of(*performer.joints_at(rendered.seconds))
    poses, labels, spent = [], [], 0.0
    for pair, true_m, shown in zip(rendered.pairs, marker_m, rendered.shown, strict=True):
        begun = time.perf_counter()
        poses.append(pipeline.step(pair))
        spent += time.perf_counter() - begun
        assert pipeline.markers is not None
        labels.append(check_labels(pipeline.markers, performer.rig, true_m, shown))
    return poses, labels, len(poses) / spent


def skeleton_error_mm(subject: Subject, performer: Performer) -> float:
    """Give the mean error of the bone lengths."""
    lengths = [np.linalg.norm(skeleton.offsets_m[1:], axis=1) for skeleton in (subject.skeleton, performer.clip.skeleton)]
    return 1e3 * float(np.abs(lengths[0] - lengths[1]).mean())


def offset_error_mm(subject: Subject, performer: Performer) -> float:
    """Give the mean error of the marker offsets in their joints' frames."""
    return 1e3 * float(np.linalg.norm(subject.offset_m - performer.offset_m, axis=1).mean())


def run(which: ProtocolClip, motion: Path, database: PoseDatabase, settings: Settings, options: Options) -> Result:
    """Render, calibrate, reconstruct and score one clip. Raises DuocapError."""
    rendered = render(query(which, motion), options, settings)
    performer = rendered.performer
    subject = calibrated(rendered, options, database, settings)
    poses, labels, fps = replayed(rendered, subject, database, settings)
    part = slice(rendered.begin, None)
    rotvec, root_m = np.array([pose.rotvec for pose in poses[part]]), np.array([pose.root_m for pose in poses[part]])
    true_rotvec, true_root_m = performer.poses_at(rendered.seconds[part])
    estimated = Motion(rotvec, forward(subject.skeleton, rotvec, root_m)[1])
    true = Motion(true_rotvec, forward(performer.clip.skeleton, true_rotvec, true_root_m)[1])
    tracked = np.array([pose.state is State.TRACKING for pose in poses[part]])
    result = score(estimated, true, tracked, labels[part], performer.markers.names)
    errors = skeleton_error_mm(subject, performer), offset_error_mm(subject, performer)
    return Result(which.stem, which.behaviour, options.occlude, performer.distance_m, *errors, fps, result)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.evaluation.rendered", description=__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="unpacked motions (cmu/subjects/NN/NN_TT.amc)")
    parser.add_argument("--database", type=Path, help="database without the protocol's clips; default: built now, in minutes")
    parser.add_argument("--clip", nargs="+", help="clips of the protocol; default: " + " ".join(clip.stem for clip in MAIN))
    parser.add_argument("--all", action="store_true", help="all clips of the protocol")
    parser.add_argument("--seconds", type=float, default=20.0, help="longest part of a clip, 0 for all (default 20)")
    parser.add_argument("--occlude", type=float, nargs="+", default=[0.0, 0.2], help="shares of markers hidden (default 0 0.2)")
    parser.add_argument("--markers", default="boxing", help="marker preset or markers.toml (default boxing: 9 markers)")
    parser.add_argument("--true-subject", action="store_true", help="give the pipeline the true skeleton and marker offsets")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting, as for duocap")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write all figures, by joint and marker too")
    return parser.parse_args(given)


def _results(options: argparse.Namespace, database: PoseDatabase) -> Iterator[Result]:
    """Run every clip with every share of occlusion."""
    clips = [protocol_clip(stem) for stem in options.clip] if options.clip else list(MAIN) + (list(OTHERS) if options.all else [])
    settings = load_settings(sets=options.set)
    for occlude in options.occlude:
        for clip in clips:
            how = Options(options.markers, options.seconds, occlude, options.true_subject, options.seed)
            print(f"{clip.stem}, {100 * occlude:.0f} % occluded ...", file=sys.stderr, flush=True)
            try:
                yield run(clip, options.motion, database, settings, how)
            except DuocapError as error:
                print(f"{clip.stem}: {error}", file=sys.stderr)


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 where a clip could not be measured."""
    options = _arguments(given)
    with tempfile.TemporaryDirectory() as folder:
        path = options.database
        if path is None:
            path = Path(folder) / "protocol.db"
            build_protocol_database(options.motion, path)
        database = open_database(path)
        results = list(_results(options, database))
        wanted = (len(options.clip) if options.clip else len(MAIN) + (len(OTHERS) if options.all else 0)) * len(options.occlude)
        del database
    print_scores(results)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1), encoding="utf-8")
    return 0 if len(results) == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
