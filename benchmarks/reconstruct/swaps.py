"""Labels exchanged at known times: how many are told, how soon labels are right again, and false alarms without any.

    python -m benchmarks.reconstruct.swaps --motion DIR [--database DB] [--set tuning|test] [--clip NAME...] [--seconds S]
        [--json F]

Every EVERY_S each association of the tracker has two markers, 0.1 to 0.5 m apart, exchanged for HELD_S, as if all hypotheses had
chosen wrongly; then it is left to itself. Told: by `swaps_suspected` (the doubt `exchanged`, or points that fit the pose better
exchanged); doubted: by that, by any other doubt or by a state that is not tracking; within WITHIN_S of the beginning.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.report import build_motion_parser, compute_percentiles, run_main, write_json
from capture.packets import MarkerFrame, Views
from capture.sources.simulated.performer import make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.settings import Settings
from reconstruct.doubt import OF_SWAPS, Doubt
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState, find_swapped_markers
from reconstruct.track import hypotheses
from reconstruct.track.association import Association, associate
from tools.evaluate.clip_sets import TEST, TUNING
from tools.evaluate.missing.labels import TPOSE_S, Label, LabelScene, blobs_of, check_label, project_scene
from tools.evaluate.protocol import open_once, protocol_database, read_query, set_clip
from tools.evaluate.queries import FPS
from tools.evaluate.rendered import begin_of

EVERY_S, HELD_S, WITHIN_S = 1.5, 0.1, 1.0
APART_PX = (15.0, 80.0)  # in the first view: some 0.1 to 0.5 m


@dataclass(slots=True)
class SwapCounts:
    """Of some clips: exchanges; how late each was told, doubted, and right for good [ms], of those that were; and without any:
    minutes, and how often an exchange is suspected and anything doubted."""

    injected: int = 0
    told_ms: list[float] = field(default_factory=list)
    doubted_ms: list[float] = field(default_factory=list)
    right_ms: list[float] = field(default_factory=list)
    minutes: float = 0.0
    alarms: int = 0
    doubts: int = 0


def step_with_swap(pipeline: Pipeline, views: Views, first: int, second: int) -> Pose:
    """Return the next pose where every association of the tracker has two markers exchanged."""

    def wrong(*given: Any) -> list[Association]:
        return [replace(each, frame=exchange_markers(each.frame, first, second)) for each in associate(*given)]

    with patch.object(hypotheses, "associate", wrong):
        return pipeline.step(views)


def exchange_markers(frame: MarkerFrame, first: int, second: int) -> MarkerFrame:
    """Return a frame in which two markers have each other's points."""
    order = np.arange(len(frame.valid))
    order[[first, second]] = second, first
    by_marker = {name: getattr(frame, name)[order] for name in ("valid", "point_m", "covariance_m2", "epipolar_px")}
    return replace(frame, **by_marker, **{name: getattr(frame, name)[:, order] for name in ("seen", "image_px", "sigma_px")})


def choose_swaps(scene: LabelScene) -> dict[int, tuple[int, int]]:
    """Return two markers by the frame from which they are exchanged."""
    rng, image = np.random.default_rng(1), scene.image_px[0]
    found = {}
    for k in range(scene.before + round(0.5 * FPS), image.shape[0] - round(WITHIN_S * FPS), round(EVERY_S * FPS)):
        apart = np.linalg.norm(image[k, :, None] - image[k], axis=2)
        pairs = np.argwhere(np.triu((apart > APART_PX[0]) & (apart < APART_PX[1])))
        if len(pairs):
            first, second = rng.choice(pairs)
            found[k] = int(first), int(second)
    return found


def follow_scene(scene: LabelScene, pipeline: Pipeline, swaps: dict[int, tuple[int, int]]) -> tuple[list[bool], ...]:
    """Return for every frame, with some labels exchanged: whether that is told, or doubted, and whether all are right."""
    told, doubted, right = list[bool](), list[bool](), list[bool]()
    rng, n, n_markers = np.random.default_rng(1), *scene.image_px.shape[1:3]
    every = np.ones(n_markers, bool)
    pipeline.forget()
    for k in range(n):
        order = rng.permutation(n_markers)
        views = Views(tuple(blobs_of(c, each[k], every, k, order) for c, each in enumerate(scene.image_px)))
        pair = next((swaps[at] for at in swaps if at <= k < at + round(HELD_S * FPS)), None)
        pose = pipeline.step(views) if pair is None else step_with_swap(pipeline, views, *pair)
        frame = pipeline.markers
        assert frame is not None
        told.append(bool(pose.doubts & OF_SWAPS or find_swapped_markers(pose, frame)))
        doubted.append(told[-1] or bool(pose.doubts - {Doubt.RIVALS}) or pose.state is not TrackingState.TRACKING)
        right.append(all(check_label(frame, m, scene.image_px[:, k]) is Label.RIGHT for m in range(n_markers)))
    return told, doubted, right


def count_swaps(scene: LabelScene, pipeline: Pipeline, counts: SwapCounts) -> None:
    """Add what becomes of the exchanges of a performance, and of the performance without."""
    swaps, within = choose_swaps(scene), round(WITHIN_S * FPS)
    told, doubted, right = follow_scene(scene, pipeline, swaps)
    for k in swaps:
        counts.injected += 1
        for flags, late_ms in ((told, counts.told_ms), (doubted, counts.doubted_ms)):
            late_ms += [1e3 * flags[k : k + within].index(True) / FPS] if any(flags[k : k + within]) else []
        wrong = np.flatnonzero(~np.array(right[k : k + within]))
        counts.right_ms += [1e3 * float(wrong.max(initial=-1) + 1) / FPS] if right[k + within - 1] else []
    told, doubted, _ = (flags[scene.before :] for flags in follow_scene(scene, pipeline, {}))
    counts.minutes += len(told) / FPS / 60.0
    counts.alarms += sum(now and not before for before, now in zip([False, *told], told, strict=False))
    counts.doubts += sum(now and not before for before, now in zip([False, *doubted], doubted, strict=False))


def format_table(counts: SwapCounts) -> list[str]:
    """Return the lines of the figures."""
    lines = [f"{counts.injected} exchanges of {1e3 * HELD_S:.0f} ms; {counts.minutes:.2f} minutes without"]
    for name in ("told", "doubted", "right"):
        late = getattr(counts, f"{name}_ms")
        median, p95 = compute_percentiles(late, 50.0, 95.0)
        share = 100.0 * len(late) / max(counts.injected, 1)
        lines.append(f"{name:<10}{share:6.1f} % within {WITHIN_S:g} s, after {median:.0f} ms, 95 % of them {p95:.0f}")
    rates = (each / max(counts.minutes, 1e-9) for each in (counts.alarms, counts.doubts))
    return [*lines, "without any: told {:.2f} times a minute, doubted {:.2f}".format(*rates)]


def main() -> None:
    """Measure and print, clips so far after each."""
    parser = build_motion_parser(__doc__, seconds=8.0)
    parser.add_argument("--database", type=Path)
    parser.add_argument("--set", choices=("tuning", "test"), default="tuning", dest="which")
    parser.add_argument("--clip", nargs="+", default=[])
    given = parser.parse_args()
    stems, counts = given.clip or list(TUNING if given.which == "tuning" else TEST), SwapCounts()
    database = open_once(given.database or protocol_database(given.motion, None, [set_clip(stem) for stem in stems]))
    for stem in stems:
        clip = begin_of(read_query(set_clip(stem), given.motion), given.seconds)
        simulated = SimulatedScene(motion=clip.name, markers="boxing", tpose_s=TPOSE_S, seed=1)
        performer = make_scene_performer(simulated, clip)
        scene = project_scene(stem, simulated, performer, given.seconds)
        count_swaps(scene, Pipeline(performer.rig, scene.subject, database, Settings()), counts)
        print(stem, *format_table(counts)[1:], sep="\n  ", flush=True)
    print(*format_table(counts), sep="\n")
    write_json(given.json, counts)


if __name__ == "__main__":
    run_main(main)
