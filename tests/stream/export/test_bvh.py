"""BVH: every joint where our kinematics have it, by a small parser, our reader, Blender and three.js."""

import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from database.builtin import build_person_skeleton
from database.files.read import read_clip
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.pose import TrackingState
from stream.export.bvh import euler_from_matrix, format_bvh, write_bvh
from stream.take.resampling import fill_lost_frames, resample_evenly
from stream.take.take import Take
from tests.support import judges
from tests.support.files.motion import random_values, write_amc
from tests.support.files.takes import bvh_positions_cm, take, uneven_body

WITHIN_MM = 0.01
CAPTURED_FPS = 30.0

BLENDER = """
import bpy, json, sys
file, out = sys.argv[1:3]
count = int(next(line for line in open(file) if line.startswith("Frames:")).split()[1])
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_anim.bvh(filepath=file, frame_start=1, update_scene_fps=True)
scene, armature = bpy.context.scene, bpy.context.object
rows = []
for frame in range(count):
    scene.frame_set(1 + frame)
    heads = {bone.name: armature.matrix_world @ bone.head for bone in armature.pose.bones}
    rows.append({name: [p.x, p.z, -p.y] for name, p in heads.items()})
json.dump({"fps": scene.render.fps / scene.render.fps_base, "frames": rows}, open(out, "w"))
"""
THREE = """
import { pathToFileURL } from "node:url";
import { readFileSync, writeFileSync } from "node:fs";
const [modules, file, out] = process.argv.slice(2);
const THREE = await import(pathToFileURL(modules + "/three/build/three.module.js"));
const { BVHLoader } = await import(pathToFileURL(modules + "/three/examples/jsm/loaders/BVHLoader.js"));
const { skeleton, clip } = new BVHLoader().parse(readFileSync(file, "utf8"));
const scene = new THREE.Scene();
scene.add(skeleton.bones[0]);
const mixer = new THREE.AnimationMixer(skeleton.bones[0]);
const action = mixer.clipAction(clip);
action.setLoop(THREE.LoopOnce);
action.clampWhenFinished = true;
action.play();
const times = Array.from(clip.tracks[0].times);
const frames = times.map((time) => {
    action.time = time;
    mixer.update(0);
    scene.updateMatrixWorld(true);
    const place = new THREE.Vector3();
    return Object.fromEntries(skeleton.bones.map((bone) => [bone.name, bone.getWorldPosition(place).toArray()]));
});
writeFileSync(out, JSON.stringify({ fps: (times.length - 1) / times[times.length - 1], frames }));
"""


@dataclass(frozen=True)
class Loaded:
    """What a program made of a file: its frame rate and the places of joints, (N, J, 3) [cm], Y up."""

    fps: float
    place_cm: Floats


def motion_at(seconds: Floats) -> Take:
    """Return somebody lopsided who turns round three times while going 4 m, one arm hanging, the other waving, knees bent.

    Every angle is a smooth function of time, so that the truth is known at any time.
    """
    skeleton = build_person_skeleton()
    offsets_m = skeleton.offsets_m * np.linspace(0.9, 1.15, N_JOINTS)[:, None] + np.linspace(-0.01, 0.02, N_JOINTS * 3).reshape(
        -1, 3
    )
    offsets_m[0] = 0.0
    lopsided = replace(skeleton, offsets_m=offsets_m, tails_m=skeleton.tails_m.copy())
    angles = np.zeros((len(seconds), N_JOINTS, 3))
    t = seconds[:, None]
    phases = np.linspace(0.0, 5.0, N_JOINTS * 3).reshape(N_JOINTS, 3)
    angles += 0.25 * np.sin(2.0 * t[..., None] + phases)
    angles[:, JOINT_INDEX["leftUpperArm"]] += (0.0, 0.0, -1.57)  # hangs: 90 degrees from the T-pose
    angles[:, JOINT_INDEX["rightUpperArm"], 2] += 1.2 * np.sin(3.0 * seconds)
    angles[:, JOINT_INDEX["rightLowerLeg"], 0] += 1.1 + 0.4 * np.sin(4.0 * seconds)
    local = matrix_from_rotvec(angles)
    turn = np.zeros((len(seconds), 3))
    turn[:, 1] = 3.0 * 2.0 * np.pi * seconds / 4.0
    local[:, 0] = matrix_from_rotvec(turn) @ local[:, 0]
    root_m = np.column_stack([0.9 * seconds, 0.95 + 0.05 * np.sin(5.0 * seconds), -0.4 * seconds - 1.0])
    return Take(lopsided, seconds, (TrackingState.TRACKING,) * len(seconds), charted_from_local(local), root_m)


def recorded(tmp_path: Path) -> tuple[Path, Take]:
    """Write a recording with jitter of 2 ms, five dropped frames and six lost ones; give the file and what it should hold."""
    rng = np.random.default_rng(8)
    seconds = np.arange(121) / CAPTURED_FPS
    seconds[1:-1] += rng.uniform(-0.002, 0.002, 119)
    seconds = np.delete(seconds, [30, 60, 61, 62, 90])
    whole = motion_at(seconds)
    states = [TrackingState.LOST if 40 <= n < 46 else TrackingState.TRACKING for n in range(len(seconds))]
    rotvec, root_m = whole.rotvec.copy(), whole.root_m.copy()
    rotvec[40:46], root_m[40:46] = rng.normal(0.0, 1.0, (6, N_JOINTS, 3)), 0.0  # a lost pose means nothing
    take = Take(whole.skeleton, seconds, tuple(states), rotvec, root_m)
    write_bvh(tmp_path / "take.bvh", take)
    return tmp_path / "take.bvh", fill_lost_frames(resample_evenly(take))


def blender(file: Path) -> Loaded:
    """Load with Blender's own importer."""
    script = file.with_suffix(".py")
    script.write_text(BLENDER, encoding="utf-8")
    return _loaded(file, [judges.python_with("bpy"), str(script), str(file), str(file.with_suffix(".json"))])


def three(file: Path) -> Loaded:
    """Load with three.js."""
    modules = judges.node_modules("three")
    script = file.with_suffix(".mjs")
    script.write_text(THREE, encoding="utf-8")
    return _loaded(file, [judges.program("node"), str(script), str(modules), str(file), str(file.with_suffix(".json"))])


def _loaded(file: Path, command: list[str]) -> Loaded:
    """Run a program and read what it says."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    return Loaded(found["fps"], np.array([[row[name] for name in JOINTS] for row in found["frames"]]))


@pytest.mark.judge
@pytest.mark.parametrize("load", [blender, three])
def test_others_see_every_joint_where_it_is(tmp_path: Path, load: object) -> None:
    file, expected = recorded(tmp_path)
    found = load(file)  # type: ignore[operator]
    assert found.place_cm.shape == (len(expected), N_JOINTS, 3)
    error_mm = np.linalg.norm(10.0 * found.place_cm - 1000.0 * expected.positions_m(), axis=2)
    print(f"{load.__name__}: {error_mm.max():.5f} mm at most, {np.median(error_mm):.5f} median, {len(expected)} frames")  # type: ignore[attr-defined]
    assert error_mm.max() < WITHIN_MM
    assert found.fps == pytest.approx(CAPTURED_FPS, rel=1e-3)


def test_the_file_holds_the_motion_at_the_right_times(tmp_path: Path) -> None:
    """Against the truth at the times of the file's frames, not against the poses that were written."""
    file, expected = recorded(tmp_path)
    found = bvh_places(file)
    truth = motion_at(np.arange(len(found)) * expected.seconds[1])
    tracked = np.array([state is TrackingState.TRACKING for state in expected.states])
    # A frame beside a lost one holds the pose of its other neighbour, up to 4 ms away.
    known = tracked & np.roll(tracked, 1) & np.roll(tracked, -1)
    assert len(expected) == 121 and 95 < known.sum() < 115
    error_mm = np.linalg.norm(10.0 * found - 1000.0 * truth.positions_m(), axis=2)[known]
    # Interpolated over 33 ms: a hand that turns with 5 rad/s on a circle of 0.7 m is off by up to 0.7 (5 / 30)^2 / 8 = 2.4 mm.
    assert error_mm.max() < 4.0
    assert np.median(error_mm) < 0.5


def bvh_places(file: Path) -> Floats:
    """Read with the small parser of the tests, (N, J, 3) [cm]."""
    _, found = bvh_positions_cm(file.read_text(encoding="utf-8"))
    return np.stack([found[name] for name in JOINTS], axis=1)


def test_whole_turns_are_never_unwound(tmp_path: Path) -> None:
    """Three turns of the root are 1080 degrees in its channel, so that nothing spins back between two frames in an editor."""
    file, _ = recorded(tmp_path)
    rows = file.read_text(encoding="utf-8").split("MOTION")[1].strip().splitlines()[2:]
    heading = np.array([float(row.split()[3]) for row in rows])
    steps = np.diff(heading)
    assert heading[-1] - heading[0] == pytest.approx(1080.0, abs=40.0)
    assert np.abs(steps).max() < 120.0  # the lost frames make the largest step: 7 frames of 9 degrees


def test_hanging_arms_stay_clear_of_the_singularity(tmp_path: Path) -> None:
    """No channel of an arm that hangs and sways by 14 degrees turns by more than a few degrees from frame to frame."""
    take = motion_at(np.arange(120) / 60.0)
    write_bvh(tmp_path / "arms.bvh", take)
    text = (tmp_path / "arms.bvh").read_text(encoding="utf-8")
    head, motion = text.split("MOTION")
    names = [line.split()[-1] for line in head.splitlines() if line.strip().startswith(("ROOT", "JOINT"))]
    rows = np.array([[float(cell) for cell in row.split()] for row in motion.strip().splitlines()[2:]])
    column = 3 + 3 * names.index("leftUpperArm")
    assert np.abs(np.diff(rows[:, column : column + 3], axis=0)).max() < 3.0


def test_bvh_places_every_joint_and_end_as_the_take_does() -> None:
    motion = take()
    G, p = compute_forward_kinematics(motion.skeleton, motion.rotvec, motion.root_m)
    frame_time, found = bvh_positions_cm(format_bvh(motion))
    assert frame_time == pytest.approx(1 / 60, abs=1e-8)
    assert set(JOINTS) < set(found) and len(found) == N_JOINTS + 5
    for name in JOINTS:
        np.testing.assert_allclose(found[name] / 100, p[:, JOINT_INDEX[name]], atol=2e-6)
    for name in ("head", "leftHand", "rightToes"):
        j = JOINT_INDEX[name]
        np.testing.assert_allclose(found[f"end of {name}"] / 100, p[:, j] + G[:, j] @ motion.skeleton.tails_m[j], atol=2e-6)


def test_bvh_rests_in_the_t_pose_with_the_root_at_zero() -> None:
    text = format_bvh(take())
    head = "HIERARCHY\nROOT hips\n{\n\tOFFSET 0.000000 0.000000 0.000000\n\tCHANNELS 6 Xposition Yposition Zposition"
    assert text.startswith(head)
    rest = Take(uneven_body(), np.zeros(1), (TrackingState.TRACKING,), np.zeros((1, N_JOINTS, 3)), np.zeros((1, 3)))
    _, found = bvh_positions_cm(format_bvh(rest))
    # All channels zero is the T-pose by definition, whereas rotvec zero holds the arms at their reference.
    zeroed = format_bvh(rest).rpartition("\n")[0].rpartition("\n")[0] + "\n" + " ".join(["0"] * (3 * N_JOINTS + 3)) + "\n"
    _, t_pose = bvh_positions_cm(zeroed)
    for name in JOINTS:
        np.testing.assert_allclose(t_pose[name][0] / 100, uneven_body().rest_positions_m()[JOINT_INDEX[name]], atol=1e-7)
    assert np.abs(found["leftHand"] - t_pose["leftHand"]).max() > 1


@pytest.mark.parametrize("sign", [1, -1])
def test_euler_angles_hold_at_the_singularity(sign: int) -> None:
    angles = np.radians([[20, sign * 80, 30], [20, sign * 90, 30], [20, sign * 90, 30]])
    R = Rotation.from_euler("YZX", angles).as_matrix()
    np.testing.assert_allclose(euler_from_matrix(R, (1, 2, 0)), angles, atol=1e-7)


def test_our_own_export_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    clip = read_clip(write_amc(tmp_path, random_values(rng, 6)))
    times = np.arange(clip.n_frames) / 60.0
    states = (TrackingState.TRACKING,) * clip.n_frames
    write_bvh(tmp_path / "take.bvh", Take(clip.skeleton, times, states, clip.rotvec.copy(), clip.root_m.copy()))
    back = read_clip(tmp_path / "take.bvh")
    assert back.fps == 60.0
    # Written with six decimals of degrees and of centimetres.
    np.testing.assert_allclose(back.skeleton.offsets_m, clip.skeleton.offsets_m, atol=1e-6)
    np.testing.assert_allclose(back.skeleton.tails_m[[4, 14, 18]], clip.skeleton.tails_m[[4, 14, 18]], atol=1e-6)
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    np.testing.assert_allclose(compute_forward_kinematics(back.skeleton, back.rotvec, back.root_m)[1], p, atol=1e-5)
    assert compute_geodesic_rad(matrix_from_rotvec(back.rotvec), matrix_from_rotvec(clip.rotvec)).max() < 1e-5
