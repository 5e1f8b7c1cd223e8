"""Poses to be filtered: solved motions of bodies that stand still and that move, and a real recording."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.formats.rig_toml import read_rig_toml
from calibration.subject.subject import Subject
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.arrays import Floats
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import Settings
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.pose import JointSource, Pose, TrackingState
from reconstruct.search.examples import compute_examples
from tools.calibrate.session import fit_subject_to_recording
from tools.evaluate.methods import solve
from tools.evaluate.protocol import open_once, protocol_clip
from tools.evaluate.queries import FPS, MotionQuery, apply_variant, load_query, marker_positions
from tools.replay.replay import replay_recording

STANDING = ("05_18", "135_02", "02_05")
MOVING = ("07_08", "09_09", "14_02", "02_05", "16_05", "05_18")
STILL_S, STANDING_S = 1.0, 5.0  # the stillest second of a clip is found; its pose stands for 5 s
SETTLE_S = 0.5  # left out at the start of every signal
REAL_PAIRS, T_POSE_S = 250, (0.5, 8.0)


@dataclass(frozen=True, slots=True)
class PoseSignal:
    """Solved poses, unfiltered.

    seconds: (N,); rotvec: (N, J, 3) charted [rad]; root_m: (N, 3) [m]; true_rotvec, true_root_m: None where unknown.
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
        """The frames that are measured."""
        return slice(int(np.searchsorted(self.seconds, self.seconds[0] + SETTLE_S)), None)

    def joint_m(self) -> Floats:
        """Return the solved joints, (N, J, 3) [m]."""
        return compute_forward_kinematics(self.subject.skeleton, self.rotvec, self.root_m)[1]

    def truth_m(self) -> Floats:
        """Return the true joints, (N, J, 3) [m]."""
        assert self.true_rotvec is not None and self.true_root_m is not None
        return compute_forward_kinematics(self.subject.skeleton, self.true_rotvec, self.true_root_m)[1]

    def poses(self) -> list[Pose]:
        """Return the signal as poses of the pipeline."""
        n = len(self.subject.markers)
        markers = marker_positions(self.subject, self.rotvec, self.root_m)
        source, confidence = np.full(N_JOINTS, JointSource.MEASURED, np.uint8), np.full(N_JOINTS, 0.9)
        bools, zeros = np.ones(n, bool), np.zeros(n)
        seen, px = np.ones((2, n), bool), np.zeros((2, n))
        return [
            Pose(k, round(t * 1e9), 0, TrackingState.TRACKING, r, x, source, confidence, m, bools, zeros, seen, px, {})
            for k, (t, r, x, m) in enumerate(zip(self.seconds, self.rotvec, self.root_m, markers, strict=True))
        ]


def stillest_frame(joint_m: Floats) -> int:
    """Return the middle of the second in which joints, (N, J, 3) [m] at 60 Hz, move least."""
    speed = np.linalg.norm(np.diff(joint_m, axis=0), axis=2).mean(axis=1)
    width = min(len(speed), round(STILL_S * FPS))
    total = np.convolve(speed, np.ones(width), "valid")
    return int(np.argmin(total)) + width // 2


def standing(query: MotionQuery) -> MotionQuery:
    """Return a query that stands still in the stillest pose of another."""
    frame = stillest_frame(compute_forward_kinematics(query.subject.skeleton, query.rotvec, query.root_m)[1])
    n = round(STANDING_S * FPS)
    rotvec, root_m = np.repeat(query.rotvec[frame : frame + 1], n, axis=0), np.repeat(query.root_m[frame : frame + 1], n, axis=0)
    marker_m = marker_positions(query.subject, rotvec, root_m)
    return replace(query, rotvec=rotvec, root_m=root_m, marker_m=marker_m, visible=np.ones(marker_m.shape[:2], bool))


@dataclass(frozen=True, slots=True)
class ClipSolver:
    """Solves clips of the protocol with the product's local model. seconds: of a moving clip."""

    motion: Path
    database: Path
    settings: Settings
    seconds: float
    markers: str
    seed: int

    def standing(self, stem: str) -> list[PoseSignal]:
        """Return the stillest pose of a clip, standing still with 5 mm of noise on the markers. Raises DuocapError."""
        query = load_query(protocol_clip(stem), self.motion, self.markers, 0.0)
        return self._solved({f"{stem} held": apply_variant(standing(query), "noise", self.seed)})

    def moving(self, stem: str) -> list[PoseSignal]:
        """Return the beginning of a clip with exact markers, then with noise. Raises DuocapError."""
        query = load_query(protocol_clip(stem), self.motion, self.markers, self.seconds)
        return self._solved({f"{stem} {variant}": apply_variant(query, variant, self.seed) for variant in ("exact", "noise")})

    def _solved(self, queries: dict[str, MotionQuery]) -> list[PoseSignal]:
        """Put queries of one performer through the estimator. queries: by the name of the signal."""
        examples = compute_examples(next(iter(queries.values())).subject, open_once(self.database))
        signals = []
        for name, query in queries.items():
            found = solve(query, examples, self.settings.solve, "ours")
            seconds = np.arange(len(query)) / FPS
            signals.append(PoseSignal(name, query.subject, seconds, found.rotvec, found.root_m, query.rotvec, query.root_m))
        return signals


def real_signal(folder: Path, database: Path, settings: Settings) -> list[PoseSignal]:
    """Return the replayed T-pose of a recording of two webcams. Raises DuocapError.

    folder: with left.avi, right.avi, timestamps.csv, rig.toml and markers.toml.
    """
    settings = replace(settings, filter=replace(settings.filter, output=False))
    rig, markers = read_rig_toml(folder / "rig.toml"), read_marker_set(folder / "markers.toml")
    spec = RecordingSpec((str(folder / "left.avi"), str(folder / "right.avi")), folder / "timestamps.csv")
    recording = CaptureRecording(spec, settings.detector, markers)
    table = open_once(database)
    subject = fit_subject_to_recording("real", recording, T_POSE_S, rig, markers, table, settings).subject
    poses = [
        p
        for p in replay_recording(recording, rig, subject, table, settings).poses[:REAL_PAIRS]
        if p.state is TrackingState.TRACKING
    ]
    rotvec, root_m = np.stack([pose.rotvec for pose in poses]), np.stack([pose.root_m for pose in poses])
    return [PoseSignal("real T-pose", subject, np.array([p.t_capture_ns for p in poses]) * 1e-9, rotvec, root_m, None, None)]
