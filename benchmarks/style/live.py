"""Cost of a style in a live frame: the estimator's step with no marker and with 30 % missing, without and with a style.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.style.live --motion DIR [--database DB] [--clip 07_08] [--rounds 3] [--json F]

Frames of a clip at 60 Hz, nine markers; the style is learned as in `duocap evaluate missing`, never from the queried frames.
Methods take turns on all frames; every frame counts with the least of its times over the rounds. Processor time. Also the time
to take up a style that comes from the learner, once, between two frames.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.report import CLOCK_NS, build_parser, compute_percentiles, write_json
from config.arrays import Floats
from config.settings import Settings
from database.store import open_database
from reconstruct.missing.style import StyleModel
from reconstruct.models.style.features import TrainingPoses
from reconstruct.models.style.learn.train import LearnOptions
from reconstruct.models.style.model import Style
from reconstruct.models.style.task import LearnTask, decode_learned, encode_learned, extract_learned_part
from reconstruct.models.style.task import style_from_result as style_of_task
from reconstruct.search.index import load_search_index
from tools.evaluate.missing.masks import MissingCase, seen_in
from tools.evaluate.missing.measure import clip_query
from tools.evaluate.missing.methods import LocalMethod, MethodInput, StyleFillMethod
from tools.evaluate.missing.styles import known_split, learn_style
from tools.evaluate.protocol import protocol_clip, protocol_database
from tools.evaluate.queries import apply_variant

SHARE, GAP_S, SEED = 0.3, 0.5, 1
TAKEN_UP = 20  # times


def measure_step_ms(given: MethodInput, with_style: bool) -> Floats:
    """Return the time of every frame but the first, (N - 1,)."""
    method = StyleFillMethod(given) if with_style else LocalMethod(given)
    times = []
    for n in range(len(given.query)):
        frame = given.query.frame(n)
        begun = CLOCK_NS()
        method.step(n, frame)
        times.append(CLOCK_NS() - begun)
    return 1e-6 * np.array(times[1:], float)


def measure_take_up_ms(style: Style, rounds: int) -> Floats:
    """Return the time from the learner's message to models for the two estimators of a run, (R,)."""
    task = LearnTask(1, 0, style.name, style.skeleton, TrainingPoses(style.features, style.rotvec, style.times), LearnOptions())
    message, times = encode_learned(extract_learned_part(task, style, 0.0)), []
    for _ in range(rounds):
        begun = CLOCK_NS()
        come = style_of_task(task, decode_learned(message))
        assert come is not None
        StyleModel(come).fresh()
        times.append(CLOCK_NS() - begun)
    return 1e-6 * np.array(times, float)


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="unpacked CMU motions")
    parser.add_argument("--database", type=Path, help="database without the protocol's clips; default built from --motion, once")
    parser.add_argument("--clip", default="07_08")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(given)
    database = open_database(protocol_database(options.motion, options.database))
    which = protocol_clip(options.clip)
    split = known_split(which, options.motion)
    query = apply_variant(clip_query(split.query, which, "boxing", options.seconds), "noise", SEED)
    whole = MethodInput(query, load_search_index(query.subject, database), Settings(), learn_style(split, query.subject.skeleton))
    seen = seen_in(MissingCase(GAP_S, SHARE), query.subject, len(query), SEED, which.stem)
    if seen is None:
        parser.error("the clip is too short for gaps")
    gaps = replace(whole, query=replace(query, visible=seen))
    ways = {
        f"{what}, {how}": (each, how == "with a style")
        for what, each in (("none missing", whole), ("30 % missing", gaps))
        for how in ("local model", "with a style")
    }
    for each, with_style in ways.values():  # compiles
        measure_step_ms(each, with_style)
    best = {name: np.full(len(query) - 1, np.inf) for name in ways}
    for _ in range(options.rounds):
        for name, (each, with_style) in ways.items():
            best[name] = np.minimum(best[name], measure_step_ms(each, with_style))
    found = {}
    for name, times in best.items():
        p50, p95, _ = compute_percentiles(times)
        found[name] = {"mean_ms": float(times.mean()), "p50_ms": p50, "p95_ms": p95, "max_ms": float(times.max())}
        print(f"{name:<32}" + "".join(f"{key} {value:8.3f}   " for key, value in found[name].items()))
    assert whole.style is not None
    taken = measure_take_up_ms(whole.style, TAKEN_UP)
    found["taking up a style"] = {"p50_ms": float(np.median(taken)), "max_ms": float(taken.max())}
    print(f"{'taking up a style':<32}" + "".join(f"{key} {value:8.3f}   " for key, value in found["taking up a style"].items()))
    write_json(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
