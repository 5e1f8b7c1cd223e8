"""Pose2Sim's own triangulation and filter on the landmarks of rendered people, as a user of it would run them.

Rows of `benchmarks.reconstruct.landmarks --pose2sim PYTHON`. It runs with the values of its own example, but for all frames.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.recorded_landmarks import Recording
from calibration.formats.rig_toml import write_rig_toml
from config.arrays import Floats

JOINTS = ("Shoulder", "Elbow", "Wrist", "Hip", "Knee", "Ankle")  # in the order of the landmarks of the preset `none`
HEADER_LINES = 5  # of a TRC file
RUN = """
import sys, toml
from Pose2Sim.triangulation import triangulate_all
from Pose2Sim.filtering import filter_all
config = toml.load("Config.toml")
triangulate_all(config)
filter_all(config)
"""


def write_project(folder: Path, recording: Recording, cameras: Sequence[int], rate: float) -> None:
    """Write a project of Pose2Sim: its settings, calibration and the landmarks in OpenPose's files.

    Args:
        folder: of the project.
        recording: landmarks.
        cameras: those used.
        rate: frames a second.
    """
    (folder / "calibration").mkdir()
    write_rig_toml(folder / "calibration" / "Calib.toml", recording.select_rig(cameras))
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
    wanted = [f"{side}{part}".lower() for part in JOINTS for side in ("L", "R")]
    columns = [2 + 3 * [name.strip().lower() for name in names].index(name) for name in wanted]
    places = np.stack([table[:, at : at + 3] for at in columns], axis=1)
    return table[:, 0], places[..., [2, 0, 1]]  # its world has Z up, and its files Y


def run_pose2sim(recording: Recording, cameras: Sequence[int], python: Path) -> Iterator[tuple[str, Floats]]:
    """Yield Pose2Sim's twelve joints, (F, 12, 3) [m], NaN where it has none, triangulated and filtered.

    Args:
        recording: landmarks.
        cameras: those used.
        python: that has Pose2Sim.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, n_frames = Path(name), len(recording.seconds)
        write_project(folder, recording, cameras, round(1.0 / float(np.median(np.diff(recording.seconds)))))
        subprocess.run([str(python), "-c", RUN], cwd=folder, check=True, capture_output=True)
        for path in sorted((folder / "pose-3d").glob("*.trc"), key=lambda file: len(file.name)):
            frame, found_m = read_joints(path)
            place_m = np.full((n_frames, 2 * len(JOINTS), 3), np.nan)
            place_m[np.clip(frame.astype(int), 0, n_frames - 1)] = found_m
            yield "pose2sim filtered" if "filt" in path.name else "pose2sim", place_m
