"""Processor time a pair of a real recording in replay, by stage.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.reconstruct.stages --recording DIR [--database DB] [--rounds 3] [--json F]

DIR as for `benchmarks.reconstruct.real_recording`. Pairs are detected once; then every round puts them all through the pipeline
and composes and packs their messages. A stage's time is its own: what it calls of other stages is theirs. The least of all rounds
counts, as other programs on the machine only add to it; `total` is measured without the stages' clocks.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.report import build_parser, write_json
from calibration.formats.rig_toml import read_rig_toml
from calibration.world import place_rig_in_world
from capture.packets import Views
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.markers import read_marker_set
from config.settings import Settings
from database.default import open_default_database
from database.store import open_database
from reconstruct.pipeline import Pipeline
from stream.protocol.codec import encode_message
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from tools.calibrate.session import fit_subject_to_pairs, read_pairs

T_POSE_S = (0.5, 8.0)
US = 1e-3
# What is timed, and the stage it belongs to.
TIMED = {
    "reconstruct.pipeline.match": "match",
    "reconstruct.track.tracker.predict_markers": "predict",
    "reconstruct.track.hypotheses.associate": "label",
    "reconstruct.track.false_detections.FalseDetections.without": "false detections",
    "reconstruct.track.false_detections.FalseDetections.learn": "false detections",
    "reconstruct.track.estimator.Estimator.estimate": "estimate",
    "reconstruct.search.walk.PoseSearch.nearest": "search",
    "reconstruct.models.local.gaussian.GaussianFitter.fit": "local model",
    "reconstruct.track.models.join_neighbours": "belief",
    "reconstruct.track.models.update_belief": "belief",
    "reconstruct.track.models.compute_surprise": "belief",
    "reconstruct.solve.solver.FrameProblem.energy": "solve",
    "reconstruct.solve.solver.run_levenberg_marquardt": "solve",
    "reconstruct.track.estimator.Estimator.error_m": "expected errors",
    "reconstruct.pipeline.Pipeline._packet": "packet",
    "reconstruct.finish.filter.OutputFilter.step": "filter",
    "reconstruct.finish.stage.PoseFeet.step": "feet",
    f"{__name__}.compose_pose_message": "message",
    f"{__name__}.encode_message": "message",
}


class StageClock:
    """Sums up processor time by stage; time within a nested stage counts there only. OTHER is what no stage has."""

    OTHER = "other"

    def __init__(self) -> None:
        self.spent_ns: Counter[str] = Counter()
        self._inner = [self.OTHER]
        self._since_ns = time.thread_time_ns()

    def _switch(self) -> None:
        """Count the time since the last change for the innermost stage."""
        now_ns = time.thread_time_ns()
        self.spent_ns[self._inner[-1]] += now_ns - self._since_ns
        self._since_ns = now_ns

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count from here to the end of the block."""
        self._since_ns = time.thread_time_ns()
        yield
        self._switch()

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function with its time counted for a stage."""

        @wraps(function)
        def counted(*given: Any, **named: Any) -> Any:
            self._switch()
            self._inner.append(stage)
            try:
                return function(*given, **named)
            finally:
                self._switch()
                self._inner.pop()

        return counted


def find_holder(path: str) -> tuple[Any, str]:
    """Return what holds a name such as `reconstruct.pipeline.match`, and its last part."""
    parts = path.split(".")
    n = max(k for k in range(1, len(parts)) if ".".join(parts[:k]) in sys.modules)
    holder: Any = sys.modules[".".join(parts[:n])]
    for part in parts[n:-1]:
        holder = getattr(holder, part)
    return holder, parts[-1]


@contextmanager
def time_stages(clock: StageClock) -> Iterator[None]:
    """Time all stages within the block."""
    with ExitStack() as stack:
        for path, stage in TIMED.items():
            holder, name = find_holder(path)
            stack.enter_context(patch.object(holder, name, clock.timed(getattr(holder, name), stage)))
        yield


class RecordingReplay:
    """A recording's pairs as a replay has them, and a pipeline for them; a round is all pairs."""

    def __init__(self, folder: Path, database: Path | None) -> None:
        settings, rig, worn = Settings(), read_rig_toml(folder / "rig.toml"), read_marker_set(folder / "markers.toml")
        spec = RecordingSpec((str(folder / "left.avi"), str(folder / "right.avi")), folder / "timestamps.csv")
        poses = open_default_database() if database is None else open_database(database)
        recording = CaptureRecording(spec, settings.detector, worn)
        [pairs] = read_pairs(recording, [T_POSE_S], rig)
        self.subject = fit_subject_to_pairs("performer", pairs, rig, worn, poses, settings).subject
        self._skeleton, self.pipeline = (
            compose_skeleton_message(self.subject),
            Pipeline(place_rig_in_world(rig, self.subject.world), self.subject, poses, settings),
        )
        self.pipeline.warm()
        recording.learn_background()
        synchroniser, self.pairs = recording.synchroniser(settings.time), list[Views]()
        for pair, _, _ in recording.pairs(synchroniser=synchroniser):
            self.pairs.append(pair)
            self.pipeline.step(pair)
            synchroniser.learn(self.pipeline.markers, rig)

    def round(self) -> None:
        """Solve all pairs and pack their messages."""
        self.pipeline.forget()
        for n, pair in enumerate(self.pairs):
            pose = self.pipeline.step(pair)
            encode_message(compose_pose_message(pose, self._skeleton, "stages", n, 0))


def measure_stages_us(replayed: RecordingReplay, rounds: int) -> dict[str, float]:
    """Return processor time a pair by stage and in total [us], the least of some rounds of each."""
    totals, stages = list[float](), list[Counter[str]]()
    for _ in range(rounds):
        begun_ns = time.thread_time_ns()
        replayed.round()
        totals.append(time.thread_time_ns() - begun_ns)
        clock = StageClock()
        with time_stages(clock), clock.running():
            replayed.round()
        stages.append(clock.spent_ns)
    least = min(stages, key=Counter.total)
    found = {stage: US * ns / len(replayed.pairs) for stage, ns in least.most_common()}
    return {**found, "total": US * min(totals) / len(replayed.pairs)}


def main(given: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = build_parser(__doc__)
    parser.add_argument("--recording", type=Path, required=True)
    parser.add_argument("--database", type=Path, help="motion database; default the installed one")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(given)
    found = measure_stages_us(RecordingReplay(options.recording, options.database), options.rounds)
    print("processor time a pair, us")
    for stage, us in found.items():
        print(f"    {stage:<20}{us:>8.0f}")
    write_json(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
