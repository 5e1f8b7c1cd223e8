"""Labels and honesty at low rates: crossing feet, walks, turns, runs and dances of eleven markers, at 5 to 30 pictures a second.

    python -m benchmarks.reconstruct.crossing --motion DIR [--set tuning|test] [--fps 5 15] [--markers legs] [--clip 05_18]
        [--within 5]

Every clip, and a walk with crossing feet made here, follows a T-pose from which the subject is calibrated. Markers are blobs of
two cameras with noise; of two that are nearer than a blob's size in an image only the front one is seen. Blobs go through the
pipeline of live capture: matching, labels, poses. An episode is a run of pictures with a wrong label. With `--within` pictures
are judged while the performer's hips are not farther than so many metres from the middle of the cameras.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.report import Column, Row, build_motion_parser, format_table, group_rows, number_columns, run_main, write_json
from calibration.subject.subject import Subject
from calibration.subject.tpose import select_marker_subset
from capture.packets import Blobs, MarkerFrame, Views
from capture.sources.simulated.performer import Performer, make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.arrays import Bools, Floats
from config.settings import Settings
from database.builtin.bodies import build_person_skeleton
from database.builtin.gait import add_walk_steps, turn_in_place
from database.builtin.plan import MotionPlan, MovementStyle
from database.builtin.render import render_plan
from database.clips import Clip, find_runs
from database.store import PoseDatabase
from reconstruct.doubt import OF_SWAPS, Doubt
from reconstruct.pipeline import Pipeline
from reconstruct.pose import JointSource, find_measured_joints, find_swapped_markers
from tools.calibrate.session import fit_subject_to_pairs
from tools.cluster import WorkerPlan
from tools.evaluate.missing.labels import Label, check_label
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import open_once, protocol_database, read_query, set_clip
from tools.evaluate.rendered import begin_of
from tools.evaluate.states import STATES_LEGEND, JudgedPoses, judge_poses, states_table
from tools.evaluate.tracking import track_views

TPOSE_S, CALIBRATED_S = 2.0, 1.5
NOISE_PX, MERGED_PX = 0.5, 5.0
FAR_MM, NEAR_MM = 100.0, 50.0
LATE_S = 0.25  # by when labels are to be right again
CLIPS = {
    "tuning": (
        *("05_02", "05_12", "05_18", "07_08", "07_12", "16_15", "16_18", "38_01", "09_06", "09_09", "16_45", "35_17", "16_08"),
        *("HDM_bk_jogLeftCircle4StepsRstart_003_120", "HDM_bk_kickLFront1Reps_007_120"),
    ),
    "test": (
        *("49_09", "49_22", "55_02", "55_04", "02_01", "03_01", "10_04", "32_01"),
        *("127_03", "127_09", "127_14", "127_17", "127_21"),
        *("HDM_dg_jogLeftCircle4StepsRstart_008_120", "HDM_dg_kickLFront1Reps_013_120", "HDM_dg_sneak2StepsLStart_007_120"),
    ),
}
CROSSING = {  # height, width of the steps, speed, seed
    "tuning": {"crossing": (1.78, -1.0, 0.9, 3), "crossing slow": (1.64, -1.4, 0.65, 5)},
    "test": {"crossing": (1.71, -1.1, 0.85, 11), "crossing fast": (1.84, -0.9, 1.15, 12)},
}
WORN = {  # of a preset, without some
    "legs": ("dark_room", ("left_elbow", "right_elbow", "waist_front")),
    "body": ("all_around", ("left_elbow", "right_elbow", "chest")),
}


@dataclass(frozen=True, slots=True)
class CrossingRun:
    """One clip at one rate.

    wrong: pictures with a wrong label; episodes: how long each run of them lasted [s]; tracking: pictures in this state; far: of
    those, with a joint that carries a marker, or leads to one, more than FAR_MM off; far_wrong: of those, with a wrong label;
    far_said: of the pictures in this state, with a joint that is said to be measured so far off; near: joints that carry or lead
    to a marker and are less than NEAR_MM off in them; near_inferred: of those, that are said to be inferred; refused: pictures
    not in the state tracking whose pose is nowhere so far off; swaps: runs of pictures with a wrong label and a joint so far off;
    told: of those, in which or right after which an exchange is suspected; suspected: pictures in which one is; poses: beside
    the truth; switches: pictures in which another hypothesis became the likeliest.
    """

    clip: str
    markers: str
    fps: float
    pictures: int
    wrong: int
    episodes: tuple[float, ...]
    tracking: int
    far: int
    far_wrong: int
    far_said: int
    near: int
    near_inferred: int
    refused: int
    swaps: int
    told: int
    suspected: int
    poses: JudgedPoses
    switches: int
    ms: float


def build_crossing_walk(height_m: float, width: float, speed_m_s: float, seed: int) -> Clip:
    """Return a walk along a line with feet that cross it, a turn, and the way back."""
    plan = MotionPlan(build_person_skeleton(height_m), MovementStyle(), seed)  # stands as usual
    plan.style = MovementStyle(width=width)
    add_walk_steps(plan, 4, speed_m_s)
    turn_in_place(plan, 2.6)
    add_walk_steps(plan, 4, speed_m_s)
    return render_plan(plan, "crossing", 60.0)


def build_performer(name: str, which: str, worn: str, motion: Path, seconds: float) -> Performer:
    """Return the performer of a clip, after a T-pose."""
    made = CROSSING[which].get(name)
    clip = begin_of(read_query(set_clip(name), motion), seconds) if made is None else build_crossing_walk(*made)
    scene = SimulatedScene(motion=clip.name, markers=WORN[worn][0], tpose_s=TPOSE_S, seed=1)
    return make_scene_performer(scene, clip)


def project_markers(performer: Performer, at_s: Floats, kept: list[int]) -> tuple[Floats, Bools]:
    """Return noisy images of the markers that are kept, (2, N, M, 2) [px], and which of them are blobs, (2, N, M)."""
    rng = np.random.default_rng(7)
    marker_m = performer.markers_of(*performer.joints_at(at_s))[:, kept]
    image = np.array([[camera.project(points) for points in marker_m] for camera in performer.rig.cameras])
    depth = np.array([[camera.to_camera(points)[:, 2] for points in marker_m] for camera in performer.rig.cameras])
    near = np.linalg.norm(image[:, :, :, None] - image[:, :, None], axis=-1) < MERGED_PX
    behind = (near & (depth[:, :, :, None] > depth[:, :, None])).any(axis=3)
    return image + NOISE_PX * rng.normal(size=image.shape), np.asarray(~behind)


def build_paired_blobs(image_px: Floats, shown: Bools, k: int, t_s: float, rng: np.random.Generator) -> Views:
    """Return the blobs of picture k, in any order. image_px: (2, M, 2); shown: (2, M)."""
    views = []
    for c in (0, 1):
        points = np.ascontiguousarray(image_px[c, rng.permutation(np.flatnonzero(shown[c]))])
        n = len(points)
        views.append(Blobs(c, k, round(1e9 * t_s), points, np.full(n, 30.0), np.full((n, 3), 255.0), np.full(n, NOISE_PX)))
    return Views((views[0], views[1]))


@dataclass(frozen=True, slots=True)
class Pictures:
    """What the cameras see of a performance: times (N,) [s], images (2, N, M, 2) [px], which are blobs, (2, N, M)."""

    at_s: Floats
    image_px: Floats
    shown: Bools

    def pairs(self) -> list[Views]:
        """Return the pairs of blobs."""
        rng = np.random.default_rng(1)
        return [build_paired_blobs(self.image_px[:, k], self.shown[:, k], k, t_s, rng) for k, t_s in enumerate(self.at_s)]


def render_pictures(performer: Performer, fps: float, kept: list[int]) -> Pictures:
    """Return a performance as the cameras see it at a rate."""
    at_s = np.arange(0.0, performer.duration_s, 1.0 / fps)
    return Pictures(at_s, *project_markers(performer, at_s, kept))


def run_at_rate(
    fps: float, performer: Performer, kept: list[int], pipeline: Pipeline, name: str, worn: str, within_m: float
) -> CrossingRun | None:
    """Put a performance through the pipeline at a rate and judge what follows the T-pose; None where nothing is so near.

    Args:
        fps: pictures a second.
        performer, kept: the performer, and the markers worn.
        pipeline: for the performer.
        name, worn: of the clip and of the markers, for the table.
        within_m: distance from the cameras up to which pictures are judged [m].
    """
    pictures = render_pictures(performer, fps, kept)
    true_m, subject = performer.joints_at(pictures.at_s)[1], pipeline.subject
    is_near = np.linalg.norm(true_m[:, 0] - performer.rig.middle_m, axis=1) <= within_m
    rows = np.flatnonzero((pictures.at_s >= TPOSE_S) & is_near).tolist()
    tracked = track_views(pipeline, pictures.pairs())
    if not rows:
        return None
    poses, frames = [tracked.take.poses[k] for k in rows], [tracked.take.markers[k] for k in rows]
    judged = judge_poses(subject.skeleton, poses, true_m[rows], fps)
    off_mm, tracking = 1e3 * judged.error_m, judged.tracking
    measured = np.array([find_measured_joints(np.asarray(pose.seen.any(axis=0)), subject) for pose in poses])
    said = np.array([pose.joint_source for pose in poses]) == JointSource.MEASURED
    close = measured & (off_mm < NEAR_MM) & tracking[:, None]
    far = (measured & (off_mm > FAR_MM)).any(axis=1)
    wrong = np.array([has_wrong_label(frame, pictures, k) for k, frame in zip(rows, frames, strict=True)])
    suspected = [bool(p.doubts & OF_SWAPS or find_swapped_markers(p, frame)) for p, frame in zip(poses, frames, strict=True)]
    swaps = [slice(first, end + 1) for first, end in find_runs(wrong & far)]
    return CrossingRun(
        clip=name,
        markers=worn,
        fps=fps,
        pictures=len(poses),
        wrong=int(wrong.sum()),
        episodes=tuple((end - first) / fps for first, end in find_runs(wrong)),
        tracking=int(tracking.sum()),
        far=int((tracking & far).sum()),
        far_wrong=int((tracking & far & wrong).sum()),
        far_said=int((tracking & (said & (off_mm > FAR_MM)).any(axis=1)).sum()),
        near=int(close.sum()),
        near_inferred=int((close & ~said).sum()),
        refused=int((~tracking & ~far).sum()),
        swaps=len(swaps),
        told=sum(any(suspected[swap]) for swap in swaps),
        suspected=sum(suspected),
        poses=judged,
        switches=sum(Doubt.EXCHANGED in pose.doubts for pose in poses),
        ms=float(tracked.step_ms.mean()),
    )


def has_wrong_label(frame: MarkerFrame, pictures: Pictures, k: int) -> bool:
    """Return whether a marker that both cameras see in a picture is labelled as another.

    Args:
        frame: the labels.
        pictures: of the performance.
        k: number of the picture.
    """
    shown = np.flatnonzero(pictures.shown[:, k].all(axis=0))
    return any(check_label(frame, int(m), pictures.image_px[:, k]) is Label.WRONG for m in shown)


def calibrate_subject(performer: Performer, kept: list[int], database: PoseDatabase, settings: Settings) -> Subject:
    """Return the subject fitted to the T-pose."""
    pictures = render_pictures(performer, 20.0, kept)
    pairs = replace(pictures, shown=np.ones_like(pictures.shown)).pairs()
    standing = [pair for pair in pairs if pair.t_capture_ns < CALIBRATED_S * 1e9]
    worn = select_marker_subset(performer.markers, np.array(kept))
    return fit_subject_to_pairs("performer", standing, performer.rig, worn, database, settings).subject


def prepare_clip(
    name: str, which: str, worn: str, motion: Path, database: Path, seconds: float
) -> tuple[Performer, list[int], Pipeline]:
    """Return the performer of a clip, the markers worn, and a warm pipeline."""
    performer = build_performer(name, which, worn, motion, seconds)
    kept = [m for m, marker in enumerate(performer.markers.names) if marker not in WORN[worn][1]]
    settings, poses = Settings(), open_once(database)
    pipeline = Pipeline(performer.rig, calibrate_subject(performer, kept, poses, settings), poses, settings)
    pipeline.warm()
    return performer, kept, pipeline


def run_clip(
    name: str, which: str, worn: str, rates: Sequence[float], motion: Path, database: Path, seconds: float, within_m: float
) -> list[CrossingRun]:
    """Run a clip at all rates."""
    performer, kept, pipeline = prepare_clip(name, which, worn, motion, database, seconds)
    runs = (run_at_rate(fps, performer, kept, pipeline, name, worn, within_m) for fps in rates)
    return [run for run in runs if run is not None]


COLUMNS = (
    Column("title"),
    *number_columns(0, "pictures"),
    Column("wrong %", 2),
    *number_columns(0, "episodes", "> 0.25 s"),
    *number_columns(2, "longest s", "tracking %", "far %", "far, wrong %", "far, said %"),
    Column("near, inferred %", 1),
    Column("refused %", 2),
    Column("mm", 1),
    *number_columns(0, "swaps", "told", "suspected"),
    Column("ms", 2),
)


def summarise_runs(title: str, runs: Sequence[CrossingRun]) -> Row:
    """Return the row of some runs together."""

    def total(name: str) -> int:
        return sum(getattr(run, name) for run in runs)

    n, tracking = total("pictures"), max(total("tracking"), 1)
    lasting = [seconds for run in runs for seconds in run.episodes]
    return {
        "title": title,
        "pictures": n,
        "wrong %": 100 * total("wrong") / n,
        "episodes": len(lasting),
        "> 0.25 s": sum(seconds > LATE_S + 1e-6 for seconds in lasting),
        "longest s": max(lasting, default=0.0),
        "tracking %": 100 * tracking / n,
        "far %": 100 * total("far") / tracking,
        "far, wrong %": 100 * total("far_wrong") / tracking,
        "far, said %": 100 * total("far_said") / tracking,
        "near, inferred %": 100 * total("near_inferred") / max(total("near"), 1),
        "refused %": 100 * total("refused") / n,
        "mm": float(np.concatenate([run.poses.mean_mm for run in runs]).mean()),
        **{name: total(name) for name in ("swaps", "told", "suspected")},
        "ms": float(np.mean([run.ms for run in runs])),
    }


def format_tables(runs: Sequence[CrossingRun], by_clip: bool) -> list[str]:
    """Return the lines of a table: by marker set and rate, and by clip if asked for."""
    rows, states = list[Row](), list[tuple[str, list[JudgedPoses]]]()
    for same in group_rows(runs, "markers", "fps"):
        title = f"{same[0].markers}, {same[0].fps:g} a second"
        rows += [summarise_runs(f"{title}: {run.clip}", [run]) for run in same if by_clip or "crossing" in run.clip]
        rows.append(summarise_runs(title, same))
        states.append((title, [run.poses for run in same]))
    return [*format_table(COLUMNS, [*rows, summarise_runs("all", runs)]), "", *states_table(states), STATES_LEGEND]


def main() -> None:
    """Print the table."""
    parser = build_motion_parser(__doc__, seconds=8.0)
    parser.add_argument("--set", choices=tuple(CLIPS), default="tuning", dest="which")
    parser.add_argument("--fps", type=float, nargs="+", default=[5.0, 10.0, 15.0, 30.0])
    parser.add_argument("--markers", nargs="+", choices=tuple(WORN), default=list(WORN))
    parser.add_argument("--clip", nargs="+", default=[])
    parser.add_argument("--within", type=float, default=np.inf, help="distance from the cameras [m]")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--by-clip", action="store_true")
    given = parser.parse_args()
    names = given.clip or [*CROSSING[given.which], *CLIPS[given.which]]
    database = protocol_database(given.motion, None, [set_clip(name) for name in CLIPS[given.which]])
    where = (given.fps, given.motion, database, given.seconds, given.within)
    tasks = [partial(run_clip, name, given.which, worn, *where) for worn in given.markers for name in names]
    runs = [run for found in run_tasks(tasks, WorkerPlan(given.processes)) for run in found]
    print("\n".join(format_tables(runs, given.by_clip)))
    print(
        "far: of the pictures in state tracking, a joint that carries or leads to a marker is more than 100 mm off; of\n"
        "these with a wrong label; said: one that is said to be measured; near: of joints under 50 mm off, said to be inferred"
    )
    write_json(given.json, [asdict(run) | {"poses": run.poses.as_json()} for run in runs])


if __name__ == "__main__":
    run_main(main)
