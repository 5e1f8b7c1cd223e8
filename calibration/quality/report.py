"""The quality report on a calibration: pass, poor or fail, the findings behind the grade, and figures."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Grade(enum.IntEnum):
    """How good a calibration is; the worst finding decides."""

    PASS = 0
    POOR = 1
    FAIL = 2

    @property
    def word(self) -> str:
        """The grade as it is printed."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked: its grade, what was found, and what to do about it.

    widens: by how much a rule of thumb that is not kept widens what the world may be wrong by; it is no verdict itself.
    """

    grade: Grade
    text: str
    fix: str = ""
    widens: float = 1.0

    @property
    def line(self) -> str:
        """The finding in one line."""
        return f"{self.text}: {self.fix}" if self.fix else self.text

    @property
    def is_hint(self) -> bool:
        """Whether it is good enough, and something would make it better."""
        return self.grade is Grade.PASS and bool(self.fix)

    @property
    def word(self) -> str:
        """Its grade as it is printed; a hint is no order in the colour of what passed."""
        return "hint" if self.is_hint else self.grade.word


@dataclass(frozen=True, slots=True)
class QualityReport:
    """Findings on a calibration. figures: by name with its unit, such as reprojection_px."""

    findings: tuple[Finding, ...]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def grade(self) -> Grade:
        """The worst of the findings' grades."""
        return max((finding.grade for finding in self.findings), default=Grade.PASS)

    @property
    def lines(self) -> list[str]:
        """The grade, then the findings in order."""
        return [f"verdict: {self.grade.word}", *(f"  {finding.word:<4} {finding.line}" for finding in self.ordered)]

    @property
    def ordered(self) -> list[Finding]:
        """The findings, the worst first, hints before what passed."""
        return sorted(self.findings, key=lambda finding: (-finding.grade, not finding.is_hint))


class GradeLimits(NamedTuple):
    """The largest figures that are good enough to pass, and that are poor."""

    passed: float
    poor: float


def grade_figure(value: float, limits: GradeLimits) -> Grade:
    """Grade a figure that is better the smaller it is: pass and poor up to the limits; fail beyond them, or if it is NaN."""
    return Grade.PASS if value <= limits.passed else Grade.POOR if value <= limits.poor else Grade.FAIL


def make_finding(grade: Grade, text: str, fix: str) -> Finding:
    """Return a finding with its advice, unless it passed.

    Args:
        grade: of the finding.
        text: what was found.
        fix: advice where it did not pass.
    """
    return Finding(grade, text, "" if grade is Grade.PASS else fix)


def join_reports(reports: Sequence[QualityReport]) -> QualityReport:
    """Return the findings and figures of several reports as one."""
    figures = {name: value for report in reports for name, value in report.figures.items()}
    return QualityReport(tuple(finding for report in reports for finding in report.findings), figures)
