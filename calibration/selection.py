"""Choose the views that determine the cameras best: sharp and still ones, no two alike, greedily by what each one adds.

A view's worth is its Fisher information on both cameras' lenses and on how they stand to each other, its own place eliminated;
the next view is the one that most raises the determinant of the sum (D-optimal design: Fedorov 1972). Corners of the image, tilt,
distance and roll pay by themselves, since they are what tells focal length, centre and distortion apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.selection_worth import N_RIG, nominal_cameras, pair_information
from calibration.views import BoardView, ViewPair
from database.rotations import Floats

Size = tuple[int, int]

N_VIEWS = 40
MIN_CORNERS = 8  # of a view; fewer determine no place of the board that is worth having
BLUR_TIMES = 2.5  # of the median blur: a picture that much softer than the others is out of focus or smeared
BLUR_PX = 2.0  # below this, no picture is too soft
MOVED_PX = 6.0  # between two pictures: the board is smeared, and corners of two cameras belong to two moments
ALIKE_SHARE = 0.006  # of the image's width, by which all corners of two views differ at most where they are one view
PRIOR = 1e-4  # information that is there before the first view, in units of the first view's mean


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen pairs in order of time, and in words what was left out and why."""

    pairs: tuple[ViewPair, ...]
    words: tuple[str, ...]


def selected(
    pairs: Sequence[ViewPair], sizes: tuple[Size, Size], board: Board, n_views: int = N_VIEWS, *, still_only: bool = True
) -> Selection:
    """Choose at most `n_views` pairs.

    sizes: of both cameras' images [px]; still_only: leave out views in motion where enough others are there (not where the
    cameras' time offset is to be solved for, which takes motion).
    """
    words: list[str] = []
    usable = _without_poor(pairs, still_only, n_views, words)
    distinct = _without_alike(usable, sizes, words)
    chosen = _most_informative(distinct, sizes, board, n_views)
    if len(chosen) < len(distinct):
        words.append(f"{len(chosen)} of {len(distinct)} distinct views are used: those that determine the cameras best")
    return Selection(tuple(distinct[i] for i in sorted(chosen)), tuple(words))


def _without_poor(pairs: Sequence[ViewPair], still_only: bool, n_views: int, words: list[str]) -> list[ViewPair]:
    """Leave out views of too few corners, blurred ones and, where enough remain, moving ones."""
    blurs = [view.blur_px for pair in pairs for view in pair.views if view is not None and np.isfinite(view.blur_px)]
    limit_px = max(BLUR_PX, BLUR_TIMES * float(np.median(blurs))) if blurs else np.inf
    few = _mask(pairs, lambda view: view.n_seen < MIN_CORNERS)
    blurred = _mask(pairs, lambda view: view.blur_px > limit_px)
    moving = _mask(pairs, lambda view: still_only and view.moved_px > MOVED_PX)
    if np.count_nonzero(~(few | blurred | moving)) < n_views // 2:
        moving[:] = False  # what moves is worth less, but more than nothing
    _say(words, few, f"show fewer than {MIN_CORNERS} corners", pairs)
    _say(words, blurred & ~few, f"are blurred by more than {limit_px:.1f} px", pairs)
    _say(words, moving & ~few & ~blurred, f"moved by more than {MOVED_PX:g} px while taken", pairs)
    bad = few | blurred | moving
    return [kept for pair, drop in zip(pairs, bad, strict=True) if (kept := _reduced(pair, drop)) is not None]


def _mask(pairs: Sequence[ViewPair], is_so: Callable[[BoardView], bool]) -> NDArray[np.bool_]:
    """Tell of which views something holds, (P, 2)."""
    return np.array([[view is not None and bool(is_so(view)) for view in pair.views] for pair in pairs], bool).reshape(-1, 2)


def _reduced(pair: ViewPair, drop: NDArray[np.bool_]) -> ViewPair | None:
    """Give a pair without the views to drop, None where nothing remains."""
    if not drop.any():
        return pair
    left, right = (None if out else view for view, out in zip(pair.views, drop, strict=True))
    return None if left is None and right is None else replace(pair, left=left, right=right)


def _say(words: list[str], which: NDArray[np.bool_], what: str, pairs: Sequence[ViewPair]) -> None:
    """Add a line on what was left out, with names where they are few."""
    rows = [zip(pair.views, row, strict=True) for pair, row in zip(pairs, which, strict=True)]
    names = [view.name for row in rows for view, out in row if out and view is not None]
    if names:
        listed = ", ".join(name for name in names[:3] if name) + (", ..." if len(names) > 3 else "")
        words.append(f"{len(names)} views left out that {what}" + (f" ({listed})" if any(names) else ""))


def _without_alike(pairs: Sequence[ViewPair], sizes: tuple[Size, Size], words: list[str]) -> list[ViewPair]:
    """Keep one of every group of views whose corners all lie in nearly the same places: the one that is worth most."""
    kept: list[ViewPair] = []
    for pair in sorted(pairs, key=_rank):
        if not any(_alike(pair, other, sizes) for other in kept):
            kept.append(pair)
    if len(kept) < len(pairs):
        words.append(f"{len(pairs) - len(kept)} views left out that are nearly the same as others")
    order = {id(pair): i for i, pair in enumerate(pairs)}
    return sorted(kept, key=lambda pair: order[id(pair)])


def _rank(pair: ViewPair) -> tuple[int, float]:
    """Sort pairs that both cameras see, and still and sharp ones, first."""
    views = [view for view in pair.views if view is not None]
    return -len(views), max(float(np.nan_to_num(view.moved_px)) + float(np.nan_to_num(view.blur_px)) for view in views)


def _alike(a: ViewPair, b: ViewPair, sizes: tuple[Size, Size]) -> bool:
    """Tell whether `a` shows nothing that `b` does not: the same corners in the same places, in every camera that has them."""
    for one, other, size in zip(a.views, b.views, sizes, strict=True):
        if one is None:
            continue
        if other is None or np.any(one.seen & ~other.seen):
            return False
        apart = np.abs(one.corners_px[one.seen] - other.corners_px[one.seen])
        if apart.max() > ALIKE_SHARE * size[0]:
            return False
    return True


def _most_informative(pairs: Sequence[ViewPair], sizes: tuple[Size, Size], board: Board, n_views: int) -> list[int]:
    """Choose greedily by the determinant of the summed information; what is no better than nothing comes last."""
    if len(pairs) <= n_views:
        return list(range(len(pairs)))
    cameras = nominal_cameras(pairs, sizes, board)
    worth = np.stack([pair_information(pair, cameras, board) for pair in pairs])
    two = all(any(pair.views[c] is not None for pair in pairs) for c in range(2))
    used = np.arange(N_RIG) if two else _own_parameters(pairs)
    worth = worth[:, used][:, :, used]
    scale = 1.0 / np.sqrt(np.maximum(np.einsum("vii->i", worth) / len(worth), 1e-300))
    worth = worth * scale[:, None] * scale[None, :]
    return _greedy(worth, n_views)


def _own_parameters(pairs: Sequence[ViewPair]) -> NDArray[np.int64]:
    """Give the parameters of the one camera that sees anything."""
    camera = 0 if any(pair.left is not None for pair in pairs) else 1
    half = (N_RIG - 6) // 2
    return np.arange(half) + camera * half


def _greedy(worth: Floats, n_views: int) -> list[int]:
    """Give the views that one by one raise the determinant most, worth: (V, P, P)."""
    total = PRIOR * np.eye(worth.shape[1])
    chosen: list[int] = []
    left = np.ones(len(worth), bool)
    for _ in range(n_views):
        gains = np.where(left, np.linalg.slogdet(total + worth)[1], -np.inf)
        best = int(np.argmax(gains))
        chosen.append(best)
        left[best] = False
        total = total + worth[best]
    return chosen
