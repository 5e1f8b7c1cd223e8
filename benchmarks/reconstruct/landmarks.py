"""Landmarks of rendered people: where they are on the body, how far off they are found, and poses that are made of them alone.

    python -m benchmarks.reconstruct.landmarks FILE.npz... --motion DIR [--cameras 0 1] [--rate 30] [--fit F.toml] [--json F]

Each file holds what a detector found in rendered pictures of a clip after a T-pose, with the truth (`Recording`); its rig lies
beside it as `FILE.rig.toml`. With --fit, a marker file of the landmarks (`config/presets/none.toml`) is written that fits them,
and the rates of `label.exchange_rate`, `label.exchange_lasts_s` and `solve.landmark_lasts_s` are printed. Otherwise each clip is
followed live, its subject calibrated from its T-pose; `told` is the same with every exchange of left and right undone, which
says what they cost. mm: distance of all joints; deg: mean turn between joint rotations; lost: share of frames not in the state
tracking; jitter: root mean square step of a joint in a frame while the body stands in its T-pose; ms: processor time of a step.
The database holds nothing of the clips' people.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.report import build_parser, write_json
from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml
from calibration.subject.subject import Subject
from calibration.triangulate import triangulate_views
from capture.packets import Landmarks, Views, make_empty_blobs
from config.arrays import Bools, Floats, Ints
from config.joints import JOINTS
from config.landmarks import LANDMARKS, MIRRORED
from config.markers import NO_MARKERS, MarkerSet, read_marker_set
from config.settings import Settings
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.store import PoseDatabase, open_database
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState
from reconstruct.track.landmarks import SOURCES
from tools.calibrate.session import fit_subject_to_pairs
from tools.evaluate.protocol import protocol_database, set_clip

SETTLED_S = 0.3  # after which a T-pose is held
ROBUST_M, ROUNDS = 0.04, 10  # of the fit of offsets
USUAL_M = 0.03  # of a landmark, to tell whether it is exchanged
EXCHANGED = 3.0  # -ln of the probability of an exchange, likewise
SHORTEST = 3  # frames that an exchange lasts at least, or it is noise
SEEN = 0.4  # score of a landmark that its place on the bone is fitted to
TRIANGULATED = ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")


@dataclass(frozen=True, slots=True)
class Recording:
    """Landmarks of a clip, (F, V, 33, 2) [px], with scores, (F, V, 33), and the truth.

    joint_m: (F, J, 3) [m]; rotation: of the joints in the world, (F, J, 3, 3); rotvec: (F, J, 3) [rad]; begin_s: end of the
    T-pose [s].
    """

    stem: str
    rig: Rig
    seconds: Floats
    image_px: Floats
    score: Floats
    found: Bools
    joint_m: Floats
    rotation: Floats
    rotvec: Floats
    begin_s: float

    def thinned(self, rate: float) -> "Recording":
        """Return the recording at a lower rate, every n-th frame."""
        every = max(1, round(1.0 / (rate * float(np.median(np.diff(self.seconds)))))) if rate else 1
        names = ("seconds", "image_px", "score", "found", "joint_m", "rotation", "rotvec")
        return replace(self, **{name: getattr(self, name)[::every] for name in names})

    def views(self, cameras: Sequence[int], states: Ints | None = None) -> list[Views]:
        """Return what cameras see; states: exchanges that are undone, (F, V)."""
        found = []
        for n, t_s in enumerate(self.seconds):
            blobs = []
            for k, c in enumerate(cameras):
                source = SOURCES[0 if states is None else states[n, c]]
                each = Landmarks(self.image_px[n, c, source], self.score[n, c, source], 1.0) if self.found[n, c] else None
                blobs.append(replace(make_empty_blobs(k, n, round(1e9 * t_s)), landmarks=each))
            found.append(Views(tuple(blobs)))
        return found


def read_recording(path: Path) -> Recording:
    """Read a recording."""
    with np.load(path) as file:
        parts = (file[name] for name in ("times_s", "landmarks_px", "score", "found", "joint_m", "joint_rotation", "rotvec"))
        rig = read_rig_toml(path.with_suffix(".rig.toml"))
        return Recording(str(file["stem"]), rig, *parts, float(file["tpose_s"][1]))


def measure_errors(recording: Recording, camera: int, joint: int, offset_m: Floats, landmark: int) -> Floats:
    """Return how far a landmark of the picture is from a place on the body, across the line of sight, (F, 2) [m]."""
    at_m = recording.joint_m[:, joint] + recording.rotation[:, joint] @ offset_m
    own = recording.rig.cameras[camera]
    apart = recording.image_px[:, camera, landmark] - own.project(at_m)
    return np.asarray(apart * (own.to_camera(at_m)[:, 2] / own.focal_px)[:, None])


def fit_offset(recordings: Sequence[Recording], joint: int, landmark: int, begin_m: Floats, min_score: float) -> Floats:
    """Return the place of a landmark on its bone that fits all pictures, (3,) [m], robustly."""
    offset = begin_m.copy()
    for _ in range(ROUNDS):
        A, b = 1e-3 * np.eye(3), np.zeros(3)
        for each in recordings:
            for c, camera in enumerate(each.rig.cameras):
                e = measure_errors(each, c, joint, offset, landmark)
                use = np.isfinite(e).all(axis=1) & (each.score[:, c, landmark] >= min_score)
                J, e = (camera.rotation[:2] @ each.rotation[:, joint])[use], e[use]
                w = 1.0 / np.sqrt(1.0 + (e**2).sum(axis=1) / ROBUST_M**2)
                A += np.einsum("f,fia,fib->ab", w, J, J)
                b += np.einsum("f,fia,fi->a", w, J, e)
        offset += np.linalg.solve(A, b)
    return offset


def find_exchanges(recording: Recording, markers: MarkerSet) -> Ints:
    """Return what each view has exchanged in each frame, by the truth, (F, V)."""
    rows, result = markers.landmark, np.zeros(recording.found.shape, np.int64)
    for c in range(len(recording.rig)):
        cost = np.zeros((len(SOURCES), len(result)))
        for m, joint in enumerate(markers.joint):
            for state in range(len(SOURCES)):
                e = measure_errors(recording, c, int(joint), markers.offset_m[m], int(SOURCES[state, rows[m]]))
                far2 = np.nan_to_num((e**2).sum(axis=1)) / USUAL_M**2
                cost[state] += 9.0 * (np.sqrt(1.0 + far2 / 9.0) - 1.0)
        cost[1:] += EXCHANGED
        result[:, c] = cost.argmin(axis=0)
    return result


def fit_landmarks(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield the lines of a marker file that fits the recordings, and of their rates as comments."""
    markers = read_marker_set(NO_MARKERS)
    fitted = [fit_offset(recordings, int(j), int(k), o, SEEN) for j, k, o in _iterate_landmarks(markers)]
    numbers = {int(landmark): m for m, landmark in enumerate(markers.landmark)}
    offset_m, sigma_m = np.empty_like(markers.offset_m), np.empty(len(markers))
    for m, landmark in enumerate(markers.landmark):
        other = numbers[MIRRORED[landmark]]
        offset_m[m] = 0.5 * (fitted[m] + fitted[other] * [-1.0, 1.0, 1.0])
    markers = replace(markers, offset_m=offset_m)
    for m in range(len(markers)):
        both = [m, numbers[MIRRORED[markers.landmark[m]]]]
        errors = np.concatenate([_collect_errors(recordings, markers, k, SEEN) for k in both])
        sigma_m[m] = 1.4826 * np.median(np.abs(errors))
    yield "# No markers: landmarks of the body that are found in each picture (BlazePose). Offsets, x to the performer's left,"
    yield "# y up, z forward, metres, T-pose; deviations are of rendered people (`python -m benchmarks.reconstruct.landmarks`)."
    for m, name in enumerate(markers.names):
        yield f'\n[{name}]\nlandmark = "{LANDMARKS[markers.landmark[m]]}"\nlandmark_sigma_m = {sigma_m[m]:.3f}'
        yield f'joint = "{JOINTS[markers.joint[m]]}"' + ("\ntorso = true" if markers.torso[m] else "")
        yield f"offset_m = [{', '.join(f'{x + 0.0:.3f}' for x in np.round(offset_m[m], 3) + 0.0)}]"
    yield from describe_rates(recordings, markers, SEEN)


def _iterate_landmarks(markers: MarkerSet) -> Iterator[tuple[int, int, Floats]]:
    """Yield joint, landmark and offset [m] of each landmark."""
    yield from zip(markers.joint, markers.landmark, markers.offset_m, strict=True)


def _collect_errors(recordings: Sequence[Recording], markers: MarkerSet, m: int, min_score: float) -> Floats:
    """Return all errors of a landmark that was well seen, (N, 2) [m]."""
    found, landmark = [], int(markers.landmark[m])
    for each in recordings:
        for c in range(len(each.rig)):
            e = measure_errors(each, c, int(markers.joint[m]), markers.offset_m[m], landmark)
            found.append(e[np.isfinite(e).all(axis=1) & (each.score[:, c, landmark] >= min_score)])
    return np.concatenate(found)


def describe_rates(recordings: Sequence[Recording], markers: MarkerSet, min_score: float) -> Iterator[str]:
    """Yield how often exchanges begin, how long they last, and how long errors last."""
    begun, exchanged_s, seen_s, lasting = 0, 0.0, 0.0, []
    for each in recordings:
        frame_s = float(np.median(np.diff(each.seconds)))
        states = find_exchanges(each, markers)
        for c in range(len(each.rig)):
            runs = np.flatnonzero(np.diff(states[:, c], prepend=-1, append=-1))
            lengths, of = np.diff(runs), states[runs[:-1], c]
            long = (of > 0) & (lengths >= SHORTEST)
            begun, exchanged_s = begun + int(long.sum()), exchanged_s + frame_s * float(lengths[long].sum())
            seen_s += frame_s * len(states)
            for m, landmark in enumerate(markers.landmark):
                e = np.clip(measure_errors(each, c, int(markers.joint[m]), markers.offset_m[m], int(landmark)), -0.1, 0.1)
                e = np.nan_to_num(e - np.nanmean(e, axis=0))
                lasting.append(_find_time_constant(e, frame_s))
    yield f"\n# label.exchange_rate = {begun / max(seen_s - exchanged_s, 1e-9):.2f}"
    yield f"# label.exchange_lasts_s = {exchanged_s / max(begun, 1):.2f}"
    yield f"# solve.landmark_lasts_s = {np.median(lasting):.2f}"


def _find_time_constant(errors: Floats, frame_s: float) -> float:
    """Return the time after which the correlation of errors, (F, 2), is less than 1 / e [s]."""
    power = float((errors**2).sum())
    for lag in range(1, len(errors)):
        if float((errors[lag:] * errors[:-lag]).sum()) < power / np.e:
            return lag * frame_s
    return len(errors) * frame_s


@dataclass(frozen=True, slots=True)
class Score:
    """How a clip was followed: errors of all joints [mm], of rotations [deg], see the module; told: exchanges undone."""

    clip: str
    cameras: int
    way: str
    mm: float
    p95_mm: float
    deg: float
    lost: float
    jitter_mm: float
    ms: float


def score_clip(recording: Recording, cameras: Sequence[int], database: PoseDatabase, settings: Settings) -> Iterator[Score]:
    """Yield the scores of a clip: plain triangulation of twelve joints, landmarks alone, and with all exchanges told."""
    markers = read_marker_set(NO_MARKERS)
    rig = replace(recording.rig, cameras=tuple(recording.rig.cameras[c] for c in cameras))
    first = int(np.searchsorted(recording.seconds, recording.begin_s))
    held = (recording.seconds > SETTLED_S) & (recording.seconds < recording.begin_s - SETTLED_S)
    for way, states in (("live", None), ("told", find_exchanges(recording, markers))):
        views = recording.views(cameras, states)
        if way == "live":
            mm = 1e3 * _triangulate(views[first:], rig, markers, recording.joint_m[first:])
            yield Score(recording.stem, len(cameras), "triangulated", *_summarise(mm), np.nan, np.nan, np.nan, np.nan)
        pairs = [each for each, use in zip(views, held, strict=True) if use]
        subject = fit_subject_to_pairs("rendered", pairs, rig, markers, database, settings).subject
        poses, ms = _follow(views, rig, subject, database, settings)
        rotvec, root_m = np.array([pose.rotvec for pose in poses]), np.array([pose.root_m for pose in poses])
        joint_m = compute_forward_kinematics(subject.skeleton, rotvec, root_m)[1]
        mm = 1e3 * np.linalg.norm(joint_m - recording.joint_m, axis=2)
        deg = _measure_turn_deg(rotvec[first:], recording.rotvec[first:])
        lost = float(np.mean([pose.state is not TrackingState.TRACKING for pose in poses[first:]]))
        jitter_mm = 1e3 * float(np.sqrt((np.diff(joint_m[held], axis=0) ** 2).sum(axis=2).mean()))
        yield Score(recording.stem, len(cameras), way, *_summarise(mm[first:]), deg, lost, jitter_mm, ms)


def _summarise(mm: Floats) -> tuple[float, float]:
    """Return mean and 95th percentile."""
    return float(mm.mean()), float(np.percentile(mm, 95.0))


def _follow(
    views: Sequence[Views], rig: Rig, subject: Subject, database: PoseDatabase, settings: Settings
) -> tuple[list[Pose], float]:
    """Return the poses of a run, and the median processor time of a step [ms]."""
    pipeline = Pipeline(rig, subject, database, settings)
    pipeline.warm()
    poses, spent_s = [], []
    for each in views:
        begin_s = process_time()
        poses.append(pipeline.step(each))
        spent_s.append(process_time() - begin_s)
    return poses, 1e3 * float(np.median(spent_s))


def _measure_turn_deg(first: Floats, second: Floats) -> float:
    """Return the mean angle between rotations of joints, given as rotation vectors, (F, J, 3) [rad]."""
    A, B = (matrix_from_rotvec(each.reshape(-1, 3)) for each in (first, second))
    cosine = 0.5 * (np.einsum("nij,nij->n", A, B) - 1.0)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))).mean())


def _triangulate(views: Sequence[Views], rig: Rig, markers: MarkerSet, joint_m: Floats) -> Floats:
    """Return how far triangulated landmarks are from their twelve joints, in frames that two cameras see, (N, 12) [m]."""
    rows = [m for m, name in enumerate(markers.names) if any(part in name for part in TRIANGULATED)]
    found = []
    for each, truth_m in zip(views, joint_m, strict=True):
        px, seen = np.zeros((len(rig), len(rows), 2)), np.zeros((len(rig), len(rows)), bool)
        for c, blobs in enumerate(each.blobs):
            if blobs is not None and blobs.landmarks is not None:
                px[c], seen[c] = blobs.landmarks.image_px[markers.landmark[rows]], True
        if np.count_nonzero(seen[:, 0]) >= 2:
            found.append(np.linalg.norm(triangulate_views(rig, px, seen)[0] - truth_m[markers.joint[rows]], axis=1))
    return np.array(found)


def format_score(s: Score) -> str:
    """Return a line of the Markdown table."""
    errors = f"{s.mm:.0f} | {s.p95_mm:.0f} | {s.deg:.1f} | {100 * s.lost:.1f} | {s.jitter_mm:.1f}"
    return f"| {s.clip} | {s.cameras} | {s.way} | {errors} | {s.ms:.1f} |"


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--motion", type=Path)
    parser.add_argument("--cameras", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--fit", type=Path, metavar="F.toml")
    options = parser.parse_args()
    recordings = [read_recording(path).thinned(options.rate) for path in options.files]
    if options.fit is not None:
        options.fit.write_text("\n".join(fit_landmarks(recordings)) + "\n", "utf-8")
        return
    database = open_database(protocol_database(options.motion, None, [set_clip("07_08")]))
    print("| clip | cameras | way | mm | p95 | deg | lost % | jitter mm | ms |\n|---|---|---|---|---|---|---|---|---|")
    scores = []
    for recording in recordings:
        for score in score_clip(recording, options.cameras, database, Settings()):
            scores.append(score)
            print(format_score(score), flush=True)
    write_json(options.json, [asdict(score) for score in scores])


if __name__ == "__main__":
    main()
