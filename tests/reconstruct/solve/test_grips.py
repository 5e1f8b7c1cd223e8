"""The grip term against its formula, its gradient and curvature against differences; both hands come together on a sword."""

from dataclasses import replace

import numpy as np

from calibration.subject.props import find_props
from calibration.subject.subject import Subject
from config.arrays import Floats
from config.markers import read_marker_set
from reconstruct.solve.grips import SIGMA_M, add_grips, build_grips
from reconstruct.solve.linearise import compute_posed_markers
from reconstruct.solve.solver import FrameProblem, solve_pose
from tests.reconstruct.solve.problems import N_W, PLACE, problem, robust

PROBLEM = problem("mixed", 8)
KENDO = read_marker_set("kendo")


def swordsman(behind_m: float) -> Subject:
    """Return the performer of the problem with a sword."""
    markers = replace(KENDO, grip_m=np.where(np.array(KENDO.names) == "sword", behind_m, np.nan))
    return Subject("armed", PROBLEM.subject.skeleton, markers, markers.offset_m, np.zeros(len(markers)))


FRAME = replace(PROBLEM.frame, grips=build_grips(find_props(swordsman(0.25))))
TERMS = FRAME.energy(PROBLEM.root[0])
X = np.concatenate([np.random.default_rng(8).normal(0.0, 0.3, N_W), np.zeros(3), PLACE + 0.02])


def term(x: Floats) -> tuple[float, Floats, Floats]:
    """Return energy, gradient and Hessian of the term alone."""
    A, g = np.zeros((len(x), len(x))), np.zeros(len(x))
    return add_grips(TERMS.grips, compute_posed_markers(x, TERMS.space, TERMS.body), A, g), g, A


def test_energy_of_the_second_hand_beside_its_place() -> None:
    held, palm = compute_posed_markers(X, TERMS.space, TERMS.body).world_m[-2:]
    apart = (held - palm) / SIGMA_M
    np.testing.assert_allclose(term(X)[0], robust(apart @ apart), rtol=1e-12)


def test_gradient_against_central_differences() -> None:
    h = 1e-5
    expected = np.array([(term(X + h * e)[0] - term(X - h * e)[0]) / (2 * h) for e in np.eye(len(X))])
    np.testing.assert_allclose(term(X)[1], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_hands_come_together() -> None:
    def find_gap_m(frame: FrameProblem) -> float:
        """Return how far the second palm is from its place in the solved pose."""
        solved = solve_pose(frame, PROBLEM.root, max_iterations=30)
        w = PROBLEM.model.directions[1:].reshape(-1, N_W).T @ (solved.joints - PROBLEM.model.mean)[1:].ravel()
        x = np.concatenate([w, np.zeros(3), solved.position_m])
        terms = FRAME.energy(solved.rotation)
        held, palm = compute_posed_markers(x, terms.space, terms.body).world_m[-2:]
        return float(np.linalg.norm(held - palm))

    assert find_gap_m(FRAME) < find_gap_m(PROBLEM.frame)


def test_one_hand_has_no_grip() -> None:
    assert len(find_props(swordsman(0.0))) == 1 and not len(build_grips(find_props(swordsman(0.0))).joint)
