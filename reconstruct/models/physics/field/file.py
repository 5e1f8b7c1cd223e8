"""The file of a force field, `*.forces`: a container of named arrays (`database.container`), versioned and checksummed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from config.joints import JOINTS, N_JOINTS
from database.container import Container, FileKind, build_checked, open_whole_container, write_container
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.models.physics.contacts import N_FEET, N_PARTS
from reconstruct.models.physics.dynamics import N_CONFIGURATION, N_TANGENT
from reconstruct.models.physics.field.field import ExampleMotions, ForceField, Subspace
from reconstruct.models.physics.field.mixture import Mixture
from reconstruct.models.physics.field.process import SparseGaussianProcess
from reconstruct.models.physics.field.state import N_STATE
from reconstruct.models.physics.field.train import ForceFieldError

AGAIN = "train it again with `duocap physics train`"
KIND = FileKind(b"duocap forces\0\0\0", 2, "a force field", "train one with `duocap physics train`", AGAIN, ForceFieldError)
SUFFIX = ".forces"
PARTS: Mapping[str, tuple[type, tuple[str, ...]]] = {
    "state": (Subspace, ("mean", "basis", "spread")),
    "force": (Subspace, ("mean", "basis", "spread")),
    "process": (SparseGaussianProcess, ("inducing", "length", "variance", "coefficients", "shrink")),
    "first": (Mixture, ("weight", "mean", "root")),
    "skeleton": (Skeleton, ("offsets_m", "tails_m")),
    "examples": (ExampleMotions, ("q", "start", "parts", "level_m", "nearness")),
}
DTYPES: Mapping[str, type] = {"examples.q": np.float32, "examples.start": np.int64, "examples.parts": np.uint8}


def write_field(path: Path, field: ForceField) -> None:
    """Write a force field, whole or not at all. Raises ForceFieldError."""
    with write_container(path, KIND) as writer:
        for part, (_, names) in PARTS.items():
            for name in names:
                array = np.asarray(getattr(getattr(field, part), name))
                writer.add(f"{part}.{name}", array.astype(DTYPES.get(f"{part}.{name}", np.float64)))
        writer.fields = _read_layout() | {
            "name": field.name,
            "skeleton": field.skeleton.name,
            "mass_kg": field.mass_kg,
            "noise": field.process.noise,
            "fps": field.examples.fps,
            "sources": list(field.sources),
        }


def read_field(path: Path) -> ForceField:
    """Read a force field. Raises ForceFieldError: none, damaged, of another version or other joints, or invalid."""
    container = open_whole_container(path, KIND)
    if any(container.fields.get(name) != value for name, value in _read_layout().items()):
        raise ForceFieldError(f"{path}: learned of other joints than this program's; {AGAIN}")
    return build_checked(path, KIND, lambda: _field_from_container(container), _describe_fault)


def _read_layout() -> dict[str, Any]:
    """Return the fields that must agree between the program that reads a field and the one that wrote it."""
    return {"joints": list(JOINTS), "reference": REFERENCE.round(9).tolist()}


def _field_from_container(container: Container) -> ForceField:
    """Return the field of a container; raises KeyError, TypeError, ValueError."""
    fields = container.fields
    got: dict[str, dict[str, Any]] = {
        part: {
            name: np.array(container.arrays[f"{part}.{name}"], DTYPES.get(f"{part}.{name}", np.float64), order="C")
            for name in names
        }
        for part, (_, names) in PARTS.items()
    }
    got["examples"]["parts"] = got["examples"]["parts"].astype(bool)
    if got["skeleton"]["offsets_m"].shape != (N_JOINTS, 3) or got["skeleton"]["tails_m"].shape != (N_JOINTS, 3):
        raise ValueError("skeleton")
    return ForceField(
        name=str(fields["name"]),
        skeleton=Skeleton(str(fields["skeleton"]), **got["skeleton"]),
        mass_kg=float(fields["mass_kg"]),
        state=Subspace(**got["state"]),
        force=Subspace(**got["force"]),
        process=SparseGaussianProcess(noise=float(fields["noise"]), **got["process"]),
        first=Mixture(**got["first"]),
        examples=ExampleMotions(fps=float(fields["fps"]), **got["examples"]),
        sources=tuple(map(str, fields["sources"])),
    )


def _describe_fault(field: ForceField) -> str:
    """Return what is wrong with a field, for an error message; empty for a valid one."""
    p, e = field.process, field.examples
    m, d = p.inducing.shape if p.inducing.ndim == 2 else (0, 0)
    k = p.variance.size
    shapes = {
        "state": field.state.mean.shape == (N_STATE,)
        and field.state.basis.shape == (N_STATE, d)
        and field.state.spread.shape == (d,),
        "forces": field.force.mean.shape == (N_TANGENT,)
        and field.force.basis.shape == (N_TANGENT, k)
        and field.force.spread.shape == (k,),
        "process": m > 0 and p.length.shape == (d,) and p.coefficients.shape == (m, k) and p.shrink.shape == (m, m),
        "first states": field.first.mean.shape == (len(field.first.weight), d) and field.first.root.shape[1:] == (d, d),
        "motions": e.q.shape == (len(e.q), N_CONFIGURATION)
        and e.parts.shape == (len(e.q), N_FEET, N_PARTS)
        and e.level_m.shape == (len(e.start) - 1, N_FEET, N_PARTS)
        and e.nearness.shape == (N_TANGENT, N_TANGENT)
        and len(e.start) > 1
        and e.start[0] == 0
        and e.start[-1] == len(e.q)
        and bool((np.diff(e.start) > 0).all()),
    }
    wrong = [name for name, right in shapes.items() if not right]
    if wrong:
        return f"the arrays of its {wrong[0]} do not fit together"
    arrays = [getattr(getattr(field, part), name) for part, (_, names) in PARTS.items() for name in names]
    if not all(np.isfinite(array).all() for array in arrays):
        return "it has values that are no numbers"
    positive = (p.length, p.variance, field.state.spread, field.force.spread, np.array([p.noise, field.mass_kg, e.fps]))
    return "" if all((array > 0.0).all() for array in positive) else "its numbers are out of range"
