"""A task of learning and its result as msgpack maps, which are validated when decoded.

The result is the part of a style that learning adds to its poses, some 20 kB, and 160 kB of coefficients that take several
milliseconds to compute; the sender of the task has the rest.
"""

from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

import msgpack
import numpy as np

from capture.sockets.wire import (
    MalformedMessageError,
    pack_floats,
    read_float_field,
    read_int_field,
    read_message_field,
    unpack_map,
)
from config.arrays import Bools, Floats, Ints
from config.joints import N_JOINTS
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import N_FEATURES, PoseTimes, TrainingPoses
from reconstruct.models.style.learn.train import LearnOptions
from reconstruct.models.style.model import Hyperparameters, Style, StyleError, build_evaluator

MAX_TASK_BYTES = 16 << 20
MAX_POSES, MAX_LATENT, MAX_TRACE = 5000, 32, 100_000
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class LearnTask:
    """Poses that a style is to be learned from.

    Attributes:
        number: counts up in a session.
        checksum: checksum of the features, to match the result with its task.
    """

    number: int
    checksum: int
    name: str
    skeleton: Skeleton
    poses: TrainingPoses
    options: LearnOptions


@dataclass(frozen=True, slots=True)
class LearnedStyle:
    """Values that learning adds to a task's poses: see `Style`.

    Attributes:
        seconds: duration.
        fitted: None in recordings of earlier versions.
    """

    number: int
    checksum: int
    seconds: float
    modelled: Bools
    mean: Floats
    spread: Floats
    latent: Floats
    scale: Floats
    active: Ints
    learned: Hyperparameters
    annealed: Hyperparameters
    objective: Floats
    fitted: Floats | None = None

    @property
    def n_poses(self) -> int:
        """Number of poses it was learned from."""
        return len(self.latent)


OF_STYLE = [field.name for field in fields(LearnedStyle) if field.name not in ("number", "checksum", "seconds")]


def extract_learned_part(task: LearnTask, style: Style, seconds: float) -> LearnedStyle:
    """Return the values that learning added to a task's poses. Raises StyleError: the style is of other poses, or unusable.

    Args:
        task: task that was learned from.
        style: the style as learned.
        seconds: time that learning took [s].
    """
    if style.features.shape != task.poses.features.shape or not np.array_equal(style.features, task.poses.features):
        raise StyleError("a style came out of learning that is not of the poses it was to be learned of")
    own = {name: getattr(style, name) for name in OF_STYLE}
    own["fitted"] = build_evaluator(style, style.learned).coefficients
    return LearnedStyle(task.number, task.checksum, seconds, **own)


def style_from_result(task: LearnTask, learned: LearnedStyle) -> Style | None:
    """Return the style of a task's poses and its result; None where they do not fit."""
    poses = task.poses
    if learned.n_poses != len(poses):
        return None
    own = {name: getattr(learned, name) for name in OF_STYLE}
    return Style(task.name, task.skeleton, poses.features, poses.rotvec, times=poses.times, **own)


def encode_task(task: LearnTask) -> bytes:
    """Return the bytes of a task."""
    content = {
        "kind": "task",
        "number": task.number,
        "checksum": task.checksum,
        "name": task.name[:MAX_NAME],
        "skeleton": task.skeleton.name[:MAX_NAME],
        "offsets_m": pack_floats(task.skeleton.offsets_m),
        "tails_m": pack_floats(task.skeleton.tails_m),
        "features": pack_floats(task.poses.features),
        "rotvec": pack_floats(task.poses.rotvec),
        "stretch": pack_floats(task.poses.times.stretch.astype(np.float64)),
        "seconds": pack_floats(task.poses.times.seconds),
        "options": asdict(task.options),
    }
    return bytes(msgpack.packb(content))


def decode_task(payload: bytes) -> LearnTask:
    """Return the task of a message; raises MalformedMessageError."""
    content = unpack_map(payload, MAX_TASK_BYTES)
    features, rotvec = read_float_field(content, "features", N_FEATURES), read_float_field(content, "rotvec", 3)
    stretch, seconds = read_float_field(content, "stretch", 1)[:, 0], read_float_field(content, "seconds", 1)[:, 0]
    n = len(features)
    fits = len(rotvec) == n * N_JOINTS and len(stretch) == len(seconds) == n
    if n > MAX_POSES or not fits or np.abs(stretch).max(initial=0) > 1e9:
        raise MalformedMessageError(f"a task of {n} poses with {len(rotvec)} joints; it was dropped")
    offsets_m, tails_m = read_float_field(content, "offsets_m", 3), read_float_field(content, "tails_m", 3)
    if not len(offsets_m) == len(tails_m) == N_JOINTS:
        raise MalformedMessageError(f"a task with a skeleton of {len(offsets_m)} joints; it was dropped")
    skeleton = Skeleton(read_message_field(content, "skeleton", str)[:MAX_NAME], offsets_m, tails_m)
    poses = TrainingPoses(features, rotvec.reshape(n, N_JOINTS, 3), PoseTimes(stretch.astype(np.int64), seconds))
    name: str = read_message_field(content, "name", str)[:MAX_NAME]
    return LearnTask(
        read_int_field(content, "number"), read_int_field(content, "checksum"), name, skeleton, poses, _decode_options(content)
    )


def _decode_options(content: dict[str, Any]) -> LearnOptions:
    """Return the options of a task; raises MalformedMessageError."""
    given: dict[str, Any] = read_message_field(content, "options", dict)
    usual = asdict(LearnOptions())
    for name, value in usual.items():
        kinds = (int, float, type(None)) if value is None else type(value)
        if not isinstance(given.get(name), kinds) or isinstance(given.get(name), bool) != isinstance(value, bool):
            raise MalformedMessageError(f"option {name!r} of a task is none; it was dropped")
    return LearnOptions(**{name: given[name] for name in usual})


def encode_learned(learned: LearnedStyle) -> bytes:
    """Return the bytes of a result."""
    content = {
        "kind": "learned",
        "number": learned.number,
        "checksum": learned.checksum,
        "seconds": learned.seconds,
        "modelled": learned.modelled.astype(np.uint8).tobytes(),
        "mean": pack_floats(learned.mean),
        "spread": pack_floats(learned.spread),
        "n_latent": learned.latent.shape[1],
        "latent": pack_floats(learned.latent),
        "scale": pack_floats(learned.scale),
        "active": np.ascontiguousarray(learned.active, "<i8").tobytes(),
        "parameters": pack_floats(np.array([astuple(learned.learned), astuple(learned.annealed)])),
        "objective": pack_floats(learned.objective[-MAX_TRACE:]),
    }
    if learned.fitted is not None:
        content["fitted"] = pack_floats(learned.fitted)
    return bytes(msgpack.packb(content))


def decode_learned(payload: bytes) -> LearnedStyle:
    """Return the result of a message; raises MalformedMessageError, also for one of which no style can be made."""
    content = unpack_map(payload)
    flags: bytes = read_message_field(content, "modelled", bytes)
    modelled = np.frombuffer(flags, np.uint8).astype(bool)
    mean, spread = (read_float_field(content, key, 1)[:, 0].copy() for key in ("mean", "spread"))
    latent = read_float_field(content, "latent", read_int_field(content, "n_latent", 1, MAX_LATENT))
    scale, objective = (read_float_field(content, key, 1)[:, 0].copy() for key in ("scale", "objective"))
    parameters, active = read_float_field(content, "parameters", 3), _decode_active_rows(content, len(latent))
    sizes = (len(modelled), len(mean), len(spread), len(parameters), len(scale))
    if sizes != (N_FEATURES, N_FEATURES, N_FEATURES, 2, int(modelled.sum())) or not len(scale) or len(latent) > MAX_POSES:
        raise MalformedMessageError(f"a learned style of sizes {sizes}; it was dropped")
    if not (parameters > 0.0).all() or not (scale > 0.0).all() or (spread < 0.0).any():
        raise MalformedMessageError("a learned style with parameters that are not positive; it was dropped")
    seconds = float(read_message_field(content, "seconds", (int, float)))
    learned, annealed = (Hyperparameters(*(float(value) for value in row)) for row in parameters)
    number, checksum = read_int_field(content, "number"), read_int_field(content, "checksum")
    own = (modelled, mean, spread, latent, scale, active, learned, annealed, objective)
    return LearnedStyle(number, checksum, seconds, *own, _decode_coefficients(content, active, scale))


def _decode_coefficients(content: dict[str, Any], active: Ints, scale: Floats) -> Floats | None:
    """Return the coefficients of f, (M, D), None in recordings of earlier versions; raises MalformedMessageError."""
    if "fitted" not in content:
        return None
    fitted = read_float_field(content, "fitted", len(scale))
    if len(fitted) != len(active):
        raise MalformedMessageError(
            f"a learned style with coefficients of {len(fitted)} poses, not {len(active)}; it was dropped"
        )
    return fitted


def _decode_active_rows(content: dict[str, Any], n: int) -> Ints:
    """Return the rows of the active set of n poses; raises MalformedMessageError for rows out of range or repeated."""
    data: bytes = read_message_field(content, "active", bytes)
    if len(data) % 8 == 0:
        active = np.frombuffer(data, "<i8").astype(np.int64)
        if len(active) and active.min() >= 0 and active.max() < n and len(np.unique(active)) == len(active):
            return active
    raise MalformedMessageError(f"a learned style with an impossible active set of {n} poses; it was dropped")
