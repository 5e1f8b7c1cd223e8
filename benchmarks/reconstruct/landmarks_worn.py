"""A few markers beside landmarks of rendered people: errors of poses, and labels of markers that return after gaps.

    python -m benchmarks.reconstruct.landmarks_worn FILE.npz... --motion DIR [--cameras 0 1]
        [--cases labels limbs oracles] [--json F]

Files are those of `recorded_landmarks`, at 60 Hz; the markers are worn where the set `boxing` has them, seen with 0.3 px of noise
as in `duocap evaluate labels`, and hidden by nothing but the gaps. The subject is calibrated from the T-pose with both.

labels: nine markers, 30, 50 and 70 % of them missing for half a second and half of them for two, with landmarks and without.
limbs: markers at wrists and ankles alone, beside all nine and none. oracles: these four with landmarks where they truly are
(exact), with the body as it truly is (body), and with both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.recorded_landmarks import Recording, read_recording
from benchmarks.report import (
    TablePrinter,
    build_motion_parser,
    group_rows,
    number_columns,
    open_set_database,
    run_main,
    text_columns,
    write_json,
)
from calibration.camera import Rig
from calibration.subject.subject import Subject
from calibration.subject.tpose import select_marker_subset
from capture.packets import Landmarks
from config.arrays import Floats
from config.markers import NO_MARKERS, MarkerSet, read_marker_set
from config.settings import Settings
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from tools.calibrate.session import fit_subject_to_pairs
from tools.evaluate.missing.labels import NOISE_PX, LabelRun, LabelScene, run_case
from tools.evaluate.missing.masks import MissingCase
from tools.evaluate.protocol import ProtocolClip
from tools.evaluate.states import count_states

NOTHING = MissingCase(0.5)
GAPS = (MissingCase(0.5, share=0.3), MissingCase(0.5, share=0.5), MissingCase(0.5, share=0.7), MissingCase(2.0, share=0.5))
LIMBS = ("left_hand", "right_hand", "left_foot", "right_foot")
CASES = ("labels", "limbs", "oracles")


@dataclass(frozen=True, slots=True)
class Worn:
    """What is worn and known. way: its name; names: of the markers; landmarks: whether they count; exact, body: oracles."""

    way: str
    names: tuple[str, ...]
    landmarks: bool = True
    exact: bool = False
    body: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """Figures of a case of a clip: errors [mm]; shares [%]. right, later: labels, of `returns` returning markers."""

    clip: str
    way: str
    case: str
    mm: float
    p95_mm: float
    lost: float
    within_1: float
    within_2: float
    returns: int
    right: float
    later: float


def list_ways(case: str) -> list[Worn]:
    """Return what is worn in a group of cases."""
    nine = read_marker_set("boxing").names
    if case == "labels":
        return [Worn("nine, landmarks", nine), Worn("nine alone", nine, landmarks=False)]
    if case == "limbs":
        return [Worn("wrists, ankles", LIMBS)]
    ways = (("exact", True, False), ("body", False, True), ("exact, body", True, True))
    return [Worn(f"wrists, ankles; {name}", LIMBS, exact=exact, body=body) for name, exact, body in ways]


def add_landmarks(markers: MarkerSet) -> MarkerSet:
    """Return a marker set with the landmarks of the preset `none` behind its markers."""
    both = markers, read_marker_set(NO_MARKERS)
    parts = {each.name: np.concatenate([getattr(one, each.name) for one in both]) for each in fields(MarkerSet)[1:]}
    return MarkerSet(both[0].names + both[1].names, **parts)


def place_markers(recording: Recording, markers: MarkerSet) -> Floats:
    """Return where markers truly are, (F, M, 3) [m]."""
    joint = markers.joint
    return np.asarray(recording.joint_m[:, joint] + np.einsum("fmij,mj->fmi", recording.rotation[:, joint], markers.offset_m))


def find_landmarks(recording: Recording, markers: MarkerSet, camera: int, exact: bool) -> list[Landmarks | None]:
    """Return the landmarks of a camera's pictures; exact: where the marker set has them on the true body."""
    image_px, score, rows = recording.image_px[:, camera].copy(), recording.score[:, camera].copy(), np.flatnonzero(~markers.worn)
    if exact:
        at_m = place_markers(recording, markers)[:, rows]
        image_px[:, markers.landmark[rows]] = [recording.rig.cameras[camera].project(points) for points in at_m]
        score[:, markers.landmark[rows]] = 1.0
    each = zip(image_px, score, recording.found[:, camera], strict=True)
    return [Landmarks(px, s, 1.0) if found else None for px, s, found in each]


def build_scene(recording: Recording, cameras: Sequence[int], worn: Worn) -> LabelScene:
    """Return what the cameras see; its subject has the true skeleton."""
    nine = read_marker_set("boxing")
    chosen = select_marker_subset(nine, np.array([nine.names.index(name) for name in worn.names]))
    both, rng = add_landmarks(chosen), np.random.default_rng([1, *recording.stem.encode()])
    place_m, rig = place_markers(recording, chosen), recording.rig
    image_px = np.array([[rig.cameras[c].project(points) for points in place_m] for c in cameras])
    image_px += NOISE_PX * rng.normal(size=image_px.shape)
    found = tuple(find_landmarks(recording, both, c, worn.exact) for c in cameras) if worn.landmarks else ()
    subject = Subject("true", recording.skeleton, chosen, chosen.offset_m, np.zeros(len(chosen)))
    first = int(np.searchsorted(recording.seconds, recording.begin_s))
    return LabelScene(subject, first, image_px, recording.joint_m, found)


def calibrate(recording: Recording, scene: LabelScene, rig: Rig, worn: Worn, database: PoseDatabase) -> Subject:
    """Return the subject of a scene as its T-pose tells it, or as it truly is.

    Args:
        recording: the clip.
        scene: what is seen of it.
        rig: the cameras.
        worn: what is worn and known.
        database: of motions.
    """
    markers = add_landmarks(scene.subject.markers) if worn.landmarks else scene.subject.markers
    if worn.body:
        return Subject("true", scene.subject.skeleton, markers, markers.offset_m, np.zeros(len(markers)))
    rng, every = np.random.default_rng(0), np.ones(len(scene.subject.markers), bool)
    pairs = [scene.views_of(int(n), every, rng) for n in np.flatnonzero(recording.held)]
    return fit_subject_to_pairs("rendered", pairs, rig, markers, database, Settings()).subject


def score_clip(recording: Recording, cameras: Sequence[int], groups: Sequence[str], database: PoseDatabase) -> Iterator[Score]:
    """Yield the scores of a clip in some groups of cases."""
    rig = recording.select_rig(cameras)
    for group in groups:
        for worn in list_ways(group):
            scene = build_scene(recording, cameras, worn)
            subject = calibrate(recording, scene, rig, worn, database)
            pipeline = Pipeline(rig, subject, database, Settings())
            pipeline.warm()
            chosen = replace(subject, markers=scene.subject.markers, offset_m=subject.offset_m[: len(scene.subject.markers)])
            seen = replace(scene, subject=chosen)
            for case in (NOTHING, *GAPS) if group == "labels" else (NOTHING,):
                run = run_case(ProtocolClip(recording.stem, "rendered"), "boxing", seen, case, pipeline, False, 1)
                if run is not None:
                    yield _score_run(run, worn)


def _score_run(run: LabelRun, worn: Worn) -> Score:
    """Return the figures of a run."""
    states, mm = count_states([run.poses]), 1e3 * run.poses.error_m
    checked = max(run.right + run.wrong + run.none, 1)
    labels = (100.0 * run.right / checked, 100.0 * run.later_right / max(run.later, 1)) if run.returns else (np.nan, np.nan)
    shares = (100.0 * (1.0 - states.tracking), 100.0 * states.within[0], 100.0 * states.within[1])
    case = str(run.case) if run.case.share else "none missing"
    return Score(run.clip, worn.way, case, float(mm.mean()), float(np.percentile(mm, 95.0)), *shares, run.returns, *labels)


def average_scores(scores: Sequence[Score]) -> Iterator[Score]:
    """Yield the mean over the clips for every way and case, of labels over all returns."""
    for same in group_rows(scores, "way", "case"):
        returns = np.array([score.returns for score in same])
        means = {name: float(np.mean([getattr(score, name) for score in same])) for name in ERRORS}
        weights = np.maximum(returns, 1)
        labels = {name: float(np.average([getattr(score, name) for score in same], weights=weights)) for name in LABELS}
        yield Score(f"{len(same)} clips", same[0].way, same[0].case, returns=int(returns.sum()), **means, **labels)


ERRORS, LABELS = ("mm", "p95_mm", "lost", "within_1", "within_2"), ("right", "later")
COLUMNS = (*text_columns("clip", "way", "case"), *number_columns(1, *ERRORS), *number_columns(0, "returns"))


def main() -> None:
    """Measure and print."""
    parser = build_motion_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--cameras", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    database, table = open_set_database(options.motion, ["07_08"]), TablePrinter((*COLUMNS, *number_columns(1, *LABELS)))
    for path in options.files:
        for score in score_clip(read_recording(path), options.cameras, options.cases, database):
            table.add(score)
    for mean in average_scores(table.rows):
        table.show(mean)
    write_json(options.json, table.rows)


if __name__ == "__main__":
    run_main(main)
