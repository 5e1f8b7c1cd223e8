"""Contact sheets of pairs of views: the body enlarged and brightened, each blob circled and named."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from capture.background import Image
from capture.packets import Floats

Named = tuple[Floats, float, str]  # place [px], radius [px], name
Tile = tuple[Sequence[Image], Sequence[Sequence[Named]], int]
VIEW = (420, 520)  # width, height of a view on the sheet
COLUMNS, ROWS = 3, 2
MARGIN_PX, GAMMA = 28.0, 0.45
GREEN, RED, WHITE = (80, 230, 80), (60, 60, 255), (255, 255, 255)


def write_sheets(folder: Path, name: str, tiles: Sequence[Tile]) -> None:
    """Write sheets of six pairs: images of both views, their blobs, the number of the pair."""
    folder.mkdir(parents=True, exist_ok=True)
    each = COLUMNS * ROWS
    for first in range(0, len(tiles), each):
        drawn = [tile(*one) for one in tiles[first : first + each]]
        drawn += [np.zeros_like(drawn[0])] * (each - len(drawn))
        rows = [np.hstack(drawn[r * COLUMNS : (r + 1) * COLUMNS]) for r in range(ROWS)]
        cv2.imwrite(str(folder / f"{name}_{first // each + 1:02d}.png"), np.vstack(rows))


def tile(images: Sequence[Image], blobs: Sequence[Sequence[Named]], number: int) -> Image:
    """Draw one pair."""
    views = [view(image, named) for image, named in zip(images, blobs, strict=True)]
    drawn = np.hstack(views)
    counts = " / ".join(f"{len(named)}" for named in blobs)
    cv2.putText(drawn, f"pair {number}: {counts}", (8, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.55, WHITE, 1, cv2.LINE_AA)
    cv2.rectangle(drawn, (0, 0), (drawn.shape[1] - 1, drawn.shape[0] - 1), (90, 90, 90), 1)
    return drawn


def view(image: Image, named: Sequence[Named]) -> Image:
    """Draw one view around its blobs."""
    height, width = image.shape[:2]
    places = np.array([place for place, _, _ in named]) if named else np.array([[0.0, 0.0], [width, height]])
    low, high = places.min(axis=0) - MARGIN_PX, places.max(axis=0) + MARGIN_PX
    scale = float(min(VIEW[0] / (high[0] - low[0]), VIEW[1] / (high[1] - low[1])))
    offset = 0.5 * (np.array(VIEW) - scale * (low + high))
    bright = (255.0 * (image / 255.0) ** GAMMA).astype(np.uint8)
    M = np.array([[scale, 0.0, offset[0]], [0.0, scale, offset[1]]])
    drawn = cv2.warpAffine(bright, M, VIEW, flags=cv2.INTER_CUBIC)
    for place, radius, name in named:
        x, y = (scale * place + offset).tolist()
        color = GREEN if name else RED
        cv2.circle(drawn, (round(x), round(y)), round(scale * radius + 4), color, 1, cv2.LINE_AA)
        short = "".join(part[:2] for part in name.split("_")) if name else "?"
        at = (round(x + scale * radius + 5), round(y + 4))
        cv2.putText(drawn, short, at, cv2.FONT_HERSHEY_SIMPLEX, 0.42, color, 1, cv2.LINE_AA)
    return np.asarray(drawn)
