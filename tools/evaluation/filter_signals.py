"""What filters are measured on: solved poses of bodies that stand still, of bodies that move, and of a real recording."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.rig_toml import read_rig
from calibration.subject import Subject
from capture.recording import Recording, RecordingSpec
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import Settings
from database.kinematics import forward
from database.rotations import Floats
from database.store import PoseDatabase
from reconstruct.examples import Examples, examples_for
from reconstruct.pose import JointSource, Pose, State
from tools.evaluation.protocol import protocol_clip
from tools.evaluation.queries import FPS, Query, markers_of, query_of, varied
from tools.evaluation.synthesis import synthesized
from tools.replay import replay
from tools.subject_session import subject_from_recording

STANDING = ("05_18", "135_02", "02_05")
MOVING = ("07_08", "09_09", "14_02", "02_05", "16_05", "05_18")
STILL_S, HELD_S = 1.0, 5.0  # the stillest second of a clip is looked for, and held
SETTLE_S = 0.5  # at the start of everything, before anything is measured
REAL_PAIRS, T_POSE_S = 250, (0.5, 8.0)


@dataclass(frozen=True, slots=True)
class Signal:
    """Solved poses, unfiltered.

    seconds: (N,); rotvec: (N, J, 3) charted [rad]; root_m: (N, 3); true_rotvec, true_root_m: the truth, None where there is none.
    """

    name: str
    subject: Subject
    seconds: Floats
    rotvec: Floats
    root_m: Floats
    true_rotvec: Floats | None
    true_root_m: Floats | None

    @property
    def measured(self) -> slice:
        """The frames that count."""
        return slice(int(np.searchsorted(self.seconds, self.seconds[0] + SETTLE_S)), None)

    def joint_m(self) -> Floats:
        """Give the solved joints, (N, J, 3) [m]."""
        return forward(self.subject.skeleton, self.rotvec, self.root_m)[1]

    def truth_m(self) -> Floats:
        """Give the true joints, (N, J, 3) [m]."""
        assert self.true_rotvec is not None and self.true_root_m is not None
        return forward(self.subject.skeleton, self.true_rotvec, self.true_root_m)[1]

    def poses(self) -> list[Pose]:
        """Give the signal as the pipeline hands poses on."""
        n = len(self.subject.markers)
        markers = markers_of(self.subject, self.rotvec, self.root_m)
        source, confidence = np.full(N_JOINTS, JointSource.MEASURED, np.uint8), np.full(N_JOINTS, 0.9)
        bools, zeros = np.ones(n, bool), np.zeros(n)
        seen, px = np.ones((2, n), bool), np.zeros((2, n))
        return [
            Pose(k, round(t * 1e9), 0, State.TRACKING, r, x, source, confidence, m, bools, zeros, seen, px, {})
            for k, (t, r, x, m) in enumerate(zip(self.seconds, self.rotvec, self.root_m, markers, strict=True))
        ]


def stillest_frame(joint_m: Floats) -> int:
    """Give the middle of the second in which joints (N, J, 3) [m] at 60 Hz move least."""
    speed = np.linalg.norm(np.diff(joint_m, axis=0), axis=2).mean(axis=1)
    width = min(len(speed), round(STILL_S * FPS))
    total = np.convolve(speed, np.ones(width), "valid")
    return int(np.argmin(total)) + width // 2


def held(query: Query) -> Query:
    """Give a query of the stillest pose of a clip, held."""
    frame = stillest_frame(forward(query.subject.skeleton, query.rotvec, query.root_m)[1])
    n = round(HELD_S * FPS)
    rotvec, root_m = np.repeat(query.rotvec[frame : frame + 1], n, axis=0), np.repeat(query.root_m[frame : frame + 1], n, axis=0)
    marker_m = markers_of(query.subject, rotvec, root_m)
    return replace(query, rotvec=rotvec, root_m=root_m, marker_m=marker_m, visible=np.ones(marker_m.shape[:2], bool))


class Clips:
    """Solves protocol clips with the local model of the product; examples are made once a clip."""

    def __init__(self, motion: Path, database: PoseDatabase, settings: Settings, seconds: float, markers: str, seed: int) -> None:
        self._motion, self._database, self._settings = motion, database, settings
        self._seconds, self._markers, self._seed = seconds, markers, seed
        self._examples: dict[str, Examples] = {}

    def standing(self, stems: tuple[str, ...] = STANDING) -> Iterator[Signal]:
        """Give the stillest pose of each clip held, with 5 mm of noise on the markers. Raises DuocapError."""
        for stem in stems:
            query = query_of(protocol_clip(stem), self._motion, self._markers, 0.0)
            yield self._solved(f"{stem} held", varied(held(query), "noise", self._seed))

    def moving(self, stems: tuple[str, ...] = MOVING) -> Iterator[Signal]:
        """Give the beginning of each clip with exact markers, then with noise. Raises DuocapError."""
        for stem in stems:
            query = query_of(protocol_clip(stem), self._motion, self._markers, self._seconds)
            for variant in ("exact", "noise"):
                yield self._solved(f"{stem} {variant}", varied(query, variant, self._seed))

    def _solved(self, name: str, query: Query) -> Signal:
        """Put a query through the estimator."""
        if query.stem not in self._examples:
            self._examples[query.stem] = examples_for(query.subject, self._database)
        rotvec, root_m, _ = synthesized(query, self._examples[query.stem], self._settings.solve, "ours")
        return Signal(name, query.subject, np.arange(len(query)) / FPS, rotvec, root_m, query.rotvec, query.root_m)


def real_signal(folder: Path, database: PoseDatabase, settings: Settings) -> Signal:
    """Give the T-pose of a recording of two webcams (left.avi, right.avi, timestamps.csv, rig.toml, markers.toml), replayed.

    Raises DuocapError.
    """
    settings = replace(settings, filter=replace(settings.filter, output=False))
    rig, worn = read_rig(folder / "rig.toml"), read_marker_set(folder / "markers.toml")
    spec = RecordingSpec(str(folder / "left.avi"), str(folder / "right.avi"), folder / "timestamps.csv")
    recording = Recording(spec, settings.detector, worn)
    subject = subject_from_recording("real", recording, T_POSE_S, rig, worn, database, settings).subject
    poses = [p for p in replay(recording, rig, subject, database, settings).poses[:REAL_PAIRS] if p.state is State.TRACKING]
    rotvec, root_m = np.stack([pose.rotvec for pose in poses]), np.stack([pose.root_m for pose in poses])
    return Signal("real T-pose", subject, np.array([p.t_capture_ns for p in poses]) * 1e-9, rotvec, root_m, None, None)
