"""Landmarks of a real person before several cameras: poses from some of them, held against the landmarks of the others.

    python -m benchmarks.reconstruct.landmarks_real VIDEO... --rig FILE [--motion DIR] [--landmarks full] [--json F]

Nobody knows where the joints of a real person are, but a camera that took no part shows where their landmarks are. Poses of every
two and every three cameras, live and offline, are projected into the others, at twelve joints; so is plain triangulation of the
same landmarks. The moments are halved: the rig is refined by the body of one half (`calibrate rig --body --refine`) and judged in
the other. The body has the lengths that the refinement of the first half found.

px: distance from the landmark that is found there, with a score of 0.5 or more; where that camera has left and right exchanged,
as a whole, from the other one. `all` has used all cameras, those that judge among them: what is left of landmarks that are off in
each view another way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.recorded_landmarks import select_joint_rows, triangulate_joints
from benchmarks.report import Column, TablePrinter, build_parser, open_set_database, run_main, write_json
from calibration.body.lengths import STICKS, list_body_lengths
from calibration.body.quality import compare_rigs
from calibration.body.solve import BodyInput, BodyScale, BodySolution, solve_body
from calibration.camera import Rig
from calibration.formats.rig_file import read_rig
from calibration.subject.subject import Subject
from calibration.world import compute_motion_between, move_rig, place_rig_in_world
from capture.packets import Views
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.arrays import Floats, Ints
from config.joints import N_JOINTS
from config.landmarks import MIRRORED, SOURCES
from config.markers import NO_MARKERS, read_marker_set
from config.settings import Settings
from database.builtin.bodies import HIP, build_person_skeleton
from database.default import open_default_database
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from reconstruct.pose import TrackingState
from tools.calibrate.body import collect_body_views, read_views
from tools.evaluate.tracking import solve_offline_take, track_views

LEAST_SCORE = 0.5  # of a landmark that is held to be the truth of an unused camera
FOUND_S = 0.25  # after which a body has been found
EVERY_S = 0.04  # between the moments that refine the rig


@dataclass(frozen=True, slots=True)
class Half:
    """Moments that are judged, from one number to another, and the rig that the others refined."""

    begin: int
    end: int
    rig: Rig


@dataclass(frozen=True, slots=True)
class Score:
    """Distances in the cameras that were not used [px]; tracking: share of the frames [%]."""

    cameras: str
    way: str
    median: float
    p95: float
    tracking: float = np.nan


def refine_rig(rig: Rig, moments: Sequence[Views], settings: Settings) -> BodySolution:
    """Return the rig as the body of some moments tells it, the scale kept."""
    baseline_m = float(np.linalg.norm(rig.cameras[0].center_m - rig.cameras[1].center_m))
    views = collect_body_views(moments, len(rig), settings, EVERY_S)
    return solve_body(BodyInput(views, rig.cameras, SOURCES, settings.solve.landmark_lasts_s), BodyScale(None, baseline_m), rig)


def build_walker(solution: BodySolution) -> Subject:
    """Return a person with the lengths of a body: limbs, trunk and widths; all else is an average adult's."""
    markers, ratio = read_marker_set(NO_MARKERS), solution.lengths.usual_m / list_body_lengths(1.0).usual_m
    found = {f"{a} {b}".replace("left_", ""): r for (a, b, _), r in zip(STICKS, ratio, strict=True)}
    leg = 0.5 * (found["hip knee"] + found["knee ankle"])
    arm = 0.5 * (found["shoulder elbow"] + found["elbow wrist"])
    stature_m = HIP * leg + (1.0 - HIP) * found["shoulder hip"]
    shares = [float(each / stature_m) for each in (leg, arm, found["shoulder right_shoulder"], found["hip right_hip"])]
    skeleton = build_person_skeleton(float(stature_m), shares[0], shares[1], shares[2], shares[3])
    return Subject("walker", skeleton, markers, markers.offset_m.copy(), np.zeros(len(markers)), np.full((2, N_JOINTS), 0.02))


def measure_distances(rig: Rig, unused: Sequence[int], views: Views, point_m: Floats, landmark: Ints) -> Iterator[Floats]:
    """Yield how far points are from the landmarks of each of some cameras [px].

    Args:
        rig: all cameras.
        unused: those that judge.
        views: of the moment.
        point_m: (N, 3) [m].
        landmark: of each point, (N,).
    """
    for c in unused:
        blobs = views.blobs[c]
        if blobs is None or blobs.landmarks is None:
            continue
        due_px, seen = rig.cameras[c].project(point_m), blobs.landmarks
        sides = [np.linalg.norm(due_px - seen.image_px[k], axis=1) for k in (landmark, np.array(MIRRORED)[landmark])]
        nearer = min(sides, key=lambda each: float(np.median(each)))
        yield nearer[seen.score[landmark] >= LEAST_SCORE]


@dataclass(frozen=True, slots=True)
class Judge:
    """What all cameras saw of a person, and how poses of some of them are made."""

    moments: Sequence[Views]
    halves: Sequence[Half]
    subject: Subject
    database: PoseDatabase
    settings: Settings

    def score_cameras(self, used: tuple[int, ...]) -> Iterator[Score]:
        """Yield the scores of some cameras: triangulation, live and offline."""
        n_cameras = len(self.halves[0].rig)
        unused = [c for c in range(n_cameras) if c not in used] or list(range(n_cameras))
        far, tracking = dict[str, list[Floats]](), list[bool]()
        for half in self.halves:
            for n, way, point_m, tracked in self._follow(half, used):
                if half.begin <= n < half.end and self._seconds(n) >= FOUND_S:
                    rows = select_joint_rows(self.subject.markers)
                    found = measure_distances(half.rig, unused, self.moments[n], point_m, self.subject.markers.landmark[rows])
                    far.setdefault(way, []).extend(found)
                    tracking += [tracked] if way == "live" else []
        for way, parts in far.items():
            px = np.concatenate(parts)
            share = 100.0 * float(np.mean(tracking)) if way == "live" else np.nan
            name = " ".join(str(c + 1) for c in used)
            yield Score(name, way, float(np.nanmedian(px)), float(np.nanpercentile(px, 95.0)), share)

    def _seconds(self, n: int) -> float:
        """Return the time of a moment since the first [s]."""
        return 1e-9 * (self.moments[n].t_capture_ns - self.moments[0].t_capture_ns)

    def _follow(self, half: Half, used: tuple[int, ...]) -> Iterator[tuple[int, str, Floats, bool]]:
        """Yield number, way, places of the twelve joints' landmarks [m] and whether they are tracked, in all moments."""
        rig = replace(half.rig, cameras=tuple(half.rig.cameras[c] for c in used))
        markers, pipeline = self.subject.markers, Pipeline(rig, self.subject, self.database, self.settings)
        rows, seen = select_joint_rows(markers), dict[int, Views]()
        for n, moment in enumerate(self.moments):
            blobs = (moment.blobs[c] for c in used)
            views = Views(tuple(None if each is None else replace(each, camera=k) for k, each in enumerate(blobs)))
            if views.present:
                seen[n] = views
        live = track_views(pipeline, seen.values()).take
        solved = solve_offline_take(pipeline, replace(live, views=list(seen.values())))
        for (n, views), pose, later in zip(seen.items(), live.poses, solved.poses, strict=True):
            point_m = triangulate_joints(views, rig, markers)
            if point_m is not None:
                yield n, "triangulated", point_m, True
                yield n, "live", pose.marker_m[rows], pose.state is TrackingState.TRACKING
                yield n, "offline", later.marker_m[rows], True


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("videos", nargs="+")
    parser.add_argument("--rig", type=Path, required=True)
    parser.add_argument("--motion", type=Path)
    parser.add_argument("--landmarks", default="full")
    options = parser.parse_args()
    settings, markers = Settings(), read_marker_set(NO_MARKERS)
    rig = replace(place_rig_in_world(read_rig(options.rig), None), floor_known=True)
    recording = CaptureRecording(RecordingSpec(tuple(options.videos)), settings.detector, markers, landmarks=options.landmarks)
    moments = list(read_views(recording, settings, lambda done, total: None))
    middle, halves, subject = len(moments) // 2, list[Half](), None
    for part, (begin, end) in ((moments[:middle], (middle, len(moments))), (moments[middle:], (0, middle))):
        found = refine_rig(rig, part, settings)
        subject = build_walker(found) if subject is None else subject
        back = compute_motion_between(found.rig.cameras[0], rig.cameras[0])
        halves.append(Half(begin, end, replace(move_rig(found.rig, back), floor_known=True)))
        turns, shifts = compare_rigs(rig, found.rig)
        moved = f"turned by {np.round(turns, 1)} degrees, moved by {np.round(1e3 * shifts)} mm"
        print(f"{moved}; landmarks off {found.median_px:.1f} px")
    assert subject is not None
    database = open_default_database() if options.motion is None else open_set_database(options.motion, ["07_08"])
    judge = Judge(moments, halves, subject, database, settings)
    table = TablePrinter((Column("cameras"), Column("way"), Column("median", 1), Column("p95", 1), Column("tracking", 0)))
    for n in (2, 3, len(rig)):
        for used in combinations(range(len(rig)), n):
            for score in judge.score_cameras(used):
                table.add(score)
    write_json(options.json, table.rows)


if __name__ == "__main__":
    run_main(main)
