"""glTF 2.0 binary: a small writer of nodes, one animation and buffers, as GLB and VRMA files need them.

Khronos Group, glTF 2.0 specification: 12 bytes of header, a JSON chunk padded with spaces, a binary chunk padded with zeros.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats

MAGIC, JSON_CHUNK, BINARY_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
COMPONENTS = {"uint8": 5121, "uint16": 5123, "uint32": 5125, "float32": 5126}
TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
Tree = dict[str, Any]


class Document:
    """A glTF document being put together: its JSON tree and its one buffer."""

    def __init__(self) -> None:
        self.tree: Tree = {"asset": {"version": "2.0", "generator": _generator()}, "scene": 0}
        self._views: list[Tree] = []
        self._accessors: list[Tree] = []
        self._buffer = bytearray()

    def accessor(self, values: NDArray[Any], target: int | None = None, limits: bool = False) -> int:
        """Store values, (N,) or (N, components), and give the number of their accessor.

        target: ARRAY_BUFFER or ELEMENT_ARRAY_BUFFER for vertices and faces; limits: with minimum and maximum, which times and
        positions must have.
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
        """Give the whole file."""
        tree = dict(self.tree)
        if self._accessors:
            tree |= {"accessors": self._accessors, "bufferViews": self._views, "buffers": [{"byteLength": len(self._buffer)}]}
        text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
        chunks = _chunk(JSON_CHUNK, text + b" " * (-len(text) % 4))
        if self._buffer:
            chunks += _chunk(BINARY_CHUNK, bytes(self._buffer))
        return struct.pack("<III", MAGIC, 2, 12 + len(chunks)) + chunks


def _generator() -> str:
    """Name this program with its version, if it is installed as a package."""
    try:
        return f"duocap {metadata.version('duocap')}"
    except metadata.PackageNotFoundError:
        return "duocap"


def _chunk(kind: int, content: bytes) -> bytes:
    """Give a chunk with its length and kind before it."""
    return struct.pack("<II", len(content), kind) + content


def joint_nodes(names: Sequence[str], parents: Sequence[int], places_m: Floats) -> list[Tree]:
    """Give one node a joint, in order, with translations from the parent; places_m: joints of the rest pose, (J, 3) [m]."""
    nodes: list[Tree] = []
    for joint, (name, parent) in enumerate(zip(names, parents, strict=True)):
        offset = places_m[joint] - (places_m[parent] if parent >= 0 else 0.0)
        children = [child for child, above in enumerate(parents) if above == joint]
        nodes.append({"name": name, "translation": offset.tolist()} | ({"children": children} if children else {}))
    return nodes


def animation(document: Document, name: str, seconds: Floats, rotations_xyzw: Mapping[int, Floats], root_m: Floats) -> Tree:
    """Give an animation with a key at each time: node 0 moves, nodes turn; linear between the keys.

    seconds: rising also as float32, (N,); rotations_xyzw: node -> (N, 4); root_m: (N, 3) [m].
    """
    times = document.accessor(seconds.astype(np.float32), limits=True)
    tracks = [(0, "translation", root_m), *((node, "rotation", turns) for node, turns in rotations_xyzw.items())]
    samplers, channels = [], []
    for number, (node, path, values) in enumerate(tracks):
        samplers.append({"input": times, "output": document.accessor(values.astype(np.float32)), "interpolation": "LINEAR"})
        channels.append({"sampler": number, "target": {"node": node, "path": path}})
    return {"name": name, "channels": channels, "samplers": samplers}


def continuous(quaternions: Floats) -> Floats:
    """Give the same rotations with signs chosen so that no two neighbours are on opposite sides: (N, ..., 4) -> same.

    q and -q are one rotation, but what a program interpolates between them need not be.
    """
    steps = (quaternions[1:] * quaternions[:-1]).sum(axis=-1, keepdims=True)
    signs = np.where(steps < 0.0, -1.0, 1.0)
    return np.concatenate([quaternions[:1], quaternions[1:] * np.cumprod(signs, axis=0)])
