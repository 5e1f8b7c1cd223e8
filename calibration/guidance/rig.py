"""Guidance of somebody who moves a board before one camera or more: which views are kept, what is missing yet, what to do next.

A view is kept while the board is held still, sharp and unlike all that were kept. Enough is known when any two cameras that hold
the rig together saw it together often enough, all over their pictures, near and far, and leaning to all four sides.

The words that guide somebody with a board, as that person sees things: pictures are not mirrored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.guidance.advice import Advice, Requirement, sort_by_need
from calibration.guidance.board import COLUMNS, ROWS, Stillness, ViewShape, count_corners, measure_view_shape
from calibration.pairs import find_spanning_tree
from config.arrays import Floats
from config.settings import CAMERA_NAMES

GOOD = "good, taken"
SAME = "move or turn it a little"
HOLD = "hold still"
BLURRED = "hold still: it is blurred; more light helps"
NOTHING = "show the board to the cameras"
BOTH = "both cameras must see it"
TWO = "two cameras must see it"
ENOUGH = "that is enough"
LEANS = ("top edge", "bottom edge", "left edge", "right edge")
PLACES = ("upper left", "top", "upper right", "left", "middle", "right", "lower left", "bottom", "lower right")


CELL_CORNERS = 2  # so many corners make a cell known
ENOUGH_VIEWS, MAX_VIEWS = 14, 60
ENOUGH_COVER = 0.6  # of the cells
ENOUGH_DEPTH = 1.6  # nearest over farthest, by the board's size in the picture
ENOUGH_LEAN, LEAN_VIEWS = 0.27, 2.0  # tangent of 15 degrees, that often to each of four sides
NEAR_SIZE = 0.42  # of the picture's side: a board that was ever so large was near
STILL_PX_S = 12.0  # in a picture 640 wide: a fifth of a pixel while the other camera's shutter is 16 ms late
MAX_BLUR_PX = 2.2  # likewise
REST_NS = 500_000_000  # between two views that are kept
WIDTH_PX = 640.0


@dataclass(frozen=True, slots=True)
class KeptView:
    """Views of one moment that were kept, and how the board lay in each picture."""

    moment: BoardMoment
    shapes: tuple[ViewShape | None, ...]


class LinkedViews(NamedTuple):
    """Two cameras, by number, and how many of the kept views they share."""

    first: int
    second: int
    n_views: int


class RigGuide:
    """The views of a board that were kept so far; call `add` for every moment, in order.

    sizes: of the pictures of each camera [px]; stills: the pictures are single ones, not a film: nothing is said of motion;
    names: of the cameras.
    """

    def __init__(
        self, board: Board, sizes: Sequence[tuple[int, int]], stills: bool = False, names: Sequence[str] = CAMERA_NAMES
    ) -> None:
        self.board, self.sizes, self._stills, self.names = board, tuple(sizes), stills, tuple(names)
        self.kept: list[KeptView] = []
        self._corners = [np.zeros((ROWS, COLUMNS)) for _ in sizes]
        self._stillness = [Stillness() for _ in sizes]
        self._kept_ns: int | None = None

    @property
    def moments(self) -> tuple[BoardMoment, ...]:
        """The views that were kept."""
        return tuple(kept.moment for kept in self.kept)

    @property
    def n_shared(self) -> int:
        """Count the kept views that all cameras share; of more than two those of the weakest link between them."""
        links = self.links()
        return links[0].n_views if links else len(self.kept)

    def links(self) -> tuple[LinkedViews, ...]:
        """Return the pairs of cameras that hold the rig together by the most views that two share, weakest first."""
        seen = np.array([[shape is not None for shape in kept.shapes] for kept in self.kept], int).reshape(-1, len(self.sizes))
        n_shared = seen.T @ seen
        links = (LinkedViews(a, b, int(n_shared[a, b])) for a, b in find_spanning_tree(n_shared))
        return tuple(sorted(links, key=lambda link: link.n_views))

    @property
    def cover(self) -> tuple[Floats, ...]:
        """How well each cell of each picture is covered, (ROWS, COLUMNS) 0..1."""
        return tuple(np.minimum(corners / CELL_CORNERS, 1.0) for corners in self._corners)

    def add(self, views: Sequence[BoardView | None]) -> Advice:
        """Take what the cameras see of the board at one moment, None for nothing; return what to do."""
        speeds = [still.step(view) for still, view in zip(self._stillness, views, strict=True)]
        shapes = tuple(
            None if view is None else measure_view_shape(view, self.board, size)
            for view, size in zip(views, self.sizes, strict=True)
        )
        seen = [n for n, shape in enumerate(shapes) if shape is not None]
        if not seen:
            return self._advice(NOTHING)
        if any(not self._is_still(speeds[n][0], n) for n in seen):
            return self._advice(HOLD)
        if any(self._is_blurred(views[n], n) for n in seen):
            return self._advice(BLURRED)
        missing = [n for n in range(len(views)) if n not in seen]
        t_ns = max(view.t_ns for view in views if view is not None)
        if missing and len(seen) < 2 and not self._opens(views, seen):
            if len(self.sizes) > 2:
                return self._advice(TWO)
            return self._advice(f"{BOTH}: the {self.names[missing[0]]} one does not" if self.n_shared else BOTH)
        if not self._is_new(shapes, seen, views) or not self._rested(t_ns):
            return self._advice(self._urgent() or SAME, good=True)
        self._keep(views, shapes, [moved for _, moved in speeds], t_ns)
        return self._advice(self._urgent() or GOOD, good=True, taken=True)

    def _is_still(self, speed_px_s: float, camera: int) -> bool:
        """Return whether the board is held still; not yet where that is unknown."""
        return self._stills or speed_px_s <= STILL_PX_S * self.sizes[camera][0] / WIDTH_PX

    def _is_blurred(self, view: BoardView | None, camera: int) -> bool:
        """Return whether a view's edges are too wide to be measured; one that does not say is taken for sharp."""
        return view is not None and view.blur_px > MAX_BLUR_PX * max(self.sizes[camera][0] / WIDTH_PX, 1.0)

    def _rested(self, t_ns: int) -> bool:
        """Return whether the last view was kept long enough ago."""
        return self._stills or self._kept_ns is None or not 0 <= t_ns - self._kept_ns < REST_NS

    def _opens(self, views: Sequence[BoardView | None], seen: Sequence[int]) -> bool:
        """Return whether a view of one camera alone shows where nothing was seen yet: the lens is learned from it all the
        same.
        """
        for n in seen:
            view = views[n]
            if view is not None and int(((count_corners(view, self.sizes[n]) > 0) & (self._corners[n] == 0)).sum()) >= 2:
                return True
        return False

    def _is_new(self, shapes: Sequence[ViewShape | None], seen: Sequence[int], views: Sequence[BoardView | None]) -> bool:
        """Return whether a view is unlike all that were kept, in some camera, or shows new parts of a picture."""
        if len(self.kept) >= MAX_VIEWS * max(len(self.sizes) - 1, 1):
            return False
        alike = [kept for kept in self.kept if all((kept.shapes[n] is not None) == (n in seen) for n in range(len(self.sizes)))]
        return all(max(_compute_distance(shapes[n], kept.shapes[n]) for n in seen) >= 1.0 for kept in alike) or self._opens(
            views, seen
        )

    def _keep(
        self, views: Sequence[BoardView | None], shapes: Sequence[ViewShape | None], moved_px: Sequence[float], t_ns: int
    ) -> None:
        """Keep a view."""
        known = [
            None if view is None or shape is None else replace(view, moved_px=float("nan") if self._stills else moved)
            for view, shape, moved in zip(views, shapes, moved_px, strict=True)
        ]
        for n, view in enumerate(known):
            if view is not None:
                self._corners[n] += count_corners(view, self.sizes[n])
        self.kept.append(KeptView(BoardMoment(tuple(known)), tuple(shapes)))
        self._kept_ns = t_ns

    def _urgent(self) -> str:
        """Return in words what is needed most."""
        views, others = self._view_needs(), self._other_needs()
        for need in (*sort_by_need(others), *sort_by_need(views)):
            if need.have < 1.0 and need.words:
                return need.words
        return ENOUGH if self.done else ""

    def needs(self) -> tuple[Requirement, ...]:
        """Return all that is needed, and how much of it there is."""
        return (*self._view_needs(), *self._other_needs())

    def _view_needs(self) -> tuple[Requirement, ...]:
        """Return the requirements of views that cameras share; of more than two, one a pair that holds the rig together."""
        if len(self.sizes) <= 2:
            words = "turn and move it a little further" if self.kept else ""
            return (Requirement("views", self.n_shared / ENOUGH_VIEWS, words, f"{self.n_shared} of {ENOUGH_VIEWS}"),)
        needs = []
        for link in self.links():
            one, other = self.names[link.first], self.names[link.second]
            words, n = f"hold it where the {one} and the {other} camera see it together", link.n_views
            needs.append(Requirement(f"{one} and {other}", n / ENOUGH_VIEWS, words, f"{n} of {ENOUGH_VIEWS}"))
        return tuple(needs)

    def _other_needs(self) -> tuple[Requirement, ...]:
        """Return the requirements of pictures, distances and tilts."""
        return (*(self._cover_need(n) for n in range(len(self.sizes))), self._depth_need(), self._lean_need())

    @property
    def done(self) -> bool:
        """Whether nothing more is needed."""
        return all(need.have >= 1.0 for need in self.needs())

    @property
    def depths(self) -> tuple[float, float]:
        """Size of the board in the picture, farthest and nearest of what was kept, share of its side; 0 before the first."""
        sizes = [shape.size for kept in self.kept for shape in kept.shapes if shape is not None]
        return (min(sizes), max(sizes)) if sizes else (0.0, 0.0)

    def leans(self) -> Floats:
        """Return how often the board leant to each of LEANS, counted so far as needed, by the camera that saw least, (4,)."""
        by_camera = []
        for n in range(len(self.sizes)):
            leans = np.array([kept.shapes[n].lean for kept in self.kept if kept.shapes[n] is not None]).reshape(-1, 2)  # type: ignore[union-attr]
            sides = np.column_stack([-leans[:, 1], leans[:, 1], -leans[:, 0], leans[:, 0]])
            by_camera.append(np.clip(sides / ENOUGH_LEAN, 0.0, 1.0).round(2).sum(axis=0))
        return np.asarray(np.min(by_camera, axis=0))

    def _cover_need(self, camera: int) -> Requirement:
        """Return the requirement that a picture is covered, how much of it was, and where nothing was."""
        cover = self.cover[camera]
        share = float(cover.mean())
        name = f"{self.names[camera]} picture" if len(self.sizes) > 1 else "picture"
        words = f"show it in the {_find_emptiest_part(cover)} of the {name}"
        return Requirement(name, share / ENOUGH_COVER, words, f"{100 * share:.0f} %")

    def _depth_need(self) -> Requirement:
        """Return the requirement of near and far views, and how far they are apart."""
        far, near = self.depths
        ratio = near / far if far > 0.0 else 1.0
        have = float(np.log(max(ratio, 1.0)) / np.log(ENOUGH_DEPTH))
        words = "come nearer: only far views so far" if near < NEAR_SIZE else "go farther away: only near views so far"
        return Requirement("near and far", have, words if self.kept else "", f"{ratio:.1f} times")

    def _lean_need(self) -> Requirement:
        """Return the requirement that the board leans to all sides, and to which it has."""
        leans = np.minimum(self.leans() / LEAN_VIEWS, 1.0)
        words = f"tilt more: lean the {LEANS[int(np.argmin(leans))]} towards the cameras" if self.kept else ""
        have = float(leans.mean()) if leans.min() < 1.0 else 1.0
        return Requirement("tilt", have, words, f"{int((leans >= 1.0).sum())} of 4 sides")

    def _advice(self, words: str, good: bool = False, taken: bool = False) -> Advice:
        """Return what to tell the person who holds the board."""
        done = self.done
        shared = self.n_shared
        views = f"{shared} view" + ("" if shared == 1 else "s")
        if len(self.sizes) > 2:
            weakest = self.links()[0]
            counts = f"{views} by {self.names[weakest.first]} and {self.names[weakest.second]}, {len(self.kept)} in all"
        elif len(self.sizes) > 1:
            lone = len(self.kept) - shared
            counts = f"{views} by both cameras" + (f", {lone} by one" if lone else "")
        else:
            counts = views
        return Advice(ENOUGH if done else words, good or done, taken, self.needs(), counts, done, self.cover)


def _compute_distance(one: ViewShape | None, other: ViewShape | None) -> float:
    """Return how different two views are."""
    return np.inf if one is None or other is None else one.distance(other)


def _find_emptiest_part(cover: NDArray[np.float64]) -> str:
    """Return the part of a picture, of 3 x 3, where least was covered; of alike ones a corner, where lenses bend most."""
    rows, columns = np.array_split(np.arange(ROWS), 3), np.array_split(np.arange(COLUMNS), 3)
    shares = [float(cover[np.ix_(r, c)].mean()) for r in rows for c in columns]
    order = (0, 2, 6, 8, 1, 7, 3, 5, 4)
    return PLACES[min(order, key=lambda n: (round(shares[n], 3), order.index(n)))]
