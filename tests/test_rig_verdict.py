"""Is the verdict right about the world, not only about the pixels? On scenes with known truth, good ones and spoilt ones."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.calibration_scene import Scene, random_scene
from benchmarks.calibration_truth import TRUE_LENS, fitted
from calibration.camera import Rig
from calibration.depth import volume_points_m
from calibration.lens import LensModel
from calibration.rig_solution import RigSolution
from calibration.rig_verdict import rig_verdict
from calibration.verdict import Grade, Verdict
from calibration.world_error import world_off
from database.rotations import matrix_from_rotvec


@cache
def scene(index: int, adversity: str) -> Scene:
    return random_scene(index, adversity=adversity)


@cache
def good() -> RigSolution:
    """Give a good calibration: 29 views of noise 0.1 px, cameras 46 cm apart."""
    return fitted(scene(19, "none"))


def texts(verdict: Verdict, grade: Grade) -> str:
    return "\n".join(finding.line for finding in verdict.findings if finding.grade is grade)


def off_percent(made: Scene, solution: RigSolution, verdict: Verdict) -> float:
    return 100.0 * world_off(made.performing, solution.rig, volume_points_m(made.performing, verdict.figures["distance_m"]))


def test_a_good_calibration_passes_and_says_on_what() -> None:
    verdict = rig_verdict(good())
    assert verdict.grade is Grade.PASS, verdict.lines
    assert off_percent(scene(19, "none"), good(), verdict) < verdict.figures["world_off_percent"] < 1.0
    assert verdict.figures["reprojection_px"] == pytest.approx(np.sqrt(2.0) * scene(19, "none").noise_px, rel=0.1)
    assert abs(verdict.figures["edge_bias_percent"]) < 0.1
    words = "\n".join(verdict.lines)
    assert (
        words.startswith("verdict: pass")
        and "the size of the world rests on squares of" in words
        and "measure the print" in words
    )
    assert all("\n" not in line and len(line) < 260 for line in verdict.lines)


def grades() -> Iterator[tuple[int, str]]:
    for adversity in ("bent board", "bumped", "motion", "few views", "poor coverage"):
        yield from ((index, adversity) for index in range(400, 404))


@pytest.mark.parametrize(("index", "adversity"), list(grades()))
def test_no_pass_where_the_world_is_off(index: int, adversity: str) -> None:
    made = scene(index, adversity)
    solution = fitted(made)
    verdict = rig_verdict(solution)
    off = off_percent(made, solution, verdict)
    assert off <= 2.0 or verdict.grade is not Grade.PASS, (off, verdict.lines)
    # What is told is a bound: three sigma and the worst suspect; a badly bent board is beyond what is linear.
    assert off < 1.6 * verdict.figures.get("world_off_percent", np.inf)


def test_a_bent_board_is_named_with_its_sag() -> None:
    made = scene(10, "bent board")
    verdict = rig_verdict(fitted(made))
    (line,) = [finding.text for finding in verdict.findings if "bent" in finding.text]
    told_mm = float(line.split("bent by ")[1].split(" mm")[0])
    # The sag goes from the middle to the first and last corners of the row.
    assert told_mm == pytest.approx(1e3 * abs(made.bend_m), rel=0.25)
    assert verdict.grade is not Grade.PASS


def test_a_camera_moved_half_way_is_named_with_the_view() -> None:
    made = scene(11, "bumped")
    verdict = rig_verdict(fitted(made))
    (line,) = [finding.text for finding in verdict.findings if "moved during" in finding.text]
    assert f"before left{len(made.pairs) // 2}" in line and verdict.grade is Grade.FAIL
    # Turned by (4, -6, 3) mrad: 7.8 mrad or 0.45 degrees.
    assert float(line.split(" by ")[1].split(" degrees")[0]) == pytest.approx(0.447, abs=0.05)


def test_a_lens_with_too_few_coefficients_is_found_out() -> None:
    made = scene(34, "strong lens")
    verdict = rig_verdict(fitted(made, TRUE_LENS))
    assert "follow another lens" in texts(verdict, Grade.POOR) + texts(verdict, Grade.FAIL)
    whole = rig_verdict(fitted(made))
    assert "follow another lens" not in "\n".join(whole.lines)


def test_noise_alone_raises_no_suspicion() -> None:
    """Of 12 scenes without anything wrong, none is accused of a bent board, a moved camera or another lens."""
    for index in range(100, 112):
        verdict = rig_verdict(fitted(scene(index, "none")))
        words = "\n".join(verdict.lines)
        assert "bent" not in words and "moved during" not in words and "another lens" not in words, (index, words)
        assert verdict.figures["disagreement"] < 2.0


def test_cameras_too_near_to_each_other_are_told_so() -> None:
    verdict = rig_verdict(fitted(scene(9, "none")), distance_m=4.0)
    assert verdict.grade is Grade.POOR
    line = next(finding.line for finding in verdict.findings if finding.text.startswith("at 4.0 m, 0.2 px is"))
    told_mm = float(line.split("px is ")[1].split(" mm")[0])
    rig = fitted(scene(9, "none")).rig
    assert told_mm == pytest.approx(1e3 * 4.0**2 * 0.2 * np.sqrt(2.0) / (rig.left.focal_px * rig.baseline_m), rel=0.1)
    assert "move the cameras apart" in line


@pytest.mark.parametrize(("depth_mm", "grade", "advice"), [(11.5, 0, False), (12.5, 0, True), (19.0, 0, True), (21.0, 1, True)])
def test_shallow_depth_is_advised_against_before_it_is_poor(depth_mm: float, grade: int, advice: bool) -> None:
    """Depth noise grows with the square of the distance: at which one it is so much follows from one that is known."""
    at_4_mm = rig_verdict(good(), distance_m=4.0).figures["depth_mm"]
    verdict = rig_verdict(good(), distance_m=4.0 * float(np.sqrt(depth_mm / at_4_mm)))
    assert verdict.figures["depth_mm"] == pytest.approx(depth_mm, rel=0.02)
    (finding,) = [finding for finding in verdict.findings if finding.text.startswith("at ") and "0.2 px is" in finding.text]
    assert finding.grade == grade and ("move the cameras apart" in finding.fix) is advice


def test_a_board_behind_the_camera_fails() -> None:
    solution = good()
    board = solution.board_to_world.copy()
    board[:, 3:] *= -1.0
    verdict = rig_verdict(replace(solution, board_to_world=board))
    assert verdict.grade is Grade.FAIL and "behind the left camera" in texts(verdict, Grade.FAIL)


def test_cameras_exchanged_fail() -> None:
    solution = good()
    rig = solution.rig
    R = rig.right.rotation.T.copy()
    right = replace(rig.left, rotation=R, translation=-R @ rig.right.translation)
    left = replace(rig.right, rotation=np.eye(3), translation=np.zeros(3))
    boards = solution.board_to_world.copy()
    boards[:, 3:] = boards[:, 3:] @ rig.right.rotation.T + rig.right.translation
    from database.rotations import rotvec_from_matrix

    boards[:, :3] = rotvec_from_matrix(rig.right.rotation @ matrix_from_rotvec(boards[:, :3]))
    other = replace(
        solution, rig=Rig(left, right), board_to_world=boards, residual_px=solution.residual_px[::-1], used=solution.used[::-1]
    )
    assert "they are exchanged" in texts(rig_verdict(other), Grade.FAIL)


def test_absurd_lenses_fail() -> None:
    solution = good()
    for change in (((0, 0), 30.0), ((0, 2), 1400.0)):
        matrix = solution.rig.left.matrix.copy()
        matrix[change[0]] = change[1]
        left = replace(solution.rig.left, matrix=matrix)
        verdict = rig_verdict(replace(solution, rig=Rig(left, solution.rig.right)))
        assert verdict.grade is Grade.FAIL and any(
            words in texts(verdict, Grade.FAIL) for words in ("which no lens has", "as no lens is")
        )


def test_a_lens_that_folds_over_is_told() -> None:
    solution = good()
    left = replace(solution.rig.left, distortions=np.array([-0.9, 0.0, 0.0, 0.0, 0.0]))
    assert "folds back" in "\n".join(rig_verdict(replace(solution, rig=Rig(left, solution.rig.right))).lines)


def test_a_world_nothing_is_known_of_is_told_in_plain_words() -> None:
    """Five views of boards that are all parallel to the picture: any focal length would do."""
    made = scene(400, "poor coverage")
    few = replace(made, pairs=made.pairs[:4], board_to_world=made.board_to_world[:4])
    verdict = rig_verdict(fitted(few, LensModel(("k1", "k2"), square=False)))
    assert verdict.grade is Grade.FAIL and not any("e+" in line or "nan" in line or "inf" in line for line in verdict.lines)


def test_too_few_views_fail() -> None:
    made = scene(19, "none")
    few = replace(made, pairs=made.pairs[:2], board_to_world=made.board_to_world[:2])
    verdict = rig_verdict(fitted(few, LensModel((), square=True)))
    assert verdict.grade is Grade.FAIL and "2 views shared by both cameras" in texts(verdict, Grade.FAIL)


def test_boards_never_tilted_are_poor() -> None:
    made = scene(400, "poor coverage")
    verdict = rig_verdict(fitted(made))
    assert verdict.grade is not Grade.PASS and "tilt" in texts(verdict, Grade.POOR) + texts(verdict, Grade.FAIL)


def test_views_left_out_and_held_out_errors_count() -> None:
    spoilt = replace(good(), dropped=tuple(f"left{k}: blurred" for k in range(40)), held_out_px={"k1": 0.6})
    words = texts(rig_verdict(spoilt), Grade.POOR)
    assert "40 of 69 views were left out, such as left0: blurred" in words and "not fitted are 0.60 px off" in words


def test_a_camera_alone_is_judged_too() -> None:
    made = scene(19, "none")
    solution = good()
    left = solution.rig.left
    seen = solution.used[0].any(axis=1)
    used, residual = solution.used[:, seen].copy(), solution.residual_px[:, seen].copy()
    used[1], residual[1] = False, 0.0
    pairs = tuple(pair for pair, own in zip(solution.pairs, seen, strict=True) if own)
    alone = replace(
        solution, rig=Rig(left, left), used=used, residual_px=residual, pairs=pairs, board_to_world=solution.board_to_world[seen]
    )
    verdict = rig_verdict(alone)
    assert verdict.grade is Grade.PASS, verdict.lines
    words = "\n".join(verdict.lines)
    assert "the size of things seen" in words and "baseline" not in words and "right" not in words
    lone = Rig(made.truth.left, made.truth.left)
    off = 100.0 * world_off(lone, alone.rig, volume_points_m(lone, verdict.figures["distance_m"]))
    assert off < verdict.figures["world_off_percent"]
