"""Clips and their pieces."""

import numpy as np
import pytest

from database.clips import remove_frames, slice_clip
from tests.database.motions import smooth_clip


def test_pieces_keep_frames_and_say_where_they_began() -> None:
    clip = smooth_clip(10)
    pieces = remove_frames(clip, [(2, 4), (3, 5), (8, 99)])
    assert [(p.name, p.n_frames) for p in pieces] == [("walk", 2), ("walk+5", 3)]
    np.testing.assert_array_equal(pieces[1].rotvec, clip.rotvec[5:8])
    assert remove_frames(clip, [(0, 99)]) == []
    part = slice_clip(clip, 3, 6)
    assert part.n_frames == 3 and part.seconds == pytest.approx(3 / 120)
    assert not part.root_m.flags.writeable
