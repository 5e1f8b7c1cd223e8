"""The tracker's parameters, estimated on the tuning clips by maximum likelihood, and what changing each does.

    python -m benchmarks.reconstruct.parameters --motion DIR [--database DB] [--clips tuning|quick] [--seconds S]
        [--recording DIR] [--write settings.toml] [--json F]

Detection, false points and marker noise are counted from what the pipeline labels: clips seen by two cameras, bodies calibrated
from a T-pose, markers merged where they are near in an image; and a real recording of two webcams, if one is given, as one more
clip. Stray markers and process noise maximise the density of markers with true labels, half of them hidden for 2 s by turns,
where they were seen in the frame before, and 6, 30 and 120 frames after; an estimate at the end of FACTORS of the value may
lie beyond. Intervals are by clip. --write: the estimates with
their units as a file for --config. Changes are of half the value (of stays_seen: of its distance from 1) in `duocap evaluate
labels`, 50 % missing for 0.5 s, live.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.crossing import WORN, build_performer, calibrate_subject, render_pictures
from benchmarks.reconstruct.innovations import (
    AGES,
    SIGMAS_M,
    collect_innovations,
    compute_mean_likelihood,
    compute_sigma_likelihood,
    compute_stray_likelihood,
    count_transitions,
    find_likeliest_factor,
    find_likeliest_stray,
    resample_estimate,
    sum_by_age,
)
from benchmarks.reconstruct.real_recording import find_labelled_blobs, load_recording
from benchmarks.report import build_motion_parser, format_heads, format_line, run_main, write_json
from capture.packets import Views
from config.arrays import Bools, Floats, Ints
from config.files import write_atomically
from config.loading import load_settings
from config.settings import LabelSettings, Settings, SolveSettings
from reconstruct.pipeline import Pipeline
from reconstruct.search.index import load_search_index
from tools.defaults import read_meanings
from tools.evaluate.clip_sets import TUNING, stems_of
from tools.evaluate.missing.labels import LabelOptions, measure_labels
from tools.evaluate.missing.masks import MissingCase, seen_in
from tools.evaluate.missing.measure import clip_query
from tools.evaluate.missing.methods import MethodInput
from tools.evaluate.protocol import open_for_clip, protocol_database, read_query, set_clip
from tools.evaluate.queries import apply_variant
from tools.evaluate.states import count_states

UNITS = {
    "label.stays_seen": "of 1",
    "label.seen_again": "of 1",
    "label.false_points_m3": "1/m^3",
    "label.false_blobs_px2": "1/px^2",
    "label.marker_sigma_m": "m",
    "label.stray": "of 1",
    "label.stray_m": "m",
    "solve.marker_sigma_m": "m",
    "solve.bend_noise": "variances",
    "solve.joint_velocity_s": "s",
    "solve.root_velocity_s": "s",
    "solve.velocity_rate": "1/s",
    "solve.pose_rate": "1/s",
    "solve.neighbour_certainty": "of 1",
}
PROCESS = [name for name in UNITS if name.startswith("solve.") and name != "solve.marker_sigma_m"]
FACTORS = np.array([1.0 / 3.0, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0])
PARTS = 8  # of a real recording, each as a clip
HIDDEN, LABELS = MissingCase(2.0, share=0.5), MissingCase(0.5, share=0.5)
MARKERS, FPS, AROUND_M = "boxing", 60.0, 0.5  # AROUND_M: how far around the markers false points are counted


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """What the labelled frames of a part of a recording show.

    transitions: as of `count_transitions`; points, blobs: those without a label, and the volume and area searched, (2,) [m^3],
    [px^2]; likelihood: of SIGMAS_M of markers beside their poses, without and with stray ones, (2, S).
    """

    transitions: Floats
    points: Floats
    blobs: Floats
    likelihood: Floats


@dataclass(frozen=True, slots=True)
class ParameterEstimate:
    """A parameter: its value in the settings, its estimate, and the ends of the interval."""

    name: str
    value: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Effect:
    """What settings do: right labels at once and in the first frames [%], joints [mm], of tracking poses over 100 mm [%]."""

    at_once: float
    right: float
    joints_mm: float
    far: float


def read_setting(settings: Settings, name: str) -> float:
    """Return a setting by its dotted name."""
    section, _, key = name.partition(".")
    return float(getattr(getattr(settings, section), key))


def replace_setting(name: str, value: float) -> Settings:
    """Return the default settings but for one. Raises SettingsError."""
    return load_settings(None, [f"{name}={float(value)!r}"])


def count_seen(pipeline: Pipeline, moments: Sequence[Views]) -> LabelCounts:
    """Put the next moments of a recording through a pipeline and count what its labels leave."""
    shown, points, blobs, apart, covariance = list[Bools](), np.zeros(2), np.zeros(2), list[Floats](), list[Floats]()
    for moment in moments:
        pose, frame, views = pipeline.step(moment), pipeline.markers, pipeline.views
        assert frame is not None and views is not None
        shown.append(frame.shown)
        low, high = pose.marker_m.min(axis=0) - AROUND_M, pose.marker_m.max(axis=0) + AROUND_M
        inside = ((frame.extra_m > low) & (frame.extra_m < high)).all(axis=1)
        points += float(inside.sum()), float(np.prod(high - low))
        for view, camera in enumerate(pipeline.rig.cameras):
            blobs += float((~find_labelled_blobs(views[view], frame, view)).sum()), float(np.prod(camera.size))
        apart.append((frame.point_m - pose.marker_m)[frame.valid])
        covariance.append(frame.covariance_m2[frame.valid])
    residuals = compute_sigma_likelihood(np.concatenate(apart), np.concatenate(covariance))
    return LabelCounts(count_transitions(np.array(shown)), points, blobs, residuals)


def build_unfiltered_settings() -> Settings:
    """Return settings with which what is published is what was solved."""
    return load_settings(None, ["filter.output=false", "feet.lock=false"])


def count_seen_in_clip(stem: str, motion: Path, database: Path, seconds: float) -> LabelCounts:
    """Count what a simulated recording of a clip shows."""
    settings, performer = build_unfiltered_settings(), build_performer(stem, "tuning", "body", motion, seconds)
    kept = [m for m, marker in enumerate(performer.markers.names) if marker not in WORN["body"][1]]
    poses = open_for_clip(database, set_clip(stem))
    pipeline = Pipeline(performer.rig, calibrate_subject(performer, kept, poses, settings), poses, settings)
    return count_seen(pipeline, render_pictures(performer, FPS, kept).pairs())


def count_seen_in_recording(folder: Path) -> list[LabelCounts]:
    """Count what each of PARTS of a real recording shows."""
    given = load_recording(folder, live=False)
    pipeline = Pipeline(given.rig, given.subject, given.database, build_unfiltered_settings())
    bounds = np.linspace(0, len(given.found), PARTS + 1).astype(int).tolist()
    return [count_seen(pipeline, [pair for _, pair, _ in given.found[k:end]]) for k, end in pairwise(bounds)]


def estimate_counted(
    simulated: Sequence[LabelCounts], real: Sequence[LabelCounts], settings: Settings
) -> list[ParameterEstimate]:
    """Return the parameters that labelled recordings give; of nothing counted, as if half of one had been.

    Markers of a simulated body sit where they are: how far they move is taken from the real recording, if there is one.
    """
    seen, moving = [*simulated, *real], real or simulated
    counts = {
        "label.stays_seen": np.array([each.transitions[0] for each in seen]),
        "label.seen_again": np.array([each.transitions[1] for each in seen]),
        "label.false_points_m3": np.array([each.points for each in seen]),
        "label.false_blobs_px2": np.array([each.blobs for each in seen]),
    }
    likelihood = np.array([each.likelihood for each in moving])

    def sigma_m(k: int, clips: Ints) -> float:
        return find_likeliest_factor(SIGMAS_M, likelihood[clips, k].sum(axis=0))

    found = [estimate_by_clips(settings, name, partial(compute_share, of), len(seen)) for name, of in counts.items()]
    names = ("label.marker_sigma_m", "solve.marker_sigma_m")
    return found + [estimate_by_clips(settings, name, partial(sigma_m, k), len(moving)) for k, name in enumerate(names)]


def estimate_by_clips(settings: Settings, name: str, estimate: Callable[[Ints], float], n_clips: int) -> ParameterEstimate:
    """Return the estimate of a parameter from clips, with its interval by clip.

    Args:
        settings: with its value.
        name: of the parameter, dotted.
        estimate: of some clips, by their numbers.
        n_clips: number of all.
    """
    return ParameterEstimate(name, read_setting(settings, name), *resample_estimate(estimate, n_clips))


def compute_share(count: Floats, clips: Ints) -> float:
    """Return the share that is counted in some clips; count: of each clip, and of how many, (C, 2)."""
    part, whole = count[clips].sum(axis=0)
    return float((part + 0.5) / (whole + 1.0))


def build_hidden_query(stem: str, motion: Path, database: Path, seconds: float) -> MethodInput | None:
    """Return a clip with noisy markers, half of them hidden by turns; None where it is too short."""
    which = set_clip(stem)
    query = apply_variant(clip_query(read_query(which, motion), which, MARKERS, seconds), "noise", 1)
    visible = seen_in(HIDDEN, query.subject, len(query), 1, stem)
    if visible is None:
        return None
    index = load_search_index(query.subject, open_for_clip(database, which))
    return MethodInput(replace(query, visible=visible), index, Settings(), None)


def estimate_strays(queries: Sequence[MethodInput], settings: Settings) -> list[ParameterEstimate]:
    """Return share and distance of stray markers, from where markers return."""
    sigma_m = settings.label.marker_sigma_m
    likelihood = np.array([compute_stray_likelihood(collect_innovations(given).at_return, sigma_m) for given in queries])

    def one(k: int, clips: Ints) -> float:
        return find_likeliest_stray(likelihood[clips].sum(axis=0))[k]

    names = ("label.stray", "label.stray_m")
    return [estimate_by_clips(settings, name, partial(one, k), len(queries)) for k, name in enumerate(names)]


def measure_likelihoods(queries: Sequence[MethodInput], settings: Settings) -> dict[str, Floats]:
    """Return sums of ln of the density by process parameter, for FACTORS of its value: (F, C, A, 2)."""
    found = {}
    for name in PROCESS:
        print(name, file=sys.stderr, flush=True)
        changed = [replace_setting(name, read_setting(settings, name) * factor) for factor in FACTORS]
        found[name] = np.array([[_sum_log_density(replace(given, settings=s)) for given in queries] for s in changed])
    return found


def _sum_log_density(given: MethodInput) -> Floats:
    """Return the sums of ln of the density of a query, (A, 2)."""
    return sum_by_age(collect_innovations(given), given.settings.label)


def estimate_process(likelihoods: dict[str, Floats], settings: Settings) -> list[ParameterEstimate]:
    """Return where the likelihood of each process parameter is greatest."""

    def one(value: float, sums: Floats, clips: Ints) -> float:
        return value * find_likeliest_factor(FACTORS, np.array([compute_mean_likelihood(each[clips]) for each in sums]))

    return [
        estimate_by_clips(settings, name, partial(one, read_setting(settings, name), sums), sums.shape[1])
        for name, sums in likelihoods.items()
    ]


def list_factor_values(name: str, value: float) -> tuple[float, float]:
    """Return a value with half of it less, and more."""
    if name == "label.stays_seen":
        return 1.0 - 0.5 * (1.0 - value), 1.0 - 1.5 * (1.0 - value)
    return 0.5 * value, 1.5 * value


def measure_effect(options: LabelOptions, settings: Settings) -> Effect:
    """Return what settings do on the clips."""
    runs = measure_labels(options, settings)
    returns, labels = sum(run.returns for run in runs), sum(run.right + run.wrong + run.none for run in runs)
    states, joints_mm = count_states([run.poses for run in runs]), np.concatenate([run.poses.mean_mm for run in runs])
    at_once, right = (100.0 * sum(getattr(run, name) for run in runs) for name in ("at_once", "right"))
    return Effect(at_once / returns, right / labels, float(joints_mm.mean()), 100.0 * states.far[1])


def format_estimates(estimates: Sequence[ParameterEstimate], effects: dict[str, Effect]) -> list[str]:
    """Return the lines of a Markdown table; effects: by name and the sign of the change, and "" as it is."""
    heads = ("setting", "unit", "value", "estimate", "95 %", "half less: at once, right, mm, far", "half more", "meaning")
    lines = format_heads(heads)
    for each in estimates:
        change = (_format_effect(effects.get(f"{each.name}{sign}")) for sign in "-+")
        numbers = (f"{each.value:.4g}", f"{each.estimate:.4g}", f"{each.low:.4g} to {each.high:.4g}")
        lines.append(format_line((f"`{each.name}`", UNITS[each.name], *numbers, *change, find_setting_meaning(each.name))))
    return [*lines, "", f"as it is: {_format_effect(effects.get(''))}"]


def _format_effect(effect: Effect | None) -> str:
    """Return the cell of an effect."""
    return "-" if effect is None else f"{effect.at_once:.1f}, {effect.right:.1f}, {effect.joints_mm:.1f}, {effect.far:.2f}"


def format_likelihoods(likelihoods: dict[str, Floats]) -> list[str]:
    """Return the lines of a table of ln of the density of a marker beside that of the value in force, by factor and by age."""
    heads = ("ln of the density, a marker and frame", *(f"x {factor:.2g}" for factor in FACTORS))
    lines = format_heads(heads)
    usual = int(np.flatnonzero(FACTORS == 1.0)[0])
    for name, sums in likelihoods.items():
        for age, of_age in (("all", slice(None)), *((age, slice(k, k + 1)) for k, age in enumerate(AGES))):
            means = [compute_mean_likelihood(each[:, of_age]) for each in sums]
            cells = (f"{mean:.3f}" if k == usual else f"{mean - means[usual]:+.3f}" for k, mean in enumerate(means))
            lines.append(format_line((f"`{name}`, {age}", *cells)))
    return lines


def find_setting_meaning(name: str) -> str:
    """Return what a setting means, in the words of the settings."""
    section, _, key = name.partition(".")
    return read_meanings(LabelSettings if section == "label" else SolveSettings)[key]


def format_settings_file(estimates: Sequence[ParameterEstimate]) -> str:
    """Return the text of a settings file with the estimates, their meaning, unit and interval as comments."""
    lines = ["# Estimated by python -m benchmarks.reconstruct.parameters. Give this file with --config."]
    for section in dict.fromkeys(each.name.partition(".")[0] for each in estimates):
        lines += ["", f"[{section}]"]
        for each in (each for each in estimates if each.name.startswith(f"{section}.")):
            interval = f"{each.low:.3g} to {each.high:.3g}"
            lines.append(f"# {find_setting_meaning(each.name)}; {UNITS[each.name]}, 95 % {interval}, default {each.value:.3g}")
            lines.append(f"{each.name.partition('.')[2]} = {float(f'{each.estimate:.4g}')!r}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Estimate, print and write."""
    parser = build_motion_parser(__doc__, seconds=4.0)
    parser.add_argument("--database", type=Path)
    parser.add_argument("--clips", choices=("tuning", "quick"), default="tuning")
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    settings, stems = Settings(), list(TUNING) if options.clips == "tuning" else stems_of(["quick"])["tuning, quick"]
    clips = tuple(set_clip(stem) for stem in stems)
    database = options.database or protocol_database(options.motion, None, clips)
    where = (options.motion, database, options.seconds)
    real = [] if options.recording is None else count_seen_in_recording(options.recording)
    estimates = estimate_counted([count_seen_in_clip(stem, *where) for stem in stems], real, settings)
    queries = [given for stem in stems if (given := build_hidden_query(stem, *where)) is not None]
    estimates += estimate_strays(queries, settings)
    likelihoods = measure_likelihoods(queries, settings)
    estimates += estimate_process(likelihoods, settings)
    print("\n".join([*format_estimates(estimates, {}), "", *format_likelihoods(likelihoods), ""]), flush=True)
    if options.write is not None:
        write_atomically(options.write, format_settings_file(estimates))
    labels = LabelOptions(
        motion=options.motion,
        database=database,
        clips=clips,
        markers=(MARKERS,),
        seconds=options.seconds,
        cases=(LABELS,),
        styles=(False,),
    )
    effects = {"": measure_effect(labels, settings)}
    for each in estimates:
        print(each.name, file=sys.stderr, flush=True)
        for sign, value in zip("-+", list_factor_values(each.name, each.value), strict=True):
            effects[f"{each.name}{sign}"] = measure_effect(labels, replace_setting(each.name, value))
    print("\n".join(format_estimates(estimates, effects)))
    write_json(options.json, {"estimates": estimates, "effects": effects, "likelihoods": likelihoods})


if __name__ == "__main__":
    run_main(main)
