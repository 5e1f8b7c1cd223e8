"""A style as a file, `*.style`: all that was learned, and from what.

A container of named arrays (`database.container`) of its own kind. Its fields: name, skeleton, joints, reference rotations of the
charts, names of the features and their rate, parameters, and the origin. A style is read as it was written, to the bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.joints import JOINTS, N_JOINTS
from database.container import Container, FileKind, build_checked, open_whole_container, write_container
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.models.style.features import RATE_HZ, PoseTimes, list_feature_names
from reconstruct.models.style.model import Hyperparameters, Style, StyleError, build_evaluator

AGAIN = "learn it again with `duocap style train`"
KIND = FileKind(b"duocap style\0\0\0\0", 1, "a style", "learn one with `duocap style train`", AGAIN, StyleError)
MAX_ACTIVE = 2000  # its covariance is kept in memory
MAX_VALUE = 1e6  # of any feature, angle, position or latent coordinate
ARRAYS: Mapping[str, type] = {
    **dict.fromkeys(("features", "rotvec", "mean", "spread", "latent", "scale", "objective", "seconds"), np.float64),
    **{"modelled": np.bool_, "active": np.int64, "stretch": np.int64, "offsets_m": np.float64, "tails_m": np.float64},
}


@dataclass(frozen=True, slots=True)
class StyleOrigin:
    """Origin of a style.

    Attributes:
        sources: descriptions of the motions.
        options: options of learning.
        version: version of the program.
    """

    sources: tuple[str, ...] = ()
    options: Mapping[str, int | float | str] = field(default_factory=dict)
    version: str = ""


def write_style(path: Path, style: Style, origin: StyleOrigin | None = None) -> None:
    """Write a style, atomically. Raises StyleError: it cannot be written, or is invalid.

    Args:
        path: the file.
        style: style to write.
        origin: origin of the style, or None.
    """
    o = origin or StyleOrigin()
    fault = _describe_fault(style)
    if fault:
        raise StyleError(f"{path}: not written: {fault}; learn it from other poses or with other options")
    with write_container(path, KIND) as writer:
        for name, array in collect_style_arrays(style).items():
            writer.add(name, np.asarray(array, ARRAYS[name]))
        writer.fields = _read_layout() | {
            "name": style.name,
            "skeleton": style.skeleton.name,
            "learned": _list_parameters(style.learned),
            "annealed": _list_parameters(style.annealed),
            "origin": {"sources": list(o.sources), "options": dict(o.options), "version": o.version},
        }


def read_style(path: Path) -> Style:
    """Read a style. Raises StyleError: see `read_style_and_origin`."""
    return read_style_and_origin(path)[0]


def read_style_and_origin(path: Path) -> tuple[Style, StyleOrigin]:
    """Read a style and its origin; the file is closed afterwards.

    Raises StyleError: no such file, not a style, damaged, of another version, of other features or joint charts, or invalid.
    """
    container = open_whole_container(path, KIND)
    _check_layout(path, container.fields)
    return build_checked(
        path,
        KIND,
        lambda: (_style_from_container(container), _read_origin(container.fields["origin"])),
        lambda found: _describe_fault(found[0]),
    )


def collect_style_arrays(style: Style) -> dict[str, NDArray[Any]]:
    """Return all arrays of a style by their names in the file."""
    own = {name: getattr(style, name) for name in ("features", "rotvec", "modelled", "mean", "spread", "latent", "scale")}
    more = {"active": style.active, "objective": style.objective, "stretch": style.times.stretch}
    body = {"offsets_m": style.skeleton.offsets_m, "tails_m": style.skeleton.tails_m}
    return {**own, **more, "seconds": style.times.seconds, **body}


def _read_layout() -> dict[str, Any]:
    """Return the fields that must agree between the program that reads a style and the one that wrote it."""
    reference = REFERENCE.round(9).tolist()
    return {"joints": list(JOINTS), "reference": reference, "features_of": list_feature_names(), "rate_hz": RATE_HZ}


def _check_layout(path: Path, fields: dict[str, Any]) -> None:
    """Raise StyleError if features or charts are not those of this program."""
    own = _read_layout()
    if fields.get("joints") != own["joints"] or fields.get("features_of") != own["features_of"]:
        raise StyleError(f"{path}: learned from other joints or features than this program's; {AGAIN}")
    if fields.get("rate_hz") != RATE_HZ:
        raise StyleError(f"{path}: its velocities are at {fields.get('rate_hz')} Hz, expected {RATE_HZ:g}; {AGAIN}")
    if fields.get("reference") != own["reference"]:
        raise StyleError(f"{path}: made with other joint charts than this program's; {AGAIN}")


def _style_from_container(container: Container) -> Style:
    """Return the style of a container; raises KeyError, TypeError, ValueError where something is missing or of a wrong type."""
    fields = container.fields
    a: dict[str, Any] = {}
    for name, dtype in ARRAYS.items():
        if container.arrays[name].dtype != np.dtype(dtype).newbyteorder("<"):
            raise TypeError(name)
        a[name] = np.array(container.arrays[name], dtype, order="C")
    if not all(a[name].shape == (N_JOINTS, 3) for name in ("offsets_m", "tails_m")):
        raise ValueError("skeleton")
    skeleton = Skeleton(_read_text(fields["skeleton"]), a.pop("offsets_m"), a.pop("tails_m"))
    times = PoseTimes(a.pop("stretch"), a.pop("seconds"))
    learned, annealed = (Hyperparameters(*map(float, fields[name])) for name in ("learned", "annealed"))
    return Style(name=_read_text(fields["name"]), skeleton=skeleton, learned=learned, annealed=annealed, times=times, **a)


def _read_origin(fields: Mapping[str, Any]) -> StyleOrigin:
    """Return the origin of a style; raises KeyError, TypeError, ValueError."""
    options = {_read_text(key): value for key, value in fields["options"].items() if isinstance(value, int | float | str)}
    return StyleOrigin(tuple(_read_text(source) for source in fields["sources"]), options, _read_text(fields["version"]))


def _read_text(value: object) -> str:
    """Return a string; raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError("text")
    return value


def _list_parameters(parameters: Hyperparameters) -> list[float]:
    """Return alpha, beta, gamma."""
    return [float(parameters.alpha), float(parameters.beta), float(parameters.gamma)]


def _describe_fault(style: Style) -> str:
    """Return what is wrong with a style, for an error message; empty for a valid style."""
    n, d, q = len(style.features), int(style.modelled.sum()), style.latent.shape[-1] if style.latent.ndim == 2 else 0
    n_features, m, when = len(list_feature_names()), len(style.active), len(style.times.stretch)
    shapes = {"features": (n, n_features), "rotvec": (n, N_JOINTS, 3), "modelled": (n_features,), "mean": (n_features,)}
    shapes |= {"spread": (n_features,), "latent": (n, q), "scale": (d,), "active": (m,), "objective": (len(style.objective),)}
    if any(getattr(style, name).shape != shape for name, shape in shapes.items()) or min(n, d, q) == 0 or when not in (0, n):
        return "its arrays do not fit together"
    if style.times.seconds.shape != (when,) or style.times.stretch.shape != (when,):
        return "its times do not fit its poses"
    if not 0 < m <= MAX_ACTIVE or style.active.min() < 0 or style.active.max() >= n or len(np.unique(style.active)) != m:
        return f"its active set is none of 1 to {MAX_ACTIVE} of its poses"
    for name, array in collect_style_arrays(style).items():
        largest = MAX_VALUE if name not in ("scale", "objective") else np.inf
        if array.dtype == np.float64 and not (np.isfinite(array).all() and (np.abs(array) < largest).all()):
            return f"{name} has values that are no numbers, or absurd ones"
    if not ((style.scale > 0).all() and (style.spread >= 0).all()):
        return "its scales are not positive"
    return _describe_covariance_fault(style)


def _describe_covariance_fault(style: Style) -> str:
    """Return what is wrong with a style's covariances; empty where they can be inverted."""
    for parameters in (style.learned, style.annealed):
        numbers = np.array(_list_parameters(parameters))
        if not (np.isfinite(numbers).all() and (numbers > 0).all()):
            return "alpha, beta and gamma must be positive numbers"
        try:
            build_evaluator(style, parameters)
        except StyleError:
            return "its covariance cannot be inverted"
    return ""
