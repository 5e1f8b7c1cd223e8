"""glTF animations: what this program writes comes back; scales, matrices and keys between as an independent reader has them."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS
from database.files.gltf import read_gltf
from database.files.read import has_motion, read_imported_motion
from database.geometry.kinematics import compute_forward_kinematics
from stream.export.glb import write_glb
from stream.export.vrma import write_vrma
from stream.take.read import read_take
from stream.take.take import Take
from tests.support.files.bvh import MIXAMO, small, written
from tests.support.files.gltf import parsed


def take(folder: Path) -> Take:
    """Return a second of somebody's small motion at 30 Hz."""
    return read_take(written(folder, small(MIXAMO, 3, n_frames=30).text().replace("0.0083333", "0.0333333")))


def rewritten(file: Path, tree: dict[str, Any], buffer: bytes) -> Path:
    """Write a tree and a buffer as GLB."""
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(buffer), 0x004E4942) + buffer
    file.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
    return file


@pytest.mark.parametrize("write", [write_glb, write_vrma])
def test_what_is_written_comes_back(tmp_path: Path, write: Any) -> None:
    before = take(tmp_path)
    file = tmp_path / f"walk{'.glb' if write is write_glb else '.vrma'}"
    write(file, before)
    imported = read_imported_motion(file)
    clip = imported.clip
    assert (clip.n_frames, clip.fps) == (30, 30.0)
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[:2]
    G0, p0 = compute_forward_kinematics(before.skeleton, before.rotvec, before.root_m)[:2]
    folded = {"upperNeck", "head"} if write is write_vrma else set[str]()  # the upper neck is no bone of VRM
    kept = [JOINT_INDEX[name] for name in JOINTS if name not in folded]
    assert np.abs(p[:, kept] - p0[:, kept]).max() < 1e-5
    turned = [j for j in kept if write is write_glb or JOINTS[j] != "neck"]
    assert np.abs(G[:, turned] - G0[:, turned]).max() < 1e-5


def test_scaled_and_turned_nodes_above_and_keys_between(tmp_path: Path) -> None:
    """As exported from FBX: centimetres under a node scaled by 0.01 that turns Z up to Y up, rest rotations in the nodes."""
    before = take(tmp_path)
    write_glb(tmp_path / "plain.glb", before)
    file = parsed((tmp_path / "plain.glb").read_bytes())
    tree, world = file.tree, file.world(0.51)
    turn = Rotation.from_euler("x", -90, degrees=True)
    for node in tree["nodes"]:
        node["translation"] = (100.0 * np.array(node.get("translation", [0, 0, 0]))).tolist()
    buffer = bytearray(file.buffer)
    for channel in tree["animations"][0]["channels"]:
        if channel["target"]["path"] == "translation":
            accessor = tree["accessors"][tree["animations"][0]["samplers"][channel["sampler"]]["output"]]
            view = tree["bufferViews"][accessor["bufferView"]]
            values = 100.0 * np.frombuffer(buffer, "<f4", accessor["count"] * 3, view["byteOffset"])
            buffer[view["byteOffset"] : view["byteOffset"] + view["byteLength"]] = values.astype("<f4").tobytes()
    matrix = np.eye(4)
    matrix[:3, :3] = 0.01 * turn.as_matrix()
    tree["nodes"].append({"name": "Armature", "matrix": matrix.T.ravel().tolist(), "children": [0]})
    tree["scenes"][0]["nodes"] = [len(tree["nodes"]) - 1, 23]
    motion = read_gltf(rewritten(tmp_path / "scaled.glb", tree, bytes(buffer)))
    assert motion.names[0] == "Armature" and motion.names[1] == "hips"
    clip = read_imported_motion(tmp_path / "scaled.glb").clip
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    at = p[15] + 0.3 * (p[16] - p[15])  # 0.51 s is between two keys
    for name in ("hips", "leftHand", "rightToes"):
        # The world is turned back: people stand along its -Z.
        np.testing.assert_allclose(at[JOINT_INDEX[name]], world[name][0], atol=2e-3, err_msg=name)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: data[: len(data) // 2], "cut short at byte"),
        (lambda data: data.replace(b'"animations"', b'"animation_"'), "nothing moves in it"),
        (lambda data: data.replace(b'"nodes":[{', b'"nodes":[7,{'), "damaged"),
        (lambda data: b"not a glTF file at all", "no glTF 2.0"),
    ],
)
def test_what_is_broken_is_refused_in_one_line(tmp_path: Path, spoil: Any, words: str) -> None:
    file = tmp_path / "walk.glb"
    write_glb(file, take(tmp_path))
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(FileFormatError, match=words) as error:
        read_gltf(file)
    assert "\n" not in str(error.value) and str(file) in str(error.value)
    assert has_motion(file) is (words in ("cut short at byte", "damaged"))
