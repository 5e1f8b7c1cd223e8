"""How often the truth lies within the error that a pose expects of its joints, over the tuning and the test clips.

    python -m benchmarks.reconstruct.expected_errors --motion DIR [--every 2] [--seconds 2.5] [--plot F.png] [--json F]
    python -m benchmarks.reconstruct.expected_errors --motion DIR --fit [--every 2] [--seconds 4]

Live, and solved with past and future (offline). Nine markers with 5 mm of noise, with all of them seen and with some missing by
turns. Every clip counts alike. A perfect statement has 68.3 and 95.4 %. ms: of a frame, processor time.

--fit: the two factors of an expected error (`reconstruct/solve/certainty.py`), of Laplace's sigma and of that of what neighbours
are wrong about all the time, so that 68 and 95 % of the joints of the tuning clips are within one and two: with all markers seen,
half of them missing by turns, and arms that carry none, of two marker sets. Intervals are by clip.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.crossing import WORN
from benchmarks.reconstruct.innovations import resample_estimate
from benchmarks.report import build_motion_parser, format_heads, format_line, open_set_database, run_main, write_json
from calibration.quality.picture import open_figure, save_figure
from config.arrays import Floats, Ints
from config.settings import Settings
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.search.index import load_search_index
from reconstruct.track.publish import compute_joint_positions
from tools.evaluate.clip_sets import TEST, TUNING
from tools.evaluate.missing.masks import MissingCase, markers_of_limb, seen_in
from tools.evaluate.missing.measure import clip_query, judge_solution, solve, solve_offline
from tools.evaluate.missing.methods import MethodInput
from tools.evaluate.protocol import open_for_clip, protocol_database, read_query, set_clip
from tools.evaluate.queries import apply_variant
from tools.evaluate.states import share_within

MISSING = (
    MissingCase(0.5, share=0.3),
    MissingCase(0.5, limb="both arms"),
    MissingCase(0.5, limb="a leg"),
    MissingCase(0.5, share=0.5),
)
NEVER = {"boxing": "both arms", "dark_room": ""}  # limb whose markers are never seen, by marker set; "": those of WORN["legs"]
BY_LAPLACE, BY_LASTING = np.arange(0.7, 1.81, 0.05), np.arange(0.4, 1.81, 0.05)  # factors that are tried
LEAD = 5  # frames until the pose no longer follows from the true first one
LEAST_M, LN2 = 1e-4, math.log(2.0)
BINS = np.linspace(0.0, 3.0, 31)


@dataclass(frozen=True, slots=True)
class ExpectedErrors:
    """Errors of the joints of one clip over the expected ones.

    missing: whether markers were; how: live or offline; share: (N, J); error_m: (N, J); ms: processor time of a frame.
    """

    clip: str
    part: str
    missing: bool
    how: str
    share: Floats
    error_m: Floats
    ms: float


def measure_clips(motion: Path, every: int, seconds: float) -> list[ExpectedErrors]:
    """Run every n-th clip of both sets, whole and with markers missing. Raises DuocapError."""
    found, settings = [], Settings()
    clips = [(part, stem) for part, stems in (("tuning", TUNING), ("test", TEST)) for stem in list(stems)[::every]]
    database = open_set_database(motion, [stem for _, stem in clips])
    for n, (part, stem) in enumerate(clips):
        print(f"{n + 1} of {len(clips)}: {stem}", file=sys.stderr)
        which = set_clip(stem)
        query = apply_variant(clip_query(read_query(which, motion), which, "boxing", seconds), "noise", 1)
        given = MethodInput(query, load_search_index(query.subject, database), settings, None)
        for case in (None, MISSING[n % len(MISSING)]):
            visible = query.visible if case is None else seen_in(case, query.subject, len(query), 1, stem)
            if visible is not None:
                found += _measure_query((stem, part, case is not None), replace(given, query=replace(query, visible=visible)))
    return found


def _measure_query(which: tuple[str, str, bool], given: MethodInput) -> list[ExpectedErrors]:
    """Return the errors of a query solved live and offline. which: clip, set, whether markers are missing."""
    found, live = [], solve("local", given)
    for how, solved in (("live", live), ("offline", solve_offline(given, live))):
        judged = judge_solution(given.query, solved)
        known = np.isfinite(judged.expected_m).all(axis=1)
        ms = solved.frame_ms - (0.0 if how == "live" else live.frame_ms)
        found.append(ExpectedErrors(*which, how, judged.ratio[LEAD:], judged.error_m[known][LEAD:], ms))
    return found


def fit_factors(motion: Path, every: int, seconds: float) -> list[str]:
    """Return the two factors of an expected error with their intervals, as lines. Raises DuocapError."""
    stems = list(TUNING)[::every]
    path = protocol_database(motion, None, [set_clip(stem) for stem in stems])
    losses = list[Floats]()
    for n, stem in enumerate(stems):
        print(f"{n + 1} of {len(stems)}: {stem}", file=sys.stderr)
        of_clip = [_tabulate_losses(solve_deviations(given)) for given in _list_fitted(stem, motion, path, seconds)]
        losses.append(np.mean(of_clip, axis=0))
    table, lines = np.array(losses), list[str]()

    def find_best(axis: int, clips: Ints) -> float:
        best = np.unravel_index(table[clips].mean(axis=0).argmin(), table.shape[1:])
        return float((BY_LAPLACE, BY_LASTING)[axis][best[axis]])

    for axis, name in enumerate(("BY_LAPLACE", "BY_LASTING")):
        best, low, high = resample_estimate(partial(find_best, axis), len(table))
        lines.append(f"{name} {best:.2f}, 95 % {low:.2f} to {high:.2f}")
    return lines


def _list_fitted(stem: str, motion: Path, database: Path, seconds: float) -> Iterator[MethodInput]:
    """Yield a tuning clip with all markers seen, some missing by turns, and limbs without any."""
    which = set_clip(stem)
    for markers, limb in NEVER.items():
        query = apply_variant(clip_query(read_query(which, motion), which, markers, seconds), "noise", 1)
        index = load_search_index(query.subject, open_for_clip(database, which))
        given = MethodInput(query, index, Settings(), None)
        names = np.array(query.subject.markers.names)
        never = markers_of_limb(query.subject, limb) if limb else np.isin(names, WORN["legs"][1])
        cases = (query.visible, seen_in(MISSING[3], query.subject, len(query), 1, stem)) if limb else ()
        for visible in (*cases, query.visible & (~never | (np.arange(len(query)) < 1)[:, None])):
            if visible is not None:
                yield replace(given, query=replace(query, visible=visible))


def solve_deviations(given: MethodInput) -> Floats:
    """Return of every joint of a query solved live its error, Laplace's deviation and the lasting one, (3, N, J) [m]."""
    query, estimator, found = given.query, given.estimator(), list[Floats]()
    skeleton = query.subject.skeleton
    true_m = compute_forward_kinematics(skeleton, query.rotvec, query.root_m)[1]
    for n in range(len(query)):
        estimate = estimator.estimate(query.frame(n), query.start if n == 0 else None)
        if estimate is None:
            continue
        estimator.accept(estimate)
        sigma = estimator.compute_deviations(estimate)
        if n < LEAD or sigma is None:
            continue
        off_m = np.linalg.norm(compute_joint_positions(estimate.state, estimator) - true_m[n], axis=1)
        found.append(np.stack([off_m, sigma.laplace_m, sigma.lasting_m]))
    return np.stack(found, axis=1)


def _tabulate_losses(deviation_m: Floats) -> Floats:
    """Return the mean loss of the 68 and 95 % quantiles of ln of the error, by both factors, (A, B); as of `solve_deviations`."""
    error, laplace_m, lasting_m = np.log(np.maximum(deviation_m[0], LEAST_M)), deviation_m[1], deviation_m[2]
    table = np.empty((len(BY_LAPLACE), len(BY_LASTING)))
    for a, by_laplace in enumerate(BY_LAPLACE):
        for b, by_lasting in enumerate(BY_LASTING):
            apart = error - np.log(np.hypot(by_laplace * laplace_m, by_lasting * lasting_m))
            losses = (np.where(left > 0.0, q * left, (q - 1.0) * left) for q, left in ((0.683, apart), (0.954, apart - LN2)))
            table[a, b] = sum(float(loss.mean()) for loss in losses)
    return table


def group_by_kind(runs: Sequence[ExpectedErrors]) -> Iterator[tuple[str, list[ExpectedErrors]]]:
    """Yield the runs of every kind with its name: tuning or test, live or offline, with and without missing markers."""
    for part in ("tuning", "test"):
        for how in ("live", "offline"):
            for missing in (False, True):
                some = [run for run in runs if (run.part, run.how, run.missing) == (part, how, missing)]
                if some:
                    yield f"{part}, {how}, {'some missing' if missing else 'all seen'}", some


def format_table(runs: Sequence[ExpectedErrors]) -> list[str]:
    """Return the counts as the lines of a Markdown table."""
    heads = ("clips, markers", "clips", "mean error", "within 1", "within 2", "within 3", "ms")
    lines = format_heads(heads)
    for name, some in group_by_kind(runs):
        mm, ms = 1e3 * float(np.mean([run.error_m.mean() for run in some])), float(np.mean([run.ms for run in some]))
        cells = (f"{share_within([run.share for run in some], k):.1f} %" for k in (1.0, 2.0, 3.0))
        lines.append(format_line((name, str(len(some)), f"{mm:.1f} mm", *cells, f"{ms:.1f}")))
    return lines


def plot_shares(runs: Sequence[ExpectedErrors], file: Path) -> None:
    """Draw the share of joints within a number of expected errors against that of a perfect statement."""
    from scipy.special import erf

    with open_figure(9.6, 4.2, "constrained") as figure:
        both = figure.subplots(1, 2, sharey=True)
        for axes, how in zip(both, ("live", "offline"), strict=True):
            # As the Gaussian in one dimension, which the words of "one" and "two standard deviations" come from.
            axes.plot(BINS, 100.0 * erf(BINS / np.sqrt(2.0)), "k--", label="perfect")
            for name, some in group_by_kind([run for run in runs if run.how == how]):
                color, style = "tab:gray" if some[0].part == "tuning" else "tab:blue", ":" if some[0].missing else "-"
                axes.plot(BINS, [share_within([run.share for run in some], k) for k in BINS], style, color=color, label=name)
            axes.set(xlabel="error over expected error", title=how, xlim=(0, 3), ylim=(0, 100))
            axes.grid(alpha=0.3)
            axes.legend(fontsize="small")
        both[0].set_ylabel("joints within it [%]")
    save_figure(figure, file, 90)


def main() -> None:
    """Measure and print."""
    parser = build_motion_parser(__doc__, seconds=2.5)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--fit", action="store_true", help="estimate the factors of expected errors")
    options = parser.parse_args()
    if options.fit:
        print("\n".join(fit_factors(options.motion, options.every, options.seconds)))
        return
    runs = measure_clips(options.motion, options.every, options.seconds)
    print("\n".join(format_table(runs)))
    if options.plot is not None:
        plot_shares(runs, options.plot)
    write_json(
        options.json, [{"clip": r.clip, "part": r.part, "missing": r.missing, "how": r.how, **_list_figures(r)} for r in runs]
    )


def _list_figures(run: ExpectedErrors) -> dict[str, float]:
    """Return the figures of one clip."""
    within = {f"within_{k:g}": share_within([run.share], k) for k in (1.0, 2.0, 3.0)}
    return {"error_mm": 1e3 * float(run.error_m.mean()), **within}


if __name__ == "__main__":
    run_main(main)
