"""Reader of Acclaim motions (AMC), which move an Acclaim skeleton (ASF).

In the base pose, bone b runs from its parent's end along direction_b length_b. With C the rotation of its `axis` and E
that of its degrees of freedom (the first listed applied first), the bone turns about its start by C E C^-1 relative to
its parent, in base-pose axes.
"""

import logging
import math
from pathlib import Path

import numpy as np

from config.errors import FileFormatError
from database.asf import AsfBone, AsfSkeleton, read_asf, read_bytes
from database.rotations import Floats
from database.source_motion import SourceMotion, matrix_from_euler

logger = logging.getLogger(__name__)
DEFAULT_FPS = 120.0  # AMC does not say; the CMU and HDM05 collections are at 120 Hz


def read_amc(path: Path, asf: Path | None = None, fps: float = DEFAULT_FPS) -> SourceMotion:
    """Read a motion; its skeleton is `asf` or the one found in the same folder.

    Raises FileFormatError, with file and line, for anything that is not ASF/AMC, and for NaN.
    """
    skeleton = read_asf(find_asf(path) if asf is None else asf)
    data = read_bytes(path)
    values, degrees = _amc_values(path, data, skeleton)
    scale = skeleton.angle_scale if degrees is None else (math.radians(1.0) if degrees else 1.0)
    bones = skeleton.bones
    offsets = np.array([np.zeros(3) if b.parent < 0 else bones[b.parent].vector for b in bones])
    children = {b.parent for b in bones}
    root = values["root"]
    return SourceMotion(
        name=path.stem,
        subject=skeleton.path.stem,
        fps=fps,
        names=tuple(b.name for b in bones),
        parents=tuple(b.parent for b in bones),
        offsets=offsets,
        ends={k: b.vector for k, b in enumerate(bones) if k not in children or b.name.lower().endswith("hand")},
        rotations=tuple(_bone_rotations(b, values.get(b.name), scale) for b in bones),
        root=skeleton.position + np.stack([root[:, bones[0].dofs.index(f"t{c}")] for c in "xyz"], axis=1),
        metres_per_unit=skeleton.metres_per_unit,
    )


def read_amc_angles(path: Path, asf: Path | None = None) -> tuple[AsfSkeleton, dict[str, Floats]]:
    """Read a motion as its file has it: the skeleton and, by bone, the turns of its `r` degrees of freedom, (N, dofs) [rad].

    The root is left out, and bones that do not turn. Raises FileFormatError.
    """
    skeleton = read_asf(find_asf(path) if asf is None else asf)
    values, degrees = _amc_values(path, read_bytes(path), skeleton)
    scale = skeleton.angle_scale if degrees is None else (math.radians(1.0) if degrees else 1.0)
    angles: dict[str, Floats] = {}
    for bone in skeleton.bones[1:]:
        turns = [index for index, dof in enumerate(bone.dofs) if dof.startswith("r")]
        if turns and bone.name in values:
            angles[bone.name] = scale * values[bone.name][:, turns]
    return skeleton, angles


def axis_frame(bone: AsfBone, scale: float) -> Floats:
    """Give C of a bone: the axes its degrees of freedom turn about, as columns in base-pose axes, (3, 3)."""
    return np.asarray(matrix_from_euler(bone.axis_deg[::-1][None] * scale, bone.axis_order[::-1])[0])


def find_asf(amc: Path) -> Path:
    """Give the skeleton of a motion: the only ASF in its folder, or the one whose name starts the motion's name."""
    found = sorted(p for p in amc.parent.iterdir() if p.suffix.lower() == ".asf") if amc.parent.is_dir() else []
    named = [p for p in found if amc.stem.lower().startswith(p.stem.lower())]
    best = max(named, key=lambda p: len(p.stem), default=found[0] if len(found) == 1 else None)
    if best is None:
        raise FileFormatError(
            f"{amc}: its skeleton was not found; expected one .asf in its folder, found {len(found)}: put it beside the motion"
        )
    return best


def _bone_rotations(bone: AsfBone, values: Floats | None, scale: float) -> Floats | None:
    """Give C E C^-1 of one bone over all frames, (N, 3, 3), or None if it has no rotation."""
    turns = [dof for dof in bone.dofs if dof.startswith("r")]
    if values is None or not turns:
        return None
    angles = values[:, [bone.dofs.index(t) for t in turns]] * scale
    if bone.parent < 0:
        # The root lists its channels in `order`; `axis` says in which order they turn.
        order = [t for axis in bone.axis_order for t in turns if t[1] == axis]
        angles, turns = angles[:, [turns.index(t) for t in order]], order
    E = matrix_from_euler(angles[:, ::-1], [t[1] for t in reversed(turns)])
    if not bone.axis_deg.any():
        return E
    C = axis_frame(bone, scale)
    return np.ascontiguousarray(C @ E @ C.T)


def _amc_values(path: Path, data: bytes, skeleton: AsfSkeleton) -> tuple[dict[str, Floats], bool | None]:
    """Give every bone's values over all frames, (N, dofs), and whether the file says degrees."""
    counts = {bone.name: len(bone.dofs) for bone in skeleton.bones}
    degrees: bool | None = None
    start = line = 0
    for raw in data.splitlines(keepends=True):
        word = raw.strip().lower()
        if word.isdigit():
            break
        if word in (b":degrees", b":radians"):
            degrees = word == b":degrees"
        elif word and not word.startswith((b"#", b":")):
            found = raw.strip()[:40].decode("latin-1")
            raise FileFormatError(f"{path}, line {line + 1}: expected a comment, a keyword or a frame number, found {found!r}")
        start += len(raw)
        line += 1
    body = data[start:]
    values = _regular_values(path, body, counts)
    if values is None:
        values = _values_by_line(path, body, line, counts)
    if "root" not in values:
        raise FileFormatError(f"{path}, line {line + 1}: the frames have no line for the root; expected 'root' and six numbers")
    return values, degrees


def _regular_values(path: Path, body: bytes, counts: dict[str, int]) -> dict[str, Floats] | None:
    """Read frames that all list the same bones in the same order, fast; None when they do not or a number is bad."""
    tokens = body.split()
    width = _frame_width(tokens)
    n_frames = len(tokens) // width if width else 0
    rest = tokens[n_frames * width :]
    # A download that broke off leaves part of a last frame; the frames before it are whole and worth keeping.
    if n_frames == 0 or b"#" in body or any(a != b for a, b in zip(rest[1:-1], tokens[1:], strict=False) if b[:1].isalpha()):
        return None
    if rest:
        logger.warning("%s: the last frame is cut short and left out; %d frames remain", path, n_frames)
        del tokens[n_frames * width :]
    values: dict[str, Floats] = {}
    column = 1
    while column < width:
        name = tokens[column]
        count = counts.get(name.decode("latin-1"), -1)
        if count < 0 or name.decode("latin-1") in values or tokens[column::width].count(name) != n_frames:
            return None
        block = np.empty((n_frames, count))
        try:
            for k in range(count):
                block[:, k] = np.fromiter(map(float, tokens[column + 1 + k :: width]), float, n_frames)
        except ValueError:
            return None
        if not np.isfinite(block).all():
            return None
        values[name.decode("latin-1")] = block
        column += 1 + count
    return values if all(token.isdigit() for token in tokens[::width]) else None


def _frame_width(tokens: list[bytes]) -> int:
    """Give the tokens of the first frame: up to the second time its first bone is named, less the frame number."""
    if len(tokens) < 2:
        return 0
    try:
        return tokens.index(tokens[1], 2) - 1
    except ValueError:
        return len(tokens)


def _values_by_line(path: Path, body: bytes, first_line: int, counts: dict[str, int]) -> dict[str, Floats]:
    """Read frames line by line: slower, takes comments and any order of bones, and names the line of a fault."""
    frames: list[dict[str, list[float]]] = []
    number = first_line
    for number, raw in enumerate(body.decode("latin-1").splitlines(), start=first_line + 1):
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
            raise FileFormatError(f"{where}: {words[0]} takes {counts[words[0]]} values in the skeleton, found {len(words) - 1}")
        elif not frames or words[0] in frames[-1]:
            raise FileFormatError(f"{where}: {words[0]} comes twice in a frame or before the first frame number")
        else:
            frames[-1][words[0]] = _finite(where, words)
    if not frames:
        raise FileFormatError(f"{path}, line {max(number, 1)}: no frames; expected frame numbers followed by one line a bone")
    frames.append({})
    _check_complete(f"{path}, line {number}", frames)
    frames.pop()
    return {name: np.array([frame[name] for frame in frames]) for name in frames[0]}


def _check_complete(where: str, frames: list[dict[str, list[float]]]) -> None:
    """Raise FileFormatError when the frame that ends here lacks or adds a bone that the first one has not."""
    if len(frames) > 1:
        last = frames[-2] if not frames[-1] else frames[-1]
        odd = sorted(set(frames[0]) ^ set(last))
        if odd:
            raise FileFormatError(f"{where}: the frame that ends here and the first differ in {odd[0]!r}; is the file cut short?")


def _finite(where: str, words: list[str]) -> list[float]:
    """Give the numbers after a bone's name or raise FileFormatError."""
    try:
        numbers = [float(word) for word in words[1:]]
    except ValueError as error:
        raise FileFormatError(f"{where}: expected numbers after {words[0]!r}, found {' '.join(words[1:])[:60]!r}") from error
    if not all(math.isfinite(value) for value in numbers):
        raise FileFormatError(f"{where}: {words[0]} holds NaN or infinity; repair or leave out this clip")
    return numbers
