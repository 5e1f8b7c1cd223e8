"""Godot as a receiver: its client hears the stream and VMC, and gets the joint positions that were sent."""

import json
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgpack
import numpy as np
import pytest

from config.arrays import Floats
from config.joints import JOINTS, N_JOINTS, PARENTS, VRM_BONE
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import matrix_from_quaternion, matrix_from_rotvec, quaternion_from_matrix
from stream.protocol.codec import encode_message
from stream.publish.publisher import Publisher
from stream.vmc.output import VmcOutput
from stream.vmc.sender import VmcTarget
from tests.clients.godot_judge import JUDGES, PROJECT, Judge, godot_program
from tests.stream.vmc.test_composer import BODY, PERSON, message_of
from tests.support.judges import python_with
from tests.support.kept import Kept
from tests.support.ports import free_port
from tests.support.vmc_world import PARENT

pytestmark = pytest.mark.judge

PRINT_JOINTS = PROJECT / "print_joints.gd"
TOLERANCE_M = 1e-4
STEP_S = 0.01
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def godot() -> None:
    """Skip before anything is opened where Godot is missing."""
    godot_program()


needs_godot = pytest.mark.usefixtures("godot")


def rotvec_of(seq: int) -> Floats:
    """Return the pose of a number: arbitrary, the same in every run, and far from symmetric."""
    return np.random.default_rng(seq).normal(0.0, 0.7, (N_JOINTS, 3))


def root_of(seq: int) -> Floats:
    return np.array([0.3, 0.9, -1.7]) + 0.01 * (seq % 50)


def pose_payload(seq: int) -> bytes:
    return encode_message(replace(message_of(rotvec_of(seq), root_of(seq)), seq=seq))


def assert_places(found: dict[str, list[float]], seq: int) -> None:
    """Every joint within 0.1 mm of our own forward kinematics."""
    places = compute_forward_kinematics(PERSON.skeleton, rotvec_of(seq), root_of(seq))[1]
    for joint, name in enumerate(JOINTS):
        assert np.linalg.norm(np.array(found[name]) - places[joint]) < TOLERANCE_M, name


def until(running: Callable[[], bool], step: Callable[[int], None]) -> None:
    """Do a step every STEP_S for as long as something runs."""
    deadline = time.monotonic() + PATIENCE_S
    seq = 0
    while running() and time.monotonic() < deadline:
        step(seq)
        seq += 1
        time.sleep(STEP_S)


@needs_godot
def test_the_client_gets_the_joints_that_were_published(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    publisher.publish(BODY)
    judge = Judge(PRINT_JOINTS, f"--port={publisher.address.rpartition(':')[2]}", "--poses=20")

    def step(seq: int) -> None:
        publisher.publish(replace(message_of(rotvec_of(seq), root_of(seq)), seq=seq))
        publisher.serve(time.monotonic_ns())

    until(judge.running, step)
    printed = judge.result()
    assert len(printed) == 20
    for pose in printed:
        assert_places(pose["joints"], pose["seq"])
        assert pose["missed"] == 0 and pose["state"] == "tracking"


GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(16 + 1 + 31)
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x04XPUB"


def frame(body: bytes, flags: int = 0) -> bytes:
    """Return a ZMTP frame: with one byte of length, or eight."""
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | 2]) + struct.pack(">Q", len(body)) + body


def received(connection: socket.socket, n_bytes: int) -> bytes:
    """Read a number of bytes."""
    data = b""
    while len(data) < n_bytes:
        data += connection.recv(n_bytes - len(data))
    return data


def received_frame(connection: socket.socket) -> bytes:
    """Read one short frame, flags and all."""
    head = received(connection, 2)
    return head + received(connection, head[1])


def shaken_hands(listener: socket.socket) -> socket.socket:
    """Take a connection the way a publisher does, byte for byte as the specification has it."""
    connection, _ = listener.accept()
    connection.settimeout(10.0)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    greeting = received(connection, 64)
    assert greeting[0] == 0xFF and greeting[9] == 0x7F and greeting[10] == 3 and greeting[12:32] == b"NULL" + bytes(16)
    connection.sendall(GREETING)
    assert received_frame(connection) == b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"
    connection.sendall(frame(READY, 4))
    assert received_frame(connection) == b"\x00\x0a\x01skeleton "
    assert received_frame(connection) == b"\x00\x06\x01pose "
    return connection


@needs_godot
def test_frames_in_pieces_pings_parts_rubbish_and_a_connection_that_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20.0)
        judge = Judge(PRINT_JOINTS, f"--port={listener.getsockname()[1]}", "--poses=4")
        connection = shaken_hands(listener)
        connection.sendall(frame(b"\x04PING\x00\x0acontext", 4))
        assert received_frame(connection) == frame(b"\x04PONGcontext", 4)
        rubbish = [b"pose \xc1", b"pose \x81\xa4", b"pose " + msgpack.packb({"schema": "1"}), b"", b"pose", b"skeleton \x93\x01"]
        wrong = msgpack.packb({**msgpack.unpackb(encode_message(BODY)[9:]), "parents": list(range(N_JOINTS))})
        connection.sendall(b"".join(frame(body) for body in (*rubbish, b"skeleton " + wrong)))
        connection.sendall(frame(encode_message(BODY)))
        assert len(encode_message(BODY)) > 255
        for part in (pose_payload(1)[i : i + 97] for i in range(0, len(pose_payload(1)), 97)):
            connection.sendall(frame(pose_payload(1))[:9] + part if part == pose_payload(1)[:97] else part)
            time.sleep(0.02)  # a piece at a time
        connection.sendall(frame(b"pose of two", 1) + frame(b"parts") + frame(pose_payload(5)))
        time.sleep(0.2)
        connection.close()  # and again, by itself
        again = shaken_hands(listener)
        again.sendall(frame(encode_message(BODY)) + frame(pose_payload(6)))
        time.sleep(0.2)
        again.sendall(frame(pose_payload(7)) + frame(pose_payload(9)))  # two at once: the newest counts
        printed = judge.result()
        again.close()
    assert [pose["seq"] for pose in printed] == [1, 5, 6, 9]
    assert [pose["missed"] for pose in printed] == [0, 3, 3, 4]  # 2, 3, 4 and 8; 7 came and was overtaken
    for pose in printed:
        assert_places(pose["joints"], pose["seq"])


# A body of another make: other rest orientations and lengths, a bone between, no upperNeck, no upperChest, arms by its sides.
ROLL = {
    "LeftUpperArm": [0.0, 0.0, -1.2],
    "RightUpperArm": [0.3, 0.2, 1.0],
    "LeftUpperLeg": [1.1, -0.4, 0.2],
    "Spine": [0.0, 1.5, 0.1],
}
OMITTED = {"upperNeck", "upperChest", "leftToes"}


def target_bones() -> list[dict[str, object]]:
    """Return the target's bones, parent first; `Pelvis_1` stands for the hips' name, a twist bone between upper and lower arm."""
    bones: list[dict[str, object]] = [{"name": "Root", "parent": -1, "rotation": [0.0, 0.6, 0.0, 0.8], "place": [0.1, 0.05, 0.2]}]
    index: dict[str, int] = {}
    for joint, name in enumerate(JOINTS):
        if name in OMITTED:
            continue
        parent = PARENTS[joint]
        while parent >= 0 and JOINTS[parent] in OMITTED:
            parent = PARENTS[parent]
        above = 0 if parent < 0 else index[JOINTS[parent]]
        if name == "leftLowerArm":
            bones.append({"name": "Twist", "parent": above, "rotation": [0.6, 0.0, 0.0, 0.8], "place": [0.1, 0.0, 0.02]})
            above = len(bones) - 1
        unity = name[0].upper() + name[1:]
        place = np.random.default_rng(joint).normal(0.0, 0.2, 3)
        if name in ("leftUpperLeg", "leftLowerLeg", "leftFoot"):
            place = np.array([0.02, -0.4, 0.01])
        rotation = quaternion_from_matrix(matrix_from_rotvec(ROLL.get(unity, [0.1, -0.2, 0.05])))
        index[name] = len(bones)
        own_name = "Pelvis_1" if name == "hips" else unity
        bones.append({"name": own_name, "parent": above, "rotation": rotation.tolist(), "place": place.tolist()})
    return bones


def retargeted(bones: list[dict[str, object]], rotvec: Floats, root_m: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Return rotation and place of every target bone by the rule, written down on its own."""
    G = compute_forward_kinematics(PERSON.skeleton, rotvec, root_m)[0]
    rest_G: list[Floats] = []
    rest_p: list[Floats] = []
    for bone in bones:
        above = (np.eye(3), np.zeros(3)) if bone["parent"] < 0 else (rest_G[bone["parent"]], rest_p[bone["parent"]])
        rest_G.append(above[0] @ matrix_from_quaternion(bone["rotation"]))
        rest_p.append(above[1] + above[0] @ np.array(bone["place"]))
    by_name = {bone["name"]: i for i, bone in enumerate(bones)}
    source_rest = PERSON.skeleton.rest_positions_m()
    source_height = source_rest[0, 1] - source_rest[JOINTS.index("leftFoot"), 1]
    scale = (rest_p[by_name["Pelvis_1"]][1] - rest_p[by_name["LeftFoot"]][1]) / source_height
    found: dict[str, tuple[Floats, Floats]] = {}
    for i, bone in enumerate(bones):
        name = str(bone["name"])
        above = (np.eye(3), np.zeros(3)) if bone["parent"] < 0 else found[str(bones[bone["parent"]]["name"])]
        rotation, place = above[0] @ matrix_from_quaternion(bone["rotation"]), above[1] + above[0] @ np.array(bone["place"])
        joint = "hips" if name == "Pelvis_1" else name[0].lower() + name[1:]
        if joint in JOINTS:
            rotation = G[JOINTS.index(joint)] @ rest_G[i]
        found[name] = rotation, scale * root_m if joint == "hips" else place
    return found


@needs_godot
@pytest.mark.parametrize("is_rest", [True, False])
def test_another_body_is_moved_by_the_retargeting_rule(is_rest: bool, tmp_path: Path) -> None:
    bones = target_bones()
    rotvec = charted_from_local(np.tile(np.eye(3), (N_JOINTS, 1, 1))) if is_rest else rotvec_of(3)
    pose = message_of(rotvec, root_of(3))
    case = {
        "source": {"names": JOINTS, "parents": PARENTS, "offsets": PERSON.skeleton.offsets_m.tolist(), "humanoid": VRM_BONE},
        "target": bones,
        "bone_names": {"hips": "Pelvis_1"},
        "root": root_of(3).tolist(),
        "rotations": pose.rotations_xyzw.tolist(),
    }
    (tmp_path / "case.json").write_text(json.dumps(case), encoding="utf-8")
    (found,) = Judge(JUDGES / "retarget.gd", f"--case={tmp_path / 'case.json'}").result()
    expected = retargeted(bones, rotvec, root_of(3))
    assert found.keys() == expected.keys()
    for name, (rotation, place) in expected.items():
        np.testing.assert_allclose(found[name][:3], place, atol=TOLERANCE_M, err_msg=name)
        np.testing.assert_allclose(matrix_from_quaternion(found[name][3:]), rotation, atol=1e-4, err_msg=name)


@needs_godot
def test_godot_gets_the_same_places_from_vmc(kept: Kept) -> None:
    port = free_port(socket.SOCK_DGRAM)
    judge = Judge(JUDGES / "vmc.gd", f"--port={port}", "--frames=30", f"--parents={json.dumps(PARENT)}")
    while "listening" not in judge.printed() and judge.running():
        time.sleep(STEP_S)
    output = kept(VmcOutput(VmcTarget(port=port)))
    output.write(BODY, b"", 0)

    def step(seq: int) -> None:
        output.write(message_of(rotvec_of(seq), root_of(seq)), b"", seq * 10_000_000)

    until(judge.running, step)
    printed = judge.result()
    assert len(printed) == 30
    for one in printed:
        seq = round(one["time"] / 0.01)
        found = {name[0].lower() + name[1:]: place for name, place in one["places"].items()}
        places = compute_forward_kinematics(PERSON.skeleton, rotvec_of(seq), root_of(seq))[1]
        errors = [np.linalg.norm(np.array(found[name]) - places[joint]) for joint, name in enumerate(JOINTS) if name in found]
        assert len(errors) == 22 and max(errors) < TOLERANCE_M


def test_the_scripts_for_godot_4_are_well_formed() -> None:
    """No Godot 4 is packaged where the tests run: gdtoolkit's parser of its dialect stands in."""
    scripts = sorted((PROJECT.parent / "godot4").glob("*.gd"))
    assert [script.name for script in scripts] == [script.name for script in sorted(PROJECT.glob("*.gd"))]
    python = python_with("gdtoolkit")
    subprocess.run([python, "-m", "gdtoolkit.parser", *map(str, scripts)], check=True, timeout=60)
