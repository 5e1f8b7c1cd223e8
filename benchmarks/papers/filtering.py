"""The output filter: jitter of a standing body against delay of a moving one, errors of predictions, gain of the smoother.

Standing: the stillest pose of a clip, kept still, with 5 mm of noise on its markers, and the T-pose of a real recording. Moving:
clips of the protocol, exact and with noise. All are solved once; then every filter is applied to the same poses. The peers, the
one-euro filter and a low pass, work on joint positions, where they need not respect a skeleton.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from benchmarks.papers.frame import Chart, PaperTable, Request
from benchmarks.report import Column, Row, number_columns, text_columns
from calibration.formats.rig_toml import read_rig_toml
from calibration.subject.subject import Subject
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.arrays import Floats
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import FilterSettings
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.finish.output_filter import OutputFilter
from reconstruct.finish.prediction import Predictor
from reconstruct.finish.take_smoother import smooth_poses
from reconstruct.pose import JointSource, Pose, TrackingState
from reconstruct.search.examples import compute_examples
from tools.calibrate.session import fit_subject_to_pairs, read_pairs
from tools.evaluate.methods import solve
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import open_once, protocol_clip
from tools.evaluate.queries import FPS, MotionQuery, apply_variant, load_query, marker_positions
from tools.evaluate.scores import geodesic_errors_deg, position_errors_mm
from tools.evaluate.states import compute_pose_joints
from tools.replay.replay import replay_recording

STANDING = ("05_18", "135_02", "02_05")
MOVING = ("07_08", "09_09", "14_02", "02_05", "16_05", "05_18")
SECONDS, STILL_S, STANDING_S = 5.0, 1.0, 5.0  # the stillest second of a clip is found; its pose stands for 5 s
SETTLE_S = 0.5  # left out at the start of every signal
REAL_PAIRS, T_POSE_S = 250, (0.5, 8.0)
AHEAD_MS = (8.0, 16.0, 33.0)
WINDOWS_S = (0.0, 0.1, 0.2, 0.3)
MEAN_S = 0.5  # jitter is the deviation from a mean over this time
DELAYS_S = np.arange(-0.03, 0.1501, 0.001)
STRENGTHS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)  # factors of our filter's limits; 1 is the setting
BETAS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the one-euro filter [1/m]
CUTOFFS_HZ = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of the low pass
SPEED_HZ = 1.0  # cutoff of the one-euro filter's speed, its authors' value


@dataclass(frozen=True, slots=True)
class PoseSignal:
    """Solved poses, unfiltered.

    seconds: (N,); rotvec: (N, J, 3) charted [rad]; root_m: (N, 3) [m]; true_rotvec, true_root_m: None where unknown; moves:
    whether the body does.
    """

    name: str
    subject: Subject
    seconds: Floats
    rotvec: Floats
    root_m: Floats
    true_rotvec: Floats | None = None
    true_root_m: Floats | None = None
    moves: bool = False

    @property
    def measured(self) -> slice:
        """The frames that are measured."""
        return slice(int(np.searchsorted(self.seconds, self.seconds[0] + SETTLE_S)), None)

    @property
    def joint_m(self) -> Floats:
        """The solved joints, (N, J, 3) [m]."""
        return compute_forward_kinematics(self.subject.skeleton, self.rotvec, self.root_m)[1]

    @property
    def truth_m(self) -> Floats:
        """The true joints, (N, J, 3) [m]."""
        assert self.true_rotvec is not None and self.true_root_m is not None
        return compute_forward_kinematics(self.subject.skeleton, self.true_rotvec, self.true_root_m)[1]

    def make_poses(self) -> list[Pose]:
        """Return the signal as poses of the pipeline."""
        n = len(self.subject.markers)
        markers = marker_positions(self.subject, self.rotvec, self.root_m)
        source, confidence = np.full(N_JOINTS, JointSource.MEASURED, np.uint8), np.full(N_JOINTS, 0.9)
        bools, zeros = np.ones(n, bool), np.zeros(n)
        seen, px = np.ones((2, n), bool), np.zeros((2, n))
        return [
            Pose(k, round(t * 1e9), 0, TrackingState.TRACKING, r, x, source, confidence, m, bools, zeros, seen, px, {})
            for k, (t, r, x, m) in enumerate(zip(self.seconds, self.rotvec, self.root_m, markers, strict=True))
        ]

    def place_joints(self, poses: Sequence[Pose]) -> Floats:
        """Return the joints of poses, (N, J, 3) [m]."""
        return compute_pose_joints(self.subject.skeleton, poses)


def find_stillest_frame(joint_m: Floats) -> int:
    """Return the middle of the second in which joints, (N, J, 3) [m] at 60 Hz, move least."""
    speed = np.linalg.norm(np.diff(joint_m, axis=0), axis=2).mean(axis=1)
    width = min(len(speed), round(STILL_S * FPS))
    return int(np.argmin(np.convolve(speed, np.ones(width), "valid"))) + width // 2


def hold_still(query: MotionQuery) -> MotionQuery:
    """Return a query that stands still in the stillest pose of another."""
    frame, n = (
        find_stillest_frame(compute_forward_kinematics(query.subject.skeleton, query.rotvec, query.root_m)[1]),
        round(STANDING_S * FPS),
    )
    rotvec, root_m = np.repeat(query.rotvec[frame : frame + 1], n, axis=0), np.repeat(query.root_m[frame : frame + 1], n, axis=0)
    marker_m = marker_positions(query.subject, rotvec, root_m)
    return replace(query, rotvec=rotvec, root_m=root_m, marker_m=marker_m, visible=np.ones(marker_m.shape[:2], bool))


def _solve_clip(stem: str, moves: bool, request: Request, path: Path) -> list[PoseSignal]:
    """Return a clip solved with exact and noisy markers, or its stillest pose with noisy ones. Raises DuocapError."""
    seconds = request.choose_seconds(SECONDS) if moves else 0.0
    query = load_query(protocol_clip(stem), request.motion, request.markers, seconds)
    query = query if moves else hold_still(query)
    examples, signals = compute_examples(query.subject, open_once(path)), []
    for variant in ("exact", "noise") if moves else ("noise",):
        name = f"{stem} {variant if moves else 'held'}"
        found = solve(apply_variant(query, variant, request.seed), examples, request.settings.solve, "ours")
        poses = (np.arange(len(query)) / FPS, found.rotvec, found.root_m, query.rotvec, query.root_m)
        signals.append(PoseSignal(name, query.subject, *poses, moves=moves))
    return signals


def _replay_standing(request: Request, path: Path) -> list[PoseSignal]:
    """Return the replayed T-pose of a recording: left.avi, right.avi, timestamps.csv, rig.toml, markers.toml."""
    assert request.recording is not None
    folder, settings = request.recording, request.settings
    settings = replace(settings, filter=replace(settings.filter, output=False))
    rig, markers, table = read_rig_toml(folder / "rig.toml"), read_marker_set(folder / "markers.toml"), open_once(path)
    spec = RecordingSpec((str(folder / "left.avi"), str(folder / "right.avi")), folder / "timestamps.csv")
    recording = CaptureRecording(spec, settings.detector, markers)
    [pairs] = read_pairs(recording, [T_POSE_S], rig)
    subject = fit_subject_to_pairs("real", pairs, rig, markers, table, settings).subject
    poses = [
        p
        for p in replay_recording(recording, rig, subject, table, settings).poses[:REAL_PAIRS]
        if p.state is TrackingState.TRACKING
    ]
    rotvec, root_m = np.stack([pose.rotvec for pose in poses]), np.stack([pose.root_m for pose in poses])
    return [PoseSignal("real T-pose", subject, np.array([p.t_capture_ns for p in poses]) * 1e-9, rotvec, root_m)]


@lru_cache(maxsize=1)  # three tables are of the same signals
def solve_signals(request: Request) -> list[PoseSignal]:
    """Return all signals, the standing ones first. Raises DuocapError."""
    clips, path = request.find_clips(MOVING)
    tasks = [partial(_solve_clip, stem, False, request, path) for stem in STANDING]
    if request.recording is not None:
        tasks.append(partial(_replay_standing, request, path))
    tasks += [partial(_solve_clip, clip.stem, True, request, path) for clip in clips]
    return [signal for part in run_tasks(tasks, request.workers) for signal in part]


def filter_one_euro(joint_m: Floats, seconds: Floats, min_cutoff_hz: float, beta: float) -> Floats:
    """Filter every coordinate of (N, ...) [m] on its own: a first-order low pass with cutoff min_cutoff + beta |speed|.

    The speed is that of the coordinate itself, low-passed; beta: [1/m] (Casiez, Roussel & Vogel 2012); 0: a plain low pass.
    """
    out = np.empty_like(joint_m)
    out[0], speed = joint_m[0], np.zeros_like(joint_m[0])
    for n in range(1, len(joint_m)):
        dt = seconds[n] - seconds[n - 1]
        speed += _compute_gain(SPEED_HZ, dt) * ((joint_m[n] - joint_m[n - 1]) / dt - speed)
        out[n] = out[n - 1] + _compute_gain(min_cutoff_hz + beta * np.abs(speed), dt) * (joint_m[n] - out[n - 1])
    return out


def _compute_gain(cutoff_hz: Floats | float, dt_s: float) -> Floats:
    """Return the weight of the new value, 1 / (1 + tau / dt) with tau = 1 / (2 pi cutoff)."""
    return np.asarray(1.0 / (1.0 + 1.0 / (2.0 * np.pi * np.maximum(cutoff_hz, 1e-9) * dt_s)))


def filter_ours(settings: FilterSettings, strength: float, signal: PoseSignal) -> Floats:
    """Return the joints as our output filter publishes them, its limits multiplied."""
    limits = {name: strength * getattr(settings, name) for name in ("fast_m_s", "slow_m_s", "stray_m")}
    output = OutputFilter(replace(settings, output=True, **limits), signal.subject)
    return signal.place_joints([output.step(pose) for pose in signal.make_poses()])


def list_filters(settings: FilterSettings) -> list[tuple[str, float, Callable[[PoseSignal], Floats]]]:
    """Return family, strength and function of all filters."""

    def one_euro(hz: float, beta: float) -> Callable[[PoseSignal], Floats]:
        return lambda signal: filter_one_euro(signal.joint_m, signal.seconds, hz, beta)

    return [
        ("none", 0.0, lambda signal: signal.joint_m),
        *(("ours", s, partial(filter_ours, settings, s)) for s in STRENGTHS),
        *((f"one-euro, {hz:g} Hz", beta, one_euro(hz, beta)) for hz in (0.3, 1.0) for beta in BETAS),
        *(("low pass", hz, one_euro(hz, 0.0)) for hz in CUTOFFS_HZ),
    ]


def compute_jitter_mm(joint_m: Floats, seconds: Floats) -> float:
    """Return the RMS distance of joints, (N, J, 3) [m], from their mean over MEAN_S [mm]."""
    windows = np.searchsorted(seconds, seconds[:, None] + (0.5 * MEAN_S + 1e-6) * np.array([-1.0, 1.0]))
    mean = np.stack([joint_m[first:last].mean(axis=0) for first, last in windows])
    return 1e3 * float(np.sqrt(((joint_m - mean) ** 2).sum(axis=2).mean()))


def compute_delay_ms(joint_m: Floats, reference_m: Floats, seconds: Floats) -> float:
    """Return the delay of joints behind a reference, (N, J, 3) [m], that minimises their mean squared distance [ms].

    It is the maximum of the cross-correlation of all coordinates, refined by a parabola through the three best.
    """
    inner = (seconds > seconds[0] + DELAYS_S[-1]) & (seconds < seconds[-1] + DELAYS_S[0])
    delayed = interpolate_joints(reference_m, seconds)
    cost = np.array([np.mean((delayed(seconds[inner] - d) - joint_m[inner]) ** 2) for d in DELAYS_S])
    k = int(np.clip(np.argmin(cost), 1, len(cost) - 2))
    bend = cost[k - 1] - 2.0 * cost[k] + cost[k + 1]
    offset = 0.0 if bend <= 0.0 else float(np.clip(0.5 * (cost[k - 1] - cost[k + 1]) / bend, -1.0, 1.0))
    return 1e3 * float(DELAYS_S[k] + offset * (DELAYS_S[1] - DELAYS_S[0]))


def interpolate_joints(joint_m: Floats, seconds: Floats) -> CubicHermiteSpline:
    """Return joints, (N, J, 3) [m], as a function of time, with slopes by central differences (Catmull & Rom 1974)."""
    return CubicHermiteSpline(seconds, joint_m, np.gradient(joint_m, seconds, axis=0))


def compare_filter(family: str, strength: float, apply: Callable[[PoseSignal], Floats], signals: list[PoseSignal]) -> Row:
    """Return the row of one filter: mean jitter of standing clips and recordings, delay and error added in motion."""
    row: dict[str, list[float]] = {"clips mm": [], "real mm": [], "delay ms": [], "error mm": []}
    for signal in signals:
        part = signal.measured
        after, seconds = apply(signal)[part], signal.seconds[part]
        if not signal.moves:
            row["clips mm" if signal.true_rotvec is not None else "real mm"].append(compute_jitter_mm(after, seconds))
            continue
        truth, before = signal.truth_m[part], signal.joint_m[part]
        row["delay ms"].append(compute_delay_ms(after, truth, seconds) - compute_delay_ms(before, truth, seconds))
        row["error mm"].append(float((position_errors_mm(after, truth) - position_errors_mm(before, truth)).mean()))
    means = {name: float(np.mean(values)) if values else None for name, values in row.items()}
    return {"filter": family, "strength": strength, **means, "each": row}


def compute_filters(request: Request) -> Iterator[Row]:
    """Yield a row for each filter. Raises DuocapError."""
    signals = solve_signals(request)
    for each in list_filters(request.settings.filter):
        yield compare_filter(*each, signals)


def predict_signal(signal: PoseSignal, settings: FilterSettings) -> Row:
    """Return errors of published poses against the truth some time later, predicted and not (`held`), by that time [mm]."""
    output = OutputFilter(settings, signal.subject)
    published = [output.step(pose) for pose in signal.make_poses()]
    held_m, truth = signal.place_joints(published), interpolate_joints(signal.truth_m, signal.seconds)
    part = slice(signal.measured.start, int(np.searchsorted(signal.seconds, signal.seconds[-1] - 1e-3 * max(AHEAD_MS))))
    row: dict[str, object] = {"signal": signal.name}
    for ahead_ms in AHEAD_MS:
        predictor = Predictor(1e-3 * ahead_ms, signal.subject)
        predicted_m = signal.place_joints([predictor.step(pose)[0] for pose in published])
        true_m = truth(signal.seconds[part] + 1e-3 * ahead_ms)
        row[f"held {ahead_ms:g}"] = float(position_errors_mm(held_m[part], true_m).mean())
        row[f"predicted {ahead_ms:g}"] = float(position_errors_mm(predicted_m[part], true_m).mean())
    return row


def compute_predictions(request: Request) -> Iterator[Row]:
    """Yield a row for each moving signal. Raises DuocapError."""
    for signal in solve_signals(request):
        if signal.moves:
            yield predict_signal(signal, request.settings.filter)


def smooth_signal(signal: PoseSignal, window_s: float) -> Row:
    """Return errors and jitter of a signal that is smoothed over a window, 0 for none."""
    poses, part = smooth_poses(signal.make_poses(), signal.subject, window_s), signal.measured
    joint_m = signal.place_joints(poses)[part]
    row = {"signal": signal.name, "window": f"{window_s:g} s", "jitter mm": compute_jitter_mm(joint_m, signal.seconds[part])}
    if signal.true_rotvec is None:
        return row
    rotvec = np.stack([pose.rotvec for pose in poses])[part]
    rotation = float(geodesic_errors_deg(rotvec, signal.true_rotvec[part]).mean())
    return row | {"mm": float(position_errors_mm(joint_m, signal.truth_m[part]).mean()), "deg": rotation}


def compute_smoother(request: Request) -> Iterator[Row]:
    """Yield a row for each signal and window. Raises DuocapError."""
    for signal in solve_signals(request):
        for window_s in WINDOWS_S:
            yield smooth_signal(signal, window_s)


PAPER = "Casiez, Roussel & Vogel 2012"
TABLES = (
    PaperTable(
        "filters",
        PAPER,
        "jitter standing still, RMS about the mean over 0.5 s; delay and error added in motion; ours 1: in use",
        (*text_columns("filter", "strength"), *number_columns(2, "clips mm", "real mm", "delay ms", "error mm")),
        compute_filters,
        chart=Chart("delay ms", "clips mm", "filter"),
    ),
    PaperTable(
        "prediction",
        PAPER,
        "error at the moment meant [mm], last pose held or predicted, by ms ahead",
        (*text_columns("signal"), *number_columns(1, *(f"{kind} {ms:g}" for ms in AHEAD_MS for kind in ("held", "predicted")))),
        compute_predictions,
        mean_over=("signal",),
    ),
    PaperTable(
        "smoother",
        PAPER,
        "errors and jitter by the window that is smoothed over",
        (*text_columns("signal", "window"), Column("mm", 2), Column("deg", 2), Column("jitter mm", 2)),
        compute_smoother,
        spread="window",
        cells=("mm", "deg", "jitter mm"),
    ),
)
