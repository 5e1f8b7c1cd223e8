"""What the commands of calibration say at their end: the verdict, where things were written, or why nothing was."""

from collections.abc import Callable
from pathlib import Path

import typer

from calibration.quality.report import Grade, QualityReport
from config.errors import CalibrationError, DuocapError
from config.files import write_together


def choose_picture_file(out: Path, picture: Path | None, no_picture: bool) -> Path | None:
    """Return where the picture goes: rig.png beside rig.toml unless said otherwise; None: nowhere.

    Args:
        out: the result.
        picture: picture that was asked for; None for one beside the result.
        no_picture: draw nothing.
    Raises: DuocapError: the result has no name, or the picture would take its place.
    """
    if not out.name:
        raise DuocapError(f"{out}: is no name of a file; give --out one, such as result.toml")
    if no_picture:
        return None
    drawn = picture if picture is not None else out.with_suffix(".png")
    if drawn.absolute() == out.absolute():
        raise DuocapError(f"{out}: result and picture would be the same file; give --out a name that ends in .toml")
    return drawn


def choose_report_picture(report: QualityReport, picture: Path | None, out: Path) -> Path | None:
    """Return where a report is drawn: a failed one beside the picture of a result that is kept, `rig.failed.png`.

    Args:
        report: report of the calibration.
        picture: picture that was asked for.
        out: the result.
    """
    if picture is None or report.grade is not Grade.FAIL or not out.exists():
        return picture
    return picture.with_name(f"{picture.stem}.failed{picture.suffix}")


def write_outcome(
    report: QualityReport,
    out: Path,
    picture: Path | None,
    draw: Callable[[Path], object],
    write: Callable[[], object],
    tell: Callable[[str], None],
) -> None:
    """Draw a report and write the result, both or neither; of a fail only the picture, beside that of a result that is kept.

    Args:
        report: report of the calibration.
        out: the result.
        picture: None: none is drawn.
        draw: draws the report to a file.
        write: writes the result.
        tell: receives progress messages as text.
    Raises: CalibrationError: the verdict is fail; FileFormatError: a file cannot be written.
    """
    drawn = choose_report_picture(report, picture, out)
    with write_together():
        if drawn is not None:
            draw(drawn)
        if report.grade is not Grade.FAIL:
            write()
    if drawn is not None:
        tell(f"picture: {drawn}")
    check_verdict(report, out)
    tell(f"written to {out}")


def print_report(report: QualityReport, tell: Callable[[str], None] = typer.echo) -> None:
    """Print the verdict, the worst finding first."""
    for line in report.lines:
        tell(line)


def check_verdict(report: QualityReport, out: Path) -> None:
    """Raise CalibrationError, with the worst finding and what to do, where the verdict is fail: nothing is written then."""
    if report.grade is Grade.FAIL:
        worst = next(finding for finding in report.findings if finding.grade is Grade.FAIL)
        kept = f"{out} is as it was" if out.exists() else f"{out} is not written"
        raise CalibrationError(f"this calibration would be wrong, {kept}: {worst.line}")
