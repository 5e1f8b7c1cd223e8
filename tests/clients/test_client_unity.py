"""The Unity client under Mono: decodes our bytes, its axes and kinematics are ours mirrored; the rest of it compiles."""

import base64
import json
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import quaternion_from_matrix
from stream.protocol.codec import encode_message
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from tests.support import fakes, judges
from tests.support.axes import UNITY
from tests.support.people import person

pytestmark = pytest.mark.judge
RUNTIME = Path(__file__).resolve().parents[2] / "clients" / "unity" / "Runtime"
PURE = [str(RUNTIME / name) for name in ("MsgPack.cs", "Kinematics.cs", "Messages.cs")]
SUBJECT = person("locomotion", 3)
SKELETON = compose_skeleton_message(SUBJECT)
FAKE = fakes.pose(5, 1000, np.array([0.5, 1.0, -0.25]), n_cameras=4)
POSE = compose_pose_message(FAKE, compose_skeleton_message(fakes.subject()), "run", 9_000_000_000, 2000)

PROGRAM = """
using System; using System.Globalization; using System.IO; using Duocap;
static class Program {
    static string N(float v) { return v.ToString("R", CultureInfo.InvariantCulture); }
    static void Main(string[] files) {
        var skeleton = (Skeleton)Messages.Decode(File.ReadAllBytes(files[0]));
        var pose = (Pose)Messages.Decode(File.ReadAllBytes(files[1]));
        var places = new Vec3[skeleton.Names.Count]; var rotations = new Quat[skeleton.Names.Count];
        Kinematics.Globals(skeleton, pose, rotations, places);
        Console.WriteLine(pose.Seq + " " + pose.State + " " + pose.Session + " " + N(Kinematics.HipsHeight(skeleton)));
        for (int j = 0; j < places.Length; j++)
            Console.WriteLine(string.Join(" ", skeleton.Names[j], N(places[j].X), N(places[j].Y), N(places[j].Z),
                N(rotations[j].X), N(rotations[j].Y), N(rotations[j].Z), N(rotations[j].W)));
        int refused = 0, read = 0;
        foreach (string line in File.ReadAllLines(files[2]))
            try { Messages.Decode(Convert.FromBase64String(line)); read++; } catch (MalformedMessageException) { refused++; }
        Console.WriteLine(read + " " + refused);
    }
}
"""


def compiled(folder: Path, out: str, *arguments: str) -> Path:
    result = subprocess.run(
        [judges.program("mcs"), "-langversion:7", "-warnaserror-", f"-out:{out}", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / out


def test_decodes_and_computes_what_we_do(tmp_path: Path) -> None:
    mono = judges.program("mono")
    (tmp_path / "program.cs").write_text(PROGRAM, encoding="utf-8")
    program = compiled(tmp_path, "program.exe", "program.cs", *PURE)
    skeleton, pose = encode_message(SKELETON), encode_message(POSE)
    (tmp_path / "skeleton").write_bytes(skeleton)
    (tmp_path / "pose").write_bytes(pose)
    rng, mutants = random.Random(5), []
    for n in range(2000):
        mutant = bytearray((skeleton, pose)[n % 2])
        for _ in range(rng.randint(1, 3)):
            mutant[rng.randrange(len(mutant))] = rng.randrange(256)
        mutants.append(bytes(mutant[: rng.randint(10, len(mutant))] if n % 3 else mutant))
    (tmp_path / "mutants").write_text("\n".join(base64.b64encode(m).decode() for m in mutants), encoding="ascii")
    ran = subprocess.run(
        [mono, str(program), "skeleton", "pose", "mutants"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr  # an exception of another kind than the client's own ends the program
    lines = ran.stdout.splitlines()
    words = lines[0].split()
    assert words[:3] == ["9000000000", "tracking", "run"]
    G, p = compute_forward_kinematics(SUBJECT.skeleton, FAKE.rotvec, FAKE.root_m)
    rows = [line.split() for line in lines[1 : 1 + len(JOINTS)]]
    assert [row[0] for row in rows] == list(JOINTS)
    values = np.array([[float(word) for word in row[1:]] for row in rows])
    np.testing.assert_allclose(values[:, :3], UNITY.positions(p), atol=5e-6)
    theirs, ours = values[:, 3:], UNITY.quaternions(quaternion_from_matrix(G))
    np.testing.assert_allclose(np.abs((theirs * ours).sum(axis=1)), 1.0, atol=1e-5)
    rest = SUBJECT.skeleton.rest_positions_m()
    assert float(words[3]) == pytest.approx(rest[0, 1] - rest[JOINTS.index("leftFoot"), 1], abs=1e-5)
    read, refused = (int(word) for word in lines[-1].split())
    assert read + refused == 2000 and refused > 500


def test_all_of_it_compiles(tmp_path: Path) -> None:
    sources = [str(file) for file in sorted(RUNTIME.glob("*.cs"))]
    stubs = str(Path(__file__).with_name("unity_stubs.cs"))
    assert compiled(tmp_path, "duocap.dll", "-target:library", stubs, *sources).exists()
    manifest = json.loads((RUNTIME.parent / "package.json").read_text("utf-8"))
    assert manifest["name"] == "org.duocap.client"
