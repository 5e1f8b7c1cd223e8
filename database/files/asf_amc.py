"""Readers of Acclaim skeletons (ASF) and of the motions that move them (AMC).

In the base pose, bone b runs from its parent's end along direction_b length_b. With C the rotation of its `axis` and E
that of its degrees of freedom (the first listed applied first), the bone rotates about its start by C E C^-1 relative to
its parent, in base-pose axes.
"""

import logging
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from config.text import read_text
from config.words import format_count
from database.files.source_motion import RATES_HZ, SourceMotion
from database.geometry.rotations import matrix_from_euler

logger = logging.getLogger(__name__)
AMC_FPS = 120.0  # where an AMC does not say; the CMU and HDM05 collections are at 120 Hz
INCH_M = 0.0254


@dataclass(slots=True)
class AsfBone:
    """One bone of the file; the root has the name `root`, six degrees of freedom and no length."""

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
    """Read a skeleton file. Raises FileFormatError, with file and line."""
    units = {"length": "1.0", "angle": "deg"}
    root = AsfBone("root", dofs=("tx", "ty", "tz", "rx", "ry", "rz"))
    position = np.zeros(3)
    bones: list[AsfBone] = [root]
    parent_of: dict[str, str] = {}
    section, number = "", 0
    for number, text in enumerate(read_text(path).split("\n"), start=1):
        words = text.split("#", 1)[0].split()
        if not words:
            continue
        try:
            if words[0].startswith(":"):
                section = words[0].lower()
            elif section == ":units":
                units[words[0].lower()] = words[1] if words[0].lower() == "angle" else str(float(words[1]))
            elif section == ":root":
                _parse_root_line(root, position, words)
            elif section == ":bonedata":
                _parse_bone_line(bones, words)
            elif section == ":hierarchy" and words[0] not in ("begin", "end"):
                parent_of |= dict.fromkeys(words[1:], words[0])
        except (ValueError, IndexError) as error:
            raise FileFormatError(f"{path}, line {number}: {text.strip()!r} is no line of section {section} ({error})") from error
    if len(bones) < 2 or not parent_of:
        raise FileFormatError(f"{path}, line {number}: no bones or hierarchy; expected an Acclaim skeleton (.asf)")
    angle_scale = math.radians(1.0) if units["angle"].lower().startswith("deg") else 1.0
    return AsfSkeleton(path, _sort_parents_first(path, bones, parent_of), position, INCH_M / float(units["length"]), angle_scale)


def _parse_root_line(root: AsfBone, position: Floats, words: list[str]) -> None:
    """Apply one line of the :root section."""
    key = words[0].lower()
    if key == "order":
        root.dofs = _parse_dofs(words[1:])
        if set(root.dofs) < {"tx", "ty", "tz"}:
            raise ValueError("order must hold TX, TY and TZ")
    elif key == "axis":
        root.axis_order = _parse_axes(words[1])
    elif key == "position":
        position[:] = _parse_three_numbers(words[1:])
    elif key == "orientation":
        root.axis_deg = _parse_three_numbers(words[1:])


def _parse_bone_line(bones: list[AsfBone], words: list[str]) -> None:
    """Apply one line of a begin/end block; other keys are ignored."""
    key = words[0].lower()
    bone = bones[-1]
    if key == "begin":
        bones.append(AsfBone(""))
    elif key == "name":
        bone.name = words[1]
    elif key == "direction":
        bone.vector = _parse_three_numbers(words[1:]) * (float(np.linalg.norm(bone.vector)) or 1.0)
    elif key == "length":
        bone.vector = bone.vector * float(words[1])
    elif key == "axis":
        bone.axis_deg, bone.axis_order = _parse_three_numbers(words[1:4]), _parse_axes(words[4]) if len(words) > 4 else "xyz"
    elif key == "dof":
        bone.dofs = _parse_dofs(words[1:])


def _parse_three_numbers(words: list[str]) -> Floats:
    """Return three finite numbers."""
    numbers = np.array([float(word) for word in words[:3]])
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise ValueError("expected three finite numbers")
    return numbers


def _parse_axes(word: str) -> str:
    """Return an axis order such as "xyz"."""
    if sorted(word.lower()) != ["x", "y", "z"]:
        raise ValueError("expected an order of X, Y and Z")
    return word.lower()


def _parse_dofs(words: list[str]) -> tuple[str, ...]:
    """Return degrees of freedom in lower case."""
    dofs = tuple(word.lower() for word in words)
    if set(dofs) - {"tx", "ty", "tz", "rx", "ry", "rz", "l"}:
        raise ValueError("expected degrees of freedom TX TY TZ RX RY RZ L")
    return dofs


def _sort_parents_first(path: Path, bones: list[AsfBone], parent_of: dict[str, str]) -> tuple[AsfBone, ...]:
    """Return the bones parents first, with their parents' indices. Raises FileFormatError: a bone without parent or data."""
    named = {bone.name: bone for bone in bones}
    unmatched = [name for name in (*parent_of, *parent_of.values()) if name not in named]
    unmatched += [name for name in named if name != "root" and name not in parent_of]
    if unmatched:
        raise FileFormatError(f"{path}: bone {unmatched[0]!r} is only in one of :bonedata and :hierarchy; every bone needs both")
    ordered = [bones[0]]
    for parent in ordered:  # grows while it is walked: breadth first
        for name in (child for child, of in parent_of.items() if of == parent.name):
            named[name].parent = ordered.index(parent)
            ordered.append(named[name])
    if len(ordered) != len(bones):
        raise FileFormatError(
            f"{path}: {format_count(len(bones) - len(ordered), 'bone does', 'bones do')} not hang on the root; correct :hierarchy"
        )
    return tuple(ordered)


def read_amc(path: Path, asf: Path | None = None) -> SourceMotion:
    """Read a motion; asf: its skeleton, None: found in the same folder.

    Raises FileFormatError, with file and line: not ASF or AMC, or NaN in it.
    """
    skeleton = read_asf(find_asf(path) if asf is None else asf)
    read = _read_amc_values(path, skeleton)
    values, scale = read.values, read.scale
    bones = skeleton.bones
    offsets = np.array([np.zeros(3) if b.parent < 0 else bones[b.parent].vector for b in bones])
    children = {b.parent for b in bones}
    root = values["root"]
    return SourceMotion(
        name=path.stem,
        subject=skeleton.path.stem,
        fps=read.fps,
        names=tuple(b.name for b in bones),
        parents=tuple(b.parent for b in bones),
        offsets=offsets,
        ends={k: b.vector for k, b in enumerate(bones) if k not in children or b.name.lower().endswith("hand")},
        rotations=tuple(_compute_bone_rotations(b, values.get(b.name), scale) for b in bones),
        root=skeleton.position + np.stack([root[:, bones[0].dofs.index(f"t{c}")] for c in "xyz"], axis=1),
        metres_per_unit=skeleton.metres_per_unit,
    )


def read_amc_angles(path: Path, asf: Path | None = None) -> tuple[AsfSkeleton, dict[str, Floats]]:
    """Return a motion's skeleton and, by bone, the angles of its rotational degrees of freedom, (N, dofs) [rad].

    Without the root and bones that do not rotate. asf, raises: as `read_amc`.
    """
    skeleton = read_asf(find_asf(path) if asf is None else asf)
    read = _read_amc_values(path, skeleton)
    values, scale = read.values, read.scale
    angles: dict[str, Floats] = {}
    for bone in skeleton.bones[1:]:
        columns = [index for index, dof in enumerate(bone.dofs) if dof.startswith("r")]
        if columns and bone.name in values:
            angles[bone.name] = scale * values[bone.name][:, columns]
    return skeleton, angles


def compute_axis_frame(bone: AsfBone, scale: float) -> Floats:
    """Return C of a bone: the axes of its degrees of freedom as columns in base-pose axes, (3, 3)."""
    return np.asarray(matrix_from_euler(bone.axis_deg[::-1][None] * scale, bone.axis_order[::-1])[0])


def find_asf(amc: Path) -> Path:
    """Return the skeleton of a motion: the only ASF in its folder, or the one whose name starts the motion's name."""
    found = sorted(p for p in amc.parent.iterdir() if p.suffix.lower() == ".asf") if amc.parent.is_dir() else []
    named = [p for p in found if amc.stem.lower().startswith(p.stem.lower())]
    best = max(named, key=lambda p: len(p.stem), default=found[0] if len(found) == 1 else None)
    if best is None:
        raise FileFormatError(
            f"{amc}: its skeleton was not found; expected one .asf in its folder, found {len(found)}: put it next to the motion"
        )
    return best


def _compute_bone_rotations(bone: AsfBone, values: Floats | None, scale: float) -> Floats | None:
    """Return C E C^-1 of one bone over all frames, (N, 3, 3), or None if it has no rotation."""
    dofs = [dof for dof in bone.dofs if dof.startswith("r")]
    if values is None or not dofs:
        return None
    if bone.parent < 0:
        # The root lists its channels in `order`; `axis` is the order in which they are applied.
        dofs = [dof for axis in bone.axis_order for dof in dofs if dof[1] == axis]
    angles = values[:, [bone.dofs.index(dof) for dof in dofs]] * scale
    E = matrix_from_euler(angles[:, ::-1], [dof[1] for dof in reversed(dofs)])
    if not bone.axis_deg.any():
        return E
    C = compute_axis_frame(bone, scale)
    return np.ascontiguousarray(C @ E @ C.T)


@dataclass(frozen=True, slots=True)
class _AmcValues:
    """Frames of a motion: every bone's values, (N, dofs); scale: makes its angles radians; fps: as the file says, or usual."""

    values: dict[str, Floats]
    scale: float
    fps: float


def _parse_rate_hz(where: str, line: bytes) -> float:
    """Return the rate of a line `:SAMPLES-PER-SECOND 60`. Raises FileFormatError."""
    words = line.split()
    try:
        fps = float(words[1])
    except (IndexError, ValueError):
        fps = math.nan
    if not RATES_HZ[0] <= fps <= RATES_HZ[1]:
        raise FileFormatError(
            f"{where}: expected {RATES_HZ[0]:g} to {RATES_HZ[1]:g} samples a second, found {line.decode()[:40]!r}"
        )
    return fps


def _read_amc_values(path: Path, skeleton: AsfSkeleton) -> _AmcValues:
    """Return every bone's values over all frames, with scale and rate."""
    data, scale, fps = read_text(path).encode(), skeleton.angle_scale, AMC_FPS
    counts = {bone.name: len(bone.dofs) for bone in skeleton.bones}
    start = line = 0
    for raw in data.splitlines(keepends=True):
        word = raw.strip().lower()
        if word.isdigit():
            break
        if word in (b":degrees", b":radians"):
            scale = math.radians(1.0) if word == b":degrees" else 1.0
        elif word.startswith(b":samples-per-second"):
            fps = _parse_rate_hz(f"{path}, line {line + 1}", word)
        elif word and not word.startswith((b"#", b":")):
            found = raw.strip()[:40].decode()
            raise FileFormatError(f"{path}, line {line + 1}: expected a comment, a keyword or a frame number, found {found!r}")
        start += len(raw)
        line += 1
    body = data[start:]
    values = _read_regular_values(path, body, counts)
    if values is None:
        values = _read_values_by_line(path, body, line, counts)
    if "root" not in values:
        raise FileFormatError(f"{path}, line {line + 1}: the frames have no line for the root; expected 'root' and six numbers")
    return _AmcValues(values, scale, fps)


def _read_regular_values(path: Path, body: bytes, counts: dict[str, int]) -> dict[str, Floats] | None:
    """Read frames that all list the same bones in the same order, fast; None if they do not or a number is bad."""
    tokens = body.split()
    width = _count_frame_tokens(tokens)
    n_frames = len(tokens) // width if width else 0
    rest = tokens[n_frames * width :]
    # A download that broke off leaves part of a last frame; the frames before it are complete.
    if n_frames == 0 or b"#" in body or any(a != b for a, b in zip(rest[1:-1], tokens[1:], strict=False) if b[:1].isalpha()):
        return None
    if rest:
        logger.warning("%s: the last frame is cut short and left out; %d frames remain", path, n_frames)
        del tokens[n_frames * width :]
    values: dict[str, Floats] = {}
    column = 1
    while column < width:
        name = tokens[column]
        count = counts.get(name.decode(), -1)
        if count < 0 or name.decode() in values or tokens[column::width].count(name) != n_frames:
            return None
        block = np.empty((n_frames, count))
        try:
            for k in range(count):
                block[:, k] = np.fromiter(map(float, tokens[column + 1 + k :: width]), float, n_frames)
        except ValueError:
            return None
        if not np.isfinite(block).all():
            return None
        values[name.decode()] = block
        column += 1 + count
    return values if all(token.isdigit() for token in tokens[::width]) else None


def _count_frame_tokens(tokens: list[bytes]) -> int:
    """Return the number of tokens of the first frame: up to the second time its first bone is named, less the frame number."""
    if len(tokens) < 2:
        return 0
    try:
        return tokens.index(tokens[1], 2) - 1
    except ValueError:
        return len(tokens)


def _read_values_by_line(path: Path, body: bytes, first_line: int, counts: dict[str, int]) -> dict[str, Floats]:
    """Read frames line by line: slower, but with comments and any order of bones, and errors name the line."""
    frames: list[dict[str, list[float]]] = []
    number = first_line
    for number, raw in enumerate(body.decode().splitlines(), start=first_line + 1):
        words = raw.split("#", 1)[0].split()
        where = f"{path}, line {number}"
        if not words:
            continue
        if len(words) == 1 and words[0].isdigit():
            _check_complete(where, frames)
            frames.append({})
        elif words[0] not in counts:
            raise FileFormatError(f"{where}: bone {words[0]!r} is not in the skeleton; is this the .asf of another subject?")
        elif len(words) - 1 != counts[words[0]]:
            raise FileFormatError(
                f"{where}: {words[0]} takes {format_count(counts[words[0]], 'value')} in the skeleton, found {len(words) - 1}"
            )
        elif not frames or words[0] in frames[-1]:
            raise FileFormatError(f"{where}: {words[0]} comes twice in a frame or before the first frame number")
        else:
            frames[-1][words[0]] = _parse_finite_numbers(where, words)
    if not frames:
        raise FileFormatError(f"{path}, line {max(number, 1)}: no frames; expected frame numbers followed by one line a bone")
    frames.append({})
    _check_complete(f"{path}, line {number}", frames)
    frames.pop()
    return {name: np.array([frame[name] for frame in frames]) for name in frames[0]}


def _check_complete(where: str, frames: list[dict[str, list[float]]]) -> None:
    """Raise FileFormatError if the bones of the frame that ends here are not those of the first one."""
    if len(frames) > 1:
        last = frames[-2] if not frames[-1] else frames[-1]
        odd = sorted(set(frames[0]) ^ set(last))
        if odd:
            raise FileFormatError(f"{where}: the frame that ends here and the first differ in {odd[0]!r}; is the file cut short?")


def _parse_finite_numbers(where: str, words: list[str]) -> list[float]:
    """Return the numbers after a bone's name. Raises FileFormatError."""
    try:
        numbers = [float(word) for word in words[1:]]
    except ValueError as error:
        raise FileFormatError(f"{where}: expected numbers after {words[0]!r}, found {' '.join(words[1:])[:60]!r}") from error
    if not all(math.isfinite(value) for value in numbers):
        raise FileFormatError(f"{where}: {words[0]} holds NaN or infinity; repair or leave out this clip")
    return numbers
