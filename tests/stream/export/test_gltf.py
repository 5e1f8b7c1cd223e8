"""The glTF writer: where its buffer's views are, and which frames become keys."""

import numpy as np

from reconstruct.pose import TrackingState
from stream.export.gltf import ARRAY_BUFFER, GltfDocument, sample_keys
from tests.support.files.gltf import parsed
from tests.support.files.takes import take


def test_accessors_start_at_multiples_of_four_and_know_their_limits() -> None:
    document = GltfDocument()
    document.accessor(np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.uint8))
    document.accessor(np.array([1, 2, 3], np.uint16))
    number = document.accessor(np.array([[1.5, -2.0, 0.25], [-4.0, 3.0, 0.25]], np.float32), ARRAY_BUFFER, limits=True)
    file = parsed(document.binary())
    what = file.tree["accessors"][number]
    assert (what["min"], what["max"], what["count"], what["type"]) == ([-4.0, -2.0, 0.25], [1.5, 3.0, 0.25], 2, "VEC3")
    assert [view["byteOffset"] for view in file.tree["bufferViews"]] == [0, 8, 16]
    assert file.tree["bufferViews"][number]["target"] == 34962
    np.testing.assert_array_equal(file.array(1)[:, 0], [1, 2, 3])
    np.testing.assert_array_equal(file.array(number), [[1.5, -2.0, 0.25], [-4.0, 3.0, 0.25]])


def test_a_take_that_begins_and_ends_lost_is_as_long_as_its_stamps() -> None:
    lost, tracked = TrackingState.LOST, TrackingState.TRACKING
    motion = take(6, states=(lost, lost, tracked, lost, tracked, lost))
    keys = sample_keys(motion)
    np.testing.assert_allclose(keys.seconds, motion.seconds[[0, 2, 4, 5]])
    np.testing.assert_array_equal(keys.root_m, motion.root_m[[2, 2, 4, 4]])
