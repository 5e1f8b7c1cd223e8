"""Names for arrays of one dtype, shapes and units being in the docstrings; dataclasses of read-only arrays."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Image = NDArray[np.uint8]  # (height, width, 3) BGR, or (height, width)


def make_read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous read-only view of an array, a copy where it is not contiguous.

    Kernels that get some arrays writable and others read-only are compiled for both. One that is both already is returned.
    """
    flags = array.flags
    if flags.c_contiguous and not flags.writeable:
        return array
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def is_all_finite(array: NDArray[Any]) -> bool:
    """Return whether an array holds neither NaN nor infinity; for small ones in a third of the time that `.all()` takes."""
    return bool(np.count_nonzero(np.isfinite(array)) == array.size)


class ReadOnlyArrays:
    """A dataclass that makes its arrays read-only, in every process: an unpickled one is made by its constructor, too.

    numba compiles a kernel once more for arrays that may be written to: 15 s for the solver's, and other last bits.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments."""
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
