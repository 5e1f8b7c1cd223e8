"""Landmarks of a real person before several cameras: poses of some of them, held against the landmarks of the others.

    python -m benchmarks.reconstruct.landmarks_real VIDEO... --rig FILE --stature M [--landmarks full] [--json F]

The rig is refined by the body first. Then, for every choice of two and of three cameras, poses are followed live by a body of
usual proportions, and the landmarks of twelve joints are projected from them into the cameras not used; beside it plain
triangulation by the same cameras. px: distance from the landmark that is found there, left and right exchanged as a whole where
that is nearer.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.report import build_parser, write_json
from calibration.body.quality import compare_rigs, measure_pose_sigmas
from calibration.body.solve import BodyInput, BodyScale, solve_body
from calibration.camera import Rig
from calibration.formats.rig_file import read_rig
from calibration.subject.subject import Subject
from calibration.triangulate import triangulate_views
from calibration.world import compute_motion_between, move_rig, place_rig_in_world
from capture.packets import Views
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.arrays import Floats, Ints
from config.landmarks import MIRRORED
from config.markers import NO_MARKERS, MarkerSet, read_marker_set
from config.settings import Settings
from database.builtin import build_person_skeleton
from database.default import open_default_database
from database.geometry.kinematics import compute_forward_kinematics
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from reconstruct.pose import TrackingState
from reconstruct.track.landmarks import SOURCES
from tools.calibrate.body import collect_body_views, read_views

TRIANGULATED = ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
LEAST_SCORE = 0.5  # of a landmark that is held to be the truth of an unused camera
WARMING = 10  # frames after which a body is found


@dataclass(frozen=True, slots=True)
class Score:
    """Distances in the cameras not used [px]; see the module. tracked: share of the frames."""

    cameras: str
    pose_median: float
    pose_p95: float
    plain_median: float
    plain_p95: float
    tracked: float


def select_joint_rows(markers: MarkerSet) -> Ints:
    """Return which markers are landmarks of the twelve joints."""
    return np.array([m for m, name in enumerate(markers.names) if any(part in name for part in TRIANGULATED)])


def measure_distances(rig: Rig, used: Sequence[int], views: Views, point_m: Floats, landmark: Ints) -> list[Floats]:
    """Return how far points are from the landmarks of the cameras not used, by camera [px].

    Args:
        rig: all cameras.
        used: those that the points come from.
        views: of the moment.
        point_m: (12, 3) [m].
        landmark: of each point.
    """
    found = []
    for c, camera in enumerate(rig.cameras):
        blobs = views.blobs[c]
        if c in used or blobs is None or blobs.landmarks is None:
            continue
        due, seen = camera.project(point_m), blobs.landmarks
        far = [np.linalg.norm(due - seen.image_px[k], axis=1) for k in (landmark, np.array(MIRRORED)[landmark])]
        better = min(far, key=lambda each: float(np.median(each)))
        found.append(better[seen.score[landmark] >= LEAST_SCORE])
    return found


def score_cameras(rig: Rig, used: tuple[int, ...], moments: Sequence[Views], subject: Subject, database: PoseDatabase) -> Score:
    """Return how well some cameras tell what the others see.

    Args:
        rig: all cameras.
        used: numbers of those used.
        moments: what all of them see.
        subject: the person.
        database: of motions.
    """
    some = replace(rig, cameras=tuple(rig.cameras[c] for c in used))
    pipeline = Pipeline(some, subject, database, Settings())
    rows = select_joint_rows(subject.markers)
    landmark = subject.markers.landmark[rows]
    pose_px, plain_px, tracked = list[Floats](), list[Floats](), 0
    for n, views in enumerate(moments):
        part = Views(tuple(None if views.blobs[c] is None else replace(views[c], camera=k) for k, c in enumerate(used)))
        pose = pipeline.step(part)
        if n < WARMING:
            continue
        px = np.zeros((len(used), len(rows), 2))
        seen = np.zeros((len(used), len(rows)), bool)
        for k, blobs in enumerate(part.blobs):
            if blobs is not None and blobs.landmarks is not None:
                px[k], seen[k] = blobs.landmarks.image_px[landmark], True
        if np.count_nonzero(seen[:, 0]) >= 2:
            plain_px += measure_distances(rig, used, views, triangulate_views(some, px, seen)[0], landmark)
        if pose.state is TrackingState.TRACKING:
            tracked += 1
            G, p = compute_forward_kinematics(subject.skeleton, pose.rotvec, pose.root_m)
            joint = subject.joint[rows]
            point_m = p[joint] + np.einsum("mij,mj->mi", G[joint], subject.offset_m[rows])
            pose_px += measure_distances(rig, used, views, point_m, landmark)
    figures = [f(np.concatenate(each)) if each else np.nan for each in (pose_px, plain_px) for f in (np.median, _p95)]
    return Score(" ".join(str(c + 1) for c in used), *map(float, figures), tracked / max(len(moments) - WARMING, 1))


def _p95(values: Floats) -> float:
    """Return the 95th percentile."""
    return float(np.percentile(values, 95.0))


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("videos", nargs="+")
    parser.add_argument("--rig", type=Path, required=True)
    parser.add_argument("--stature", type=float, required=True)
    parser.add_argument("--landmarks", default="full")
    options = parser.parse_args()
    settings, markers = Settings(), read_marker_set(NO_MARKERS)
    rig = replace(place_rig_in_world(read_rig(options.rig), None), floor_known=True)
    recording = CaptureRecording(RecordingSpec(tuple(options.videos)), settings.detector, markers, landmarks=options.landmarks)
    moments = list(read_views(recording, settings, lambda done, total: None))
    views = collect_body_views(moments, len(rig), settings)
    given = BodyInput(views, rig.cameras, SOURCES, settings.solve.landmark_lasts_s)
    found = solve_body(given, BodyScale(options.stature), rig)
    turns, shifts = compare_rigs(rig, found.rig)
    sigma_deg, sigma_m = measure_pose_sigmas(found)
    for c in range(len(rig) - 1):
        print(
            f"{rig.cameras[c + 1].name}: turned {turns[c]:.2f} deg (+-{sigma_deg[c]:.2f}), moved {1e3 * shifts[c]:.0f} mm "
            f"(+-{1e3 * sigma_m[c]:.0f}) beside the first"
        )
    print(f"landmarks off {found.median_px:.1f} px, exchanged {100.0 * (found.exchanged > 0).mean():.0f} %")
    skeleton = build_person_skeleton(options.stature)
    subject = Subject("walker", skeleton, markers, markers.offset_m.copy(), np.zeros(len(markers)))
    database = open_default_database()
    back = compute_motion_between(found.rig.cameras[0], rig.cameras[0])
    refined = replace(move_rig(found.rig, back), floor_known=True)
    print("| rig | cameras | pose median | p95 | plain median | p95 | tracked % |\n|---|---|---|---|---|---|---|")
    scores = []
    for name, each in (("refined", refined), ("given", rig)):
        for n in (2, 3):
            for used in combinations(range(len(rig)), n):
                score = score_cameras(each, used, moments, subject, database)
                scores.append({"rig": name, **asdict(score)})
                plain = f"{score.plain_median:.0f} | {score.plain_p95:.0f}"
                pose = f"{score.pose_median:.0f} | {score.pose_p95:.0f}"
                print(f"| {name} | {score.cameras} | {pose} | {plain} | {100.0 * score.tracked:.0f} |", flush=True)
    write_json(options.json, scores)


if __name__ == "__main__":
    main()
