"""FBX and GLB in Blender, three.js and Godot, by their own readings of where bones are; without Blender a line that says how."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from config.joints import JOINTS
from stream.export import fbx
from stream.export.fbx import write_fbx
from stream.export.glb import write_glb
from stream.take.resampling import resample_evenly
from stream.take.take import Take, prepare_for_engine
from tests.clients.godot_judge import godot_program
from tests.stream.export.test_glb import dance
from tests.support.judges import node_modules, program, python_with
from tests.support.waiting import wait_until

BLENDER = """
import bpy, json, sys
file, frames = sys.argv[-2], json.loads(sys.argv[-1])
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
if file.endswith(".fbx"):
    bpy.ops.import_scene.fbx(filepath=file, automatic_bone_orientation=False)
else:
    bpy.ops.import_scene.gltf(filepath=file)
armature = next(each for each in bpy.data.objects if each.type == "ARMATURE")
def read(place): return {bone.name: [(armature.matrix_world @ place(bone))[i] for i in range(3)] for bone in armature.pose.bones}
rest = read(lambda bone: bone.bone.head_local)
first = min(action.frame_range[0] for action in bpy.data.actions)
found = []
for seconds in frames:
    at = first + seconds * scene.render.fps / scene.render.fps_base
    scene.frame_set(int(at // 1), subframe=at % 1)
    bpy.context.view_layer.update()
    found.append(read(lambda bone: bone.head))
open(file + ".json", "w").write(json.dumps({"rest": rest, "poses": found}))
"""
THREE = """
import * as THREE from "three";
import { FBXLoader } from "three/addons/loaders/FBXLoader.js";
import { readFileSync } from "node:fs";
globalThis.window = globalThis;
const [file, times] = process.argv.slice(1);
const bytes = readFileSync(file);
const body = new FBXLoader().parse(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), "");
const mixer = new THREE.AnimationMixer(body);
mixer.clipAction(body.animations[0]).play();
console.log(JSON.stringify(JSON.parse(times).map((time) => {
  mixer.setTime(time);
  body.updateMatrixWorld(true);
  const joints = {};
  body.traverse((object) => { joints[object.name] = object.getWorldPosition(new THREE.Vector3()).toArray(); });
  return joints;
})));
"""

GODOT = """extends SceneTree
func _init():
	var scene = load("res://walk.glb").instance()
	get_root().add_child(scene)
	var skeleton = find(scene, "Skeleton")
	var player = find(scene, "AnimationPlayer")
	player.play(player.get_animation_list()[0])
	for time in [%s]:
		player.seek(time, true)
		var joints = {}
		for bone in range(skeleton.get_bone_count()):
			var place = (skeleton.global_transform * skeleton.get_bone_global_pose(bone)).origin
			joints[skeleton.get_bone_name(bone)] = [place.x, place.y, place.z]
		print(to_json(joints))
	quit()
func find(node, kind):
	if node.get_class() == kind:
		return node
	for child in node.get_children():
		var found = find(child, kind)
		if found != null:
			return found
	return null
"""


def engine_take() -> Take:
    """Return a walk for engines, at one rate."""
    return resample_evenly(prepare_for_engine(resample_evenly(dance(), 30.0)))


def read_in_blender(file: Path, seconds: list[float]) -> dict[str, object]:
    """Return joints by Blender, in its axes: at rest, and at times."""
    script = file.with_suffix(".py")
    script.write_text(BLENDER)
    words = [python_with("bpy"), str(script), str(file), json.dumps(seconds)]
    subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    return dict(json.loads(Path(f"{file}.json").read_text()))


def check_poses(take: Take, found: dict[str, object], frames: list[int]) -> None:
    """Check rest pose and poses that Blender reads, whose axes are x, -z, y of ours."""

    def ours(joints: dict[str, list[float]]) -> np.ndarray:
        return np.array([(x, z, -y) for x, y, z in (joints[name] for name in JOINTS)])

    position_m = take.positions_m()
    np.testing.assert_allclose(ours(found["rest"]), position_m[0], atol=2e-5)
    for frame, pose in zip(frames, found["poses"], strict=True):
        np.testing.assert_allclose(ours(pose), position_m[frame], atol=2e-5)
        np.testing.assert_allclose(pose["root"], 0.0, atol=1e-6)


@pytest.fixture
def blender(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have bpy of the judges write."""
    python = python_with("bpy")
    monkeypatch.setattr(fbx, "find_blender", lambda: [python])


@pytest.mark.judge
@pytest.mark.usefixtures("blender")
def test_blender_and_three_js_have_the_bones_of_an_fbx_where_we_have_them(tmp_path: Path) -> None:
    take, frames = engine_take(), [1, 17, 40]
    write_fbx(tmp_path / "walk.fbx", take)
    check_poses(take, read_in_blender(tmp_path / "walk.fbx", [frame / 30.0 for frame in frames]), frames)
    folder = node_modules("three").parent
    words = ["--input-type=module", "-e", THREE, str(tmp_path / "walk.fbx"), json.dumps([frame / 30.0 for frame in frames])]
    out = subprocess.run([program("node"), *words], cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
    for frame, pose in zip(frames, json.loads(out.splitlines()[-1]), strict=True):
        places = np.array([pose[name] for name in JOINTS])
        np.testing.assert_allclose(places, take.positions_m()[frame], atol=1e-3)


@pytest.mark.judge
def test_blender_has_the_bones_of_a_glb_where_we_have_them(tmp_path: Path) -> None:
    take, frames = engine_take(), [1, 17, 40]
    write_glb(tmp_path / "walk.glb", take)
    check_poses(take, read_in_blender(tmp_path / "walk.glb", [frame / 30.0 for frame in frames]), frames)


@pytest.mark.judge
def test_godot_has_the_bones_of_a_glb_where_we_have_them(tmp_path: Path) -> None:
    godot, take, frames = godot_program(), engine_take(), [2, 18, 40]  # its importer samples at 15 Hz, and simplifies
    write_glb(tmp_path / "walk.glb", take)
    (tmp_path / "project.godot").write_text('config_version=4\n[application]\nconfig/name="judge"\n')
    (tmp_path / "judge.gd").write_text(GODOT % ", ".join(f"{frame / 30.0:.9f}" for frame in frames))
    with subprocess.Popen([godot, "--path", str(tmp_path), "-e"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as editor:
        wait_until(lambda: any(tmp_path.glob(".import/walk.glb-*.md5")), 120.0, 0.5)  # it imports, and stays
        editor.kill()
    words = [godot, "--path", str(tmp_path), "-s", "judge.gd"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    poses = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(poses) == len(frames)
    for frame, pose in zip(frames, poses, strict=True):
        plain = {name.replace("_", "").lower(): place for name, place in pose.items()}  # Godot spells leftHand left_hand
        np.testing.assert_allclose([plain[name.lower()] for name in JOINTS], take.positions_m()[frame], atol=0.01)


def test_without_blender_a_line_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(fbx, "PLACES", ())
    monkeypatch.setattr(fbx.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DuocapError, match=r"pip install bpy.*blender.*PATH.*\.glb"):
        fbx.find_blender()
