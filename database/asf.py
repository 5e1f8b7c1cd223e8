"""Reader of Acclaim skeletons (ASF)."""

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from config.errors import FileFormatError
from database.rotations import Floats

INCH_M = 0.0254


@dataclass(slots=True)
class AsfBone:
    """One bone as the ASF gives it; the root has the name `root`, six degrees of freedom and no length."""

    name: str
    vector: Floats = field(default_factory=lambda: np.zeros(3))
    axis_deg: Floats = field(default_factory=lambda: np.zeros(3))
    axis_order: str = "xyz"
    dofs: tuple[str, ...] = ()
    parent: int = -1


@dataclass(frozen=True, slots=True)
class AsfSkeleton:
    """A skeleton file: bones parents first, in file units; angle_scale turns its angles into radians."""

    path: Path
    bones: tuple[AsfBone, ...]
    position: Floats
    metres_per_unit: float
    angle_scale: float


def read_asf(path: Path) -> AsfSkeleton:
    """Read a skeleton file.

    Raises FileFormatError with file and line.
    """
    units = {"length": "1.0", "angle": "deg"}
    root = AsfBone("root", dofs=("tx", "ty", "tz", "rx", "ry", "rz"))
    position = np.zeros(3)
    bones: list[AsfBone] = [root]
    parent_of: dict[str, str] = {}
    section, number = "", 0
    for number, text in enumerate(read_bytes(path).decode("latin-1").splitlines(), start=1):
        words = text.split("#", 1)[0].split()
        if not words:
            continue
        try:
            if words[0].startswith(":"):
                section = words[0].lower()
            elif section == ":units":
                units[words[0].lower()] = words[1] if words[0].lower() == "angle" else str(float(words[1]))
            elif section == ":root":
                _root_line(root, position, words)
            elif section == ":bonedata":
                _bone_line(bones, words)
            elif section == ":hierarchy" and words[0] not in ("begin", "end"):
                parent_of |= dict.fromkeys(words[1:], words[0])
        except (ValueError, IndexError) as error:
            raise FileFormatError(f"{path}, line {number}: {text.strip()!r} is no line of section {section} ({error})") from error
    if len(bones) < 2 or not parent_of:
        raise FileFormatError(f"{path}, line {number}: no bones or hierarchy; expected an Acclaim skeleton (.asf)")
    angle_scale = math.radians(1.0) if units["angle"].lower().startswith("deg") else 1.0
    return AsfSkeleton(path, _ordered(path, bones, parent_of), position, INCH_M / float(units["length"]), angle_scale)


def _root_line(root: AsfBone, position: Floats, words: list[str]) -> None:
    """Take one line of the :root section."""
    key = words[0].lower()
    if key == "order":
        root.dofs = _dofs(words[1:])
        if set(root.dofs) < {"tx", "ty", "tz"}:
            raise ValueError("order must hold TX, TY and TZ")
    elif key == "axis":
        root.axis_order = _axes(words[1])
    elif key == "position":
        position[:] = _three(words[1:])
    elif key == "orientation":
        root.axis_deg = _three(words[1:])


def _bone_line(bones: list[AsfBone], words: list[str]) -> None:
    """Take one line of a begin/end block; keys that do not matter here are passed over."""
    key = words[0].lower()
    bone = bones[-1]
    if key == "begin":
        bones.append(AsfBone(""))
    elif key == "name":
        bone.name = words[1]
    elif key == "direction":
        bone.vector = _three(words[1:]) * (float(np.linalg.norm(bone.vector)) or 1.0)
    elif key == "length":
        bone.vector = bone.vector * float(words[1])
    elif key == "axis":
        bone.axis_deg, bone.axis_order = _three(words[1:4]), _axes(words[4]) if len(words) > 4 else "xyz"
    elif key == "dof":
        bone.dofs = _dofs(words[1:])


def _three(words: list[str]) -> Floats:
    """Give three finite numbers."""
    numbers = np.array([float(word) for word in words[:3]])
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise ValueError("expected three finite numbers")
    return numbers


def _axes(word: str) -> str:
    """Give an axis order such as "xyz"."""
    if sorted(word.lower()) != ["x", "y", "z"]:
        raise ValueError("expected an order of X, Y and Z")
    return word.lower()


def _dofs(words: list[str]) -> tuple[str, ...]:
    """Give degrees of freedom in lower case."""
    dofs = tuple(word.lower() for word in words)
    if set(dofs) - {"tx", "ty", "tz", "rx", "ry", "rz", "l"}:
        raise ValueError("expected degrees of freedom TX TY TZ RX RY RZ L")
    return dofs


def _ordered(path: Path, bones: list[AsfBone], parent_of: dict[str, str]) -> tuple[AsfBone, ...]:
    """Give the bones parents first with their parents' indices; raises FileFormatError for a loose bone."""
    named = {bone.name: bone for bone in bones}
    loose = [name for name in (*parent_of, *parent_of.values()) if name not in named]
    loose += [name for name in named if name != "root" and name not in parent_of]
    if loose:
        raise FileFormatError(f"{path}: bone {loose[0]!r} is only in one of :bonedata and :hierarchy; every bone needs both")
    ordered = [bones[0]]
    for parent in ordered:  # grows while it is walked: breadth first
        for name in (child for child, of in parent_of.items() if of == parent.name):
            named[name].parent = ordered.index(parent)
            ordered.append(named[name])
    if len(ordered) != len(bones):
        raise FileFormatError(f"{path}: {len(bones) - len(ordered)} bones do not hang on the root; correct :hierarchy")
    return tuple(ordered)


def read_bytes(path: Path) -> bytes:
    """Read a file or raise FileFormatError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
