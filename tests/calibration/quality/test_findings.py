"""Grades, lines and the joining of reports; findings on views left out at one end, and on the form of a board."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.quality.findings import describe_form, judge_dropped_views
from calibration.quality.measures import judge_sanity
from calibration.quality.report import Finding, Grade, GradeLimits, QualityReport, grade_figure, join_reports
from calibration.solve.solution import BoardForm, DroppedMoment, DropReason, RigSolution
from tests.calibration.quality.scenes import fitted

GOOD, WEAK, WRONG = Finding(Grade.PASS, "sharp"), Finding(Grade.POOR, "few views", "add some"), Finding(Grade.FAIL, "mirrored")


@pytest.mark.parametrize(
    ("value", "grade"),
    [(-2.0, Grade.PASS), (1.0, Grade.PASS), (1.1, Grade.POOR), (3.0, Grade.POOR), (3.1, Grade.FAIL), (float("inf"), Grade.FAIL)],
)
def test_grades_by_limits(value: float, grade: Grade) -> None:
    assert grade_figure(value, GradeLimits(1.0, 3.0)) is grade


def test_what_is_no_number_never_passes() -> None:
    assert grade_figure(float("nan"), GradeLimits(1.0, 3.0)) is Grade.FAIL


def test_the_worst_finding_decides_and_comes_first() -> None:
    report = QualityReport((GOOD, WEAK, WRONG, WEAK))
    assert report.grade is Grade.FAIL and QualityReport(()).grade is Grade.PASS
    assert report.lines == [
        "verdict: fail",
        "  fail mirrored",
        "  poor few views: add some",
        "  poor few views: add some",
        "  pass sharp",
    ]


def test_joined_verdicts_keep_findings_and_figures() -> None:
    both = join_reports([QualityReport((GOOD,), {"rms_px": 0.2, "views": 8.0}), QualityReport((WEAK,), {"views": 5.0})])
    assert both.findings == (GOOD, WEAK) and both.figures == {"rms_px": 0.2, "views": 5.0} and both.grade is Grade.POOR


SCENE = 24
N = 30  # its views


def without(numbers: list[int]) -> RigSolution:
    """Return a calibration whose views of these numbers were left out."""
    solution = fitted(SCENE)
    assert len(solution.moments) == N
    dropped = tuple(DroppedMoment(solution.moments[v], DropReason.OUTLIER, 9.1, 0.2) for v in numbers)
    return replace(solution, moments=tuple(solution.moments[v] for v in range(N) if v not in numbers), dropped=dropped)


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_the_last_views_left_out_show_a_camera_that_was_moved() -> None:
    finding = only(judge_dropped_views(without(list(range(N - 6, N)))))
    assert finding.grade is Grade.POOR and finding.text.startswith(f"the last 6 of {N} views contradict all before")


def test_so_do_the_first_views() -> None:
    assert only(judge_dropped_views(without([0, 1, 2, 3, 5]))).text.startswith("the first 5 of")


@pytest.mark.parametrize("numbers", [[], [29], [28, 29], [2, 9, 14, 21, 25], [3, 4, 5, 6]])
def test_views_left_out_here_and_there_are_no_move(numbers: list[int]) -> None:
    assert judge_dropped_views(without(numbers)) == []


def test_a_form_is_reported_if_it_is_significant_and_large() -> None:
    stretched, bent = describe_form(BoardForm(-0.004, 0.0005, 0.0021, 0.0002))
    assert stretched.text.endswith("0.40 % higher than wide (+- 0.05 %)") and stretched.fix.startswith("allowed for")
    assert bent.text == "the board is bent by 2.1 mm (+- 0.2 mm)"
    assert describe_form(BoardForm(-0.004, 0.002, 0.0021, 0.0009)) == [], "not significant"
    assert describe_form(BoardForm(0.001, 0.0001, 0.0003, 0.00001)) == [], "significant, but too little to matter"


@pytest.mark.parametrize(("stretch", "grade"), [(1.0, None), (1.1, Grade.POOR), (1.3, Grade.FAIL)])
def test_pictures_that_were_stretched_are_told_by_their_focal_lengths(stretch: float, grade: Grade | None) -> None:
    solution = fitted(SCENE)
    right = solution.rig.cameras[1]
    matrix = right.matrix * np.array([[stretch], [1.0], [1.0]])
    matrix[0, 2] = right.matrix[0, 2]
    stretched = replace(solution, rig=replace(solution.rig, cameras=(solution.rig.cameras[0], replace(right, matrix=matrix))))
    told = [finding for finding in judge_sanity(stretched) if "fx/fy" in finding.text]
    assert [finding.grade for finding in told] == ([] if grade is None else [grade])
    assert all(finding.text.startswith("the right camera's") for finding in told)
