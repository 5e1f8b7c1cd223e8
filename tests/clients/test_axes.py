"""Axes of other systems: the table of docs/conventions.md, rotations that turn what they should, left that stays left."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tests.support.axes import BLENDER, GLTF, OPENSIM, SYSTEMS, UNITY, UNREAL, AxisSystem

# As docs/conventions.md writes them, for the place (1, 2, 3) and the quaternion (.1, .2, .3, .9).
TABLE = [
    (GLTF, (1, 2, 3), (0.1, 0.2, 0.3, 0.9)),
    (UNITY, (-1, 2, 3), (0.1, -0.2, -0.3, 0.9)),
    (UNREAL, (100, 300, 200), (-0.1, -0.3, -0.2, 0.9)),
    (BLENDER, (1, -3, 2), (0.1, -0.3, 0.2, 0.9)),
    (OPENSIM, (3, 2, -1), (0.3, 0.2, -0.1, 0.9)),
]
unit = st.lists(st.floats(-1, 1), min_size=4, max_size=4).map(np.array).filter(lambda q: np.linalg.norm(q) > 0.1)
place = st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize(("system", "position", "quaternion"), TABLE, ids=lambda value: getattr(value, "name", ""))
def test_the_table(system: AxisSystem, position: tuple[float, ...], quaternion: tuple[float, ...]) -> None:
    np.testing.assert_allclose(system.positions([1.0, 2.0, 3.0]), position)
    np.testing.assert_allclose(system.quaternions([0.1, 0.2, 0.3, 0.9]), quaternion)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
@settings(max_examples=10)
@given(first=unit, second=unit, p=place)
def test_rotating_then_converting_is_converting_then_rotating(
    system: AxisSystem, first: np.ndarray, second: np.ndarray, p: np.ndarray
) -> None:
    a, b = Rotation.from_quat(first), Rotation.from_quat(second)
    theirs_a, theirs_b = (Rotation.from_quat(system.quaternions(r.as_quat())) for r in (a, b))
    np.testing.assert_allclose(theirs_a.apply(system.positions(p)), system.positions(a.apply(p)), atol=1e-9 * system.scale)
    both = Rotation.from_quat(system.quaternions((a * b).as_quat()))
    np.testing.assert_allclose((theirs_a * theirs_b).as_matrix(), both.as_matrix(), atol=1e-9)


# Where each system's own characters have their left hand, head and nose, by its documentation.
DIRECTIONS = [
    (GLTF, (1, 0, 0), (0, 1, 0), (0, 0, 1)),
    (UNITY, (-1, 0, 0), (0, 1, 0), (0, 0, 1)),
    (UNREAL, (1, 0, 0), (0, 0, 1), (0, 1, 0)),
    (BLENDER, (1, 0, 0), (0, 0, 1), (0, -1, 0)),
    (OPENSIM, (0, 0, -1), (0, 1, 0), (1, 0, 0)),
]


@pytest.mark.parametrize(("system", "left", "up", "forward"), DIRECTIONS, ids=lambda value: getattr(value, "name", ""))
def test_left_up_and_forward_are_theirs(
    system: AxisSystem, left: tuple[int, ...], up: tuple[int, ...], forward: tuple[int, ...]
) -> None:
    ours = np.eye(3)  # left is +X, up +Y, forward +Z
    np.testing.assert_allclose(system.positions(ours) / system.scale, [left, up, forward])
