"""The C++ client, compiled and run against a real publisher: our places, and Unreal's, in spite of malformed messages."""

import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import quaternion_from_matrix
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from stream.publish.publisher import Publisher
from tests.support import fakes, judges
from tests.support.axes import UNREAL

pytestmark = pytest.mark.judge
FOLDER = Path(__file__).resolve().parents[2] / "clients" / "cpp"
SUBJECT = fakes.subject()
SKELETON = compose_skeleton_message(SUBJECT)
FAKE = fakes.pose(5, 1000, np.array([0.5, 1.0, -0.25]), n_cameras=4)


@pytest.mark.slow
def test_prints_our_places_and_unreals(publisher: Publisher, tmp_path: Path) -> None:
    compiler = judges.program("g++", "clang++")
    if not any(Path(folder, "msgpack.hpp").exists() for folder in ("/usr/include", "/usr/local/include")):
        pytest.skip("msgpack-cxx is not installed")
    program = tmp_path / "print_poses"
    command = [
        compiler,
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        str(FOLDER / "print_poses.cpp"),
        "-lzmq",
        "-o",
        str(program),
    ]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    with (tmp_path / "out").open("w+", encoding="utf-8") as out:
        listening = subprocess.Popen([program, publisher.address, "3"], stdout=out)
        seq, deadline = 0, time.monotonic() + 20
        while listening.poll() is None and time.monotonic() < deadline:
            publisher.serve(time.monotonic_ns())
            publisher.publish(compose_pose_message(FAKE, SKELETON, "run", seq, 2000))
            publisher._send(b"pose \x81\xa6schema\x01")
            seq += 1
            time.sleep(0.01)
        listening.kill()
        assert listening.wait() == 0
        out.seek(0)
        rows = [line.split() for line in out.read().splitlines()]
    assert len(rows) == 3 * len(JOINTS) and [row[2] for row in rows[: len(JOINTS)]] == list(JOINTS)
    assert [int(row[0]) for row in rows[:: len(JOINTS)]] == sorted({int(row[0]) for row in rows})
    values = np.array([[float(word) for word in row[3:]] for row in rows[-len(JOINTS) :]])
    G, p = compute_forward_kinematics(SUBJECT.skeleton, FAKE.rotvec, FAKE.root_m)
    np.testing.assert_allclose(values[:, :3], p, atol=5e-6)
    np.testing.assert_allclose(values[:, 3:6], UNREAL.positions(p), atol=5e-4)
    theirs = UNREAL.quaternions(quaternion_from_matrix(G))
    np.testing.assert_allclose(np.abs((values[:, 6:] * theirs).sum(axis=1)), 1.0, atol=1e-5)
