"""The columns of one camera to eight: within the scene, none over another, and a part of the scene left where there is room."""

from itertools import combinations

import pytest

from stream.viewer.tuning.panel import MAX_COLUMN_PX, SCENE_PX, TEXT_PX, place_columns


@pytest.mark.parametrize("room_px", [(960, 720), (1280, 900), (780, 640)])
@pytest.mark.parametrize("n", range(1, 9))
def test_columns_do_not_cover_each_other(n: int, room_px: tuple[int, int]) -> None:
    width, height = room_px
    places = place_columns(n, room_px)
    boxes = []
    for place in places:
        left = place.x if place.x > 0 else width + place.x - place.width
        boxes.append((left, place.y, left + place.width, place.y + (place.height or height - place.y)))
        assert place.width <= MAX_COLUMN_PX and (place.height is None or place.height > 0.75 * place.width)
    assert all(x0 >= 0 and x1 <= width and y0 >= 0 and y1 <= height for x0, y0, x1, y1 in boxes)
    for (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) in combinations(boxes, 2):
        assert ax1 <= bx0 or bx1 <= ax0 or ay1 <= by0 or by1 <= ay0
    free_px = min(x0 for x0, *_ in boxes if x0 >= width / 2) - max(x1 for *_, x1, _ in boxes if x1 <= width / 2) if n > 1 else 0
    if n in (2, 3, 4):
        assert free_px >= SCENE_PX or n == 3


def test_two_rows_of_columns_have_room_for_picture_and_words() -> None:
    assert all(
        place.height is not None and 0.75 * place.width + TEXT_PX <= place.height + 1 for place in place_columns(4, (1280, 900))
    )
    assert [place.height for place in place_columns(2, (960, 720))] == [None, None]
