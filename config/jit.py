"""The one numba decorator of the project."""

import hashlib
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from shutil import disk_usage
from typing import Any, Literal, Self, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import InTreeCacheLocator, UserProvidedCacheLocator, UserWideCacheLocator

F = TypeVar("F", bound=Callable[..., Any])

# Full fast-math would assume that NaN never occurs, and tests for NaN inside kernels would be compiled away.
# A kernel that LLVM leaves a function of its own is in its caller's object once more, optimised again, and `reassoc` may sum in
# another order there. The linker takes what the process loaded first: the kernel's own where both are compiled, the caller's copy
# where both are cached. So the first run after an installation may differ in the last bit; inlined kernels have no such copy.
FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}
LEAST_FREE_BYTES = 64 << 20  # some times what all kernels take; numba's cache fails where it cannot write

_numba: Any = numba.config  # has no types of its own
_locating = threading.Lock()


def kernel(function: F) -> F:
    """Compile `function` without the GIL, cached on disk until its file, that of a kernel it calls or a constant changes."""
    return _compile_kernel(function)


def inline_kernel(function: F) -> F:
    """Make `function` part of each kernel that calls it, before that is compiled; for kernels with one caller.

    A kernel is compiled by itself and again in all above it; this is not. It can be called from Python, too.
    """
    return _compile_kernel(function, inline="always")


def _compile_kernel(function: F, inline: Literal["never", "always"] = "never") -> F:
    """Return numba's dispatcher, which knows what it is compiled from: `source_files` and `source_constants`."""
    used = {name: function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__}
    files = {function.__code__.co_filename}.union(*(getattr(one, "source_files", ()) for one in used.values()))
    constants = {
        f"{name}={value!r}" for name, value in used.items() if isinstance(value, int | float | tuple | np.ndarray | np.generic)
    }
    constants = constants.union(*(getattr(one, "source_constants", ()) for one in used.values()))
    cast(Any, function).source_files = frozenset(files)  # numba copies them
    cast(Any, function).source_constants = frozenset(constants)
    # No wrapper for calls from C: nothing calls a kernel so, and it is an eighth of all compiling.
    options: dict[str, Any] = {"nogil": True, "fastmath": FASTMATH, "inline": inline, "no_cfunc_wrapper": True}
    with _locating:
        before, _numba.CACHE_LOCATOR_CLASSES = _numba.CACHE_LOCATOR_CLASSES, f"{__name__}.KernelLocator"
        try:
            return cast(F, numba.njit(cache=True, **options)(function))
        except RuntimeError:  # no folder for the cache can be written
            return cast(F, numba.njit(**options)(function))
        finally:
            _numba.CACHE_LOCATOR_CLASSES = before


class KernelLocator(InTreeCacheLocator):
    """Where numba caches a kernel: in the folder it would choose, for the files and constants the kernel is compiled from.

    numba itself looks at the caller's file only: it would go on using a callee of another file that has been edited since. The
    digest is part of the cache's file names, as well: an old index may name a NamedTuple that is gone, and could not be read.
    """

    folder: str
    stamp: str

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Self | None:
        """Return the locator of a kernel, None where no folder can be written or its disk is full."""
        numbas: tuple[Any, ...] = (UserProvidedCacheLocator, InTreeCacheLocator, UserWideCacheLocator)
        for kind in numbas:
            found = kind.from_function(py_func, py_file)
            if found is not None and disk_usage(found.get_cache_path()).free > LEAST_FREE_BYTES:
                locator = cls(py_func, py_file)
                locator.folder = found.get_cache_path()
                digest = _digest_sources(py_func.source_files, py_func.source_constants)
                locator.stamp = f"{py_func.__code__.co_firstlineno}-{digest}"
                return locator
        return None

    def get_cache_path(self) -> str:
        """Return the folder of the cache."""
        return self.folder

    def get_source_stamp(self) -> str:
        """Return what changes when the kernel is to be compiled again, here also a part of its files' names."""
        return self.stamp

    get_disambiguator = get_source_stamp


@cache
def _digest_sources(files: frozenset[str], constants: frozenset[str]) -> str:
    """Return a digest of the content of files and of the values of constants, which may come from other files."""
    sources = (*map(_digest_file, sorted(files)), *sorted(constants))
    return hashlib.blake2b(" ".join(sources).encode(), digest_size=8).hexdigest()


@cache
def _digest_file(file: str) -> str:
    """Return a digest of a file's content, empty where it cannot be read."""
    try:
        return hashlib.blake2b(Path(file).read_bytes(), digest_size=12).hexdigest()
    except OSError:
        return ""
