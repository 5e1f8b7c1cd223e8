"""Clips and their pieces."""

import numpy as np
import pytest

from database.clips import clip_slice, without_frames
from tests.database.motions import smooth_clip


def test_pieces_keep_frames_and_say_where_they_began() -> None:
    clip = smooth_clip(10)
    pieces = without_frames(clip, [(2, 4), (3, 5), (8, 99)])
    assert [(p.name, p.n_frames) for p in pieces] == [("walk", 2), ("walk+5", 3)]
    np.testing.assert_array_equal(pieces[1].rotvec, clip.rotvec[5:8])
    assert without_frames(clip, [(0, 99)]) == []
    part = clip_slice(clip, 3, 6)
    assert part.n_frames == 3 and part.seconds == pytest.approx(3 / 120)
    assert not part.root_m.flags.writeable
