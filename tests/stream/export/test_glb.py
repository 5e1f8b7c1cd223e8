"""GLB: read back by plain means, and judged by the validator and three.js."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from database.builtin import build_person_skeleton, make_builtin_clip
from reconstruct.pose import TrackingState
from stream.export.glb import encode_glb, write_glb
from stream.export.gltf import sample_keys
from stream.export.vrma import encode_vrma
from stream.take.take import Take, TakeInfo
from tests.support.files.gltf import GltfFile, parsed
from tests.support.files.takes import take
from tests.support.judges import node_modules, program

INFO = TakeInfo("Zoë", "s-7", "2025-03-04T05:06:07+00:00", "dance.mcap")


def dance(n: int = 60) -> Take:
    """Return a walk of a small person at unequal times, some frames of it lost or coasting."""
    skeleton = build_person_skeleton(1.75)
    clip = make_builtin_clip("walk", skeleton, 60.0, 3)
    seconds = np.concatenate([[0.0], np.cumsum(np.random.default_rng(1).uniform(0.008, 0.05, n - 1))])
    states = [TrackingState.TRACKING] * n
    states[20:26], states[26:30] = [TrackingState.LOST] * 6, [TrackingState.COASTING] * 4
    root = np.ascontiguousarray(clip.root_m[:n] + [0.5, 0.0, -2.0])
    return Take(skeleton, seconds, tuple(states), clip.rotvec[:n].copy(), root, info=INFO)


def skinned(file: GltfFile, t: float) -> np.ndarray:
    """Return the vertices at a time by the specification's formula, (V, 3): sum w G_j B_j v, in double precision."""
    skin, primitive = file.tree["skins"][0], file.tree["meshes"][0]["primitives"][0]
    names = [file.tree["nodes"][joint]["name"] for joint in skin["joints"]]
    inverse = file.array(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)
    world, matrices = file.world(t), np.tile(np.eye(4), (len(names), 1, 1))
    for j, name in enumerate(names):
        matrices[j, :3, 3], matrices[j, :3, :3] = world[name][0], world[name][1].as_matrix()
    arrays = {key: file.array(number) for key, number in primitive["attributes"].items()}
    v = np.c_[arrays["POSITION"].astype(float), np.ones(len(arrays["POSITION"]))]
    blended = np.einsum("vk,vkij->vij", arrays["WEIGHTS_0"].astype(float), (matrices @ inverse)[arrays["JOINTS_0"]])
    return np.asarray(np.einsum("vij,vj->vi", blended, v)[:, :3])


@pytest.fixture(scope="module")
def motion() -> Take:
    return dance()


@pytest.fixture(scope="module")
def glb(motion: Take) -> GltfFile:
    return parsed(encode_glb(motion))


def test_every_joint_is_where_the_take_has_it_at_every_key(motion: Take, glb: GltfFile) -> None:
    positions = motion.positions_m()
    for frame in (0, 7, 19, 26, 59):
        world = glb.world(motion.seconds[frame])
        places = np.array([world[name][0] for name in JOINTS])
        np.testing.assert_allclose(places, positions[frame], atol=2e-6)


def test_keys_are_at_the_frames_own_times_and_lost_frames_have_none(motion: Take, glb: GltfFile) -> None:
    kept = np.r_[0:20, 26:60]
    for name, path in (("hips", "translation"), ("hips", "rotation"), ("leftHand", "rotation")):
        times, values = glb.track(name, path)
        np.testing.assert_array_equal(times, motion.seconds[kept].astype(np.float32))
        assert len(values) == 54
    np.testing.assert_allclose(glb.track("hips", "translation")[1], motion.root_m[kept], atol=1e-7)
    assert len(glb.tree["animations"][0]["channels"]) == N_JOINTS + 1


def test_neighbouring_quaternions_are_on_one_side() -> None:
    spinning = dance()
    rotvec = spinning.rotvec.copy()
    rotvec[:, 0] = 0.0
    rotvec[:, 0, 1] = np.linspace(0.0, 9.0, len(rotvec))  # a turn and a half, passing w = 0 twice
    file = parsed(encode_glb(replace(spinning, rotvec=rotvec, states=(TrackingState.TRACKING,) * len(rotvec))))
    q = file.track("hips", "rotation")[1]
    assert (q[:, 3] < 0.0).any()
    assert np.all((q[1:] * q[:-1]).sum(axis=1) > 0.99)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=1e-6)


def test_the_rest_pose_is_a_t_pose_that_stands_on_the_ground(motion: Take, glb: GltfFile) -> None:
    rest = {}
    root, *nodes = sorted(enumerate(glb.tree["nodes"]), key=lambda each: each[1]["name"] != "root")
    rest["root"] = np.array(root[1].get("translation", [0.0, 0.0, 0.0]))
    assert not rest["root"].any() and glb.tree["skins"][0]["skeleton"] == root[0]
    for number, node in nodes:
        above = [n for n in glb.tree["nodes"] if number in n.get("children", [])]
        rest[node["name"]] = np.array(node.get("translation", [0, 0, 0])) + (rest[above[0]["name"]] if above else 0.0)
        assert "rotation" not in node and "scale" not in node
    skeleton = motion.skeleton
    legs = skeleton.offsets_m[JOINT_INDEX["leftUpperLeg"]] + skeleton.offsets_m[JOINT_INDEX["leftLowerLeg"]]
    legs = legs + skeleton.offsets_m[JOINT_INDEX["leftFoot"]] + skeleton.offsets_m[JOINT_INDEX["leftToes"]]
    assert rest["hips"][1] == pytest.approx(-(legs + skeleton.tails_m[JOINT_INDEX["leftToes"]])[1])
    assert rest["leftHand"][0] > 0.5 > -0.5 > rest["rightHand"][0] and rest["leftToes"][2] > 0.05
    vertices = glb.array(glb.tree["meshes"][0]["primitives"][0]["attributes"]["POSITION"])
    assert -0.015 < vertices[:, 1].min() < 0.01


def test_the_skin_in_the_rest_pose_is_the_stored_mesh_and_follows_the_bones(motion: Take, glb: GltfFile) -> None:
    primitive = glb.tree["meshes"][0]["primitives"][0]
    stored = glb.array(primitive["attributes"]["POSITION"]).astype(float)
    joints, weights = (glb.array(primitive["attributes"][key]) for key in ("JOINTS_0", "WEIGHTS_0"))
    t = motion.seconds[40]
    moved, world = skinned(glb, t), glb.world(t)
    inverse = glb.array(glb.tree["skins"][0]["inverseBindMatrices"])
    for name in ("leftHand", "head", "rightLowerLeg"):
        alone = (joints[:, 0] == JOINT_INDEX[name]) & (weights[:, 0] > 0.99999)
        assert alone.sum() > 20
        place, turn = world[name]
        expected = place + turn.apply(stored[alone] + inverse[JOINT_INDEX[name], 12:15])
        np.testing.assert_allclose(moved[alone], expected, atol=1e-6)


def test_extras_tell_where_it_comes_from_and_what_was_lost(motion: Take, glb: GltfFile) -> None:
    extras = glb.tree["extras"]
    assert {key: extras[key] for key in ("subject", "session", "recorded", "source", "units", "frames", "floor_known")} == {
        "subject": "Zoë",
        "session": "s-7",
        "recorded": "2025-03-04T05:06:07+00:00",
        "source": "dance.mcap",
        "units": "m",
        "frames": 60,
        "floor_known": True,
    }
    assert extras["tracked"] == pytest.approx(50 / 60, abs=1e-6)
    assert [span["state"] for span in extras["states"]] == ["tracking", "lost", "coasting", "tracking"]
    assert extras["states"][1]["from_s"] == pytest.approx(motion.seconds[20], abs=1e-6)
    assert extras["states"][1]["to_s"] == pytest.approx(motion.seconds[25], abs=1e-6)
    assert glb.tree["asset"]["generator"].startswith("duocap")


def test_a_take_that_is_lost_throughout_is_refused() -> None:
    lost = take(4, states=(TrackingState.LOST,) * 4)
    for to_bytes in (encode_glb, encode_vrma):
        with pytest.raises(FileFormatError, match="all 4 frames are lost"):
            to_bytes(lost)


def test_frames_closer_than_a_float_tells_become_one_key() -> None:
    seconds = np.array([0.0, 50_000.0, 50_000.0005, 50_000.1])  # floats are 0.004 s apart there
    np.testing.assert_array_equal(sample_keys(take(4, seconds)).seconds, [0.0, 50_000.0, 50_000.1])


VALIDATE = """
const validator = require('gltf-validator'), fs = require('fs');
(async () => {
  const found = [];
  for (const file of process.argv.slice(1))
    found.push(...(await validator.validateBytes(new Uint8Array(fs.readFileSync(file)))).issues.messages);
  console.log(JSON.stringify(found));
})();
"""


@pytest.mark.judge
def test_the_validator_finds_nothing_wrong(motion: Take, tmp_path: Path) -> None:
    folder = node_modules("gltf-validator").parent
    takes = {"walk": motion, "wild": take(30), "single": take(1), "gap": take(3, np.array([0.0, 0.5, 900.0]))}
    for name, each in takes.items():
        (tmp_path / f"{name}.glb").write_bytes(encode_glb(each))
        (tmp_path / f"{name}.vrma").write_bytes(encode_vrma(each))

    def issues(suffix: str) -> list[dict[str, object]]:
        files = [str(tmp_path / f"{name}.{suffix}") for name in takes]
        words = [program("node"), "-e", VALIDATE, *files]
        found = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
        return list(json.loads(found))

    assert issues("glb") == []
    # What it has to say of VRMA: it does not know the extension, and finger tips have neither child nor mesh.
    assert {(issue["code"], issue["severity"]) for issue in issues("vrma")} == {("UNSUPPORTED_EXTENSION", 2), ("NODE_EMPTY", 2)}


THREE = """
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { readFileSync } from "node:fs";
const [file, times, every] = process.argv.slice(1);
const bytes = readFileSync(file);
const gltf = await new GLTFLoader().parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), "");
const mixer = new THREE.AnimationMixer(gltf.scene);
const action = mixer.clipAction(gltf.animations[0]);
action.setLoop(THREE.LoopOnce);
action.clampWhenFinished = true;
action.play();
const found = JSON.parse(times).map((time) => {
  mixer.setTime(time);
  gltf.scene.updateMatrixWorld(true);
  const joints = {}, skin = [];
  gltf.scene.traverse((object) => {
    joints[object.name] = object.getWorldPosition(new THREE.Vector3()).toArray();
    if (!object.isSkinnedMesh) return;
    object.skeleton.update();
    for (let i = 0; i < object.geometry.attributes.position.count; i += Number(every))
      skin.push(object.localToWorld(object.getVertexPosition(i, new THREE.Vector3())).toArray());
  });
  return { joints, skin };
});
console.log(JSON.stringify(found));
"""


@pytest.mark.judge
def test_three_js_moves_joints_and_skin_as_we_do(motion: Take, glb: GltfFile, tmp_path: Path) -> None:
    folder = node_modules("three").parent
    write_glb(tmp_path / "walk.glb", motion)
    frames = [0, 11, 33, 59]
    keys = [float(np.float32(motion.seconds[frame])) for frame in frames]
    between = 0.5 * (keys[1] + float(np.float32(motion.seconds[12])))
    times = [between, *keys]  # the end last: an action that has finished cannot be set back
    words = ["--input-type=module", "-e", THREE, str(tmp_path / "walk.glb"), json.dumps(times), "7"]
    out = subprocess.run([program("node"), *words], cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
    found = json.loads(out)
    positions = motion.positions_m()
    for frame, seen in zip(frames, found[1:], strict=True):
        places = np.array([seen["joints"][name] for name in JOINTS])
        assert np.abs(places - positions[frame]).max() < 1e-5  # 0.01 mm
    for time, seen in zip(times, found, strict=True):
        assert np.abs(np.array(seen["skin"]) - skinned(glb, time)[::7]).max() < 1e-5
    world = glb.world(between)
    assert max(np.abs(np.array(found[0]["joints"][name]) - world[name][0]).max() for name in JOINTS) < 1e-5
