"""glTF 2.0 binary: a small writer of nodes, one animation and buffers, and what GLB and VRMA have in common of a take.

Khronos Group, glTF 2.0 specification: 12 bytes of header, a JSON chunk padded with spaces, a binary chunk padded with zeros.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.errors import FileFormatError
from database.geometry.rotations import quaternion_from_matrix
from database.geometry.skeleton import Skeleton
from stream.take.take import Take, find_software_version

MAGIC, JSON_CHUNK, BINARY_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
COMPONENTS = {"uint8": 5121, "uint16": 5123, "uint32": 5125, "float32": 5126}
TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
Tree = dict[str, Any]


class GltfDocument:
    """A glTF document under construction: its JSON tree and its one buffer."""

    def __init__(self) -> None:
        self.tree: Tree = {
            "asset": {"version": "2.0", "generator": f"duocap {find_software_version()}".removesuffix(" source")},
            "scene": 0,
        }
        self._views: list[Tree] = []
        self._accessors: list[Tree] = []
        self._buffer = bytearray()

    @classmethod
    def from_tree(cls, tree: Tree, buffer: bytes) -> "GltfDocument":
        """Return a document that goes on from the tree of another, without its animations, and from its one buffer."""
        document = cls()
        document._views, document._accessors = list(tree.get("bufferViews", [])), list(tree.get("accessors", []))
        document._buffer = bytearray(buffer)
        document.tree = {key: value for key, value in tree.items() if key not in ("animations", "buffers")}
        return document

    def accessor(self, values: NDArray[Any], target: int | None = None, limits: bool = False) -> int:
        """Store values, (N,) or (N, components); return the number of their accessor.

        Args:
            values: (N,) or (N, components).
            target: ARRAY_BUFFER or ELEMENT_ARRAY_BUFFER for vertices and faces.
            limits: whether to store minimum and maximum, which times and positions require.
        """
        rows = np.ascontiguousarray(values).reshape(len(values), -1)
        content = rows.astype(rows.dtype.newbyteorder("<")).tobytes()
        view: Tree = {"buffer": 0, "byteOffset": len(self._buffer), "byteLength": len(content)}
        self._views.append(view if target is None else {**view, "target": target})
        self._buffer += content + bytes(-len(content) % 4)
        accessor: Tree = {
            "bufferView": len(self._views) - 1,
            "componentType": COMPONENTS[rows.dtype.name],
            "count": len(rows),
            "type": TYPES[rows.shape[1]],
        }
        if limits:
            accessor |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self._accessors.append(accessor)
        return len(self._accessors) - 1

    def binary(self) -> bytes:
        """Return the whole file."""
        tree = dict(self.tree)
        if self._accessors:
            tree |= {"accessors": self._accessors, "bufferViews": self._views, "buffers": [{"byteLength": len(self._buffer)}]}
        text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
        chunks = _encode_chunk(JSON_CHUNK, text + b" " * (-len(text) % 4))
        if self._buffer:
            chunks += _encode_chunk(BINARY_CHUNK, bytes(self._buffer))
        return struct.pack("<III", MAGIC, 2, 12 + len(chunks)) + chunks


def _encode_chunk(kind: int, content: bytes) -> bytes:
    """Return a chunk with its length and kind before it."""
    return struct.pack("<II", len(content), kind) + content


def build_joint_nodes(names: Sequence[str], parents: Sequence[int], positions_m: Floats) -> list[Tree]:
    """Return one node a joint, in order, with translations from the parent.

    Args:
        names: names of the joints.
        parents: index of the parent of each joint; -1 for the root.
        positions_m: positions of the joints in the rest pose, (J, 3) [m].
    """
    nodes: list[Tree] = []
    for joint, (name, parent) in enumerate(zip(names, parents, strict=True)):
        offset = positions_m[joint] - (positions_m[parent] if parent >= 0 else 0.0)
        children = [child for child, above in enumerate(parents) if above == joint]
        nodes.append({"name": name, "translation": offset.tolist()} | ({"children": children} if children else {}))
    return nodes


@dataclass(frozen=True, slots=True)
class NodeMotion:
    """The motion of nodes.

    Attributes:
        seconds: times of the keys, increasing also as float32, (K,).
        rotations: node -> (K, 3, 3).
        hips: their node.
        hips_m: translations of the hips, (K, 3).
    """

    seconds: Floats
    rotations: Mapping[int, Floats]
    hips: int
    hips_m: Floats


def add_animation(document: GltfDocument, take: Take, motion: NodeMotion) -> Tree:
    """Return an animation with a key at each time: translation of the hips, rotations of nodes; linear between the keys.

    Args:
        document: document that the animation is added to.
        take: what it is named after.
        motion: motion of the nodes.
    """
    times = document.accessor(motion.seconds.astype(np.float32), limits=True)
    turns = {node: make_quaternions_continuous(quaternion_from_matrix(R)) for node, R in motion.rotations.items()}
    tracks = [(motion.hips, "translation", motion.hips_m), *((node, "rotation", xyzw) for node, xyzw in turns.items())]
    samplers, channels = [], []
    for number, (node, path, values) in enumerate(tracks):
        samplers.append({"input": times, "output": document.accessor(values.astype(np.float32)), "interpolation": "LINEAR"})
        channels.append({"sampler": number, "target": {"node": node, "path": path}})
    return {"name": take.info.session or "motion", "channels": channels, "samplers": samplers}


def make_quaternions_continuous(quaternions: Floats) -> Floats:
    """Return the same rotations with signs such that neighbours have a positive inner product, (N, ..., 4).

    q and -q are one rotation, but programs may interpolate between them the long way.
    """
    steps = (quaternions[1:] * quaternions[:-1]).sum(axis=-1, keepdims=True)
    signs = np.where(steps < 0.0, -1.0, 1.0)
    return np.concatenate([quaternions[:1], quaternions[1:] * np.cumprod(signs, axis=0)])


@dataclass(frozen=True, slots=True)
class SampledKeys:
    """The frames that are not lost, at their own times, and the first and the last, so that all is as long as the take.

    Attributes:
        seconds: increasing also as float32, (K,).
        rotvec: charted, (K, J, 3) [rad].
        rotations: local, from the T-pose, (K, J, 3, 3).
        root_m: positions of the hips, (K, 3) [m].
    """

    seconds: Floats
    rotvec: Floats
    rotations: Floats
    root_m: Floats


def sample_keys(take: Take) -> SampledKeys:
    """Return the frames that become keys: players interpolate over lost frames; lost at either end, the pose beside is held.

    Raises FileFormatError: every frame is lost.
    """
    kept = np.flatnonzero(~take.lost)
    if not len(kept):
        raise FileFormatError(f"no motion to write: all {len(take)} frames are lost; check the report or the calibration first")
    at = np.unique([0, *kept, len(take) - 1])
    short = take.seconds[at].astype(np.float32)
    at = at[np.concatenate([[True], np.diff(short) > 0])]
    shown = np.clip(at, kept[0], kept[-1])
    return SampledKeys(take.seconds[at], take.rotvec[shown], take.local_rotations()[shown], take.root_m[shown])


def compute_standing_positions_m(skeleton: Skeleton) -> Floats:
    """Return the joints of the T-pose standing on the ground at the origin, (J, 3) [m]."""
    rest = skeleton.rest_positions_m()
    return rest - [0.0, float((rest + skeleton.tails_m)[:, 1].min()), 0.0]


def build_extras(take: Take) -> Tree:
    """Return `extras`: the origin of the take, its units, and the tracking state of each span of frames."""
    spans, seconds = [], take.seconds
    for state, frames in groupby(range(len(take)), key=lambda frame: take.states[frame]):
        run = list(frames)
        spans.append({"state": state.value, "from_s": round(seconds[run[0]], 6), "to_s": round(seconds[run[-1]], 6)})
    tracked = sum(state.value == "tracking" for state in take.states) / len(take)
    return {
        **{name: text for name, text in asdict(take.info).items() if text},
        "units": "m",
        "floor_known": True,
        "frames": len(take),
        "tracked": round(tracked, 6),
        "states": spans,
    }
