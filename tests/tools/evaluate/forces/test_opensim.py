"""Joint angles of a real walk beside OpenSim's inverse kinematics of the same markers, on a plain model scaled by these.

The model knows nothing of our fit: hip centres from the pelvis' markers (Harrington et al. 2007), knees and ankles inwards of
their markers, all in the frame in which a leg passes the other. So what differs is the solution, and where each thinks that the
joints and the zeros of their angles are.
"""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from calibration.subject.marker_motion import read_marker_motion
from database.clips import Clip
from database.geometry.rotations import matrix_from_rotvec, rotation_about, rotvec_from_matrix
from database.marker_files.trc import read_trc
from stream.export.angles import compute_opensim_coordinates
from tests.support import judges
from tools.physics.motion import motion_from_clip

BUILDER = Path(__file__).parents[3] / "support" / "opensim_model.py"
KNEE_M, ANKLE_M, ELBOW_M, SHOULDER_M = 0.055, 0.045, 0.035, 0.05  # from a marker to the middle of its joint
# Degrees that are allowed: RMS, where both may have zeros of their own, and RMS about the mean difference.
COMPARED = {
    "pelvis_tilt": (6.0, 1.5),
    "pelvis_list": (6.0, 3.0),
    "pelvis_rotation": (6.0, 2.0),
    "hip_flexion": (6.0, 2.0),
    "hip_adduction": (8.0, 3.0),
    "hip_rotation": (12.0, 5.0),
    "knee_angle": (10.0, 2.0),
    "ankle_angle": (15.0, 2.0),
    "lumbar_bending": (6.0, 3.0),
    "lumbar_rotation": (6.0, 3.0),
    "arm_flex": (15.0, 3.0),
    "elbow_flex": (15.0, 4.0),
}


class Markers:
    """The markers of the walk by name, in the file's axes: X ahead, Y up, Z to the right [m]."""

    def __init__(self, file: Path) -> None:
        points = read_trc(file)
        self.at = {label: points.point_m[:, k] for k, label in enumerate(points.labels)}

    def __call__(self, name: str, n: int) -> np.ndarray:
        return self.at[name][n]


def axes(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return a frame with an exact y and a z as near as may be, columns X, Y, Z."""
    y = y / np.linalg.norm(y)
    x = np.cross(y, z)
    x /= np.linalg.norm(x)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def describe_model(m: Markers) -> dict[str, object]:
    """Scale the plain model by the markers."""
    offsets: dict[str, list[float]] = {}
    markers: dict[str, tuple[str, list[float]]] = {}

    def put(body: str, name: str, n: int, origin: np.ndarray, R: np.ndarray) -> None:
        markers[name] = (body, (R.T @ (m(name, n) - origin)).tolist())

    for side, letter, sign in (("R", "r", 1.0), ("L", "l", -1.0)):
        n = passing(m, side)[0]
        asis, psis = (0.5 * (m(f"R.{name}", n) + m(f"L.{name}", n)) for name in ("ASIS", "PSIS"))
        z = m("R.ASIS", n) - m("L.ASIS", n)
        wide, deep = np.linalg.norm(z), np.linalg.norm(asis - psis)
        P = axes(np.cross(z, asis - psis), z)
        hip = np.array([-0.24 * deep - 0.0099, -0.30 * wide - 0.0109, sign * (0.33 * wide + 0.0073)])
        offsets[f"femur_{letter}"] = hip.tolist()
        for name in (f"{side}.ASIS", f"{side}.PSIS", "S2"):
            put("pelvis", name, n, asis, P)
        H = asis + P @ hip
        inward = -sign * P[:, 2]
        K, A = m(f"{side}.Knee", n) + KNEE_M * inward, m(f"{side}.Ankle", n) + ANKLE_M * inward
        T, S = axes(H - K, P[:, 2]), axes(K - A, P[:, 2])
        offsets[f"tibia_{letter}"] = [0.0, -float(np.linalg.norm(H - K)), 0.0]
        offsets[f"foot_{letter}"] = [0.0, -float(np.linalg.norm(K - A)), 0.0]
        toe = m(f"{side}.Toe", n) - m(f"{side}.Heel", n)
        F = axes(np.array([0.0, 1.0, 0.0]), np.cross(toe * (1.0, 0.0, 1.0), (0.0, 1.0, 0.0)))
        for name in m.at:
            if name.startswith(f"{side}.TH") or name == f"{side}.Knee":
                put(f"femur_{letter}", name, n, H, T)
            elif (name.startswith(f"{side}.SH") and name[-1].isdigit()) or name == f"{side}.Ankle":
                put(f"tibia_{letter}", name, n, K, S)
            elif name in (f"{side}.Heel", f"{side}.MT5", f"{side}.Toe"):
                put(f"foot_{letter}", name, n, A, F)
        # The trunk turns about the middle of the back, in the height of the pelvis' markers.
        shoulders = m("R.Shoulder", n) - m("L.Shoulder", n)
        back = 0.5 * (asis + psis)
        offsets["torso"] = (P.T @ (back - asis)).tolist()
        B = axes(0.5 * (m("R.Shoulder", n) + m("L.Shoulder", n)) - back, shoulders)
        for name in (f"{side}.Shoulder", f"{side}.Clavicle"):
            put("torso", name, n, back, B)
        shoulder = m(f"{side}.Shoulder", n) - SHOULDER_M * B[:, 1]
        offsets[f"humerus_{letter}"] = (B.T @ (shoulder - back)).tolist()
        elbow = m(f"{side}.Elbow", n) - sign * ELBOW_M * B[:, 2]
        wrist = m(f"{side}.Wrist", n)
        fold = np.cross(wrist - elbow, shoulder - elbow)  # to the right, if the forearm is in front
        U, V = axes(shoulder - elbow, fold), axes(elbow - wrist, fold)
        offsets[f"ulna_{letter}"] = [0.0, -float(np.linalg.norm(shoulder - elbow)), 0.0]
        for name in (f"{side}.Biceps", f"{side}.Elbow"):
            put(f"humerus_{letter}", name, n, shoulder, U)
        for name in (f"{side}.Forearm", f"{side}.Wrist"):
            put(f"ulna_{letter}", name, n, elbow, V)
    locked = [f"{name}_{side}" for name in ("mtp_angle", "wrist_flex", "wrist_dev") for side in "rl"]
    return {"offsets": offsets, "markers": markers, "locked": locked}


def passing(m: Markers, side: str) -> list[int]:
    """Return the frames in which the other ankle passes the one of a side, which stands."""
    other = "L" if side == "R" else "R"
    ahead = (m.at[f"{side}.Ankle"] - m.at[f"{other}.Ankle"])[:, 0]
    return np.flatnonzero((ahead[:-1] > 0.0) & (ahead[1:] <= 0.0)).tolist()


def turned(clip: Clip) -> Clip:
    """Turn a walk along X so that it goes along Z, as OpenSim's X is our Z."""
    R = rotation_about((0.0, 1.0, 0.0), -0.5 * np.pi)
    rotvec = clip.rotvec.copy()
    rotvec[:, 0] = rotvec_from_matrix(R @ matrix_from_rotvec(rotvec[:, 0]))
    return Clip(clip.name, clip.skeleton, clip.fps, rotvec, np.ascontiguousarray(clip.root_m @ R.T))


@pytest.mark.judge
@pytest.mark.slow
def test_angles_of_a_real_walk_are_those_of_opensim(shared_data: Path, tmp_path: Path) -> None:
    python, file = judges.python_with("opensim"), shared_data / "forces" / "motion_capture_walk.trc"
    if not file.is_file():
        pytest.skip("no walk with force plates in the real recordings")
    (tmp_path / "body.json").write_text(json.dumps(describe_model(Markers(file))), encoding="utf-8")
    command = [python, str(BUILDER), "solve", str(tmp_path / "body.json"), str(file), str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    theirs = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    ours = compute_opensim_coordinates(motion_from_clip(turned(read_marker_motion(file).clip), "walk").take, False)
    for coordinate, (most, most_about_mean) in COMPARED.items():
        for name in [coordinate] if coordinate in ours else [f"{coordinate}_r", f"{coordinate}_l"]:
            off = ours[name][np.round(100.0 * np.array(theirs["time"])).astype(int)] - np.array(theirs[name])
            rms, mean = float(np.sqrt((off**2).mean())), float(off.mean())
            print(f"{name:<18} RMS {rms:5.1f}, mean {mean:+5.1f}, about it {off.std():4.1f}, range {np.ptp(theirs[name]):5.1f}")
            assert rms < most and off.std() < most_about_mean, name
