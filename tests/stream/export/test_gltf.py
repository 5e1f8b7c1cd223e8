"""The glTF writer, byte by byte, and the signs of quaternions."""

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.pose import TrackingState
from stream.export.gltf import (
    ARRAY_BUFFER,
    GltfDocument,
    RootTrack,
    add_animation,
    build_joint_nodes,
    make_quaternions_continuous,
    sample_keys,
)
from tests.support.files.gltf import parsed
from tests.support.files.takes import take


def test_a_file_of_three_bytes_is_laid_out_as_the_specification_says() -> None:
    document = GltfDocument()
    document.tree = {"asset": {"version": "2.0"}}
    assert document.accessor(np.array([7, 8, 9], np.uint8)) == 0
    text = (
        b'{"asset":{"version":"2.0"},"accessors":[{"bufferView":0,"componentType":5121,"count":3,"type":"SCALAR"}],'
        b'"bufferViews":[{"buffer":0,"byteOffset":0,"byteLength":3}],"buffers":[{"byteLength":4}]}'
    )
    padded = text + b" " * (-len(text) % 4)
    expected = b"glTF" + struct.pack("<II", 2, 12 + 8 + len(padded) + 8 + 4)
    expected += struct.pack("<I", len(padded)) + b"JSON" + padded + struct.pack("<I", 4) + b"BIN\0" + b"\x07\x08\x09\x00"
    assert document.binary() == expected


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


def test_nodes_hold_their_way_from_the_parent() -> None:
    places = np.array([[0.0, 1.0, 0.0], [0.25, 1.0, 0.5], [-0.25, 0.5, 0.0], [0.25, 2.0, 0.5]])
    assert build_joint_nodes(["a", "b", "c", "d"], [-1, 0, 0, 1], places) == [
        {"name": "a", "translation": [0.0, 1.0, 0.0], "children": [1, 2]},
        {"name": "b", "translation": [0.25, 0.0, 0.5], "children": [3]},
        {"name": "c", "translation": [-0.25, -0.5, 0.0]},
        {"name": "d", "translation": [0.0, 1.0, 0.0]},
    ]


def test_a_take_that_begins_and_ends_lost_is_as_long_as_its_stamps() -> None:
    lost, tracked = TrackingState.LOST, TrackingState.TRACKING
    motion = take(6, states=(lost, lost, tracked, lost, tracked, lost))
    keys = sample_keys(motion)
    np.testing.assert_allclose(keys.seconds, motion.seconds[[0, 2, 4, 5]])
    np.testing.assert_array_equal(keys.root_m, motion.root_m[[2, 2, 4, 4]])


def test_all_channels_share_their_times() -> None:
    document = GltfDocument()
    turns = {0: np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)), 3: np.tile([1.0, 0.0, 0.0, 0.0], (2, 1))}
    motion = add_animation(
        document, "jump", np.array([0.0, 0.1]), turns, RootTrack(0, np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]))
    )
    assert [c["target"] for c in motion["channels"]] == [
        {"node": 0, "path": "translation"},
        {"node": 0, "path": "rotation"},
        {"node": 3, "path": "rotation"},
    ]
    assert {sampler["input"] for sampler in motion["samplers"]} == {0}


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_continuous_quaternions_are_the_same_rotations_without_jumps(seed: int, n: int) -> None:
    q = np.random.default_rng(seed).normal(size=(n, 3, 4))
    smooth = make_quaternions_continuous(q)
    np.testing.assert_array_equal(np.abs(smooth), np.abs(q))
    np.testing.assert_array_equal(smooth[0], q[0])
    signs = np.sign(smooth / q)
    assert np.all(signs == signs[..., :1])
    assert np.all((smooth[1:] * smooth[:-1]).sum(axis=-1) >= 0.0)
