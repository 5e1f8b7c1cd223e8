"""Measure filters, predictions and the smoother on the same solved poses; tables of them."""

from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.settings import FilterSettings, Settings
from reconstruct.finish.filter import OutputFilter
from reconstruct.finish.prediction import Predictor
from reconstruct.finish.smoother import smooth_poses
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.filtering.filters import Filter, filters, joints_of
from tools.evaluate.filtering.signals import MOVING, STANDING, ClipSolver, PoseSignal, real_signal
from tools.evaluate.parallel import run_tasks
from tools.evaluate.scores import geodesic_errors_deg

AHEAD_MS = (8.0, 16.0, 33.0)
WINDOWS_S = (0.1, 0.2, 0.3)
MEAN_S = 0.5  # jitter is the deviation from a mean over this time
DELAYS_S = np.arange(-0.03, 0.1501, 0.001)


@dataclass(frozen=True, slots=True)
class FilterRun:
    """One filter on all signals.

    family: curve of the plot; jitter_mm: by standing signal; delay_ms, error_mm: added by the filter, by moving signal.
    """

    family: str
    strength: float
    jitter_mm: dict[str, float]
    delay_ms: dict[str, float]
    error_mm: dict[str, float]

    def means(self, real: bool) -> tuple[float, float, float]:
        """Return mean jitter (of the recordings if `real`, else of the clips), mean added delay, mean added error."""
        jitter = [value for name, value in self.jitter_mm.items() if name.startswith("real") == real]
        return _mean(jitter), _mean(list(self.delay_ms.values())), _mean(list(self.error_mm.values()))


@dataclass(frozen=True, slots=True)
class FilteringOptions:
    """What is measured. No clips: MOVING; seconds: of each; recording: folder of a real recording."""

    motion: Path
    database: Path
    clips: tuple[str, ...] = ()
    seconds: float = 5.0
    markers: str = "boxing"
    recording: Path | None = None
    seed: int = 1
    workers: WorkerPlan = ALONE


@dataclass(frozen=True, slots=True)
class FilteringResult:
    """Filters; errors of predictions [mm] and of the smoother (position [mm], geodesic [deg], jitter [mm]) by signal."""

    runs: list[FilterRun]
    predictions: dict[str, dict[str, float]]
    smoother: dict[str, dict[str, tuple[float, float, float]]]


def measure_filtering(options: FilteringOptions, settings: Settings) -> FilteringResult:
    """Solve the clips and apply every filter to them. Raises DuocapError."""
    clips = ClipSolver(options.motion, options.database, settings, options.seconds, options.markers, options.seed)
    tasks = [partial(clips.standing, stem) for stem in STANDING]
    if options.recording is not None:
        tasks.append(partial(real_signal, options.recording, options.database, settings))
    n_standing = len(tasks)
    tasks += [partial(clips.moving, stem) for stem in options.clips or MOVING]
    found = run_tasks(tasks, options.workers)
    standing, moving = (list(chain.from_iterable(part)) for part in (found[:n_standing], found[n_standing:]))
    runs = [filter_run(*each, standing, moving) for each in filters(settings.filter)]
    predictions = {signal.name: prediction_errors_mm(signal, settings.filter) for signal in moving}
    return FilteringResult(runs, predictions, {signal.name: smoother_errors(signal) for signal in (*standing, *moving)})


def filter_run(family: str, strength: float, filtered: Filter, standing: list[PoseSignal], moving: list[PoseSignal]) -> FilterRun:
    """Apply one filter to all signals."""
    jitter, delay, error = {}, {}, {}
    for signal in standing:
        part = signal.measured
        jitter[signal.name] = jitter_mm(filtered(signal)[part], signal.seconds[part])
    for signal in moving:
        part, truth = signal.measured, signal.truth_m()
        before, after = signal.joint_m()[part], filtered(signal)[part]
        truth, seconds = truth[part], signal.seconds[part]
        delay[signal.name] = delay_ms(after, truth, seconds) - delay_ms(before, truth, seconds)
        error[signal.name] = error_mm(after, truth) - error_mm(before, truth)
    return FilterRun(family, strength, jitter, delay, error)


def prediction_errors_mm(signal: PoseSignal, settings: FilterSettings) -> dict[str, float]:
    """Return errors of published poses against the truth some time later, predicted and not (`held`), by that time."""
    output = OutputFilter(settings, signal.subject)
    published = [output.step(pose) for pose in signal.poses()]
    last_m, truth_m = joints_of(published, signal), signal.truth_m()
    part = slice(signal.measured.start, int(np.searchsorted(signal.seconds, signal.seconds[-1] - 1e-3 * max(AHEAD_MS))))
    result = {}
    for ahead_ms in AHEAD_MS:
        predictor = Predictor(1e-3 * ahead_ms, signal.subject)
        predicted_m = joints_of([predictor.step(pose)[0] for pose in published], signal)
        true_m = positions_at(truth_m, signal.seconds, signal.seconds[part] + 1e-3 * ahead_ms)
        result[f"held {ahead_ms:g}"] = error_mm(last_m[part], true_m)
        result[f"predicted {ahead_ms:g}"] = error_mm(predicted_m[part], true_m)
    return result


def smoother_errors(signal: PoseSignal) -> dict[str, tuple[float, float, float]]:
    """Return by window, 0 for none: position [mm] and geodesic [deg] error where the truth is known, and jitter [mm]."""
    result, part = {}, signal.measured
    for window_s in (0.0, *WINDOWS_S):
        poses = smooth_poses(signal.poses(), signal.subject, window_s)
        joint_m = joints_of(poses, signal)[part]
        position = rotation = float("nan")
        if signal.true_rotvec is not None:
            position = error_mm(joint_m, signal.truth_m()[part])
            rotvec = np.stack([pose.rotvec for pose in poses])[part]
            rotation = float(geodesic_errors_deg(rotvec, signal.true_rotvec[part]).mean())
        result[f"{window_s:g}"] = (position, rotation, jitter_mm(joint_m, signal.seconds[part]))
    return result


def jitter_mm(joint_m: Floats, seconds: Floats) -> float:
    """Return the RMS distance of joints, (N, J, 3) [m], from their mean over MEAN_S [mm]."""
    windows = np.searchsorted(seconds, seconds[:, None] + (0.5 * MEAN_S + 1e-6) * np.array([-1.0, 1.0]))
    mean = np.stack([joint_m[first:last].mean(axis=0) for first, last in windows])
    return 1e3 * float(np.sqrt(((joint_m - mean) ** 2).sum(axis=2).mean()))


def delay_ms(joint_m: Floats, reference_m: Floats, seconds: Floats) -> float:
    """Return the delay of joints behind a reference, (N, J, 3) [m], that minimises their mean squared distance [ms].

    It is the maximum of the cross-correlation of all coordinates, refined by a parabola through the three best.
    """
    inner = (seconds > seconds[0] + DELAYS_S[-1]) & (seconds < seconds[-1] + DELAYS_S[0])
    flat, wanted = reference_m.reshape(len(seconds), -1), joint_m.reshape(len(seconds), -1)[inner]
    cost = np.array([np.mean((_interpolated(flat, seconds, seconds[inner] - d) - wanted) ** 2) for d in DELAYS_S])
    k = int(np.clip(np.argmin(cost), 1, len(cost) - 2))
    bend = cost[k - 1] - 2.0 * cost[k] + cost[k + 1]
    offset = 0.0 if bend <= 0.0 else float(np.clip(0.5 * (cost[k - 1] - cost[k + 1]) / bend, -1.0, 1.0))
    return 1e3 * float(DELAYS_S[k] + offset * (DELAYS_S[1] - DELAYS_S[0]))


def error_mm(joint_m: Floats, truth_m: Floats) -> float:
    """Return the mean distance of joints from the truth, (N, J, 3) [m] twice -> [mm]."""
    return 1e3 * float(np.linalg.norm(joint_m - truth_m, axis=2).mean())


def positions_at(joint_m: Floats, seconds: Floats, wanted_s: Floats) -> Floats:
    """Return joints, (N, J, 3) [m], at other times, (F,), by cubic interpolation (Catmull & Rom 1974) -> (F, J, 3)."""
    return _interpolated(joint_m.reshape(len(seconds), -1), seconds, wanted_s).reshape(len(wanted_s), *joint_m.shape[1:])


def _interpolated(values: Floats, seconds: Floats, wanted_s: Floats) -> Floats:
    """Interpolate (N, C) at times within `seconds`, (F,) -> (F, C), with slopes by central differences."""
    slope = np.gradient(values, seconds, axis=0)
    after = np.clip(np.searchsorted(seconds, wanted_s), 1, len(seconds) - 1)
    step = seconds[after] - seconds[after - 1]
    u, h = ((wanted_s - seconds[after - 1]) / step)[:, None], step[:, None]
    start, end = values[after - 1], values[after]
    rise = (3.0 - 2.0 * u) * u**2
    bends = u * (1.0 - u) * ((1.0 - u) * slope[after - 1] - u * slope[after])
    return np.asarray(start + rise * (end - start) + h * bends)


def _mean(values: list[float]) -> float:
    """Return the mean, NaN of nothing."""
    return float(np.mean(values)) if values else float("nan")


def report(result: FilteringResult) -> list[str]:
    """Return the lines of all tables."""
    return [*filter_lines(result), *prediction_lines(result), *smoother_lines(result)]


def filter_lines(result: FilteringResult) -> list[str]:
    """Return the table of filters, then the filter in use by clip."""
    numbers = ("clips mm", "of none", "real mm", "of none", "delay ms", "error mm")
    lines = [
        "",
        "output filter: jitter standing still (RMS about the mean over 0.5 s); delay and error added in motion",
        f"{'filter':<18}{'strength':>9}" + "".join(f"{name:>10}" for name in numbers),
    ]
    none = result.runs[0]
    for run in result.runs:
        jitter, delay, error = run.means(real=False)
        real, _, _ = run.means(real=True)
        share, real_share = jitter / none.means(real=False)[0], real / none.means(real=True)[0]
        chosen = "  <- in use" if run.family == "ours" and run.strength == 1.0 else ""
        lines.append(
            f"{run.family:<18}{run.strength:>9g}{jitter:>10.2f}{share:>10.2f}{real:>10.2f}{real_share:>10.2f}{delay:>10.1f}"
            f"{error:>+10.2f}{chosen}"
        )
    used = next(run for run in result.runs if run.family == "ours" and run.strength == 1.0)
    lines += ["", f"{'in use, standing':<18}{'before mm':>10}{'after mm':>10}{'times less':>11}"]
    for name, after in used.jitter_mm.items():
        before = none.jitter_mm[name]
        lines.append(f"{name:<18}{before:>10.2f}{after:>10.2f}{before / after:>11.1f}")
    lines += ["", f"{'in use, moving':<18}{'delay ms':>10}{'error mm':>10}   added"]
    lines += [f"{name:<18}{used.delay_ms[name]:>10.2f}{used.error_mm[name]:>+10.2f}" for name in used.delay_ms]
    return lines


def prediction_lines(result: FilteringResult) -> list[str]:
    """Return the table of predictions."""
    columns = [f"{kind} {ahead:g}" for ahead in AHEAD_MS for kind in ("held", "predicted")]
    lines = [
        "",
        "prediction: error at the moment meant [mm], last pose held or predicted, ms ahead",
        f"{'':<18}" + "".join(f"{column:>14}" for column in columns),
    ]
    for name, errors in result.predictions.items():
        lines.append(f"{name:<18}" + "".join(f"{errors[column]:>14.1f}" for column in columns))
    mean = [float(np.mean([errors[column] for errors in result.predictions.values()])) for column in columns]
    return [*lines, f"{'mean':<18}" + "".join(f"{value:>14.1f}" for value in mean)]


def smoother_lines(result: FilteringResult) -> list[str]:
    """Return the table of the smoother."""
    columns = ["0", *(f"{window:g}" for window in WINDOWS_S)]
    heads = ["not smoothed", *(f"{column} s" for column in columns[1:])]
    lines = ["", "smoother: position mm / joint deg / jitter mm", f"{'':<18}" + "".join(f"{head:>22}" for head in heads)]
    for name, errors in result.smoother.items():
        cells = [" / ".join(f"{value:.2f}" if value == value else "-" for value in errors[column]) for column in columns]
        lines.append(f"{name:<18}" + "".join(f"{cell:>22}" for cell in cells))
    return lines
