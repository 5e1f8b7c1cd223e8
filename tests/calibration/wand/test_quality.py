"""The verdict on a wand's rig: each thing that can be wrong is told, and a lens that was only guessed never passes."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.camera import Rig
from calibration.quality.report import Grade, QualityReport
from calibration.wand.quality import judge_wand, measure_wand_coverage
from calibration.wand.tracks import WandSolution
from database.geometry.rotations import matrix_from_rotvec
from tests.calibration.wand.conftest import Waved
from tests.calibration.wand.scenes import wand_rig


@pytest.fixture(scope="module")
def good(two: Waved) -> WandSolution:
    return two.solution


def worst(report: QualityReport) -> str:
    return next(finding.line for finding in report.findings if finding.grade == report.grade)


def test_a_good_one_passes_with_its_figures(good: WandSolution) -> None:
    report = judge_wand(good)
    assert report.grade is Grade.PASS, report.lines
    figures = report.figures
    assert figures["baseline_mm"] == pytest.approx(1e3 * wand_rig().baseline_m, rel=0.003)
    assert figures["noise_px"] == pytest.approx(0.15, rel=0.15) and figures["reprojection_px"] < figures["noise_px"]
    assert figures["length_mm"] == pytest.approx(500.0, rel=0.002) and 0.5 < figures["length_spread_mm"] < 10.0
    assert figures["shared_observations"] == good.used.sum()
    assert 0.0 < figures["baseline_sigma_mm"] < 20.0
    assert any("the wand's length of 500 mm" in finding.text for finding in report.findings)


def test_what_can_be_wrong_is_told(good: WandSolution) -> None:
    noisy = replace(good, residual_px=good.residual_px * 15.0)
    assert judge_wand(noisy).grade is Grade.FAIL and "reprojection error" in worst(judge_wand(noisy))
    unsure = replace(good, world_sigma=0.012)
    assert judge_wand(unsure).grade is Grade.POOR and "1.20 % of their distance" in worst(judge_wand(unsure))
    few = np.zeros_like(good.used)
    few[::6] = True
    lost = replace(good, used=few, lengths_m=good.lengths_m[:0])
    assert judge_wand(lost).grade is Grade.FAIL and "left out" in worst(judge_wand(lost))
    small = replace(good, points_m=good.points_m.mean(axis=0) + 0.1 * (good.points_m - good.points_m.mean(axis=0)))
    assert "of the pictures" in worst(judge_wand(small))


def test_a_length_that_changes_with_the_distance_tells_of_a_wrong_focal_length(good: WandSolution) -> None:
    depth = good.points_m[good.used.all(axis=1), :, 2].mean(axis=1)
    bent = replace(good, lengths_m=good.lengths_m * (1.0 + 0.03 * (depth - depth.mean())))
    report = judge_wand(bent)
    assert report.grade >= Grade.POOR and "--focal" in worst(report)


def test_cameras_too_near_each_other_are_told_to_be_moved_apart(good: WandSolution) -> None:
    right = good.rig.cameras[1]
    near = replace(
        good, rig=Rig((good.rig.cameras[0], replace(right, rotation=np.eye(3), translation=np.array([-0.12, 0.0, 0.0]))))
    )
    assert any("move the cameras apart" in finding.fix and "0.2 px is" in finding.text for finding in judge_wand(near).findings)


def test_a_lens_that_was_guessed_never_passes(good: WandSolution) -> None:
    assert judge_wand(good, assumed_lens=True).grade is Grade.POOR
    solved = replace(good, focal_sigma=np.array([0.002, 0.003]))
    assert judge_wand(solved, assumed_lens=True).grade is Grade.POOR
    assert judge_wand(solved).grade is Grade.PASS
    assert judge_wand(good, focal_asked=True).grade is Grade.POOR


def test_one_marker_passes_only_where_an_earlier_rig_agrees(good: WandSolution, one: Waved) -> None:
    """Focal lengths 5 % off move the world by 2 to 5 % and no pixel: with one marker nothing shows it."""
    solution, truth = one.solution, one.truth
    alone = judge_wand(solution)
    assert alone.grade is Grade.POOR and "one marker" in worst(alone)
    assert not any("one marker" in finding.text for finding in judge_wand(solution, earlier=truth).findings)
    assert not any("one marker" in finding.text for finding in judge_wand(good).findings)


def test_a_measured_distance_betrays_a_wrong_length_too(good: WandSolution) -> None:
    assert judge_wand(good, distance_m=1.01 * wand_rig().baseline_m).grade is Grade.PASS
    report = judge_wand(good, distance_m=1.05 * wand_rig().baseline_m)
    assert report.grade is Grade.POOR and "-4." in worst(report) and "measure both again" in worst(report)


def test_an_earlier_rig_betrays_a_wrong_length(good: WandSolution) -> None:
    truth = wand_rig()
    assert judge_wand(good, earlier=truth).grade is Grade.PASS
    relative = truth.cameras[1].rotation @ truth.cameras[0].rotation.T
    shift = truth.cameras[1].translation - relative @ truth.cameras[0].translation
    longer = Rig(
        (truth.cameras[0], replace(truth.cameras[1], translation=1.03 * shift + relative @ truth.cameras[0].translation))
    )
    report = judge_wand(good, earlier=longer)
    assert (
        report.grade is Grade.POOR
        and "measure the wand" in worst(report)
        and ("-2.9 %" in worst(report) or "-3.0 %" in worst(report))
    )
    turned = matrix_from_rotvec([0.0, 0.1, 0.0])
    moved = Rig(
        (
            truth.cameras[0],
            replace(
                truth.cameras[1], rotation=turned @ truth.cameras[1].rotation, translation=turned @ truth.cameras[1].translation
            ),
        )
    )
    report = judge_wand(good, earlier=moved)
    assert report.grade is Grade.PASS and any("moved since" in finding.text for finding in report.findings)


def test_coverage_counts_the_cells_of_both_pictures(good: WandSolution) -> None:
    shares = measure_wand_coverage(good)
    assert all(0.3 < share <= 1.0 for share in shares)
    one = np.zeros_like(good.used)
    one[10, 0] = True
    assert measure_wand_coverage(replace(good, used=one)) == pytest.approx((1 / 24, 1 / 24))
