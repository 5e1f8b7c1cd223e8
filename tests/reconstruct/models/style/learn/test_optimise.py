"""Scaled conjugate gradients and L-BFGS: the same minima, within bounds, in a bounded number of steps."""

from collections.abc import Callable

import numpy as np
import pytest

from config.arrays import Floats
from reconstruct.models.style.learn.optimise import Optimiser, VariableBounds, minimise_value

OPTIMISERS: tuple[Optimiser, ...] = ("scg", "lbfgs")


def free(n: int) -> VariableBounds:
    return VariableBounds(np.full(n, -np.inf), np.full(n, np.inf))


def rosenbrock(z: Floats) -> tuple[float, Floats]:
    a, b = z
    return float((1.0 - a) ** 2 + 100.0 * (b - a * a) ** 2), np.array(
        [-2.0 * (1.0 - a) - 400.0 * a * (b - a * a), 200.0 * (b - a * a)]
    )


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_rosenbrock(optimiser: Optimiser) -> None:
    found = minimise_value(rosenbrock, np.array([-1.2, 1.0]), free(2), 400, optimiser, tolerance=1e-16)
    np.testing.assert_allclose(found, [1.0, 1.0], atol=1e-3)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_bounds_hold_and_the_minimum_lies_on_them(optimiser: Optimiser) -> None:
    # Least at (2, -3, 0.5); within the bounds at (1, -3, 0.5), as the bowl is round.
    seen: list[Floats] = []

    def value(z: Floats) -> tuple[float, Floats]:
        seen.append(z.copy())
        apart = z - np.array([2.0, -3.0, 0.5])
        return float(apart @ apart), 2.0 * apart

    box = VariableBounds(np.array([-1.0, -np.inf, 0.0]), np.array([1.0, np.inf, 9.0]))
    found = minimise_value(value, np.array([-5.0, 5.0, 5.0]), box, 100, optimiser, tolerance=1e-14)
    np.testing.assert_allclose(found, [1.0, -3.0, 0.5], atol=1e-4)
    assert all((z >= box.lower).all() and (z <= box.upper).all() for z in seen)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_steps_are_told_of_bounded_and_never_worse(optimiser: Optimiser) -> None:
    told: list[float] = []
    minimise_value(rosenbrock, np.array([-1.2, 1.0]), free(2), 25, optimiser, told.append)
    assert 0 < len(told) <= 25
    assert told == sorted(told, reverse=True)


def undefined_far_out(z: Floats) -> tuple[float, Floats]:
    """Return a value that is no number beyond 3."""
    return (float("nan"), np.full_like(z, np.nan)) if np.abs(z).max() > 3.0 else rosenbrock(z)


def endless(z: Floats) -> tuple[float, Floats]:
    """Return a slope that goes down for ever."""
    return -float(z.sum()), -np.ones_like(z)


@pytest.mark.parametrize("value", [undefined_far_out, endless, lambda z: (1.0, np.zeros_like(z))])
def test_scaled_conjugate_gradients_end_whatever_the_value_does(value: Callable[[Floats], tuple[float, Floats]]) -> None:
    start = np.array([-1.2, 1.0])
    found = minimise_value(value, start, free(2), 200, "scg")
    assert np.isfinite(found).all()
    assert value(found)[0] <= value(start)[0]
