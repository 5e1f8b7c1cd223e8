"""The verdict on a calibration: pass, poor or fail in plain words, with the figures it rests on."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


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
    """One thing that was checked: how good it is and, in words, what was found and what to do about it."""

    grade: Grade
    text: str
    fix: str = ""

    @property
    def line(self) -> str:
        """Say it in one line."""
        return f"{self.text}: {self.fix}" if self.fix else self.text


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be thought of a calibration. figures: by name with its unit, such as reprojection_px, for reports."""

    findings: tuple[Finding, ...]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def grade(self) -> Grade:
        """The worst of the findings' grades."""
        return max((finding.grade for finding in self.findings), default=Grade.PASS)

    @property
    def lines(self) -> list[str]:
        """Say it: the grade, then the findings, the worst first."""
        ordered = sorted(self.findings, key=lambda finding: -finding.grade)
        return [f"verdict: {self.grade.word}", *(f"  {finding.grade.word:<4} {finding.line}" for finding in ordered)]


def graded(value: float, limits: tuple[float, float]) -> Grade:
    """Grade a figure that is better the smaller it is: a pass, and poor, up to the limits; fail beyond, or where it is NaN."""
    return Grade.PASS if value <= limits[0] else Grade.POOR if value <= limits[1] else Grade.FAIL


def joined(verdicts: Sequence[Verdict]) -> Verdict:
    """Give the findings and figures of several verdicts as one."""
    figures = {name: value for verdict in verdicts for name, value in verdict.figures.items()}
    return Verdict(tuple(finding for verdict in verdicts for finding in verdict.findings), figures)
