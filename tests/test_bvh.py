"""BVH: any names, rest pose, unit, channel order and up; joints stand where plain forward kinematics puts them."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS
from database.bvh import read_bvh
from database.clips import Clip
from database.kinematics import forward, local_rotations
from database.read import read_clip

Tree = list[tuple[str, str, tuple[float, float, float]]]
# A person of 1.75 m in centimetres, left and right unequal; "End" is an end site.
MIXAMO: Tree = [
    ("Hips", "", (0, 0, 0)),
    ("Spine", "Hips", (0, 10, -1)),
    ("Spine1", "Spine", (0, 12, 0)),
    ("Spine2", "Spine1", (0, 13, 0.5)),
    ("Neck", "Spine2", (0, 15, 0)),
    ("Head", "Neck", (0, 9, 1)),
    ("End", "Head", (0, 18, 2)),
    ("LeftShoulder", "Spine2", (5, 12, 0)),
    ("LeftArm", "LeftShoulder", (12, 0, -1)),
    ("LeftForeArm", "LeftArm", (28, 0, 0)),
    ("LeftHand", "LeftForeArm", (25, 0, 0)),
    ("LeftHandMiddle1", "LeftHand", (9, 0, 0)),
    ("End", "LeftHandMiddle1", (8, 0, 0)),
    ("LeftHandThumb1", "LeftHand", (3, -1, 4)),
    ("End", "LeftHandThumb1", (4, 0, 2)),
    ("RightShoulder", "Spine2", (-5, 12, 0)),
    ("RightArm", "RightShoulder", (-13, 0, -1)),
    ("RightForeArm", "RightArm", (-29, 0, 0)),
    ("RightHand", "RightForeArm", (-24, 0, 0)),
    ("End", "RightHand", (-17, 0, 0)),
    ("LeftUpLeg", "Hips", (9, -6, 0)),
    ("LeftLeg", "LeftUpLeg", (0, -43, 0)),
    ("LeftFoot", "LeftLeg", (0, -42, -1)),
    ("LeftToeBase", "LeftFoot", (0, -6, 13)),
    ("End", "LeftToeBase", (0, 0, 6)),
    ("RightUpLeg", "Hips", (-9, -6, 0)),
    ("RightLeg", "RightUpLeg", (0, -44, 0)),
    ("RightFoot", "RightLeg", (0, -41, -1)),
    ("RightToeBase", "RightFoot", (0, -6, 14)),
    ("End", "RightToeBase", (0, 0, 7)),
]
OURS = {
    "hips": "Hips",
    "spine": "Spine",
    "chest": "Spine1",
    "upperChest": "Spine2",
    "neck": "Neck",
    "head": "Head",
    **{side + ours: side.capitalize() + theirs for side in ("left", "right") for ours, theirs in (
        ("Shoulder", "Shoulder"), ("UpperArm", "Arm"), ("LowerArm", "ForeArm"), ("Hand", "Hand"),
        ("UpperLeg", "UpLeg"), ("LowerLeg", "Leg"), ("Foot", "Foot"), ("Toes", "ToeBase"),
    )},
}  # fmt: skip


@dataclass
class Bvh:
    """A motion to write: rotations by joint name in degrees, and how they are written down."""

    tree: Tree
    root: np.ndarray
    degrees: dict[str, np.ndarray] = field(default_factory=dict)
    order: str = "ZXY"

    def text(self, seconds: str = "0.0083333") -> str:
        """Give the file."""
        lines = ["HIERARCHY", *self._joint("", 0), "MOTION", f"Frames: {len(self.root)}", f"Frame Time: {seconds}"]
        for n in range(len(self.root)):
            row = list(self.root[n])
            for name, _, _ in self._depth_first(""):
                row += list(self.degrees[name][n])
            lines.append(" ".join(f"{v:.17g}" for v in row))
        return "\n".join([*lines, ""])

    def _depth_first(self, parent: str) -> Tree:
        found: Tree = []
        for joint in self.tree:
            if joint[1] == parent and joint[0] != "End":
                found += [joint, *self._depth_first(joint[0])]
        return found

    def _joint(self, parent: str, depth: int) -> list[str]:
        lines, pad = [], "\t" * depth
        for name, above, offset in self.tree:
            if above != parent:
                continue
            key = "End Site" if name == "End" else f"{'JOINT' if parent else 'ROOT'} {name}"
            lines += [f"{pad}{key}", pad + "{", f"{pad}\tOFFSET {offset[0]} {offset[1]} {offset[2]}"]
            if name != "End":
                turns = " ".join(f"{c}rotation" for c in self.order)
                channels = turns if parent else f"Xposition Yposition Zposition {turns}"
                lines += [f"{pad}\tCHANNELS {len(channels.split())} {channels}", *self._joint(name, depth + 1)]
            lines.append(pad + "}")
        return lines

    def places(self, n: int) -> dict[str, np.ndarray]:
        """Give joint positions of one frame in file units; the first channel is the outermost rotation."""
        place, turn = {}, {"": Rotation.identity()}
        for name, parent, offset in self.tree:
            if name == "End":
                continue
            place[name] = place[parent] + turn[parent].apply(offset) if parent else self.root[n]
            turn[name] = turn[parent] * Rotation.from_euler(self.order, self.degrees[name][n], degrees=True)
        return place


def random_bvh(tree: Tree, seed: int, order: str = "ZXY", still: tuple[str, ...] = ()) -> Bvh:
    """Give three random frames."""
    rng = np.random.default_rng(seed)
    names = [name for name, _, _ in tree if name != "End"]
    turns = {name: rng.uniform(-50, 50, (3, 3)) * (name not in still) for name in names}
    turns[names[0]] = rng.uniform(-25, 25, (3, 3))
    return Bvh(tree, rng.uniform(-90, 90, (3, 3)), turns, order)


def written(tmp_path: Path, text: str, name: str = "dance.bvh") -> Path:
    """Write a file."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def assert_same_places(clip: Clip, bvh: Bvh, ours: dict[str, str], scale: float, world: np.ndarray | None = None) -> None:
    """Compare positions of all joints that the file has."""
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    W = np.eye(3) if world is None else world
    for n in range(len(bvh.root)):
        place = bvh.places(n)
        for name, theirs in ours.items():
            np.testing.assert_allclose(
                p[n, JOINT_INDEX[name]], W @ place[theirs] * scale, atol=1e-9, err_msg=f"{name}, frame {n}"
            )


@pytest.mark.parametrize("order", ["ZXY", "XYZ", "YXZ"])
def test_joints_stand_where_the_source_puts_them(tmp_path: Path, order: str) -> None:
    bvh = random_bvh(MIXAMO, 1, order)
    clip = read_clip(written(tmp_path, bvh.text()))
    assert (clip.name, clip.fps) == ("dance", 120.0)
    assert_same_places(clip, bvh, OURS, 0.01)


def test_prefixes_crlf_and_inches(tmp_path: Path) -> None:
    tree = [
        (n if n == "End" else f"mixamorig:{n}", f"mixamorig:{p}" if p else "", tuple(np.array(o) / 2.54)) for n, p, o in MIXAMO
    ]
    bvh = random_bvh(tree, 2)
    path = tmp_path / "a.bvh"
    path.write_bytes(bvh.text().replace("\n", "\r\n").encode())
    assert_same_places(read_clip(path), bvh, {k: f"mixamorig:{v}" for k, v in OURS.items()}, 0.0254)


def test_a_rest_pose_with_arms_hanging_down_and_z_up(tmp_path: Path) -> None:
    """The same person modelled Z up and facing -Y, arms down: our rest is still a T-pose and our world Y up."""
    down = {"LeftForeArm", "LeftHand", "LeftHandMiddle1", "RightForeArm", "RightHand"}
    tree: Tree = []
    for name, parent, offset in MIXAMO:
        x, y, z = (0.0, -abs(offset[0]), offset[2]) if name in down or (name == "End" and "Hand" in parent) else offset
        tree.append((name, parent, (x, -z, y)))
    bvh = random_bvh(tree, 3)
    clip = read_clip(written(tmp_path, bvh.text()))
    assert_same_places(clip, bvh, OURS, 0.01, np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]))
    offset = clip.skeleton.offsets_m
    np.testing.assert_allclose(offset[JOINT_INDEX["leftHand"]], [0.25, 0, 0], atol=1e-9)
    np.testing.assert_allclose(offset[JOINT_INDEX["rightHand"]], [-0.24, 0, 0], atol=1e-9)
    np.testing.assert_allclose(offset[JOINT_INDEX["rightToes"]], [0, -0.06, 0.14], atol=5e-3)
    still = read_clip(written(tmp_path, Bvh(tree, np.zeros((1, 3)), {n: np.zeros((1, 3)) for n in bvh.degrees}).text()))
    hand = forward(still.skeleton, still.rotvec, still.root_m)[1][0, JOINT_INDEX["leftHand"]]
    np.testing.assert_allclose(hand, [0.17, 0.47 - 0.53, -0.015], atol=1e-9)  # 10 + 12 + 13 + 12 = 47 up, and 53 down


def test_cmu_names_fold_extra_joints_and_take_the_spine_by_place(tmp_path: Path) -> None:
    rename = {"Spine": "LowerBack", "Spine1": "Spine", "Spine2": "Spine1"}
    tree: Tree = []
    for name, parent, offset in MIXAMO:
        if name in ("LeftUpLeg", "RightUpLeg"):
            tree += [(name[0] + "HipJoint", "Hips", (0, 0, 0)), (name, name[0] + "HipJoint", offset)]
        elif name == "Head":
            tree += [("Neck1", "Neck", (0, 5, 0)), ("Head", "Neck1", (0, 4, 1))]
        else:
            tree.append((rename.get(name, name), rename.get(parent, parent), offset))
    bvh = random_bvh(tree, 4, still=("LHipJoint", "RHipJoint"))
    ours = {k: rename.get(v, v) for k, v in OURS.items()} | {"upperNeck": "Neck1"}
    assert_same_places(read_clip(written(tmp_path, bvh.text())), bvh, ours, 0.01)


def test_vrm_names_are_ours(tmp_path: Path) -> None:
    back = {theirs: ours for ours, theirs in OURS.items()}
    tree = [(back.get(n, n), back.get(p, p), o) for n, p, o in MIXAMO]
    bvh = random_bvh(tree, 5)
    assert_same_places(read_clip(written(tmp_path, bvh.text())), bvh, {name: name for name in OURS}, 0.01)


def test_elbow_style_names_where_shoulder_is_the_upper_arm(tmp_path: Path) -> None:
    names = {
        "Shoulder": "Collar",
        "Arm": "Shoulder",
        "ForeArm": "Elbow",
        "Hand": "Wrist",
        "UpLeg": "Hip",
        "Leg": "Knee",
        "Foot": "Ankle",
    }
    rename = {s + old: s + new for s in ("Left", "Right") for old, new in names.items()} | {"Spine2": "Chest9"}
    tree = [(rename.get(n, n), rename.get(p, p), o) for n, p, o in MIXAMO]
    bvh = random_bvh(tree, 6)
    assert_same_places(read_clip(written(tmp_path, bvh.text())), bvh, {k: rename.get(v, v) for k, v in OURS.items()}, 0.01)


def test_missing_neck_clavicles_and_toes_are_made_up_between_what_is_there(tmp_path: Path) -> None:
    gone = {"Neck": "Spine2", "LeftShoulder": "Spine2", "LeftToeBase": "LeftFoot"}
    tree = [(n, gone.get(p, p), o) for n, p, o in MIXAMO if n not in gone]
    bvh = random_bvh(tree, 7)
    clip = read_clip(written(tmp_path, bvh.text()))
    ours = {k: v for k, v in OURS.items() if v not in gone}
    assert_same_places(clip, bvh, ours, 0.01)
    offset, local = clip.skeleton.offsets_m, local_rotations(clip.rotvec)
    for name, whole in (("neck", (0, 9, 1)), ("upperNeck", (0, 9, 1)), ("head", (0, 9, 1))):
        np.testing.assert_allclose(offset[JOINT_INDEX[name]], np.array(whole) / 300, atol=1e-9)
    np.testing.assert_allclose(offset[JOINT_INDEX["leftToes"]], [0, 0, 0.06], atol=3e-3)  # the end site of the foot
    for name in ("neck", "upperNeck", "leftShoulder", "leftToes"):
        np.testing.assert_allclose(local[:, JOINT_INDEX[name]], np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-9)


def test_every_joint_has_a_place_and_ends_where_the_file_says(tmp_path: Path) -> None:
    skeleton = read_clip(written(tmp_path, random_bvh(MIXAMO, 8).text())).skeleton
    np.testing.assert_allclose(skeleton.tails_m[JOINT_INDEX["leftHand"]], [0.17, 0, 0], atol=1e-9)  # the middle finger's end
    np.testing.assert_allclose(skeleton.tails_m[JOINT_INDEX["head"]], [0, 0.18, 0.02], atol=1e-9)
    assert all(np.isfinite(skeleton.offsets_m).ravel())
    assert {name for name in JOINTS if not skeleton.offsets_m[JOINT_INDEX[name]].any()} == {"hips"}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("OFFSET 28 0 0", "OFFSET 28 zero 0", "OFFSET 28 zero 0", "could not convert"),
        ("OFFSET 28 0 0", "OFFSET nan 0 0", "OFFSET nan 0 0", "three finite numbers"),
        ("CHANNELS 3 Zrotation", "CHANNELS 4 Zrotation", "CHANNELS 4 Zrotation", "expected 4 channels"),
        ("Frame Time: 0.0083333", "Frame Time: 0", "Frame Time: 0", "expected one or more"),
        ("Frames: 3", "Frames: three", "Frame Time", "Frames: count"),
        ("Frames: 3", "Frames: 5", "", "found; is the file cut short"),
        ("MOTION", "MOTIONS", "", "no MOTION"),
        ("\tJOINT LeftUpLeg", "\tBONE LeftUpLeg", "BONE", "expected ROOT"),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path: Path, old: str, new: str, line: str, words: str) -> None:
    text = random_bvh(MIXAMO, 9).text().replace(old, new, 1)
    path = written(tmp_path, text)
    number = text[: text.index(line)].count("\n") + 1 if line else len(text.splitlines())
    with pytest.raises(FileFormatError, match=re.escape(f"{path}, line {number}: ") + ".*" + re.escape(words)):
        read_bvh(path)


@pytest.mark.parametrize(("row", "words"), [("nan", "finite number, found 'nan'"), ("", "numbers, one a channel, found")])
def test_faults_in_a_frame(tmp_path: Path, row: str, words: str) -> None:
    lines = random_bvh(MIXAMO, 10).text().splitlines()
    numbers = lines[-2].split()
    numbers[4:5] = [row] if row else []
    lines[-2] = " ".join(numbers)
    path = written(tmp_path, "\n".join(lines))
    with pytest.raises(FileFormatError, match=rf"line {len(lines) - 1}: .*{words}"):
        read_bvh(path)


def test_what_is_no_person_is_refused(tmp_path: Path) -> None:
    dog = [
        (n.replace("Leg", "Paw").replace("Arm", "Claw"), p.replace("Leg", "Paw").replace("Arm", "Claw"), o) for n, p, o in MIXAMO
    ]
    with pytest.raises(FileFormatError, match="no joint is recognised as leftUpperLeg"):
        read_clip(written(tmp_path, random_bvh(dog, 11).text()))
    giant = [(n, p, tuple(1e4 * np.array(o))) for n, p, o in MIXAMO]
    with pytest.raises(FileFormatError, match="units tall"):
        read_clip(written(tmp_path, random_bvh(giant, 12).text()))
