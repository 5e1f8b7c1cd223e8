"""The Blender add-on inside Blender (as a Python module): armature from the stream, poses agree with our kinematics."""

import json
import subprocess
import sys
import time
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX, JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from stream.publish.publisher import Publisher
from tests.support import fakes, judges
from tests.support.axes import BLENDER
from tests.support.people import person

pytestmark = pytest.mark.judge
CLIENTS = Path(__file__).resolve().parents[2] / "clients"
SUBJECT = person("locomotion", 3)
SKELETON = replace(compose_skeleton_message(SUBJECT), markers=("chest", "hand"))
FAKE = fakes.pose(5, 1_000_000_000, np.array([0.5, 1.0, -0.25]), n_cameras=4)

PROGRAM = """
import json, sys, time
sys.path[:0] = sys.argv[2:4]
import bpy
import duocap_live
from duocap_live.live import current, start
from duocap_live.armature import apply_pose
bpy.ops.wm.read_factory_settings(use_empty=True)
duocap_live.register()
bpy.context.scene.duocap_live.address = sys.argv[1]
bpy.context.scene.duocap_live.record = True
bpy.ops.duocap.connect()
live, heard, deadline = current(), 0, time.monotonic() + 60
print("connected", flush=True)
while heard < 5 and time.monotonic() < deadline:
    heard += live.step()
    time.sleep(0.005)
armature = live.armature

def places(thing):
    bpy.context.view_layer.update()
    return {bone.name: list(thing.matrix_world @ bone.head) for bone in thing.pose.bones}

told = {"posed": places(armature), "words": live.words}
told["keys"] = sum(len(c.keyframe_points) for layer in armature.animation_data.action.layers for strip in layer.strips
                   for bag in strip.channelbags for c in bag.fcurves if c.data_path.endswith(".location")) // 3

# A character of half the size, its bones rolled, spelt in its own way, without the joint that VRM does not have.
bpy.context.view_layer.objects.active = armature
other = armature.copy()
other.data = armature.data.copy()
other.animation_data_clear()
bpy.context.collection.objects.link(other)
bpy.context.view_layer.objects.active = other
bpy.ops.object.mode_set(mode="EDIT")
bones = other.data.edit_bones
bones["head"].parent = bones["neck"]
bones.remove(bones["upperNeck"])
for n, bone in enumerate(bones):
    bone.head, bone.tail, bone.roll = bone.head * 0.5, bone.tail * 0.5, 0.3 * n
    bone.name = bone.name[0].upper() + bone.name[1:]
bpy.ops.object.mode_set(mode="OBJECT")
apply_pose(other, live.client.skeleton, live.client.latest(5.0))
told["half"] = places(other)
bpy.ops.duocap.disconnect()
duocap_live.unregister()
print(json.dumps(told))
"""


def test_the_armature_follows_the_stream(tmp_path: Path) -> None:
    python = judges.python_with("bpy")
    probe = subprocess.run([python, "-c", "import zmq, msgpack"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("pyzmq and msgpack are not installed beside bpy")
    publisher = Publisher("tcp://127.0.0.1:0")
    publisher.publish(SKELETON)
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [python, "program.py", publisher.address, str(CLIENTS / "python"), str(CLIENTS / "blender")]
    with (tmp_path / "out").open("w+") as out:
        blender = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=subprocess.STDOUT)
        try:
            deadline, seq = time.monotonic() + 90, 0
            while blender.poll() is None and time.monotonic() < deadline:
                publisher.serve(time.monotonic_ns())
                frame = replace(FAKE, t_capture_ns=FAKE.t_capture_ns + seq * 16_666_667)
                publisher.publish(compose_pose_message(frame, SKELETON, "run", seq, 2000))
                seq += 1
                time.sleep(1 / 60)
        finally:
            blender.kill()
            blender.wait()
            publisher.close()
        out.seek(0)
        text = out.read()
    assert blender.returncode == 0, text
    told = json.loads(text.splitlines()[-1])
    expected = BLENDER.positions(compute_forward_kinematics(SUBJECT.skeleton, FAKE.rotvec, FAKE.root_m)[1])
    np.testing.assert_allclose([told["posed"][name] for name in JOINTS], expected, atol=2e-6)
    assert told["words"].startswith("tracking") and told["keys"] == 5
    for name in ("leftHand", "rightToes", "chest", "neck", "leftLowerLeg"):
        place = told["half"][name[0].upper() + name[1:]]
        np.testing.assert_allclose(place, 0.5 * expected[JOINT_INDEX[name]], atol=2e-6)


@pytest.mark.slow
def test_the_extension_holds_what_its_manifest_names(tmp_path: Path) -> None:
    command = [sys.executable, str(CLIENTS / "blender" / "build.py"), str(tmp_path / "duocap_live.zip")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"pip could not collect the wheels: {built.stderr[-200:]}")
    with zipfile.ZipFile(tmp_path / "duocap_live.zip") as archive:
        names = archive.namelist()
        manifest = tomllib.loads(archive.read("blender_manifest.toml").decode())
    assert {"__init__.py", "armature.py", "live.py", "panel.py"} <= set(names)
    assert manifest["permissions"]["network"] and all(wheel.removeprefix("./") in names for wheel in manifest["wheels"])
    packages = [Path(wheel).name.split("-")[0] for wheel in manifest["wheels"]]
    assert sorted(packages) == ["duocap_client", "msgpack", "pyzmq"]
