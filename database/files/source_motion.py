"""A motion as its file has it, before it is brought to the project's own skeleton."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError, describe_reason

RATES_HZ = (5.0, 2000.0)  # of any camera or suit; a file that says another means something else


@dataclass(frozen=True, slots=True)
class SourceMotion:
    """A hierarchy with any joint names and any rest pose, and its rotations.

    Attributes:
        name: file stem.
        subject: name of the skeleton.
        fps: frames a second.
        names, parents: K joints, parents first, -1 for the root.
        offsets: joint from its parent, in the parent's axes, (K, 3) [file units], root's row zero.
        ends: end of each leaf's bone from its joint, joint -> (3,) [file units].
        rotations: of each joint relative to its parent, (N, 3, 3), None where it never rotates.
        root: position of the root joint, (N, 3) [file units].
        metres_per_unit: 0 where the file does not say.
        rest: rotations relative to the parents in the rest pose, (K, 3, 3), None: all zero.
        moves: positions relative to the parent where they change, joint -> (N, 3) [file units]; `offsets` has their medians.
        known: our joint -> the file's, where the file itself says which it is.
        notes: lines for the user on what was forgiven or doubted.
    """

    name: str
    subject: str
    fps: float
    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: Floats
    ends: dict[int, Floats]
    rotations: tuple[Floats | None, ...]
    root: Floats
    metres_per_unit: float = 0.0
    rest: Floats | None = None
    moves: Mapping[int, Floats] = field(default_factory=dict)
    known: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class JointName(NamedTuple):
    """A name without what is common to all: side ("left", "right" or "") and the other words in lower case as one."""

    side: str
    part: str


@dataclass(frozen=True, slots=True)
class SourcePoses:
    """Joints in the file's world: orientations, K of (N, 3, 3); positions, K of (N, 3) [file units]."""

    orientations: Sequence[Floats]
    positions: Sequence[Floats]


def compute_source_poses(motion: SourceMotion, moving: Sequence[int]) -> SourcePoses:
    """Return all joints in all frames; only the joints `moving` follow their `moves`, the others keep their offsets."""
    eye = np.broadcast_to(np.eye(3), (len(motion.root), 3, 3))
    orientations, positions = list[Floats](), list[Floats]()
    for k, parent in enumerate(motion.parents):
        above = eye if parent < 0 else orientations[parent]
        rotation = motion.rotations[k]
        orientations.append(above if rotation is None else above @ rotation)
        if parent < 0:
            positions.append(motion.root)
        elif k in motion.moves and k in moving:
            positions.append(positions[parent] + (above @ motion.moves[k][:, :, None])[:, :, 0])
        else:
            positions.append(positions[parent] + above @ motion.offsets[k])
    return SourcePoses(orientations, positions)


def compute_rest_pose(motion: SourceMotion) -> SourcePoses:
    """Return the joints in the file's rest pose with the root at the origin: orientations (3, 3) and positions (3,)."""
    orientations, positions = list[Floats](), list[Floats]()
    for k, parent in enumerate(motion.parents):
        above = np.eye(3) if parent < 0 else orientations[parent]
        orientations.append(above if motion.rest is None else above @ motion.rest[k])
        positions.append(np.zeros(3) if parent < 0 else positions[parent] + above @ motion.offsets[k])
    return SourcePoses(orientations, positions)


def list_path_from_root(parents: Sequence[int], joint: int) -> list[int]:
    """Return the joints from the root down to `joint`, with it."""
    path: list[int] = []
    while joint >= 0:
        path.insert(0, joint)
        joint = parents[joint]
    return path


def find_common_ancestor(parents: Sequence[int], joints: Sequence[int]) -> int:
    """Return the lowest joint that is above all joints, or one of them; -1 for none."""
    paths = [list_path_from_root(parents, joint) for joint in joints]
    common = [k for k in paths[0] if all(k in path for path in paths)] if paths else []
    return common[-1] if common else -1


def read_file_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises FileFormatError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({describe_reason(error)})") from error
