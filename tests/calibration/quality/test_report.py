"""Grades, lines and the joining of verdicts."""

import pytest

from calibration.quality.report import Finding, Grade, QualityReport, graded, join_reports

GOOD, WEAK, WRONG = Finding(Grade.PASS, "sharp"), Finding(Grade.POOR, "few views", "add some"), Finding(Grade.FAIL, "mirrored")


@pytest.mark.parametrize(
    ("value", "grade"),
    [(-2.0, Grade.PASS), (1.0, Grade.PASS), (1.1, Grade.POOR), (3.0, Grade.POOR), (3.1, Grade.FAIL), (float("inf"), Grade.FAIL)],
)
def test_grades_by_limits(value: float, grade: Grade) -> None:
    assert graded(value, (1.0, 3.0)) is grade


def test_what_is_no_number_never_passes() -> None:
    assert graded(float("nan"), (1.0, 3.0)) is Grade.FAIL


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
