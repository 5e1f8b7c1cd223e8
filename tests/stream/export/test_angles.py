"""Joint angles as files: the table, and the coordinates of OpenSim's models, whose own bodies they pose as ours."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.bodies import build_person_skeleton
from database.geometry.joint_angles import UPRIGHT
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import matrix_from_rotvec, rotation_about
from reconstruct.pose import TrackingState
from stream.export.angles import (
    ANKLE_AXIS,
    SUBTALAR_AXIS,
    TOES_AXIS,
    compute_opensim_coordinates,
    format_angles_csv,
    format_mot,
)
from stream.export.trc import write_opensim_trc
from stream.take.take import Take
from tests.support import judges

BODY = build_person_skeleton(1.8)
BUILDER = Path(__file__).parents[2] / "support" / "opensim_model.py"


def bent(n: int = 5, side: str = "right") -> Take:
    """Build a take in which knee and elbow of one side fold by 0 to 80 degrees; frame 2 is lost."""
    local = np.broadcast_to(np.eye(3), (n, N_JOINTS, 3, 3)).copy()
    sign = 1.0 if side == "right" else -1.0
    for k in range(n):
        local[k, JOINT_INDEX[f"{side}LowerLeg"]] = rotation_about((1.0, 0.0, 0.0), np.radians(20.0 * k))
        local[k, JOINT_INDEX[f"{side}LowerArm"]] = rotation_about((0.0, sign, 0.0), np.radians(20.0 * k))
    states = tuple(TrackingState.LOST if k == 2 else TrackingState.TRACKING for k in range(n))
    return Take(BODY, np.arange(n) / 10.0, states, charted_from_local(local), np.tile([0.2, 0.95, 0.5], (n, 1)))


def columns(text: str) -> dict[str, list[float]]:
    """Read the columns of a MOT file."""
    lines = text.splitlines()
    start = lines.index("endheader") + 1
    rows = [[float(cell) for cell in line.split("\t")] for line in lines[start + 1 :]]
    return {name: [row[k] for row in rows] for k, name in enumerate(lines[start].split("\t"))}


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_table_of_angles(side: str) -> None:
    lines = [line.split(",") for line in format_angles_csv(bent(side=side)).splitlines()]
    head = lines[0]
    assert head[:3] == ["frame", "seconds", "state"] and "hip_flexion_r_deg" in head
    assert lines[3][2] == "lost" and set(lines[3][3:]) == {""}
    for name in ("knee_flexion", "elbow_flexion"):
        k = head.index(f"{name}_{side[0]}_deg")
        assert [float(row[k]) for row in lines[1:] if row[k]] == pytest.approx([0, 20, 60, 80], abs=1e-4)


def test_coordinates_of_both_models() -> None:
    text = format_mot(bent(), "walk")
    lines = text.splitlines()
    found, legs = columns(text), columns(format_mot(bent(), "walk", gait2392=True))
    assert lines[:5] == ["walk", "version=1", "nRows=4", f"nColumns={len(found)}", "inDegrees=yes"]
    assert found["time"] == pytest.approx([0.0, 0.1, 0.3, 0.4])  # the lost frame is left out
    assert found["knee_angle_r"] == pytest.approx([0, 20, 60, 80], abs=1e-3) and found["knee_angle_l"] == pytest.approx([0] * 4)
    assert legs["knee_angle_r"] == pytest.approx([0, -20, -60, -80], abs=1e-3)
    assert found["elbow_flex_r"] == pytest.approx([0, 20, 60, 80], abs=1e-3)
    assert "arm_flex_r" in found and not {"arm_flex_r", "elbow_flex_r"} & set(legs)
    hips = 0.95 + BODY.offsets_m[JOINT_INDEX["leftUpperLeg"], 1]
    width = 2.0 * abs(BODY.offsets_m[JOINT_INDEX["leftUpperLeg"], 0])
    assert found["pelvis_tx"][0] == pytest.approx(0.5 + 0.0707 * width / 0.167, abs=1e-6)
    assert found["pelvis_ty"][0] == pytest.approx(hips + 0.0661 * width / 0.167, abs=1e-6)


def test_the_ankle_turns_about_the_models_axes() -> None:
    """A foot that the models' two joints can reach has their angles."""
    rng = np.random.default_rng(2)
    angles = rng.uniform(-0.6, 0.6, (8, 3))
    local = np.broadcast_to(np.eye(3), (8, N_JOINTS, 3, 3)).copy()
    foot = rotation_about(ANKLE_AXIS, angles[:, 0]) @ rotation_about(SUBTALAR_AXIS, angles[:, 1])
    local[:, JOINT_INDEX["rightFoot"]] = UPRIGHT @ foot @ UPRIGHT.T
    local[:, JOINT_INDEX["rightToes"]] = UPRIGHT @ rotation_about(TOES_AXIS, angles[:, 2]) @ UPRIGHT.T
    take = Take(BODY, np.arange(8) / 10.0, (TrackingState.TRACKING,) * 8, charted_from_local(local), np.zeros((8, 3)))
    found = compute_opensim_coordinates(take, True)
    names = ("ankle_angle_r", "subtalar_angle_r", "mtp_angle_r")
    np.testing.assert_allclose(np.column_stack([found[name] for name in names]), np.degrees(angles), atol=0.01)


def moving(n: int = 6) -> Take:
    """Build a motion that OpenSim's models can do: hips, trunk and shoulders turn freely, knees and elbows are hinges."""
    rng = np.random.default_rng(7)
    local = np.broadcast_to(np.eye(3), (n, N_JOINTS, 3, 3)).copy()
    for joint in ("hips", "rightUpperLeg", "leftUpperLeg", "spine", "rightUpperArm", "leftUpperArm"):
        local[:, JOINT_INDEX[joint]] = matrix_from_rotvec(rng.normal(0.0, 0.4, (n, 3)))
    for side, sign in (("right", 1.0), ("left", -1.0)):
        local[:, JOINT_INDEX[f"{side}LowerLeg"]] = rotation_about((1.0, 0.0, 0.0), rng.uniform(0.0, 1.5, n))
        fold = rotation_about((0.0, sign, 0.0), rng.uniform(0.0, 1.5, n))
        local[:, JOINT_INDEX[f"{side}LowerArm"]] = fold
    root = rng.normal(0.0, 1.0, (n, 3))
    return Take(BODY, np.arange(n) / 10.0, (TrackingState.TRACKING,) * n, charted_from_local(local), root)


def opensim_bodies() -> dict[str, object]:
    """Describe our body as the plain OpenSim model of the tests is built: offsets in the frames of the ISB [m]."""
    offset = {name: (UPRIGHT.T @ BODY.offsets_m[row]).tolist() for name, row in JOINT_INDEX.items()}
    hips = [BODY.offsets_m[JOINT_INDEX[f"{side}UpperLeg"]] for side in ("left", "right")]
    middle, width = 0.5 * (hips[0] + hips[1]), np.linalg.norm(hips[0] - hips[1])
    origin = np.array([0.0707, 0.0661, 0.0]) * width / 0.167
    out = {}
    for letter, side in (("r", "right"), ("l", "left")):
        out[f"femur_{letter}"] = (UPRIGHT.T @ (BODY.offsets_m[JOINT_INDEX[f"{side}UpperLeg"]] - middle) - origin).tolist()
        for body, joint in (("tibia", "LowerLeg"), ("foot", "Foot"), ("toes", "Toes"), ("ulna", "LowerArm"), ("hand", "Hand")):
            length = float(np.linalg.norm(BODY.offsets_m[JOINT_INDEX[side + joint]]))
            out[f"{body}_{letter}"] = offset[side + joint] if body == "toes" else [0.0, -length, 0.0]
        out[f"humerus_{letter}"] = [0.0, 0.4, 0.2 if letter == "r" else -0.2]
    return out


@pytest.mark.judge
def test_opensim_poses_its_model_as_ours(tmp_path: Path) -> None:
    python, take = judges.python_with("opensim"), moving()
    (tmp_path / "walk.mot").write_text(format_mot(take, "walk"), encoding="utf-8")
    write_opensim_trc(tmp_path / "walk.opensim.trc", take)
    (tmp_path / "body.json").write_text(json.dumps({"offsets": opensim_bodies()}), encoding="utf-8")
    command = [python, str(BUILDER), "pose", str(tmp_path / "body.json"), str(tmp_path / "walk.mot"), str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {name: np.array(rows) for name, rows in json.loads((tmp_path / "out.json").read_text(encoding="utf-8")).items()}
    ours = take.positions_m() @ UPRIGHT
    worst_mm = 0.0
    for letter, side in (("r", "right"), ("l", "left")):
        for body, joint in (("femur", "UpperLeg"), ("tibia", "LowerLeg"), ("foot", "Foot"), ("toes", "Toes")):
            apart = np.linalg.norm(found[f"{body}_{letter}"] - ours[:, JOINT_INDEX[side + joint]], axis=1)
            worst_mm = max(worst_mm, 1e3 * float(apart.max()))
        # The plain model has its shoulders elsewhere: bones are compared by their directions.
        for body, child, joint, end in (("humerus", "ulna", "UpperArm", "LowerArm"), ("ulna", "hand", "LowerArm", "Hand")):
            theirs = found[f"{child}_{letter}"] - found[f"{body}_{letter}"]
            bone = ours[:, JOINT_INDEX[side + end]] - ours[:, JOINT_INDEX[side + joint]]
            worst_mm = max(worst_mm, 1e3 * float(np.linalg.norm(theirs - bone, axis=1).max()))
    print(f"opensim: joints {worst_mm:.4f} mm apart at most")
    assert worst_mm < 0.1
