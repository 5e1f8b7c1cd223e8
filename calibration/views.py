"""What is seen of a board: its corners in one picture, and the pictures of both cameras that show it in one place."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board in one picture.

    corners_px: raw image points in the board's order, (N, 2) [px], anything where not seen; seen: (N,); t_ns: when it was taken
    (by number where nothing better is known); name: of the picture, for words; blur_px: width of its edges, as a Gaussian's
    standard deviation [px]; moved_px: how far the corners moved since the picture before, NaN where that is unknown [px];
    legacy: layout of the ChArUco board that was seen; velocity_px_s: of each corner, (N, 2) [px/s], None where unknown.
    """

    corners_px: Floats
    seen: NDArray[np.bool_]
    t_ns: int = 0
    name: str = ""
    blur_px: float = float("nan")
    moved_px: float = float("nan")
    legacy: bool = False
    velocity_px_s: Floats | None = None

    def __post_init__(self) -> None:
        self.corners_px.setflags(write=False)
        self.seen.setflags(write=False)
        if self.velocity_px_s is not None:
            self.velocity_px_s.setflags(write=False)

    @property
    def n_seen(self) -> int:
        """Count the corners seen."""
        return int(self.seen.sum())


@dataclass(frozen=True, slots=True)
class ViewPair:
    """The board in one place, as both cameras or one of them saw it; None: not seen by that camera."""

    left: BoardView | None
    right: BoardView | None

    @property
    def views(self) -> tuple[BoardView | None, BoardView | None]:
        """Both, left first."""
        return self.left, self.right

    @property
    def n_shared(self) -> int:
        """Count the corners that both cameras see."""
        return 0 if self.left is None or self.right is None else int((self.left.seen & self.right.seen).sum())
