"""A dictionary of a body's poses with what else is known of them: limits of the joints, inclination, examples.

The file, `*.sparse`, is a container of named arrays (`database.container`) of its own kind, versioned and checksummed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from config.arrays import Floats, Singles
from config.joints import N_JOINTS
from database.container import Container, FileKind, build_checked, open_whole_container, write_container
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.models.sparse.body import BodyPoints, build_body_points, list_point_names
from reconstruct.models.sparse.dictionary import Centring, Dictionary, join_dictionaries, recentre_dictionary
from reconstruct.models.sparse.learn import SparseError

AGAIN = "train it again with `duocap sparse train`"
KIND = FileKind(b"duocap sparse\0\0\0", 2, "a pose dictionary", "train one with `duocap sparse train`", AGAIN, SparseError)
MAX_VALUE = 1e4
ARRAYS: Mapping[str, type] = {
    **dict.fromkeys(("atoms", "mean", "examples"), np.float32),
    **dict.fromkeys(("low", "high", "offsets_m", "tails_m", "up_mean", "up_sigma"), np.float64),
}


@dataclass(frozen=True, slots=True)
class PoseDictionary:
    """Poses of one body.

    Attributes:
        dictionary: dictionary over the points of `build_body_points(skeleton)`, relative to the unrotated root [m].
        examples: poses of all kinds, charted rotation vectors, (E, J, 3) [rad].
        low, high: bounds of the joint coordinates, (D,) [rad].
        up_mean, up_sigma: mean and standard deviation of the world's up direction in the root's frame, (3,) each.
        sources: names of the motions it was learned from.
    """

    name: str
    skeleton: Skeleton
    dictionary: Dictionary
    examples: Singles
    low: Floats
    high: Floats
    up_mean: Floats
    up_sigma: Floats
    error_m: float
    n_poses: int
    sources: tuple[str, ...] = ()
    options: Mapping[str, int | float | str] = field(default_factory=dict)

    @property
    def points(self) -> BodyPoints:
        """The points of the body."""
        return build_body_points(self.skeleton)


def join_pose_dictionaries(models: Sequence[PoseDictionary], name: str) -> PoseDictionary:
    """Return the dictionaries of one or more bodies as one, for the first one's body (Lai et al. 2012, section 5).

    Poses of the others are scaled to its height. Examples are taken from all in turn. Raises SparseError: none.
    """
    if not models:
        raise SparseError("no dictionaries to join; give two or more")
    first, counts = models[0], np.array([max(model.n_poses, 1) for model in models], float)
    height_m = first.skeleton.height_m
    parts = [recentre_dictionary(m.dictionary, first.dictionary.centring, height_m / m.skeleton.height_m) for m in models]
    most = max(len(model.examples) for model in models)
    each = [most // len(models) + 1 if len(models) > 1 else most] * len(models)
    share, means = counts / counts.sum(), np.array([model.up_mean for model in models])
    up_mean = share @ means
    spread = share @ (np.array([model.up_sigma for model in models]) ** 2 + (means - up_mean) ** 2)
    return replace(
        first,
        name=name,
        dictionary=join_dictionaries(parts),
        examples=np.concatenate([model.examples[:n] for model, n in zip(models, each, strict=True)]),
        low=np.min([model.low for model in models], axis=0),
        high=np.max([model.high for model in models], axis=0),
        up_mean=up_mean,
        up_sigma=np.sqrt(spread),
        error_m=max(model.error_m for model in models),
        n_poses=sum(model.n_poses for model in models),
        sources=tuple(dict.fromkeys(source for model in models for source in model.sources)),
    )


def compute_up_directions(rotvec: Singles) -> Floats:
    """Return the world's up direction in the root's frame, (N, 3), of poses (N, J, 3) [rad]."""
    return np.asarray(matrix_from_rotvec(rotvec[:, 0].astype(np.float64))[:, 1])


def write_dictionary(path: Path, model: PoseDictionary) -> None:
    """Write a dictionary, whole or not at all. Raises SparseError."""
    with write_container(path, KIND) as writer:
        for name, array in _collect_arrays(model).items():
            writer.add(name, np.asarray(array, ARRAYS[name]))
        writer.fields = _read_layout() | {
            "name": model.name,
            "skeleton": model.skeleton.name,
            "n_nonzero": model.dictionary.n_nonzero,
            "constant": model.dictionary.centring.constant,
            "error_m": model.error_m,
            "n_poses": model.n_poses,
            "sources": list(model.sources),
            "options": dict(model.options),
        }


def read_dictionary(path: Path) -> PoseDictionary:
    """Read a dictionary.

    Raises SparseError: no such file, none of a dictionary, damaged, of another version, of other joints or points, or invalid.
    """
    container = open_whole_container(path, KIND)
    if any(container.fields.get(name) != value for name, value in _read_layout().items()):
        raise SparseError(f"{path}: trained for other joints or points of the body than this program's; {AGAIN}")
    return build_checked(path, KIND, lambda: _dictionary_from_container(container), _describe_fault)


def _collect_arrays(model: PoseDictionary) -> dict[str, Any]:
    """Return the arrays by their names in the file."""
    own = {name: getattr(model, name) for name in ("examples", "low", "high", "up_mean", "up_sigma")}
    body = {"offsets_m": model.skeleton.offsets_m, "tails_m": model.skeleton.tails_m}
    return {"atoms": model.dictionary.atoms, "mean": model.dictionary.centring.mean, **own, **body}


def _read_layout() -> dict[str, Any]:
    """Return the fields that must agree between the program that reads a dictionary and the one that wrote it."""
    return {"points": list(list_point_names()), "reference": REFERENCE.round(9).tolist()}


def _dictionary_from_container(container: Container) -> PoseDictionary:
    """Return the dictionary of a container; raises KeyError, TypeError, ValueError."""
    f = container.fields
    a: dict[str, Any] = {name: np.array(container.arrays[name], dtype, order="C") for name, dtype in ARRAYS.items()}
    skeleton_arrays = a.pop("offsets_m"), a.pop("tails_m")
    if any(array.shape != (N_JOINTS, 3) for array in skeleton_arrays):
        raise ValueError("skeleton")
    dictionary = Dictionary(a.pop("atoms"), Centring(a.pop("mean"), float(f["constant"])), int(f["n_nonzero"]))
    return PoseDictionary(
        name=str(f["name"]),
        skeleton=Skeleton(str(f["skeleton"]), *skeleton_arrays),
        dictionary=dictionary,
        error_m=float(f["error_m"]),
        n_poses=int(f["n_poses"]),
        sources=tuple(map(str, f["sources"])),
        options=dict(f["options"]),
        **a,
    )


def _describe_fault(model: PoseDictionary) -> str:
    """Return what is wrong with a dictionary, for an error message; empty for a valid one."""
    d = model.dictionary
    n_entries, n_angles = 3 * len(list_point_names()), 3 * (N_JOINTS - 1)
    shapes: dict[str, tuple[int, ...]] = {"low": (n_angles,), "high": (n_angles,), "up_mean": (3,), "up_sigma": (3,)}
    shapes["examples"] = (len(model.examples), N_JOINTS, 3)
    if any(getattr(model, name).shape != shape for name, shape in shapes.items()) or len(model.examples) == 0:
        return "its arrays do not fit together"
    if d.atoms.ndim != 2 or d.atoms.shape[1] != n_entries + 1 or len(d) == 0 or d.centring.mean.shape != (n_entries,):
        return "its atoms do not fit the points of the body"
    finite = [array for name, array in _collect_arrays(model).items() if name not in ("low", "high")]
    if any(not (np.isfinite(array).all() and (np.abs(array) < MAX_VALUE).all()) for array in finite):
        return "it has values that are no numbers, or absurd ones"
    if not (1 <= d.n_nonzero <= len(d) and 0.0 < d.centring.constant < MAX_VALUE) or np.isnan([model.low, model.high]).any():
        return "its numbers are out of range"
    return ""
