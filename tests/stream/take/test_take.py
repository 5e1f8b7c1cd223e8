"""Takes: parts of them, and the same motion on the spot."""

from dataclasses import replace

import numpy as np
import pytest

from config.errors import DuocapError
from stream.take.take import cut_take, remove_root_motion
from tests.support.files.takes import take, tracks


def test_parts_begin_at_zero_with_their_markers() -> None:
    motion = replace(take(5, np.array([0.0, 0.1, 0.25, 0.3, 0.4])), markers=tracks([True] * 5, [0.0, 1.0, 2.0, 3.0, 4.0]))
    part = cut_take(motion, 0.1, 0.3)
    assert part.seconds.tolist() == pytest.approx([0.0, 0.15, 0.2]) and part.root_m.tolist() == motion.root_m[1:4].tolist()
    assert part.markers is not None and part.markers.point_m[:, 0, 0].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(DuocapError, match=r"nothing is left from 0\.5 to 0\.9 s; the recording is 0\.4"):
        cut_take(motion, 0.5, 0.9)


def test_on_the_spot_only_heights_are_left() -> None:
    motion = replace(take(5), markers=tracks([True, True, False, True, True], [0.0, 1.0, 0.0, 3.0, 4.0]))
    still = remove_root_motion(motion)
    assert not still.root_m[:, [0, 2]].any() and still.root_m[:, 1].tolist() == motion.root_m[:, 1].tolist()
    assert still.markers is not None and motion.markers is not None
    np.testing.assert_allclose(
        still.markers.point_m[:, 0] - still.root_m,
        np.where(motion.markers.valid, motion.markers.point_m[:, 0] - motion.root_m, -still.root_m),
        atol=1e-12,
    )
    np.testing.assert_allclose(np.diff(still.positions_m()[0], axis=0), np.diff(motion.positions_m()[0], axis=0), atol=1e-12)
