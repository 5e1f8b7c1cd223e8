"""Pose2Sim's own triangulation and filter on the landmarks of rendered people, as a user of it would run them.

    python -m benchmarks.reconstruct.pose2sim FILE.npz... --pose2sim PYTHON [--cameras 0 1] [--rate 30] [--json F]

PYTHON is that of an environment with Pose2Sim (`pip install pose2sim`). The files and the columns are those of
`benchmarks.reconstruct.landmarks`, the joints those of its rows `triangulated`: twelve, after the T-pose. Pose2Sim runs with the
values of its own example, but for all frames; `found`: share of the frames for which it gives a place.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.landmarks import Recording, read_recording
from benchmarks.report import build_parser, write_json
from calibration.formats.rig_toml import write_rig_toml
from config.arrays import Floats
from config.joints import JOINT_INDEX

JOINTS = {"Shoulder": "UpperArm", "Elbow": "LowerArm", "Wrist": "Hand", "Hip": "UpperLeg", "Knee": "LowerLeg", "Ankle": "Foot"}
HEADER_LINES = 5  # of a TRC file
RUN = """
import sys, toml
from Pose2Sim.triangulation import triangulate_all
from Pose2Sim.filtering import filter_all
config = toml.load("Config.toml")
triangulate_all(config)
filter_all(config)
"""


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of twelve joints [mm]; found: share of the frames."""

    clip: str
    way: str
    mm: float
    median_mm: float
    p95_mm: float
    found: float


def write_project(folder: Path, recording: Recording, cameras: Sequence[int], rate: float) -> None:
    """Write a project of Pose2Sim: its settings, calibration and the landmarks in OpenPose's files.

    Args:
        folder: of the project.
        recording: landmarks.
        cameras: those used.
        rate: frames a second.
    """
    (folder / "calibration").mkdir()
    rig = replace(recording.rig, cameras=tuple(recording.rig.cameras[c] for c in cameras))
    write_rig_toml(folder / "calibration" / "Calib.toml", rig)
    for k, c in enumerate(cameras):
        place = folder / "pose" / f"cam{k + 1:02d}_json"
        place.mkdir(parents=True)
        for n in range(len(recording.seconds)):
            people = []
            if recording.found[n, c]:
                points = np.column_stack([recording.image_px[n, c], recording.score[n, c]])
                people = [{"person_id": [-1], "pose_keypoints_2d": points.ravel().tolist()}]
            (place / f"cam{k + 1:02d}_{n:06d}.json").write_text(json.dumps({"version": 1.3, "people": people}), "utf-8")
    (folder / "Config.toml").write_text(
        f"""
[project]
project_dir = {json.dumps(str(folder))}
multi_person = false
frame_rate = {rate:g}
frame_range = "all"
[pose]
pose_model = "BLAZEPOSE"
[triangulation]
reproj_error_threshold_triangulation = 15
likelihood_threshold_triangulation = 0.3
min_cameras_for_triangulation = 2
interp_if_gap_smaller_than = 20
interpolation = "linear"
fill_large_gaps_with = "nan"
show_interp_indices = false
make_c3d = false
[filtering]
reject_outliers = true
filter = true
type = "butterworth"
display_figures = false
save_filt_plots = false
make_c3d = false
[filtering.butterworth]
cut_off_frequency = 6
order = 4
""",
        "utf-8",
    )


def read_joints(path: Path) -> tuple[Floats, Floats]:
    """Return frame numbers, from 0, and places of the twelve joints of a TRC file, (N, 12, 3) [m], in the rig's world."""
    names = path.read_text("utf-8").splitlines()[3].split("\t")[2::3]
    table = np.genfromtxt(path, delimiter="\t", skip_header=HEADER_LINES)
    wanted = [name.lower() for name in _list_joints()]
    columns = [2 + 3 * [name.strip().lower() for name in names].index(name) for name in wanted]
    places = np.stack([table[:, at : at + 3] for at in columns], axis=1)
    return table[:, 0], places[..., [2, 0, 1]]  # its world has Z up, and its files Y


def _list_joints() -> list[str]:
    """Return Pose2Sim's names of the twelve joints."""
    return [side + part for part in JOINTS for side in ("L", "R")]


def score_recording(recording: Recording, cameras: Sequence[int], rate: float, python: Path) -> list[Score]:
    """Return the scores of a clip, triangulated and filtered.

    Args:
        recording: landmarks and the truth.
        cameras: those used.
        rate: frames a second.
        python: that has Pose2Sim.
    """
    joints = [JOINT_INDEX[side + JOINTS[part]] for part in JOINTS for side in ("left", "right")]
    first = int(np.searchsorted(recording.seconds, recording.begin_s))
    scores = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_project(folder, recording, cameras, rate)
        subprocess.run([str(python), "-c", RUN], cwd=folder, check=True, capture_output=True)
        for path in sorted((folder / "pose-3d").glob("*.trc"), key=lambda file: len(file.name)):
            frame, place_m = read_joints(path)
            frame = frame.astype(int)
            frame = np.clip(frame, 0, len(recording.seconds) - 1)
            late = frame >= first
            far = 1e3 * np.linalg.norm(place_m - recording.joint_m[frame][:, joints], axis=2)[late]
            known = np.isfinite(far)
            way = "pose2sim filtered" if "filt" in path.name else "pose2sim"
            figures = (float(far[known].mean()), float(np.median(far[known])), float(np.percentile(far[known], 95.0)))
            scores.append(Score(recording.stem, way, *figures, float(known.sum() / (12 * (len(recording.seconds) - first)))))
    return scores


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pose2sim", type=Path, required=True, metavar="PYTHON")
    parser.add_argument("--cameras", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rate", type=float, default=30.0)
    options = parser.parse_args()
    print("| clip | way | mm | median | p95 | found % |\n|---|---|---|---|---|---|")
    scores = []
    for path in options.files:
        recording = read_recording(path).thinned(options.rate)
        for score in score_recording(recording, options.cameras, options.rate, options.pose2sim):
            scores.append(score)
            row = f"{score.mm:.0f} | {score.median_mm:.0f} | {score.p95_mm:.0f} | {100.0 * score.found:.0f}"
            print(f"| {path.stem} | {score.way} | {row} |", flush=True)
    write_json(options.json, [asdict(score) for score in scores])


if __name__ == "__main__":
    main()
