"""Types of kernels' arguments as plain values, so that kernels can be compiled before they are called.

A number or boolean is its name, an array [name, dimensions, layout, writable], a tuple {"tuple": [...], "class": "module:Class"},
the class missing for a bare one, an argument that was left out {"omitted": value}, a constant {"literal": value}.
"""

from importlib import import_module
from typing import Any

import numba

Plain = Any

types: Any = numba.types  # has no types of its own


def plain_from_type(kind: Any) -> Plain:
    """Return a type as a plain value. Raises ValueError: there is no way to write it."""
    if isinstance(kind, types.Array):
        if not kind.aligned or not isinstance(kind.dtype, (types.Number, types.Boolean)):
            raise ValueError(f"{kind}: no array of numbers")
        return [str(kind.dtype), kind.ndim, kind.layout, kind.mutable]
    if isinstance(kind, types.BaseTuple):
        written: dict[str, Plain] = {"tuple": [plain_from_type(one) for one in kind.types]}
        named = getattr(kind, "instance_class", tuple)
        return written if named is tuple else {**written, "class": f"{named.__module__}:{named.__qualname__}"}
    if isinstance(kind, types.Literal):
        return {"literal": kind.literal_value}
    if isinstance(kind, types.Omitted):
        return {"omitted": kind.value}
    if isinstance(kind, (types.Number, types.Boolean, types.NoneType)):
        return str(kind)
    raise ValueError(f"{kind}: a type that cannot be written")


def type_from_plain(plain: Plain) -> Any:
    """Return the type that a plain value stands for; the inverse of `plain_from_type`. Raises ValueError, ImportError."""
    if isinstance(plain, str):
        kind = getattr(types, plain, None)
        if not isinstance(kind, types.Type):
            raise ValueError(f"{plain!r}: no type")
        return kind
    if isinstance(plain, list):
        name, n_dimensions, layout, writable = plain
        return types.Array(type_from_plain(name), n_dimensions, layout, readonly=not writable)
    if "omitted" in plain:
        return types.Omitted(plain["omitted"])
    if "literal" in plain:
        return types.literal(plain["literal"])
    kind = import_named_object(plain["class"]) if "class" in plain else None
    return types.BaseTuple.from_types([type_from_plain(one) for one in plain["tuple"]], kind)


def import_named_object(name: str) -> Any:
    """Return what `module:name` stands for. Raises ImportError, ValueError."""
    module, _, path = name.partition(":")
    found = getattr(import_module(module), path, None)
    if found is None:
        raise ValueError(f"{name}: no such object")
    return found
