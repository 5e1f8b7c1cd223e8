"""What the guidance page says: large instructions, meters, cameras, grade and findings, all escaped."""

from calibration.guidance.advice import Advice, Requirement
from calibration.quality.report import Finding, Grade, QualityReport
from stream.guidance.html import (
    POOR,
    CameraCondition,
    format_cameras_html,
    format_findings_html,
    format_grade_html,
    format_instruction_html,
    format_progress_html,
)
from stream.web.html import BAD, GOOD, NEUTRAL, format_pill


def test_words_are_escaped_and_large() -> None:
    assert "&lt;b&gt;" in format_instruction_html("<b>")
    assert (
        "big long" in format_instruction_html(50 * "a")
        and "big long" not in format_instruction_html("hold still").split("</style>")[1]
    )
    html = format_cameras_html([CameraCondition("left camera", True, "<script>"), CameraCondition("right camera", False, "gone")])
    assert "<script>" not in html and html.count("live") == 1 and html.count("waiting") == 1


def test_meters_are_as_full_as_what_there_is() -> None:
    html = format_progress_html(
        Advice("", needs=(Requirement("views", 0.5, figure="7 of 14"), Requirement("tilt", 1.7)), counts="7 views")
    )
    assert "width:50%" in html and "7 of 14" in html and "7 views" in html
    assert html.count("width:100%") == 1 and html.count("&#10003;") == 1
    assert "width:75%" in html  # in all


def test_the_grade_and_the_findings_the_worst_first() -> None:
    sharp, near = Finding(Grade.PASS, "sharp"), Finding(Grade.PASS, "cameras are near each other", "move them apart")
    report = QualityReport((sharp, near, Finding(Grade.POOR, "few <views>", "take more")))
    html = format_findings_html(report, ["written to rig.toml"], "why not")
    assert f"{format_pill('pass', GOOD)} sharp" in html and f"{format_pill('poor', POOR)} few &lt;views&gt;: take more" in html
    assert f"{format_pill('hint', NEUTRAL)} cameras are near each other: move them apart" in html
    assert html.index("few") < html.index("near each other") < html.index("sharp")
    assert html.index("few") < html.index("sharp") < html.index("written to rig.toml") and "why not" in html
    assert "verdict: poor" in format_grade_html(report) and POOR in format_grade_html(report)
    assert BAD in format_grade_html(None, "no camera") and "no camera" in format_grade_html(None, "no camera")
