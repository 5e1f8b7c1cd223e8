"""A take on a user's own avatar: its file, unchanged, with the motion as its one animation (GLB; VRM keeps its extension)."""

from pathlib import Path

from config.errors import DuocapError
from config.files import write_atomically
from database.files.avatar import Avatar, compute_avatar_poses
from stream.export.gltf import GltfDocument, NodeMotion, add_animation, sample_keys
from stream.take.retarget import retarget_take
from stream.take.take import Take


def write_avatar(file: Path, take: Take, avatar: Avatar) -> None:
    """Write a take on an avatar as GLB or VRM. Raises FileFormatError: every frame is lost, or the file cannot be written."""
    write_atomically(file, encode_avatar(take, avatar))


def encode_avatar(take: Take, avatar: Avatar) -> bytes:
    """Return a take on an avatar as the bytes of a GLB file.

    Raises DuocapError: a picture of the avatar lies in a file of its own.
    """
    keys = sample_keys(retarget_take(take, avatar.skeleton))
    poses = compute_avatar_poses(avatar, keys.rotvec, keys.root_m)
    document = _open_document(avatar)
    nodes = avatar.still.nodes
    rotations = {nodes[k]: R for k, R in poses.rotations.items()}
    motion = NodeMotion(keys.seconds, rotations, nodes[avatar.mapping.source[0]], poses.root)
    document.tree["animations"] = [add_animation(document, take, motion)]
    return document.binary()


def _open_document(avatar: Avatar) -> GltfDocument:
    """Return the avatar's file as a document with one buffer."""
    if any("uri" in image and not image["uri"].startswith("data:") for image in avatar.tree.get("images", [])):
        raise DuocapError(f"{avatar.name}: its pictures are files of their own; export it as .glb or .vrm, which hold all in one")
    first, joined = list[int](), b""
    for buffer in avatar.buffers:
        first.append(len(joined))
        joined += buffer + bytes(-len(buffer) % 4)
    views = [
        {**view, "buffer": 0, "byteOffset": first[view.get("buffer", 0)] + view.get("byteOffset", 0)}
        for view in avatar.tree.get("bufferViews", [])
    ]
    return GltfDocument.from_tree({**avatar.tree, "bufferViews": views}, joined)
