"""The C++ client, compiled and run against a real publisher: our places, and Unreal's, in spite of malformed messages."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import quaternion_from_matrix
from stream.publish.publisher import Publisher
from tests.support import judges
from tests.support.axes import UNREAL
from tests.support.clients import FAKE, JOINTS_M, SUBJECT, publish_until
from tests.support.kept import Kept

pytestmark = pytest.mark.judge
FOLDER = Path(__file__).resolve().parents[2] / "clients" / "cpp"


@pytest.mark.slow
def test_prints_our_places_and_unreals(publisher: Publisher, tmp_path: Path, kept: Kept) -> None:
    compiler = judges.program("g++", "clang++")
    if not any(Path(folder, "msgpack.hpp").exists() for folder in ("/usr/include", "/usr/local/include")):
        pytest.skip("msgpack-cxx is not installed")
    program = tmp_path / "print_poses"
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
    command = [compiler, *flags, str(FOLDER / "print_poses.cpp"), "-lzmq", "-o", str(program)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    with (tmp_path / "out").open("w+", encoding="utf-8") as out:
        listening = kept.process(subprocess.Popen([program, publisher.address, "3"], stdout=out, text=True))
        publish_until(publisher, lambda: listening.poll() is not None, noise=b"pose \x81\xa6schema\x01")
        assert listening.returncode == 0
        out.seek(0)
        rows = [line.split() for line in out.read().splitlines()]
    assert len(rows) == 3 * len(JOINTS) and [row[2] for row in rows[: len(JOINTS)]] == list(JOINTS)
    assert [int(row[0]) for row in rows[:: len(JOINTS)]] == sorted({int(row[0]) for row in rows})
    values = np.array([[float(word) for word in row[3:]] for row in rows[-len(JOINTS) :]])
    G = compute_forward_kinematics(SUBJECT.skeleton, FAKE.rotvec, FAKE.root_m)[0]
    np.testing.assert_allclose(values[:, :3], JOINTS_M, atol=5e-6)
    np.testing.assert_allclose(values[:, 3:6], UNREAL.positions(JOINTS_M), atol=5e-4)
    theirs = UNREAL.quaternions(quaternion_from_matrix(G))
    np.testing.assert_allclose(np.abs((values[:, 6:] * theirs).sum(axis=1)), 1.0, atol=1e-5)
