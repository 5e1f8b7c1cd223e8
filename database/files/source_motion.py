"""A motion as its file has it, before it is brought to the project's own skeleton."""

from dataclasses import dataclass
from pathlib import Path

from config.arrays import Floats
from config.errors import FileFormatError, describe_reason


@dataclass(frozen=True, slots=True)
class SourceMotion:
    """A hierarchy with any joint names and any rest pose, and its rotations.

    name: file stem; subject: name of the skeleton; fps: frames a second;
    names, parents: K joints, parents first, -1 for the root;
    offsets: joint from its parent in the rest pose, (K, 3) [file units], root's row zero;
    ends: end of each leaf's bone from its joint in the rest pose, joint -> (3,) [file units];
    rotations: of each joint relative to its parent, in rest-pose axes, (N, 3, 3), None where it never rotates;
    root: position of the root joint, (N, 3) [file units]; metres_per_unit: 0 where the file does not say.
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


def read_file_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises FileFormatError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({describe_reason(error)})") from error
