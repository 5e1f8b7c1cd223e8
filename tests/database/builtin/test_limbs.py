"""Two-bone inverse kinematics: the end is at its target, the bend that of a triangle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from database.builtin.limbs import MAX_REACH, compute_bend_angle, rotate_vectors, solve_two_bones
from database.geometry.rotations import matrix_from_euler, rotation_about

UPPER, LOWER = np.array((0.02, -0.44, 0.01)), np.array((-0.01, -0.40, -0.03))
HINGE = np.array((1.0, 0.0, 0.0))


@settings(max_examples=25)
@given(st.floats(0.25, 0.82), st.floats(-1.2, 1.2), st.floats(-0.8, 0.8), st.floats(-1.5, 1.5))
def test_the_limb_ends_at_its_target_and_bends_to_its_pole(distance: float, pitch: float, roll: float, yaw: float) -> None:
    rotation = matrix_from_euler([[yaw, pitch, roll]], "yxz")
    target = distance * rotate_vectors(rotation, np.array((0.0, -1.0, 0.0)))
    pole = rotate_vectors(rotation, np.array((0.1, 0.2, 1.0)))
    upper, lower = solve_two_bones(UPPER, LOWER, HINGE, target, pole)
    knee = rotate_vectors(upper, UPPER)
    end = knee + rotate_vectors(upper @ lower, LOWER)
    assert end == pytest.approx(target, abs=1e-9)
    axis = target / distance
    # The hinge stands across the plane of target and pole, and the bend is on the pole's side.
    normal = rotate_vectors(upper, HINGE)
    assert float(np.cross(pole, target)[0] @ (normal - np.sum(normal * axis) * axis)[0]) > 0.0
    assert float(np.sum((normal - np.sum(normal * axis) * axis) * (pole - np.sum(pole * axis) * axis))) == pytest.approx(
        0.0, abs=1e-9
    )


def test_the_bend_is_that_of_a_triangle_and_stops_short_of_straight() -> None:
    a, b = np.array((0.0, -3.0, 0.0)), np.array((0.0, -4.0, 0.0))
    angle = compute_bend_angle(a, b, HINGE, np.array((5.0, 7.0, 99.0)))
    assert angle[0] == pytest.approx(np.pi / 2)  # 3, 4, 5
    longest = np.arccos(((7.0 * MAX_REACH) ** 2 - 25.0) / 24.0)
    assert angle[1:] == pytest.approx((longest, longest))
    shin = rotate_vectors(rotation_about(HINGE, angle[:1]), b)
    assert shin[0] == pytest.approx((0.0, 0.0, -4.0))  # a knee bends backward
