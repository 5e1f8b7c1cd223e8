"""Takes for tests of the exports: an uneven body in smooth motion, clips as BVH, and a small parser of BVH."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from config.joints import N_JOINTS
from database.clips import Clip
from database.geometry.skeleton import Skeleton
from reconstruct.pose import TrackingState
from stream.export.bvh import write_bvh
from stream.take.read import take_from_clip
from stream.take.take import MarkerTracks, Take


def uneven_body() -> Skeleton:
    """Build a skeleton in which no two bones are alike."""
    rng = np.random.default_rng(3)
    offsets = rng.uniform(-0.4, 0.4, (N_JOINTS, 3))
    offsets[0] = 0.0
    return Skeleton("uneven", offsets, rng.uniform(-0.2, 0.2, (N_JOINTS, 3)))


def take(n: int = 12, seconds: np.ndarray | None = None, seed: int = 0, states: tuple[TrackingState, ...] | None = None) -> Take:
    """Build a smooth motion with large rotations of every joint."""
    rng = np.random.default_rng(seed)
    phase = np.linspace(0.0, 1.0, n)[:, None, None]
    rotvec = rng.normal(0, 1.0, (N_JOINTS, 3)) + phase * rng.normal(0, 0.6, (N_JOINTS, 3))
    root = rng.normal(0, 1, 3) + np.linspace(0, 2, n)[:, None] * (0.3, 0.1, -0.7)
    times = np.arange(n) / 60.0 if seconds is None else seconds
    return Take(uneven_body(), times, states or (TrackingState.TRACKING,) * n, rotvec, root)


def write_clip(file: Path, clip: Clip, rotvec: np.ndarray | None = None) -> Path:
    """Write a clip as BVH, or its first poses with other rotations."""
    if rotvec is not None:
        clip = replace(clip, rotvec=rotvec, root_m=clip.root_m[: len(rotvec)])
    write_bvh(file, take_from_clip(clip, clip.name))
    return file


def bvh_positions_cm(text: str) -> tuple[float, dict[str, np.ndarray]]:
    """Read a BVH text: frame time and the place of every joint and end site in every frame, by plain recursion."""
    head, motion = text.split("MOTION")
    rows = motion.strip().splitlines()
    frame_time = float(rows[1].split(":")[1])
    values = np.array([[float(word) for word in row.split()] for row in rows[2:]])
    assert len(values) == int(rows[0].split(":")[1])
    words, column, found = head.split(), 0, {}

    def read(position: np.ndarray, turn: Rotation, i: int, name: str) -> int:
        """Read the block from its opening brace at word i; give the index after its closing brace."""
        nonlocal column
        assert words[i : i + 2] == ["{", "OFFSET"]
        position = position + turn.apply([float(word) for word in words[i + 2 : i + 5]])
        i += 5
        if words[i] == "CHANNELS":
            channels = words[i + 2 : i + 2 + int(words[i + 1])]
            i += 2 + len(channels)
            for channel in channels:
                axis, value = "XYZ".index(channel[0]), values[:, column]
                column += 1
                if channel.endswith("position"):
                    position = position + value[:, None] * np.eye(3)[axis]
                else:
                    turn = turn * Rotation.from_rotvec(np.radians(value)[:, None] * np.eye(3)[axis])
        found[name] = position
        while words[i] != "}":
            child = words[i + 1] if words[i] == "JOINT" else f"end of {name}"
            i = read(position, turn, i + 2, child)
        return i + 1

    start = Rotation.from_quat(np.tile([0.0, 0.0, 0.0, 1.0], (len(values), 1)))
    read(np.zeros((len(values), 3)), start, words.index("{"), words[words.index("ROOT") + 1])
    assert column == values.shape[1]
    return frame_time, found


def tracks(valid: list[bool], x: list[float]) -> MarkerTracks:
    """Return one marker on the x axis."""
    point_m = np.zeros((len(x), 1, 3))
    point_m[:, 0, 0] = x
    return MarkerTracks(("m",), point_m, np.array(valid)[:, None])
