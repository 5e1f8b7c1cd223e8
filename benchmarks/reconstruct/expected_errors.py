"""How often the truth lies within the error that a pose expects of its joints, over the tuning and the test clips.

    python -m benchmarks.reconstruct.expected_errors --motion DIR [--every 2] [--seconds 2.5] [--plot F.png] [--json F]

Nine markers with 5 mm of noise, with all of them seen and with some missing by turns. Every clip counts alike. A perfect
statement has 68.3 and 95.4 %.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.report import parser_of, write_json
from config.arrays import Floats
from config.errors import DuocapError
from config.settings import Settings
from database.geometry.kinematics import forward
from database.geometry.rotations import rotvec_from_matrix
from database.store import open_database
from reconstruct.search.index import search_index
from tools.evaluate.missing.masks import MissingCase, seen_in
from tools.evaluate.missing.measure import clip_query
from tools.evaluate.missing.methods import LocalMethod, MethodInput
from tools.evaluate.protocol import protocol_database, read_query, set_clip
from tools.evaluate.queries import MotionQuery, apply_variant
from tools.evaluate.sets import TEST, TUNING

MISSING = (
    MissingCase(0.5, share=0.3),
    MissingCase(0.5, limb="both arms"),
    MissingCase(0.5, limb="a leg"),
    MissingCase(0.5, share=0.5),
)
LEAD = 5  # frames until the pose no longer follows from the true first one
BINS = np.linspace(0.0, 3.0, 31)


@dataclass(frozen=True, slots=True)
class ExpectedErrors:
    """Errors of the joints of one clip over the expected ones. share: (N, J); error_m: (N, J); missing: whether markers were."""

    clip: str
    part: str
    missing: bool
    share: Floats
    error_m: Floats


def measure(motion: Path, every: int, seconds: float) -> list[ExpectedErrors]:
    """Run every n-th clip of both sets, whole and with markers missing. Raises DuocapError."""
    found, settings = [], Settings()
    clips = [(part, stem) for part, stems in (("tuning", TUNING), ("test", TEST)) for stem in list(stems)[::every]]
    database = open_database(protocol_database(motion, None, [set_clip(stem) for _, stem in clips]))
    for n, (part, stem) in enumerate(clips):
        print(f"{n + 1} of {len(clips)}: {stem}", file=sys.stderr)
        which = set_clip(stem)
        query = apply_variant(clip_query(read_query(which, motion), which, "boxing", seconds), "noise", 1)
        given = MethodInput(query, search_index(query.subject, database), settings, None)
        for case in (None, MISSING[n % len(MISSING)]):
            visible = query.visible if case is None else seen_in(case, query.subject, len(query), 1, stem)
            if visible is not None:
                measured = _measured(replace(given, query=replace(query, visible=visible)))
                found.append(ExpectedErrors(stem, part, case is not None, *measured))
    return found


def _measured(given: MethodInput) -> tuple[Floats, Floats]:
    """Return the errors of a query's joints as shares of the expected ones, and in metres, (N, J) each."""
    query, method = given.query, LocalMethod(given)
    true_m = forward(query.subject.skeleton, query.rotvec, query.root_m)[1]
    shares, errors = [], []
    for n in range(len(query)):
        frame = query.frame(n)
        estimate = method.estimator.estimate(frame, query.start if n == 0 else None)
        if estimate is None:
            continue
        method.estimator.accept(estimate)
        expected_m = method.estimator.error_m(estimate)
        if n >= LEAD and expected_m is not None:
            errors.append(_error_m(query, estimate.state.joints, estimate.state.rotation, estimate.state.position_m, true_m[n]))
            shares.append(errors[-1] / expected_m)
    return np.array(shares), np.array(errors)


def _error_m(query: MotionQuery, joints: Floats, rotation: Floats, position_m: Floats, true_m: Floats) -> Floats:
    """Return the distance of every joint from its true position, (J,) [m]."""
    rotvec = joints.copy()
    rotvec[0] = rotvec_from_matrix(rotation)
    found_m = forward(query.subject.skeleton, rotvec[None], position_m[None])[1][0]
    return np.asarray(np.linalg.norm(found_m - true_m, axis=1))


def within(runs: Sequence[ExpectedErrors], sigmas: float) -> float:
    """Return the percentage of joints whose error is at most so many expected ones, every clip counting alike."""
    return 100.0 * float(np.mean([(run.share <= sigmas).mean() for run in runs]))


def table(runs: Sequence[ExpectedErrors]) -> list[str]:
    """Return the counts as the lines of a Markdown table."""
    lines = ["| clips | markers | clips | mean error | within 1 | within 2 | within 3 |", "|---|---|---|---|---|---|---|"]
    for part in ("tuning", "test"):
        for missing in (False, True):
            some = [run for run in runs if run.part == part and run.missing == missing]
            if some:
                mm = 1e3 * float(np.mean([run.error_m.mean() for run in some]))
                cells = " | ".join(f"{within(some, k):.1f} %" for k in (1.0, 2.0, 3.0))
                lines.append(f"| {part} | {'some missing' if missing else 'all seen'} | {len(some)} | {mm:.1f} mm | {cells} |")
    return lines


def plot(runs: Sequence[ExpectedErrors], file: Path) -> None:
    """Draw the share of joints within a number of expected errors against that of a perfect statement."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from scipy.special import erf

    figure, axes = pyplot.subplots(figsize=(5.2, 4.2))
    # As the Gaussian in one dimension, which the words of "one" and "two standard deviations" come from.
    axes.plot(BINS, 100.0 * erf(BINS / np.sqrt(2.0)), "k--", label="perfect")
    for part, color in (("tuning", "tab:gray"), ("test", "tab:blue")):
        for missing, style in ((False, "-"), (True, ":")):
            some = [run for run in runs if run.part == part and run.missing == missing]
            if some:
                label = f"{part}, {'some missing' if missing else 'all seen'}"
                axes.plot(BINS, [within(some, k) for k in BINS], style, color=color, label=label)
    axes.set(xlabel="error over expected error", ylabel="joints within it [%]", xlim=(0, 3), ylim=(0, 100))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, dpi=90, bbox_inches="tight")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--motion", type=Path, required=True)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args(arguments)
    runs = measure(options.motion, options.every, options.seconds)
    print("\n".join(table(runs)))
    if options.plot is not None:
        plot(runs, options.plot)
    write_json(options.json, [{"clip": r.clip, "part": r.part, "missing": r.missing, **_row(r)} for r in runs])
    return 0


def _row(run: ExpectedErrors) -> dict[str, float]:
    """Return the figures of one clip."""
    return {"error_mm": 1e3 * float(run.error_m.mean()), **{f"within_{k:g}": within([run], k) for k in (1.0, 2.0, 3.0)}}


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except DuocapError as error:
        raise SystemExit(f"error: {error}") from error
