"""Names for arrays of one dtype; shapes and units are in the docstrings."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Image = NDArray[np.uint8]  # (height, width, 3) BGR, or (height, width)
