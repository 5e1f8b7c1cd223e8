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
