"""A person as BVH, written by the tests: random frames of a tree of joints, and forward kinematics done slowly and plainly."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from config.arrays import Floats

Tree = list[tuple[str, str, tuple[float, ...]]]
END = "End"  # an end site
# A person of 1.75 m in centimetres, left and right unequal, with the names of Mixamo.
MIDDLE: Tree = [("Hips", "", (0, 0, 0)), ("Spine", "Hips", (0, 10, -1)), ("Spine1", "Spine", (0, 12, 0))]
MIDDLE += [
    ("Spine2", "Spine1", (0, 13, 0.5)),
    ("Neck", "Spine2", (0, 15, 0)),
    ("Head", "Neck", (0, 9, 1)),
    (END, "Head", (0, 18, 2)),
]
LEFT: Tree = [
    ("LeftShoulder", "Spine2", (5, 12, 0)),
    ("LeftArm", "LeftShoulder", (12, 0, -1)),
    ("LeftForeArm", "LeftArm", (28, 0, 0)),
]
LEFT += [("LeftHand", "LeftForeArm", (25, 0, 0)), ("LeftHandMiddle1", "LeftHand", (9, 0, 0)), (END, "LeftHandMiddle1", (8, 0, 0))]
LEFT += [("LeftHandThumb1", "LeftHand", (3, -1, 4)), (END, "LeftHandThumb1", (4, 0, 2))]
LEFT += [("LeftUpLeg", "Hips", (9, -6, 0)), ("LeftLeg", "LeftUpLeg", (0, -43, 0)), ("LeftFoot", "LeftLeg", (0, -42, -1))]
LEFT += [("LeftToeBase", "LeftFoot", (0, -6, 13)), (END, "LeftToeBase", (0, 0, 6))]
RIGHT: Tree = [("RightShoulder", "Spine2", (-5, 12, 0)), ("RightArm", "RightShoulder", (-13, 0, -1))]
RIGHT += [("RightForeArm", "RightArm", (-29, 0, 0)), ("RightHand", "RightForeArm", (-24, 0, 0)), (END, "RightHand", (-17, 0, 0))]
RIGHT += [("RightUpLeg", "Hips", (-9, -6, 0)), ("RightLeg", "RightUpLeg", (0, -44, 0)), ("RightFoot", "RightLeg", (0, -41, -1))]
RIGHT += [("RightToeBase", "RightFoot", (0, -6, 14)), (END, "RightToeBase", (0, 0, 7))]
MIXAMO = MIDDLE + LEFT + RIGHT
MIXAMO_LIMB = ("Shoulder", "Arm", "ForeArm", "Hand", "UpLeg", "Leg", "Foot", "ToeBase")
LEG = MIXAMO_LIMB[4:]
OUR_LIMB = ("Shoulder", "UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
LIMBS = dict(zip(OUR_LIMB, MIXAMO_LIMB, strict=True))
OURS = {"hips": "Hips", "spine": "Spine", "chest": "Spine1", "upperChest": "Spine2", "neck": "Neck", "head": "Head"}
OURS |= {side + ours: side.capitalize() + theirs for side in ("left", "right") for ours, theirs in LIMBS.items()}


class Bvh:
    """Random frames of a tree: root positions (N, 3) and degrees by joint, (N, 3), in the order of the channels."""

    def __init__(self, tree: Tree, seed: int, order: str = "ZXY", still: tuple[str, ...] = (), n_frames: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.tree, self.order, self.root = tree, order, rng.uniform(-90, 90, (n_frames, 3))
        self.degrees = {name: rng.uniform(-50, 50, (n_frames, 3)) * (name not in still) for name, _, _ in tree if name != END}
        self.degrees[tree[0][0]] *= 0.5

    def text(self) -> str:
        """Return the file."""
        names: list[str] = []
        lines = ["HIERARCHY", *self._joints("", 0, names), "MOTION", f"Frames: {len(self.root)}", "Frame Time: 0.0083333"]
        rows = np.concatenate([self.root, *(self.degrees[name] for name in names)], axis=1)
        return "\n".join([*lines, *(" ".join(f"{value:.17g}" for value in row) for row in rows), ""])

    def _joints(self, parent: str, depth: int, names: list[str]) -> list[str]:
        lines, pad = [], "\t" * depth
        for name, _, offset in (joint for joint in self.tree if joint[1] == parent):
            key = "End Site" if name == END else f"{'JOINT' if parent else 'ROOT'} {name}"
            lines += [pad + key, pad + "{", f"{pad}\tOFFSET {offset[0]} {offset[1]} {offset[2]}"]
            if name != END:
                names.append(name)
                channels = " ".join(([] if parent else ["Xposition Yposition Zposition"]) + [f"{c}rotation" for c in self.order])
                lines += [f"{pad}\tCHANNELS {len(channels.split())} {channels}", *self._joints(name, depth + 1, names)]
            lines.append(pad + "}")
        return lines

    def positions(self, n: int) -> dict[str, Floats]:
        """Return the joints of one frame in file units."""
        return self.pose(n)[0]

    def pose(self, n: int) -> tuple[dict[str, Floats], dict[str, Rotation]]:
        """Return joints and orientations of one frame in file units; the first channel is the outermost rotation."""
        position, rotation = dict[str, Floats](), {"": Rotation.identity()}
        for name, parent, offset in (joint for joint in self.tree if joint[0] != END):
            position[name] = position[parent] + rotation[parent].apply(offset) if parent else self.root[n]
            rotation[name] = rotation[parent] * Rotation.from_euler(self.order, self.degrees[name][n], degrees=True)
        return position, rotation


def written(tmp_path: Path, text: str) -> Path:
    """Write a file."""
    path = tmp_path / "dance.bvh"
    path.write_bytes(text.encode())
    return path


def renamed(names: dict[str, str], tree: Tree) -> Tree:
    """Return a tree with other names."""
    return [(names.get(name, name), names.get(parent, parent), offset) for name, parent, offset in tree]


def small(tree: Tree, seed: int, degrees: float = 12.0, n_frames: int = 24) -> Bvh:
    """Return smooth, small motion of somebody who stands, other than `Bvh`, whose joints turn at random."""
    bvh = Bvh(tree, seed, n_frames=n_frames)
    rng, t = np.random.default_rng(seed), np.arange(n_frames)[:, None] / 30.0
    for name in bvh.degrees:
        rate, phase = rng.uniform(2.0, 6.0, 3), rng.uniform(0.0, 6.0, 3)
        bvh.degrees[name] = degrees * np.sin(rate * t + phase) * (name != tree[0][0])
    bvh.root = np.array([0.0, 95.0, 0.0]) + t * [0.0, 0.0, 120.0]
    return bvh


def along_bones(bvh: Bvh) -> str:
    """Return the same motion with axes along the bones, on the right side against them: without rotations it is no person."""
    children = {name: [c for c in bvh.tree if c[1] == name] for name, _, _ in bvh.tree}
    axes = {"": np.eye(3)}
    for name, _, _ in (joint for joint in bvh.tree if joint[0] != END):
        bone = np.array(children[name][0][2] if children[name] and name != bvh.tree[0][0] else (0.0, 1.0, 0.0), float)
        across = np.array([0.0, 0.0, 1.0]) if abs(bone[2]) < 0.8 * np.linalg.norm(bone) else np.array([1.0, 0.0, 0.0])
        x = bone / np.linalg.norm(bone) * (-1.0 if name.startswith("Right") else 1.0)
        y = np.cross(across, x) / np.linalg.norm(np.cross(across, x))
        axes[name] = np.stack([x, y, np.cross(x, y)], axis=1)
    turned = Bvh([(name, parent, tuple(axes[parent].T @ offset)) for name, parent, offset in bvh.tree], 0, "ZYX")
    turned.root = bvh.root
    for name, parent, _ in (joint for joint in bvh.tree if joint[0] != END):
        R = Rotation.from_euler(bvh.order, bvh.degrees[name], degrees=True).as_matrix()
        turned.degrees[name] = Rotation.from_matrix(axes[parent].T @ R @ axes[name]).as_euler("ZYX", degrees=True)
    return turned.text()
