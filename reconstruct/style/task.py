"""What is sent to whoever learns a style, and what comes back: as msgpack maps, of which nothing is trusted.

What comes back is the part of a style that learning adds to its poses, some 20 kB, and 160 kB of coefficients, which it takes
several milliseconds to compute: whoever has the task has the rest.
"""

from dataclasses import asdict, astuple, dataclass
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from capture.wire import MalformedMessageError, field_of, floats_of, int_of, packed, unpacked_map
from config.joints import N_JOINTS
from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.style.features import N_FEATURES, Moments, TrainingPoses
from reconstruct.style.learn import LearnOptions
from reconstruct.style.model import Hyperparameters, Style, StyleError, level_of

MAX_TASK_BYTES = 16 << 20
MAX_POSES, MAX_LATENT, MAX_TRACE = 5000, 32, 100_000
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class LearnTask:
    """What a style is to be learned of. number: counts up in a session; checksum: of the features, so that nothing else fits."""

    number: int
    checksum: int
    name: str
    skeleton: Skeleton
    poses: TrainingPoses
    options: LearnOptions


@dataclass(frozen=True, slots=True)
class Learned:
    """What learning adds to a task's poses: see `Style`. seconds: that it took; fitted: None in records of earlier versions."""

    number: int
    checksum: int
    seconds: float
    modelled: NDArray[np.bool_]
    mean: Floats
    spread: Floats
    latent: Floats
    scale: Floats
    active: NDArray[np.int64]
    learned: Hyperparameters
    annealed: Hyperparameters
    objective: Floats
    fitted: Floats | None = None

    @property
    def n_poses(self) -> int:
        """Number of poses it was learned of."""
        return len(self.latent)


def learned_part(task: LearnTask, style: Style, seconds: float) -> Learned:
    """Give what learning added to a task's poses. Raises StyleError: the style is of other poses, or cannot be used."""
    if style.features.shape != task.poses.features.shape or not np.array_equal(style.features, task.poses.features):
        raise StyleError("a style came out of learning that is not of the poses it was to be learned of")
    return Learned(
        task.number,
        task.checksum,
        seconds,
        style.modelled,
        style.mean,
        style.spread,
        style.latent,
        style.scale,
        style.active,
        style.learned,
        style.annealed,
        style.objective,
        level_of(style, style.learned).coefficients,
    )


def style_of(task: LearnTask, learned: Learned) -> Style | None:
    """Put a task's poses and what was learned of them together; None where they do not fit."""
    poses = task.poses
    if learned.n_poses != len(poses):
        return None
    return Style(
        task.name,
        task.skeleton,
        poses.features,
        poses.rotvec,
        learned.modelled,
        learned.mean,
        learned.spread,
        learned.latent,
        learned.scale,
        learned.active,
        learned.learned,
        learned.annealed,
        learned.objective,
        poses.moments,
        learned.fitted,
    )


def encode_task(task: LearnTask) -> bytes:
    """Give the bytes of a task."""
    content = {
        "kind": "task",
        "number": task.number,
        "checksum": task.checksum,
        "name": task.name[:MAX_NAME],
        "skeleton": task.skeleton.name[:MAX_NAME],
        "offsets_m": packed(task.skeleton.offsets_m),
        "tails_m": packed(task.skeleton.tails_m),
        "features": packed(task.poses.features),
        "rotvec": packed(task.poses.rotvec),
        "stretch": packed(task.poses.moments.stretch.astype(np.float64)),
        "seconds": packed(task.poses.moments.seconds),
        "options": asdict(task.options),
    }
    return bytes(msgpack.packb(content))


def decode_task(payload: bytes) -> LearnTask:
    """Give the task of a message; raises MalformedMessageError."""
    content = unpacked_map(payload, MAX_TASK_BYTES)
    features, rotvec = floats_of(content, "features", N_FEATURES), floats_of(content, "rotvec", 3)
    stretch, seconds = floats_of(content, "stretch", 1)[:, 0], floats_of(content, "seconds", 1)[:, 0]
    n = len(features)
    if (
        n > MAX_POSES
        or len(rotvec) != n * N_JOINTS
        or not len(stretch) == len(seconds) == n
        or np.abs(stretch).max(initial=0) > 1e9
    ):
        raise MalformedMessageError(f"a task of {n} poses with {len(rotvec)} joints; it was dropped")
    offsets_m, tails_m = floats_of(content, "offsets_m", 3), floats_of(content, "tails_m", 3)
    if not len(offsets_m) == len(tails_m) == N_JOINTS:
        raise MalformedMessageError(f"a task with a skeleton of {len(offsets_m)} joints; it was dropped")
    skeleton = Skeleton(field_of(content, "skeleton", str)[:MAX_NAME], offsets_m, tails_m)
    poses = TrainingPoses(features, rotvec.reshape(n, N_JOINTS, 3), Moments(stretch.astype(np.int64), seconds))
    name: str = field_of(content, "name", str)[:MAX_NAME]
    return LearnTask(int_of(content, "number"), int_of(content, "checksum"), name, skeleton, poses, _options(content))


def _options(content: dict[str, Any]) -> LearnOptions:
    """Give the options of a task; raises MalformedMessageError."""
    given: dict[str, Any] = field_of(content, "options", dict)
    usual = asdict(LearnOptions())
    for name, value in usual.items():
        kinds = (int, float, type(None)) if value is None else type(value)
        if not isinstance(given.get(name), kinds) or isinstance(given.get(name), bool):
            raise MalformedMessageError(f"option {name!r} of a task is none; it was dropped")
    return LearnOptions(**{name: given[name] for name in usual})


def encode_learned(learned: Learned) -> bytes:
    """Give the bytes of what was learned."""
    content = {
        "kind": "learned",
        "number": learned.number,
        "checksum": learned.checksum,
        "seconds": learned.seconds,
        "modelled": learned.modelled.astype(np.uint8).tobytes(),
        "mean": packed(learned.mean),
        "spread": packed(learned.spread),
        "n_latent": learned.latent.shape[1],
        "latent": packed(learned.latent),
        "scale": packed(learned.scale),
        "active": np.ascontiguousarray(learned.active, "<i8").tobytes(),
        "parameters": packed(np.array([astuple(learned.learned), astuple(learned.annealed)])),
        "objective": packed(learned.objective[-MAX_TRACE:]),
    }
    if learned.fitted is not None:
        content["fitted"] = packed(learned.fitted)
    return bytes(msgpack.packb(content))


def decode_learned(payload: bytes) -> Learned:
    """Give what was learned; raises MalformedMessageError for a message that is none, or of which no style can be made."""
    content = unpacked_map(payload)
    flags: bytes = field_of(content, "modelled", bytes)
    modelled = np.frombuffer(flags, np.uint8).astype(bool)
    mean, spread = (floats_of(content, key, 1)[:, 0].copy() for key in ("mean", "spread"))
    latent = floats_of(content, "latent", int_of(content, "n_latent", 1, MAX_LATENT))
    scale, objective = (floats_of(content, key, 1)[:, 0].copy() for key in ("scale", "objective"))
    parameters, active = floats_of(content, "parameters", 3), _active(content, len(latent))
    sizes = (len(modelled), len(mean), len(spread), len(parameters), len(scale))
    if sizes != (N_FEATURES, N_FEATURES, N_FEATURES, 2, int(modelled.sum())) or not len(scale) or len(latent) > MAX_POSES:
        raise MalformedMessageError(f"a learned style of sizes {sizes}; it was dropped")
    if not (parameters > 0.0).all() or not (scale > 0.0).all() or (spread < 0.0).any():
        raise MalformedMessageError("a learned style with parameters that are not positive; it was dropped")
    seconds = float(field_of(content, "seconds", (int, float)))
    learned, annealed = (Hyperparameters(*(float(value) for value in row)) for row in parameters)
    number, checksum = int_of(content, "number"), int_of(content, "checksum")
    what = (modelled, mean, spread, latent, scale, active, learned, annealed, objective, _fitted(content, active, scale))
    return Learned(number, checksum, seconds, *what)


def _fitted(content: dict[str, Any], active: NDArray[np.int64], scale: Floats) -> Floats | None:
    """Give the coefficients of f, (M, D); none in records of earlier versions. Raises MalformedMessageError."""
    if "fitted" not in content:
        return None
    fitted = floats_of(content, "fitted", len(scale))
    if len(fitted) != len(active):
        raise MalformedMessageError(
            f"a learned style with coefficients of {len(fitted)} poses, not {len(active)}; it was dropped"
        )
    return fitted


def _active(content: dict[str, Any], n: int) -> NDArray[np.int64]:
    """Give the rows of the active set, each once, of n poses; raises MalformedMessageError."""
    data: bytes = field_of(content, "active", bytes)
    if len(data) % 8 == 0:
        active = np.frombuffer(data, "<i8").astype(np.int64)
        if len(active) and active.min() >= 0 and active.max() < n and len(np.unique(active)) == len(active):
            return active
    raise MalformedMessageError(f"a learned style with an impossible active set of {n} poses; it was dropped")
