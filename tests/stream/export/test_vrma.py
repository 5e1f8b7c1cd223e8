"""VRMA: read back by plain means, and played by three-vrm on an avatar of another size."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from config.joints import JOINTS, VRM_BONE
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.pose import TrackingState
from stream.export.glb import encode_glb
from stream.export.gltf import GltfDocument
from stream.export.vrma import encode_vrma, write_vrma
from stream.take.take import Take
from tests.stream.export.test_glb import dance
from tests.support.files.gltf import GltfFile, parsed
from tests.support.files.takes import take
from tests.support.judges import node_modules, program

# What the humanoid of VRM 1.0 must have.
REQUIRED = "hips spine head " + " ".join(
    f"{side}{part}" for side in ("left", "right") for part in ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand")
)


@pytest.fixture(scope="module")
def wild() -> Take:
    """Return a motion that turns every joint, the upper neck too."""
    return take(20, np.cumsum(np.linspace(0.01, 0.09, 20)))


@pytest.fixture(scope="module")
def vrma(wild: Take) -> GltfFile:
    return parsed(encode_vrma(wild))


def test_the_extension_maps_every_vrm_bone_to_its_node(vrma: GltfFile) -> None:
    assert vrma.tree["extensionsUsed"] == ["VRMC_vrm_animation"]
    extension = vrma.tree["extensions"]["VRMC_vrm_animation"]
    assert extension["specVersion"] == "1.0"
    bones = extension["humanoid"]["humanBones"]
    assert set(REQUIRED.split()) <= set(bones) == set(VRM_BONE.values())
    assert all(vrma.tree["nodes"][bone["node"]]["name"] == name for name, bone in bones.items())
    assert "meshes" not in vrma.tree and "skins" not in vrma.tree


def test_only_the_hips_move_and_nothing_is_scaled_or_turned_at_rest(vrma: GltfFile) -> None:
    targets = [channel["target"] for channel in vrma.tree["animations"][0]["channels"]]
    assert [target for target in targets if target["path"] != "rotation"] == [{"node": vrma.node("hips"), "path": "translation"}]
    assert len(targets) == 1 + len(VRM_BONE)
    assert all(set(node) <= {"name", "translation", "children"} for node in vrma.tree["nodes"])


def test_the_hips_rest_at_their_height_over_the_ground() -> None:
    skeleton = dance().skeleton
    file = parsed(encode_vrma(dance()))
    lowest = (skeleton.rest_positions_m() + skeleton.tails_m)[:, 1].min()
    assert file.tree["nodes"][0]["translation"] == [0.0, pytest.approx(-lowest), 0.0]
    assert 0.9 < -lowest < 1.05  # of 1.75 m


def test_every_bone_points_as_in_the_take(wild: Take, vrma: GltfFile) -> None:
    G, p = compute_forward_kinematics(wild.skeleton, wild.rotvec, wild.root_m)
    for frame in (0, 9, 19):
        world = vrma.world(wild.seconds[frame])
        for joint, name in enumerate(JOINTS):
            if name in VRM_BONE:
                place, turn = world[name]
                np.testing.assert_allclose(turn.as_matrix(), G[frame, joint], atol=2e-6)
                if name != "head":  # which goes where the upper neck would have turned it to
                    np.testing.assert_allclose(place, p[frame, joint], atol=2e-6)


THREE_VRM = """
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { VRMLoaderPlugin } from "@pixiv/three-vrm";
import { VRMAnimationLoaderPlugin, createVRMAnimationClip } from "@pixiv/three-vrm-animation";
import { readFileSync } from "node:fs";
globalThis.self = globalThis;
console.warn = console.error;
const [avatar, motion, times] = process.argv.slice(1);
const load = async (file) => {
  const loader = new GLTFLoader();
  loader.register((parser) => new VRMLoaderPlugin(parser));
  loader.register((parser) => new VRMAnimationLoaderPlugin(parser));
  const bytes = readFileSync(file);
  return loader.parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), "");
};
const vrm = (await load(avatar)).userData.vrm;
const clip = createVRMAnimationClip((await load(motion)).userData.vrmAnimations[0], vrm);
const mixer = new THREE.AnimationMixer(vrm.scene);
mixer.clipAction(clip).setLoop(THREE.LoopOnce).play();
console.log(JSON.stringify(JSON.parse(times).map((time) => {
  mixer.setTime(time);
  vrm.update(0);
  vrm.scene.updateMatrixWorld(true);
  const bones = {};
  for (const name of Object.keys(vrm.humanoid.humanBones)) {
    const node = vrm.humanoid.getRawBoneNode(name);
    const turn = node.getWorldQuaternion(new THREE.Quaternion());
    bones[name] = [node.getWorldPosition(new THREE.Vector3()).toArray(), turn.toArray()];
  }
  return bones;
})));
"""


def avatar_bytes(height_m: float) -> bytes:
    """Return a VRM 1.0 avatar of another person: our GLB at rest with the extension that makes it one."""
    standing = Take(
        build_person_skeleton(height_m), np.zeros(1), (TrackingState.TRACKING,), dance().rotvec[:1].copy(), np.zeros((1, 3))
    )
    file = parsed(encode_glb(standing))
    bones = {name: {"node": file.node(name)} for name in VRM_BONE}
    meta = {"name": "judge", "version": "1", "authors": ["us"], "licenseUrl": "https://vrm.dev/licenses/1.0/"}
    document = GltfDocument.from_tree({key: value for key, value in file.tree.items() if key != "extras"}, file.buffer)
    document.tree |= {
        "extensionsUsed": ["VRMC_vrm"],
        "extensions": {"VRMC_vrm": {"specVersion": "1.0", "meta": meta, "humanoid": {"humanBones": bones}}},
    }
    return document.binary()


@pytest.mark.judge
def test_three_vrm_turns_the_bones_of_an_avatar_as_ours_and_scales_its_way(tmp_path: Path) -> None:
    folder = node_modules("three", "@pixiv/three-vrm", "@pixiv/three-vrm-animation").parent
    motion = dance()
    write_vrma(tmp_path / "walk.vrma", motion)
    (tmp_path / "avatar.vrm").write_bytes(avatar_bytes(2.02))
    frames = [3, 18, 40]
    times = json.dumps([float(np.float32(motion.seconds[frame])) for frame in frames])
    words = [
        program("node"),
        "--input-type=module",
        "-e",
        THREE_VRM,
        str(tmp_path / "avatar.vrm"),
        str(tmp_path / "walk.vrma"),
        times,
    ]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    G, _ = compute_forward_kinematics(motion.skeleton, motion.rotvec, motion.root_m)
    file, avatar = parsed(encode_vrma(motion)), parsed((tmp_path / "avatar.vrm").read_bytes())
    ratio = avatar.tree["nodes"][0]["translation"][1] / file.tree["nodes"][0]["translation"][1]
    assert 1.1 < ratio < 1.3
    for frame, bones in zip(frames, json.loads(done.stdout), strict=True):
        for name, (place, quaternion) in bones.items():
            error = Rotation.from_quat(quaternion).inv() * Rotation.from_matrix(G[frame, JOINTS.index(name)])
            assert error.magnitude() < 1e-5
            if name == "hips":
                np.testing.assert_allclose(place, ratio * motion.root_m[frame], atol=1e-5)
