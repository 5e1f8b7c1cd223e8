"""What a style costs a live frame: the estimator's step with nothing missing and with 30 % missing, without and with a style.
And what it costs to take up one that comes from the learner, once, between two frames.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.style_live --motion DIR [--database DB] [--clip 07_08] [--rounds 3] [--json F]

Frames of a clip at 60 Hz, nine markers; the style is learned as `duocap evaluate missing` learns it, never of the frames asked.
Ways take turns, each on all frames; every frame counts with the least of its times over the rounds. Processor time.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.local_model import CLOCK_NS
from config.settings import Settings
from database.rotations import Floats
from database.store import open_database
from reconstruct.basis import basis_for
from reconstruct.fill_in_style import StyleModel
from reconstruct.style.features import TrainingPoses
from reconstruct.style.learn import LearnOptions
from reconstruct.style.model import Style
from reconstruct.style.task import LearnTask, decode_learned, encode_learned, learned_part
from reconstruct.style.task import style_of as style_of_task
from tools.evaluation.missing import query_of_clip
from tools.evaluation.missing_masks import Case, seen_in
from tools.evaluation.missing_methods import Chosen, Given, Local
from tools.evaluation.missing_styles import lesson, style_of
from tools.evaluation.protocol import protocol_clip, protocol_database
from tools.evaluation.queries import varied

SHARE, GAP_S, SEED = 0.3, 0.5, 1
TAKEN_UP = 20  # times


def step_ms(given: Given, with_style: bool) -> Floats:
    """Give the time of every frame but the first, (N - 1,)."""
    finder = Chosen(given) if with_style else Local(given)
    times = []
    for n in range(len(given.query)):
        frame = given.query.frame(n)
        begun = CLOCK_NS()
        finder.step(n, frame)
        times.append(CLOCK_NS() - begun)
    return 1e-6 * np.array(times[1:], float)


def take_up_ms(style: Style, rounds: int) -> Floats:
    """Give the time from the learner's message to a model that can be asked, (R,), as a run has it with two estimators."""
    task = LearnTask(1, 0, style.name, style.skeleton, TrainingPoses(style.features, style.rotvec, style.moments), LearnOptions())
    message, times = encode_learned(learned_part(task, style, 0.0)), []
    for _ in range(rounds):
        begun = CLOCK_NS()
        come = style_of_task(task, decode_learned(message))
        assert come is not None
        StyleModel(come).another()
        times.append(CLOCK_NS() - begun)
    return 1e-6 * np.array(times, float)


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.style_live", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--motion", type=Path, required=True, help="unpacked CMU motions")
    parser.add_argument("--database", type=Path, help="database without the protocol's clips; default built from --motion, once")
    parser.add_argument("--clip", default="07_08")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    database = open_database(protocol_database(options.motion, options.database))
    which = protocol_clip(options.clip)
    taught = lesson(which, options.motion)
    query = varied(query_of_clip(taught.asked, which, "boxing", options.seconds), "noise", SEED)
    whole = Given(query, basis_for(query.subject, database), Settings(), style_of(taught, query.subject.skeleton))
    seen = seen_in(Case(GAP_S, SHARE), query.subject, len(query), SEED, which.stem)
    if seen is None:
        parser.error("the clip is too short for gaps")
    gaps = replace(whole, query=replace(query, visible=seen))
    ways = {
        f"{what}, {how}": (each, how == "with a style")
        for what, each in (("none missing", whole), ("30 % missing", gaps))
        for how in ("local model", "with a style")
    }
    for each, with_style in ways.values():  # compiles
        step_ms(each, with_style)
    best = {name: np.full(len(query) - 1, np.inf) for name in ways}
    for _ in range(options.rounds):
        for name, (each, with_style) in ways.items():
            best[name] = np.minimum(best[name], step_ms(each, with_style))
    found = {}
    for name, times in best.items():
        p50, p95 = np.percentile(times, (50, 95))
        found[name] = {"mean_ms": float(times.mean()), "p50_ms": float(p50), "p95_ms": float(p95), "max_ms": float(times.max())}
        print(f"{name:<32}" + "".join(f"{key} {value:8.3f}   " for key, value in found[name].items()))
    assert whole.style is not None
    taken = take_up_ms(whole.style, TAKEN_UP)
    found["taking up a style"] = {"p50_ms": float(np.median(taken)), "max_ms": float(taken.max())}
    print(f"{'taking up a style':<32}" + "".join(f"{key} {value:8.3f}   " for key, value in found["taking up a style"].items()))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
