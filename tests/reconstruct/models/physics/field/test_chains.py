"""Chains of examples: as long, as far and as turned as wanted, of stretches that fit, and on ground that bears them."""

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from config.joints import JOINT_INDEX
from database.builtin.catalog import make_builtin_clip
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics, find_joint_rows
from reconstruct.models.physics.field.chains import (
    ExampleChain,
    Ground,
    find_nearest_chain,
    lay_chain,
)
from reconstruct.models.physics.field.examples import BEND_S, average_examples, build_example_bank
from reconstruct.models.physics.field.field import ExampleMotions
from reconstruct.models.physics.field.graph import MotionGraph, build_motion_graph
from reconstruct.models.physics.field.prepare import prepare_field_motion
from reconstruct.models.physics.field.state import compute_units
from reconstruct.models.physics.field.train import FPS
from reconstruct.models.physics.synthesis.kinematics import compute_joint_positions
from reconstruct.models.physics.synthesis.problem import ExampleMotion

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
    return build_motion_graph(build_example_bank(examples, dynamics, compute_units(dynamics.body)), dynamics)


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


def test_an_end_of_another_height_raises_what_is_next_to_it_only(graph, walk, dynamics):
    q = walk.q[60:180]
    ends = q[[0, -1]].copy()
    ends[1, 1] += 0.2
    laid, _ = lay_chain(dynamics, graph.bank, _find(graph, q[[0, -1]], (len(q) - 1) / FPS), ends, len(q))
    over = laid[:, 1] - q[:, 1]
    assert over[-1] == pytest.approx(0.2, abs=1e-6)
    assert np.abs(over[: -round(BEND_S * FPS)]).max() < 0.01


def test_on_ice_a_chain_of_the_same_length_pushes_less(graph, walk):
    ends = np.array([walk.q[40], walk.q[40]])
    ends[1, :3] += 0.5 * (walk.q[LEARNED - 1, :3] - walk.q[0, :3]) * (1.0, 0.0, 1.0)
    chains = {friction: _find(graph, ends, 4.0, Ground(9.81, friction)) for friction in (0.8, 0.02)}
    assert chains[0.02].distance > chains[0.8].distance
    pushes = {friction: _measure_push(graph, chain) for friction, chain in chains.items()}
    assert pushes[0.02] <= pushes[0.8]


def test_a_body_that_stands_stays_for_as_long_as_is_wanted(walk, dynamics):
    still = np.repeat(walk.q[40:41], 40, axis=0).astype(np.float32)
    parts = np.repeat(walk.parts[40:41], 40, axis=0)
    examples = ExampleMotions(still, np.array([0, 40]), parts, walk.level_m[None], np.eye(72), FPS)
    stands = build_motion_graph(build_example_bank(examples, dynamics, compute_units(dynamics.body)), dynamics)
    chain = _find(stands, walk.q[[40, 40]], 5.0)
    laid, _ = lay_chain(dynamics, stands.bank, chain, walk.q[[40, 40]], round(5.0 * FPS) + 1)
    assert chain.frames.sum() > 4.0 * FPS and chain.distance < 1.0
    assert np.abs(np.diff(compute_joint_positions(dynamics, laid), axis=0)).max() < 1e-3


def test_hips_follow_a_way(graph, walk):
    ends = walk.q[[40, LEARNED - 1]]
    n = LEARNED - 40
    way = walk.q[40:LEARNED, [0, 2]] + 0.3 * np.sin(np.linspace(0.0, np.pi, n))[:, None] * (1.0, 0.0)
    follows, goes = (
        find_nearest_chain(graph, ends[0], ends[1], (n - 1) / FPS, None, EARTH, given)
        for given in (way, walk.q[40:LEARNED, [0, 2]])
    )
    assert follows.distance > goes.distance


def test_where_examples_go_different_ways_a_motion_goes_between_them_and_may_go_either_way(walk, dynamics):
    q, parts = walk.q[60:181], walk.parts[60:181]
    swing = np.zeros((len(q), N_TANGENT))
    swing[:, find_joint_rows(JOINT_INDEX["leftUpperArm"])] = 0.4 * np.sin(np.linspace(0.0, np.pi, len(q)))[:, None] ** 2
    both = np.concatenate([q, dynamics.integrate(q, swing)])
    start, levels = np.array([0, len(q), 2 * len(q)]), np.repeat(walk.level_m[None], 2, axis=0)
    examples = ExampleMotions(both.astype(np.float32), start, np.concatenate([parts, parts]), levels, np.eye(N_TANGENT), FPS)
    bank = build_example_bank(examples, dynamics, compute_units(dynamics.body))
    mean, spread = average_examples(dynamics, bank, (q, 0.0), len(q) / FPS, parts, [1])
    np.testing.assert_allclose(dynamics.difference(q, mean), 0.5 * swing, atol=0.01)
    np.testing.assert_allclose((spread**2).sum(axis=1), 0.25 * swing**2, atol=0.01)
    L = ExampleMotion(mean, spread, 1.0).compute_nearness(10.0 * np.eye(N_TANGENT))
    other = np.roll(swing, 3, axis=1)  # a way that neither goes
    assert np.linalg.norm(L[60] @ swing[60]) < 0.5 * np.linalg.norm(L[60] @ other[60])
    alone, none = average_examples(dynamics, bank, (q, 0.0), len(q) / FPS, parts, [])
    np.testing.assert_allclose(dynamics.difference(q, alone), 0.0, atol=1e-9)
    assert not none.any()


def _measure_push(graph: MotionGraph, chain: ExampleChain) -> float:
    """Return the mean acceleration along the ground of a chain that is played in 4 s [m/s^2]."""
    total = 0.0
    for a, b, frames in zip(chain.first, chain.last, chain.frames, strict=True):
        steps = np.clip(np.searchsorted(graph.row, np.arange(a, b), side="right") - 1, 0, None)
        tempo = (b - a) / frames * chain.frames.sum() / LEARNED
        total += frames * tempo**2 * float(graph.push_m_s2[steps, :, 0].mean())
    return total / float(chain.frames.sum())
