"""What `duocap doctor` finds: one line a finding, with its fix, good or bad; the examinations themselves are next door."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from config.settings import Settings


class Verdict(StrEnum):
    """How a finding bears on a run."""

    GOOD = "good"
    NOTE = "note"  # worth knowing, hinders nothing
    BAD = "bad"  # hinders a run


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. area: such as `ports`; text: what is; fix: what to do, empty where there is nothing to do.

    figures: the same as numbers and words, for --json.
    """

    area: str
    verdict: Verdict
    text: str
    fix: str = ""
    figures: dict[str, Any] | None = None


Examination = Callable[[Settings], list[Finding]]


def good(area: str, text: str, **figures: Any) -> Finding:
    """Find something in order."""
    return Finding(area, Verdict.GOOD, text, figures=figures or None)


def note(area: str, text: str, fix: str = "", **figures: Any) -> Finding:
    """Find something worth knowing."""
    return Finding(area, Verdict.NOTE, text, fix, figures or None)


def bad(area: str, text: str, fix: str, **figures: Any) -> Finding:
    """Find what hinders a run."""
    return Finding(area, Verdict.BAD, text, fix, figures or None)


def examine(settings: Settings, urls: Sequence[str] = ()) -> list[Finding]:
    """Look at this machine and at the stream that runs on it, if one does; takes some seconds. urls: of network cameras."""
    from tools.doctor_cameras import network_finding
    from tools.doctor_machine import MACHINE
    from tools.doctor_network import examine_network

    findings = [finding for look in MACHINE for finding in look(settings)]
    findings += [network_finding(url) for url in urls]
    return findings + examine_network(settings)


def hinders(findings: Sequence[Finding]) -> bool:
    """Tell whether anything hinders a run."""
    return any(finding.verdict is Verdict.BAD for finding in findings)


def plain(findings: Sequence[Finding]) -> dict[str, Any]:
    """Give the findings as plain maps and lists."""
    return {"ok": not hinders(findings), "findings": [asdict(finding) for finding in findings]}


def lines(findings: Sequence[Finding]) -> list[str]:
    """Give the findings for a person, one area after the other."""
    result, area = [], ""
    for finding in findings:
        if finding.area != area:
            area = finding.area
            result.append(area)
        mark = {Verdict.GOOD: "ok  ", Verdict.NOTE: "    ", Verdict.BAD: "BAD "}[finding.verdict]
        result.append(f"  {mark}{finding.text}")
        if finding.fix:
            result.append(f"        -> {finding.fix}")
    n_bad = sum(finding.verdict is Verdict.BAD for finding in findings)
    things = "thing hinders" if n_bad == 1 else "things hinder"
    result.append(f"{n_bad} {things} a run" if n_bad else "nothing hinders a run")
    return result
