"""Reader of animated skeletons in glTF 2.0: GLB, glTF with its buffers, and VRMA, which says itself which node is which joint.

Nodes have rotations of their own in the rest pose, so those of an animation are absolute. The animation with the most channels is
read, at the rate of its densest keys.
"""

import base64
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from database.files.source_motion import SourceMotion, list_path_from_root, read_file_bytes
from database.geometry.rotations import matrix_from_quaternion, quaternion_from_matrix

MAGIC, JSON_CHUNK, BINARY_CHUNK = b"glTF", 0x4E4F534A, 0x004E4942
COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
HUMANOIDS = ("VRMC_vrm_animation", "VRMC_vrm", "VRM")  # the last is VRM 0.x
SPARSE_HZ, SPARSE_READ_HZ = 20.0, 30.0  # keys that a person set are fewer; between them it is interpolated
MAX_HZ, MAX_FRAMES = 1000.0, 500_000  # more than four hours at 30 Hz are a broken time
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Channel:
    """Keys of one node: seconds, (K,); values, (K, components), or (K, 3, components) with tangents for CUBICSPLINE."""

    seconds: Floats
    values: Floats
    interpolation: str


def read_gltf(path: Path) -> SourceMotion:
    """Read the motion of a file. Raises FileFormatError: not glTF, damaged, or nothing in it moves."""
    try:
        tree, buffers = read_document(path)
        return _read_motion(path, tree, buffers)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, struct.error) as error:
        raise FileFormatError(f"{path}: no glTF 2.0, or damaged ({type(error).__name__}: {error}); export it again") from error


def read_document(path: Path) -> tuple[Tree, list[bytes]]:
    """Return the tree and the buffers of a file."""
    data, binary = read_file_bytes(path), b""
    text = data
    if data.startswith(MAGIC):
        at = 12
        while at + 8 <= len(data):
            length, kind = struct.unpack_from("<II", data, at)
            content = data[at + 8 : at + 8 + length]
            if len(content) < length:
                raise ValueError(f"cut short at byte {len(data)}")
            text, binary = (content if kind == JSON_CHUNK else text), (content if kind == BINARY_CHUNK else binary)
            at += 8 + length
    tree: Tree = json.loads(text.decode("utf-8-sig"))
    return tree, [_read_buffer(path, buffer, binary) for buffer in tree.get("buffers", [])]


def _read_buffer(path: Path, buffer: Tree, binary: bytes) -> bytes:
    """Return one buffer: of the file itself, of a data URI, or of a file beside it."""
    uri = buffer.get("uri")
    if uri is None:
        return binary
    if uri.startswith("data:"):
        return base64.b64decode(uri.partition(",")[2])
    beside = (path.parent / unquote(uri)).resolve()
    if not beside.is_relative_to(path.parent.resolve()):
        raise FileFormatError(f"{path}: its buffer {uri[:60]!r} is not in its own folder; export it as .glb")
    return read_file_bytes(beside)


def read_accessor(tree: Tree, buffers: list[bytes], number: int) -> Floats:
    """Return the values of an accessor, (N, components)."""
    accessor = tree["accessors"][number]
    view = tree["bufferViews"][accessor["bufferView"]]
    dtype, width, count = np.dtype(COMPONENTS[accessor["componentType"]]), WIDTHS[accessor["type"]], int(accessor["count"])
    first = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
    stride = int(view.get("byteStride", 0)) or dtype.itemsize * width
    content = buffers[view.get("buffer", 0)]
    if (
        count < 1
        or first < 0
        or stride < dtype.itemsize * width
        or first + stride * (count - 1) + dtype.itemsize * width > len(content)
    ):
        raise ValueError(f"accessor {number} is outside of its buffer")
    values = np.ndarray((count, width), dtype, content, first, (stride, dtype.itemsize)).astype(float)
    if accessor.get("normalized"):
        values = np.maximum(values / float(np.iinfo(dtype).max), -1.0)
    if not np.isfinite(values).all():
        raise ValueError(f"accessor {number} has numbers that are not finite")
    return values


def _read_motion(path: Path, tree: Tree, buffers: list[bytes]) -> SourceMotion:
    """Return the motion of the animation with the most channels."""
    animations = tree.get("animations", [])
    if not animations:
        raise FileFormatError(f"{path}: nothing moves in it; expected glTF with an animation of a skeleton")
    animation = max(animations, key=lambda each: len(each["channels"]))
    notes = [f"{len(animations)} animations; {animation.get('name', 'the longest')!r} is read"] if len(animations) > 1 else []
    channels = _read_channels(tree, buffers, animation)
    still = read_nodes_at_rest(path, tree, {node for node, _ in channels})
    seconds, fps = _find_times(channels)
    offsets = still.motion.offsets.copy()
    offsets[0] = still.motion.root[0]
    rotations, moves = list[Floats | None](), dict[int, Floats]()
    for k, node in enumerate(still.nodes):
        above = still.scales[still.motion.parents[k]] if k else 1.0
        if (node, "translation") in channels:
            moves[k] = above * _sample(channels[node, "translation"], seconds)
            offsets[k] = np.median(moves[k], axis=0)
        turning = channels.get((node, "rotation"))
        rest = np.asarray(still.motion.rotations[k])
        rotations.append(
            np.broadcast_to(rest, (len(seconds), 3, 3)) if turning is None else matrix_from_quaternion(_sample(turning, seconds))
        )
    root = moves.pop(0) if 0 in moves else np.tile(offsets[0], (len(seconds), 1))
    offsets[0] = 0.0
    return replace(still.motion, fps=fps, offsets=offsets, rotations=tuple(rotations), root=root, moves=moves, notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class StillNodes:
    """Nodes of a file in its rest pose: their numbers, parents first; the pose as a motion of one frame [m]; their scales in the
    world, (K,)."""

    nodes: tuple[int, ...]
    motion: SourceMotion
    scales: Floats


def read_nodes_at_rest(path: Path, tree: Tree, wanted: set[int]) -> StillNodes:
    """Return nodes and all above them, under the root that has most of them, with the joints that the file names.

    Args:
        path: of the file, for names.
        tree: its content.
        wanted: numbers of the nodes.
    """
    nodes, parents = _list_nodes(tree, wanted)
    offsets, scales, rest = np.zeros((len(nodes), 3)), np.ones(len(nodes)), np.empty((len(nodes), 3, 3))
    for k, node in enumerate(nodes):
        place, turn, scale = _read_transform(tree["nodes"][node])
        above = scales[parents[k]] if parents[k] >= 0 else 1.0
        scales[k], rest[k], offsets[k] = above * scale, matrix_from_quaternion(turn), above * place
    root, offsets[0] = offsets[:1].copy(), 0.0
    motion = SourceMotion(
        name=path.stem,
        subject=path.stem,
        fps=SPARSE_READ_HZ,
        names=tuple(str(tree["nodes"][node].get("name", f"node {node}")) for node in nodes),
        parents=tuple(parents),
        offsets=offsets,
        ends=_find_ends(tree, nodes, scales),
        rotations=tuple(rest[:, None]),
        root=root,
        metres_per_unit=1.0,
        rest=rest,
        known=_find_known_joints(tree, nodes),
    )
    return StillNodes(tuple(nodes), motion, scales)


def _read_channels(tree: Tree, buffers: list[bytes], animation: Tree) -> dict[tuple[int, str], _Channel]:
    """Return the keys of an animation, by node and what of it changes; scales and weights are left out."""
    channels: dict[tuple[int, str], _Channel] = {}
    for channel in animation["channels"]:
        target = channel["target"]
        if target.get("path") not in ("translation", "rotation") or "node" not in target:
            continue
        sampler = animation["samplers"][channel["sampler"]]
        seconds = read_accessor(tree, buffers, sampler["input"])[:, 0]
        values = read_accessor(tree, buffers, sampler["output"])
        kind = sampler.get("interpolation", "LINEAR")
        if kind == "CUBICSPLINE":
            values = values.reshape(len(seconds), 3, -1)
        if len(values) != len(seconds) or not (np.diff(seconds) > 0.0).all():
            raise ValueError(f"times of node {target['node']} do not rise, or are not as many as its values")
        channels[int(target["node"]), target["path"]] = _Channel(seconds, values, kind)
    if not any(path == "rotation" for _, path in channels):
        raise ValueError("no node rotates")
    return channels


def _list_nodes(tree: Tree, animated: set[int]) -> tuple[list[int], list[int]]:
    """Return the nodes that move and those above, parents first, under the root that has most, and parents in that list."""
    above = {child: node for node, what in enumerate(tree["nodes"]) for child in what.get("children", [])}
    parents = [above.get(node, -1) for node in range(len(tree["nodes"]))]
    if any(not 0 <= child < len(parents) for child in above) or any(_is_loop(parents, node) for node in range(len(parents))):
        raise ValueError("its nodes are no tree")
    kept = animated | set(_find_humanoid(tree).values())
    paths = {node: list_path_from_root(parents, node) for node in kept}
    roots = [path[0] for path in paths.values()]
    root = max(set(roots), key=roots.count)
    wanted = {node for path in paths.values() if path[0] == root for node in path}
    nodes = sorted(wanted, key=lambda node: (len(list_path_from_root(parents, node)), node))
    return nodes, [nodes.index(parents[node]) if parents[node] in wanted else -1 for node in nodes]


def _is_loop(parents: list[int], node: int) -> bool:
    """Return whether the way up from a node does not end."""
    for _ in parents:
        if node < 0:
            return False
        node = parents[node]
    return node >= 0


def _find_humanoid(tree: Tree) -> dict[str, int]:
    """Return the node of each VRM bone, where the file says it."""
    found: dict[str, int] = {}
    for name in HUMANOIDS:
        bones = tree.get("extensions", {}).get(name, {}).get("humanoid", {}).get("humanBones", {})
        named = bones.items() if isinstance(bones, dict) else ((str(what["bone"]), what) for what in bones)
        found |= {bone: int(what["node"]) for bone, what in named if bone in JOINT_INDEX}
    return found


def _find_known_joints(tree: Tree, nodes: list[int]) -> Mapping[str, int]:
    """Return our joint -> index among nodes for the bones that the file names."""
    return {bone: nodes.index(node) for bone, node in _find_humanoid(tree).items() if node in nodes}


def _find_ends(tree: Tree, nodes: list[int], scales: Floats) -> dict[int, Floats]:
    """Return the ends of bones: the furthest child, not moving itself, of a node that has no other children."""
    ends: dict[int, Floats] = {}
    for k, node in enumerate(nodes):
        children = tree["nodes"][node].get("children", [])
        still = [scales[k] * _read_transform(tree["nodes"][child])[0] for child in children if child not in nodes]
        if still and len(still) == len(children) and (far := max(still, key=lambda v: float(v @ v))).any():
            ends[k] = far
    return ends


def _read_transform(node: Tree) -> tuple[Floats, Floats, float]:
    """Return translation (3,), rotation xyzw (4,) and scale of a node at rest."""
    if "matrix" in node:
        M = np.array(node["matrix"], float).reshape(4, 4).T
        size = np.linalg.norm(M[:3, :3], axis=0)
        return M[:3, 3], quaternion_from_matrix(M[:3, :3] / size), float(size.mean())
    place, turn = np.array(node.get("translation", [0.0] * 3), float), np.array(node.get("rotation", [0.0, 0.0, 0.0, 1.0]), float)
    scale = float(np.abs(np.array(node.get("scale", [1.0] * 3), float)).mean())
    if place.shape != (3,) or turn.shape != (4,) or not (np.isfinite(place).all() and np.isfinite(turn).all() and scale > 0.0):
        raise ValueError("a node has no finite translation and rotation")
    return place, turn, scale


def _find_times(channels: Mapping[tuple[int, str], _Channel]) -> tuple[Floats, float]:
    """Return times at the rate of the densest keys, (N,) [s], and that rate [Hz]."""
    first = min(float(channel.seconds[0]) for channel in channels.values())
    last = max(float(channel.seconds[-1]) for channel in channels.values())
    densest = max((channel.seconds for channel in channels.values()), key=len)
    fps = 1.0 / float(np.median(np.diff(densest))) if len(densest) > 1 else SPARSE_READ_HZ
    fps = float(round(fps)) if abs(fps - round(fps)) < 2e-3 * fps else fps
    fps = min(SPARSE_READ_HZ if fps < SPARSE_HZ else fps, MAX_HZ)
    n_frames = int((last - first) * fps + 1e-3) + 1
    if n_frames > MAX_FRAMES:
        raise ValueError(f"it would last {last - first:.3g} s")
    return first + np.arange(n_frames) / fps, fps


def _sample(channel: _Channel, seconds: Floats) -> Floats:
    """Return the values of a channel at times, (N, components); rotations, which have four, stay unit quaternions."""
    keys = channel.seconds
    k = np.clip(np.searchsorted(keys, seconds, side="right") - 1, 0, max(len(keys) - 2, 0))
    after = np.minimum(k + 1, len(keys) - 1)
    span = np.maximum(keys[after] - keys[k], 1e-12)
    share = np.clip((seconds - keys[k]) / span, 0.0, 1.0)[:, None]
    if channel.interpolation == "STEP":
        return np.asarray(channel.values[np.where(share[:, 0] >= 1.0 - 1e-6, after, k)])
    if channel.interpolation == "CUBICSPLINE":
        a, b = channel.values[k, 1], channel.values[after, 1]
        out, into = span[:, None] * channel.values[k, 2], span[:, None] * channel.values[after, 0]
        t2, t3 = share**2, share**3
        return np.asarray((2 * t3 - 3 * t2 + 1) * a + (t3 - 2 * t2 + share) * out + (3 * t2 - 2 * t3) * b + (t3 - t2) * into)
    a, b = channel.values[k], channel.values[after]
    if a.shape[1] != 4:
        return np.asarray(a + share * (b - a))
    cosine = np.sum(a * b, axis=1, keepdims=True)
    b, cosine = np.where(cosine < 0.0, -b, b), np.minimum(np.abs(cosine), 1.0)
    angle = np.arccos(cosine)
    sine = np.maximum(np.sin(angle), 1e-12)
    near = angle < 1e-6
    first = np.where(near, 1.0 - share, np.sin((1.0 - share) * angle) / sine)
    second = np.where(near, share, np.sin(share * angle) / sine)
    return np.asarray(first * a + second * b)
