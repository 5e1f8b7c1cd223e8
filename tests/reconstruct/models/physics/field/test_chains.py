"""Chains of examples: as long, as far and as turned as wanted, of stretches that fit, and on ground that bears them."""

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from database.builtin.catalog import make_builtin_clip
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.field.chains import (
    ExampleChain,
    Ground,
    MotionGraph,
    build_motion_graph,
    find_nearest_chain,
    lay_chain,
)
from reconstruct.models.physics.field.examples import build_example_bank
from reconstruct.models.physics.field.field import ExampleMotions
from reconstruct.models.physics.field.prepare import prepare_field_motion
from reconstruct.models.physics.field.state import compute_units
from reconstruct.models.physics.field.train import FPS
from reconstruct.models.physics.synthesis.kinematics import compute_joint_positions

LEARNED = 240  # frames of the example: 4 s
EARTH = Ground(9.81, 0.8)


@pytest.fixture(scope="module")
def walk():
    return prepare_field_motion(make_builtin_clip("walk"), 70.0)


@pytest.fixture(scope="module")
def dynamics(walk) -> Dynamics:
    return Dynamics(build_body(walk.skeleton, 70.0))


@pytest.fixture(scope="module")
def graph(walk, dynamics) -> MotionGraph:
    q = walk.q[:LEARNED].astype(np.float32)
    examples = ExampleMotions(q, np.array([0, LEARNED]), walk.parts[:LEARNED], walk.level_m[None], np.eye(72), FPS)
    return build_motion_graph(build_example_bank(examples, compute_units(dynamics.body)), dynamics)


def _find(graph: MotionGraph, ends: np.ndarray, seconds: float, ground: Ground = EARTH) -> ExampleChain:
    return find_nearest_chain(graph, ends[0], ends[1], seconds, None, ground)


def test_a_part_of_an_example_is_found_as_it_is(graph, walk, dynamics):
    q = walk.q[60:180]
    chain = _find(graph, q[[0, -1]], (len(q) - 1) / FPS)
    laid, parts = lay_chain(dynamics, graph.bank, chain, q[[0, -1]], len(q))
    np.testing.assert_allclose(compute_joint_positions(dynamics, laid), compute_joint_positions(dynamics, q), atol=0.02)
    assert (parts == walk.parts[60:180]).mean() > 0.97


def test_a_chain_is_longer_than_its_example_and_hangs_together(graph, walk, dynamics):
    seconds, ends = 9.0, np.array([walk.q[40], walk.q[40]])
    ends[1, :3] += 2.2 * (walk.q[LEARNED - 1, :3] - walk.q[0, :3]) * (1.0, 0.0, 1.0)
    chain = _find(graph, ends, seconds)
    assert (chain.last - chain.first).sum() > 1.5 * LEARNED
    laid, parts = lay_chain(dynamics, graph.bank, chain, ends, round(seconds * FPS) + 1)
    place = compute_joint_positions(dynamics, laid)
    np.testing.assert_allclose(place[[0, -1]], compute_joint_positions(dynamics, ends), atol=1e-6)
    fastest = np.linalg.norm(np.diff(compute_joint_positions(dynamics, walk.q), axis=0), axis=2).max()
    assert np.linalg.norm(np.diff(place, axis=0), axis=2).max() < 2.0 * fastest
    assert 0.3 < parts.any(axis=2).mean() < 0.9  # it walks: each foot is down some of the time


def test_on_ice_a_chain_of_the_same_length_pushes_less(graph, walk):
    ends = np.array([walk.q[40], walk.q[40]])
    ends[1, :3] += 0.5 * (walk.q[LEARNED - 1, :3] - walk.q[0, :3]) * (1.0, 0.0, 1.0)
    chains = {friction: _find(graph, ends, 4.0, Ground(9.81, friction)) for friction in (0.8, 0.02)}
    assert chains[0.02].distance > chains[0.8].distance
    pushes = {friction: _measure_push(graph, chain) for friction, chain in chains.items()}
    assert pushes[0.02] <= pushes[0.8]


def _measure_push(graph: MotionGraph, chain: ExampleChain) -> float:
    """Return the mean acceleration along the ground of a chain, per squared tempo [m/s^2]."""
    rows = np.concatenate([np.arange(a, b) for a, b in zip(chain.first, chain.last, strict=True)])
    steps = np.clip(np.searchsorted(graph.row, rows, side="right") - 1, 0, None)
    return float(graph.push_m_s2[steps, :, 0].mean() * (len(rows) / 240.0) ** 2)
