"""The one numba decorator of the project."""

import contextlib
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, TypeVar, cast

import numba
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])

# Full fast-math would assume that NaN never occurs, and tests for NaN inside kernels would be compiled away.
FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}


def _wrong_shapes(source: Any, target: Any) -> None:
    """Stand for what numba calls where a slice cannot be assigned."""


@overload(_wrong_shapes)
def _raise_wrong_shapes(source: Any, target: Any) -> Any:
    def raising(source: Any, target: Any) -> None:
        raise ValueError("cannot assign slice from input of different size")

    return raising


# numba's own names both shapes, and compiles their formatting into each kernel that assigns a slice: a tenth of all compiling.
with contextlib.suppress(ImportError):
    from numba.np import arrayobj

    arrayobj.raise_with_shape_context = _wrong_shapes


def _same_flags(flags: Any, other: Any) -> bool:
    """Return whether two sets of numba's flags are the same; numba makes a dict of all options of both, each time."""
    return flags is other or (type(flags) is type(other) and (flags._values == other._values or flags.values() == other.values()))


def _resolving_once(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Return how numba finds the signature of a call of its own functions, remembering it by the types of the arguments.

    It tries all that was ever registered for, say, `+`, from strings to dates, at every place where two numbers are added.
    """

    stack: Any = targetconfig.ConfigStack

    def resolved(function: Any, context: Any, args: Any, kws: Any) -> Any:
        known = function.__dict__.setdefault("resolved_calls", {})
        key = context, tuple(args), tuple(kws.items()), stack.top_or_none()
        if key not in known:
            known[key] = resolve(function, context, args, kws)
        return known[key]

    return resolved


def _of_any_value(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return how a call within a kernel finds what is called: compiled once for integers, not again for a 0 and for a 1."""

    unliteral: Any = types.unliteral

    def found(dispatcher: Any, args: Any, kws: Any) -> Any:
        values = {name: unliteral(kind) for name, kind in kws.items()}
        return find(dispatcher, tuple(unliteral(kind) for kind in args), values)

    return found


def _of_defined(optimise: Callable[..., None]) -> Callable[..., None]:
    """Return the optimisation of a module's functions, for those with a body; numba makes passes for declarations, too."""

    def optimised(library: Any, module: Any) -> None:
        module.data_layout = library._codegen._data_layout
        optimise(library, SimpleNamespace(functions=[one for one in module.functions if not one.is_declaration]))

    return optimised


# What is compiled is the same; together a tenth of all compiling.
with contextlib.suppress(ImportError, AttributeError):
    from numba.core import codegen, dispatcher, targetconfig, types
    from numba.core.types import functions

    Flags: Any = targetconfig.TargetConfig
    NumbaFunction: Any = functions.BaseFunction
    Library: Any = codegen.CPUCodeLibrary
    Flags.__eq__ = _same_flags
    Flags.__hash__ = lambda flags: hash(type(flags))  # numba's own is that of the options' names
    NumbaFunction.get_call_type = _resolving_once(NumbaFunction.get_call_type)
    Dispatcher: Any = dispatcher.Dispatcher
    Dispatcher.get_call_template = _of_any_value(Dispatcher.get_call_template)
    if hasattr(codegen, "create_pass_builder"):  # numba of before gives the module to the passes
        Library._optimize_functions = _of_defined(Library._optimize_functions)


def kernel(function: F) -> F:
    """Compile `function` without the GIL, cached on disk until its file or that of a kernel it calls changes."""
    return _compiled(function)


def inlined(function: F) -> F:
    """Make `function` part of each kernel that calls it, before that is compiled; for kernels with one caller.

    A kernel is compiled by itself and again in all above it; this is not. It can be called from Python, too.
    """
    return _compiled(function, inline="always")


def _compiled(function: F, inline: Literal["never", "always"] = "never") -> F:
    """Return numba's dispatcher, its disk cache valid for the content of all files it is compiled from.

    numba itself looks at the time stamp of the caller's file only: it would go on using a callee of another file that has been
    edited since, and compile everything again after an installation that changed nothing. The digest takes the place of numba's
    version, which is compared before anything else is unpickled: an old index may name a NamedTuple that is gone.
    """
    # No wrapper for calls from C: nothing calls a kernel so, and it is an eighth of all compiling.
    options: dict[str, Any] = {"nogil": True, "fastmath": FASTMATH, "inline": inline, "no_cfunc_wrapper": True}
    try:
        dispatcher: Any = numba.njit(cache=True, **options)(function)
        _forgive(dispatcher)
    except RuntimeError:  # no folder for the cache can be written
        dispatcher = numba.njit(**options)(function)
    called = (function.__globals__.get(name) for name in function.__code__.co_names)
    files = {function.__code__.co_filename}.union(*(getattr(one, "source_files", ()) for one in called))
    dispatcher.source_files = frozenset(files)
    index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if index is not None:
        index._source_stamp = tuple(_digest(file) for file in sorted(files))
        index._version = " ".join([numba.__version__, *index._source_stamp])
    return cast(F, dispatcher)


def _forgive(dispatcher: Any) -> None:
    """Have a cache that cannot be read or written cost the time to compile and nothing else."""
    kept = getattr(dispatcher, "_cache", None)
    for name in ("load_overload", "save_overload"):
        if hasattr(kept, name):
            setattr(kept, name, _forgiving(getattr(kept, name)))


def _forgiving(access: Callable[..., Any]) -> Callable[..., Any]:
    """Return an access to the disk that gives None where that fails."""

    def accessed(*arguments: Any) -> Any:
        try:
            return access(*arguments)
        except OSError:
            return None

    return accessed


@cache
def _digest(file: str) -> str:
    """Return a digest of a file's content, empty where it cannot be read."""
    try:
        return hashlib.blake2b(Path(file).read_bytes(), digest_size=12).hexdigest()
    except OSError:
        return ""
