"""The places where a board lay: views of one that does not move, averaged corner by corner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_pose import MIN_CORNERS
from calibration.camera import Camera, Rig
from calibration.views import BoardView, ViewPair
from database.rotations import Floats

Bools = NDArray[np.bool_]
SAME_PX = 2.0  # a board that stays where it is moves less than this, median of its corners
MOVING_PX = 1.5  # from one picture to the next: a board in a hand


@dataclass(frozen=True, slots=True)
class Place:
    """A board in one place. px: mean corners by camera, (2, N, 2) [px]; seen: (2, N); n_pictures: how many were averaged;
    name: of the first picture, for words.
    """

    px: Floats
    seen: Bools
    n_pictures: int
    name: str

    @property
    def n_cameras(self) -> int:
        """Count the cameras that see enough of it."""
        return int((self.seen.sum(axis=1) >= MIN_CORNERS).sum())

    @property
    def swapped(self) -> "Place":
        """Give it as it would be if left were right."""
        return replace(self, px=self.px[::-1], seen=self.seen[::-1])

    @property
    def words(self) -> str:
        """Name it."""
        return f"the board in {self.name}" + (f" and {self.n_pictures - 1} more pictures" if self.n_pictures > 1 else "")

    def views(self, rig: Rig) -> Iterator[tuple[Camera, Floats, Bools]]:
        """Give the cameras that see it with what they see."""
        for k, camera in enumerate(rig.cameras[: 1 if rig.is_lone else 2]):
            if self.seen[k].sum() >= MIN_CORNERS:
                yield camera, self.px[k], self.seen[k]


def places_of(board: Board, pairs: Sequence[ViewPair]) -> list[Place]:
    """Give the places of a board, that of most pictures first; views in which it moves are left out where there are others.

    A chessboard with even sides may be numbered from either end: two views of one place may differ by half a turn.
    """
    usable = [pair for pair in pairs if any(view is not None and view.n_seen >= MIN_CORNERS for view in pair.views)]
    still = [pair for pair in usable if not _moves(pair)]
    groups: list[list[ViewPair]] = []
    for pair in still or usable:
        group = next((group for group in groups if _same(group[-1], pair) or _same(group[0], pair)), None)
        if group is None:
            groups.append([pair])
        else:
            group.append(pair)
    places = [_averaged(board, group) for group in groups]
    return sorted((place for place in places if place.n_cameras), key=lambda place: -place.n_pictures)


def _moves(pair: ViewPair) -> bool:
    """Tell whether the board moves in a pair, as far as that is known."""
    return any(view is not None and np.isfinite(view.moved_px) and view.moved_px > MOVING_PX for view in pair.views)


def _same(one: ViewPair, other: ViewPair) -> bool:
    """Tell whether the board lies in the same place in two pairs, as far as a camera sees it in both."""
    told = False
    for a, b in zip(one.views, other.views, strict=True):
        if a is None or b is None or not (both := a.seen & b.seen).any():
            continue
        if float(np.median(np.linalg.norm((a.corners_px - b.corners_px)[both], axis=1))) > SAME_PX:
            return False
        told = True
    return told


def _averaged(board: Board, group: Sequence[ViewPair]) -> Place:
    """Average the views of one place; the median, so that a hand in one picture does not matter."""
    px, seen = np.zeros((2, len(board), 2)), np.zeros((2, len(board)), bool)
    for camera in range(2):
        views = [view for pair in group if (view := pair.views[camera]) is not None]
        if views:
            px[camera], seen[camera] = _median(views)
    first = next(view for view in group[0].views if view is not None)
    return Place(px, seen, len(group), first.name or "the first picture")


def _median(views: Sequence[BoardView]) -> tuple[Floats, Bools]:
    """Give each corner's median place, and which are seen in any."""
    seen = np.stack([view.seen for view in views])
    corners = np.where(seen[..., None], np.stack([view.corners_px for view in views]), np.nan)
    known = np.asarray(seen.any(axis=0))
    result = np.zeros(corners.shape[1:])
    result[known] = np.nanmedian(corners[:, known], axis=0)
    return result, known
