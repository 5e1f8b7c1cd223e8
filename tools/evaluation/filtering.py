"""Jitter against lag of the output filter, error of predictions, gain of the smoother: `duocap evaluate filtering`.

Standing: the stillest pose of a clip, held, with 5 mm of noise on its markers, and the T-pose of a real recording. Moving: clips
of the protocol, exact and with noise. All of them solved once; then every filter is put on the same poses. The peers are the
one-euro filter and a low pass, both on joint positions, where they do not have to respect a skeleton.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from config.settings import FilterSettings, Settings
from database.kinematics import forward
from database.rotations import Floats
from database.store import open_database
from reconstruct.output_filter import OutputFilter
from reconstruct.pose import Pose
from reconstruct.prediction import Predictor
from reconstruct.smoother import smoothed
from tools.evaluation.figures_file import write_figures
from tools.evaluation.filter_scores import delay_ms, error_mm, jitter_mm, positions_at
from tools.evaluation.filter_signals import MOVING, Clips, Signal, real_signal
from tools.evaluation.one_euro import low_pass, one_euro
from tools.evaluation.scores import geodesic_errors_deg

STRENGTHS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)  # of the limits of our filter; 1 is what the settings say
BETAS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the one-euro filter [1/m]
CUTOFFS_HZ = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of the low pass
AHEAD_MS = (8.0, 16.0, 33.0)
WINDOWS_S = (0.1, 0.2, 0.3)
Filter = Callable[[Signal], Floats]  # joints (N, J, 3) [m]


@dataclass(frozen=True, slots=True)
class FilterRun:
    """One filter on all signals.

    family: curve of the plot; jitter_mm: by standing signal, after; delay_ms, error_mm: added, by moving signal.
    """

    family: str
    strength: float
    jitter_mm: dict[str, float]
    delay_ms: dict[str, float]
    error_mm: dict[str, float]

    def means(self, real: bool) -> tuple[float, float, float]:
        """Give mean jitter of the clips (of the recordings if `real`), mean added delay, mean added error."""
        jitter = [value for name, value in self.jitter_mm.items() if name.startswith("real") == real]
        return _mean(jitter), _mean(list(self.delay_ms.values())), _mean(list(self.error_mm.values()))


@dataclass(frozen=True, slots=True)
class FilteringOptions:
    """What is measured: clips, empty for all; seconds of each; the folder of a real recording, if any."""

    motion: Path
    database: Path
    clips: tuple[str, ...] = ()
    seconds: float = 5.0
    markers: str = "boxing"
    recording: Path | None = None
    seed: int = 1


def _mean(values: list[float]) -> float:
    """Give the mean, NaN of nothing."""
    return float(np.mean(values)) if values else float("nan")


def unfiltered(signal: Signal) -> Floats:
    """Give the joints as solved."""
    return signal.joint_m()


def ours(settings: FilterSettings, signal: Signal) -> Floats:
    """Give the joints as our output filter publishes them."""
    output = OutputFilter(settings, signal.subject)
    return joints_of([output.step(pose) for pose in signal.poses()], signal)


def peer_euro(least_hz: float, beta: float, signal: Signal) -> Floats:
    """Give the joints as the one-euro filter has them."""
    return one_euro(signal.joint_m(), signal.seconds, least_hz, beta)


def peer_low_pass(cutoff_hz: float, signal: Signal) -> Floats:
    """Give the joints as a low pass has them."""
    return low_pass(signal.joint_m(), signal.seconds, cutoff_hz)


def joints_of(poses: Sequence[Pose], signal: Signal) -> Floats:
    """Give the joints of poses, (N, J, 3) [m]."""
    rotvec, root_m = np.stack([pose.rotvec for pose in poses]), np.stack([pose.root_m for pose in poses])
    return forward(signal.subject.skeleton, rotvec, root_m)[1]


def scaled(settings: FilterSettings, strength: float) -> FilterSettings:
    """Give the filter with limits so many times as high."""
    return replace(
        settings,
        output=True,
        fast_m_s=strength * settings.fast_m_s,
        slow_m_s=strength * settings.slow_m_s,
        stray_m=strength * settings.stray_m,
    )


def filters(settings: FilterSettings) -> list[tuple[str, float, Filter]]:
    """Give all filters: family, strength, function."""
    return [
        ("none", 0.0, unfiltered),
        *(("ours", s, partial(ours, scaled(settings, s))) for s in STRENGTHS),
        *((f"one-euro, {hz:g} Hz", beta, partial(peer_euro, hz, beta)) for hz in (0.3, 1.0) for beta in BETAS),
        *(("low pass", hz, partial(peer_low_pass, hz)) for hz in CUTOFFS_HZ),
    ]


def filter_run(family: str, strength: float, filtered: Filter, standing: list[Signal], moving: list[Signal]) -> FilterRun:
    """Put one filter on all signals."""
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


def prediction_errors_mm(signal: Signal, settings: FilterSettings) -> dict[str, float]:
    """Give the error against the truth of the moment meant, predicted and held, of poses as published, by how far ahead."""
    output = OutputFilter(settings, signal.subject)
    published = [output.step(pose) for pose in signal.poses()]
    held_m, truth_m = joints_of(published, signal), signal.truth_m()
    part = slice(signal.measured.start, int(np.searchsorted(signal.seconds, signal.seconds[-1] - 1e-3 * max(AHEAD_MS))))
    result = {}
    for ahead_ms in AHEAD_MS:
        predictor = Predictor(1e-3 * ahead_ms, signal.subject)
        predicted_m = joints_of([predictor.step(pose)[0] for pose in published], signal)
        meant_m = positions_at(truth_m, signal.seconds, signal.seconds[part] + 1e-3 * ahead_ms)
        result[f"held {ahead_ms:g}"] = error_mm(held_m[part], meant_m)
        result[f"predicted {ahead_ms:g}"] = error_mm(predicted_m[part], meant_m)
    return result


def smoother_errors(signal: Signal) -> dict[str, tuple[float, float, float]]:
    """Give by window, 0 for none: position [mm] and geodesic [deg] error where the truth is known, and jitter [mm]."""
    result, part = {}, signal.measured
    for window_s in (0.0, *WINDOWS_S):
        poses = smoothed(signal.poses(), signal.subject, window_s)
        joint_m, rotvec = joints_of(poses, signal)[part], np.stack([pose.rotvec for pose in poses])[part]
        known = signal.true_rotvec is not None
        position = error_mm(joint_m, signal.truth_m()[part]) if known else float("nan")
        turn = (
            float(geodesic_errors_deg(rotvec, signal.true_rotvec[part]).mean())
            if signal.true_rotvec is not None
            else float("nan")
        )
        result[f"{window_s:g}"] = (position, turn, jitter_mm(joint_m, signal.seconds[part]))
    return result


@dataclass(frozen=True, slots=True)
class FilteringResult:
    """All figures: filters; errors of predictions and of the smoother by signal."""

    runs: list[FilterRun]
    predictions: dict[str, dict[str, float]]
    smoother: dict[str, dict[str, tuple[float, float, float]]]


def evaluate_filtering(
    options: FilteringOptions, settings: Settings, json_file: Path | None = None, plot: Path | None = None
) -> FilteringResult:
    """Solve the clips, put every filter on them, print the tables, write figures and plot. Raises DuocapError."""
    from tools.evaluation.filtering_plot import plot_filtering
    from tools.evaluation.filtering_table import print_filtering

    database = open_database(options.database)
    clips = Clips(options.motion, database, settings, options.seconds, options.markers, options.seed)
    standing = list(clips.standing())
    moving = list(clips.moving(options.clips or MOVING))
    if options.recording is not None:
        standing.append(real_signal(options.recording, database, settings))
    runs = [filter_run(*which, standing, moving) for which in filters(settings.filter)]
    predictions = {signal.name: prediction_errors_mm(signal, settings.filter) for signal in moving}
    result = FilteringResult(runs, predictions, {signal.name: smoother_errors(signal) for signal in (*standing, *moving)})
    print_filtering(result)
    if json_file is not None:
        write_figures(json_file, result)
    if plot is not None:
        plot_filtering(result, plot)
    return result
