"""Lens models: which of a camera's nine numbers are free, from a bare pinhole to five coefficients of distortion."""

from dataclasses import dataclass

import numpy as np

from calibration.rig_solution import INTRINSICS
from database.rotations import Floats

N_INTRINSICS = len(INTRINSICS)


@dataclass(frozen=True, slots=True)
class LensModel:
    """A lens model.

    coefficients: names of the distortion coefficients that are free; square: pixels are square, fx = fy; held: nothing is free.
    """

    coefficients: tuple[str, ...] = ()
    square: bool = True
    held: bool = False

    @property
    def directions(self) -> Floats:
        """How the nine numbers (fx, fy, cx, cy, k1, k2, p1, p2, k3) move with the free ones, (9, n)."""
        if self.held:
            return np.zeros((N_INTRINSICS, 0))
        eye = np.eye(N_INTRINSICS)
        focal = [eye[0] + eye[1]] if self.square else [eye[0], eye[1]]
        rest = [eye[INTRINSICS.index(name)] for name in ("cx", "cy", *self.coefficients)]
        return np.stack([*focal, *rest], axis=1)

    @property
    def n_free(self) -> int:
        """Count the free numbers."""
        return 0 if self.held else (3 if self.square else 4) + len(self.coefficients)

    @property
    def words(self) -> str:
        """Say it, such as `k1 k2, fx = fy`."""
        return ("held" if self.held else " ".join(self.coefficients) or "no distortion") + (", fx = fy" if self.square else "")


LEVELS: tuple[tuple[str, ...], ...] = ((), ("k1",), ("k1", "k2"), ("k1", "k2", "p1", "p2"), ("k1", "k2", "p1", "p2", "k3"))
HELD = LensModel(held=True, square=False)
