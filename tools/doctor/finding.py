"""What `duocap doctor` finds: one line a finding, with its fix, good or bad; and how findings are told."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from config.settings import Settings


class Severity(StrEnum):
    """How a finding bears on a run."""

    GOOD = "good"
    NOTE = "note"  # worth knowing, hinders nothing
    BAD = "bad"  # hinders a run


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing that was looked at.

    Attributes:
        area: such as `ports`.
        text: text of the finding.
        fix: advice on how to mend it, empty if there is nothing to do.
        figures: the same as numbers and words, for --json.
    """

    area: str
    verdict: Severity
    text: str
    fix: str = ""
    figures: dict[str, Any] | None = None


Examination = Callable[[Settings], list[DoctorFinding]]


def report_good(area: str, text: str, **figures: Any) -> DoctorFinding:
    """Report that something is in order."""
    return DoctorFinding(area, Severity.GOOD, text, figures=figures or None)


def report_note(area: str, text: str, fix: str = "", **figures: Any) -> DoctorFinding:
    """Report something worth knowing.

    Args:
        area: subject of the finding.
        text: text of the finding.
        fix: advice on how to mend it.
    """
    return DoctorFinding(area, Severity.NOTE, text, fix, figures or None)


def report_bad(area: str, text: str, fix: str, **figures: Any) -> DoctorFinding:
    """Report a problem that hinders a run.

    Args:
        area: subject of the finding.
        text: text of the finding.
        fix: advice on how to mend it.
    """
    return DoctorFinding(area, Severity.BAD, text, fix, figures or None)


def has_hindrance(findings: Sequence[DoctorFinding]) -> bool:
    """Return whether anything hinders a run."""
    return any(finding.verdict is Severity.BAD for finding in findings)


def convert_findings(findings: Sequence[DoctorFinding]) -> dict[str, Any]:
    """Return the findings as plain maps and lists."""
    return {"ok": not has_hindrance(findings), "findings": [asdict(finding) for finding in findings]}


def format_findings(findings: Sequence[DoctorFinding]) -> list[str]:
    """Return the findings for a person, one area after the other."""
    result, area = [], ""
    for finding in findings:
        if finding.area != area:
            area = finding.area
            result.append(area)
        mark = {Severity.GOOD: "ok  ", Severity.NOTE: "    ", Severity.BAD: "BAD "}[finding.verdict]
        result.append(f"  {mark}{finding.text}")
        if finding.fix:
            result.append(f"        -> {finding.fix}")
    n_bad = sum(finding.verdict is Severity.BAD for finding in findings)
    things = "thing hinders" if n_bad == 1 else "things hinder"
    result.append(f"{n_bad} {things} a run" if n_bad else "nothing hinders a run")
    return result
