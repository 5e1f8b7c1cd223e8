"""GLB and VRMA files for tests: read back by plain means, and what they look like in motion."""

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

DTYPES = {5121: np.dtype("u1"), 5123: np.dtype("<u2"), 5125: np.dtype("<u4"), 5126: np.dtype("<f4")}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}


@dataclass(frozen=True)
class GltfFile:
    """A file in memory: its tree and its buffer."""

    tree: dict[str, Any]
    buffer: bytes

    def array(self, accessor: int) -> np.ndarray:
        """Return the values of an accessor, (N, components)."""
        what = self.tree["accessors"][accessor]
        view = self.tree["bufferViews"][what["bufferView"]]
        content = self.buffer[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        return np.frombuffer(content, DTYPES[what["componentType"]]).reshape(what["count"], WIDTHS[what["type"]])

    def node(self, name: str) -> int:
        """Return the number of a node."""
        return [node["name"] for node in self.tree["nodes"]].index(name)

    def track(self, name: str, path: str) -> tuple[np.ndarray, np.ndarray]:
        """Return times (K,) and values (K, components) of one channel."""
        motion = self.tree["animations"][0]
        channel = next(c for c in motion["channels"] if c["target"] == {"node": self.node(name), "path": path})
        sampler = motion["samplers"][channel["sampler"]]
        assert sampler["interpolation"] == "LINEAR"
        return self.array(sampler["input"])[:, 0].astype(float), self.array(sampler["output"]).astype(float)

    def world(self, t: float) -> dict[str, tuple[np.ndarray, Rotation]]:
        """Return place and orientation of every node at a time, by plain recursion."""
        found: dict[str, tuple[np.ndarray, Rotation]] = {}

        def visit(number: int, place: np.ndarray, turn: Rotation) -> None:
            node = self.tree["nodes"][number]
            place = place + turn.apply(self._value(node, "translation", t))
            turn = turn * Rotation.from_quat(self._value(node, "rotation", t))
            found[node["name"]] = place, turn
            for child in node.get("children", []):
                visit(child, place, turn)

        for root in self.tree["scenes"][0]["nodes"]:
            visit(root, np.zeros(3), Rotation.identity())
        return found

    def _value(self, node: dict[str, Any], path: str, t: float) -> np.ndarray:
        """Return what a node has at a time: from its channel, if it has one."""
        at_rest = {"translation": [0.0, 0.0, 0.0], "rotation": [0.0, 0.0, 0.0, 1.0]}[path]
        targets = [c["target"] for c in self.tree["animations"][0]["channels"]]
        if {"node": self.node(node["name"]), "path": path} not in targets:
            return np.array(node.get(path, at_rest), float)
        times, values = self.track(node["name"], path)
        t = float(np.clip(t, times[0], times[-1]))
        if path == "rotation" and len(times) > 1:
            return np.asarray(Slerp(times, Rotation.from_quat(values))(t).as_quat())
        return np.array([np.interp(t, times, column) for column in values.T])


def parsed(content: bytes) -> GltfFile:
    """Take a binary glTF file apart, checking what its header and chunks promise."""
    magic, version, length = struct.unpack_from("<4sII", content)
    assert (magic, version, length) == (b"glTF", 2, len(content))
    size, kind = struct.unpack_from("<I4s", content, 12)
    assert kind == b"JSON" and size % 4 == 0
    tree = json.loads(content[20 : 20 + size])
    buffer_size, kind = struct.unpack_from("<I4s", content, 20 + size)
    assert kind == b"BIN\0" and 28 + size + buffer_size == len(content)
    assert tree["buffers"] == [{"byteLength": buffer_size}]
    return GltfFile(tree, content[28 + size :])
