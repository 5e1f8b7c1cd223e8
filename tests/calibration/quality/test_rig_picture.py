"""Pictures of a calibration are drawn whole, of any kind of solution, and are PNGs of the size they should have."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.camera import Rig
from calibration.quality.picture import GRADE_COLORS, draw_report_panel, open_figure, save_figure
from calibration.quality.report import Finding, Grade, QualityReport
from calibration.quality.rig import judge_rig_solution
from calibration.quality.rig_picture import draw_rig
from config.errors import FileFormatError
from tests.calibration.quality.scenes import fitted


def has_color(image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], color: str) -> bool:
    """Return whether pixels of a colour such as #1a7f4e are in a BGR picture."""
    wanted = np.array([int(color[k : k + 2], 16) for k in (5, 3, 1)])
    return int((np.abs(image.astype(int) - wanted).max(axis=2) <= 2).sum()) > 200


def test_a_rig_is_drawn(tmp_path: Path) -> None:
    solution = fitted()
    report = judge_rig_solution(solution)
    path = draw_rig(solution, report, tmp_path / "rig.png")
    image = cv2.imread(str(path))
    assert path == tmp_path / "rig.png" and image is not None and image.shape[1] == 1430 and image.shape[0] > 700
    for color in (GRADE_COLORS[report.grade], "#0072B2", "#D55E00"):  # the badge, and both cameras' bars
        assert has_color(image, color)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rig.png"]


@pytest.mark.slow
def test_one_camera_and_views_without_corners_are_drawn(tmp_path: Path) -> None:
    solution = fitted()
    used, residual = solution.used.copy(), solution.residual_px.copy()
    used[1], residual[1] = False, 0.0
    used[0, 3] = False
    alone = replace(solution, rig=Rig((solution.rig.cameras[0],)), used=used, residual_px=residual)
    image = cv2.imread(str(draw_rig(alone, judge_rig_solution(alone), tmp_path / "one.png")))
    assert image is not None and has_color(image, "#0072B2") and not has_color(image, "#D55E00")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with open_figure(1.0, 1.0) as figure, pytest.raises(FileFormatError, match="none"):
        save_figure(figure, tmp_path / "none" / "rig.png")


def test_more_findings_than_there_is_room_for_are_counted(tmp_path: Path) -> None:
    report = QualityReport(tuple(Finding(Grade.POOR, f"finding {k} " + 20 * "long ") for k in range(30)))
    with open_figure(6.0, 3.0) as figure:
        ax = figure.add_axes((0.05, 0.05, 0.9, 0.9))
        draw_report_panel(ax, report, "a title")
        words = [text.get_text() for text in ax.texts]
    assert words[0].strip() == "POOR" and words[-1].endswith("more, which the command prints")
    shown = len(words) - 3  # the badge, the title, and the count of those left
    assert words[-1] == f"and {30 - shown} more, which the command prints"
    assert save_figure(figure, tmp_path / "many.png").stat().st_size > 2000
