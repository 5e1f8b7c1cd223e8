"""The one numba decorator of the project."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Full fast-math would assume that NaN never occurs, and tests for NaN inside kernels would be compiled away.
FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}


def kernel(function: F) -> F:
    """Compile `function` without the GIL, cached on disk; kernels that call each other share a file.

    For the one exception see docs/decisions/0011-kernels-across-files.md.
    """
    return cast(F, numba.njit(nogil=True, cache=True, fastmath=FASTMATH)(function))


def inlined(function: F) -> F:
    """Make `function` part of each kernel that calls it, before that is compiled, for what has one caller.

    A kernel is compiled by itself and again in all above it; this is not. From Python it can be called as a kernel can.
    """
    return cast(F, numba.njit(nogil=True, cache=True, fastmath=FASTMATH, inline="always")(function))
