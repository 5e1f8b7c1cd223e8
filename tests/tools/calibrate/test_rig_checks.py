"""What a rig is held against: lenses from earlier, a tape, the rig that was there before; and what a verdict lets be written."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.board.pattern import Board
from calibration.camera import Rig
from calibration.formats.rig_toml import write_rig_toml
from calibration.quality.report import Finding, Grade, QualityReport
from calibration.solve.solution import RigSolution
from config.errors import CalibrationError
from tests.support.rigs import synthetic_rig
from tools.calibrate.outcome import check_verdict, choose_report_picture, print_report
from tools.calibrate.rig_checks import compare_with_earlier_rig, compare_with_tape, compute_refinement_sigma, read_intrinsics


def rig_of(baseline_m: float, size: tuple[int, int] = (640, 480)) -> Rig:
    return synthetic_rig((-0.4 * baseline_m, 1.0, 2.0), (0.6 * baseline_m, 1.0, 2.0), (0.0, 1.0, 0.0), size)


def solution_of(baseline_m: float) -> RigSolution:
    """Return a solution of which only rig and board are asked."""
    nothing = np.zeros((2, 0, 54, 2))
    return RigSolution(
        Board("chessboard", 9, 6, 0.025),
        rig_of(baseline_m),
        (),
        np.zeros((0, 6)),
        nothing,
        nothing[..., 0] > 0,
        np.zeros(2),
        ((), ()),
        {},
        np.zeros((2, 9)),
        np.zeros((6, 6)),
    )


@pytest.mark.parametrize(
    ("solved_mm", "tape_mm", "grade"),
    [(366, 366, Grade.PASS), (366, 360, Grade.PASS), (366, 380, Grade.FAIL), (100, 105, Grade.PASS), (1000, 1019, Grade.PASS)],
)
def test_a_tape_is_good_to_two_percent_or_six_millimetres(solved_mm: float, tape_mm: float, grade: Grade) -> None:
    (finding,) = compare_with_tape(solution_of(1e-3 * solved_mm), 1e-3 * tape_mm)
    assert finding.grade is grade


def test_a_tape_names_the_square_size_that_fits() -> None:
    """305 mm by the board of 25 mm squares and 366 by tape: everything is 1.2 times as large, so the squares are 30 mm."""
    (finding,) = compare_with_tape(solution_of(0.305), 0.366)
    assert finding.text == "the cameras are 305 mm apart by the board and 366 mm by your tape"
    assert finding.fix.startswith("everything is 1.200 times as large, so squares of 30.00 mm would fit, not 25 mm")


def test_the_rig_before_is_compared(tmp_path: Path) -> None:
    out = tmp_path / "rig.toml"
    assert compare_with_earlier_rig(out, rig_of(0.3)) == []
    write_rig_toml(out, rig_of(0.36))
    assert compare_with_earlier_rig(out, rig_of(0.3601)) == [f"baseline 360.1 mm; in the rig that was in {out} it was 360.0 mm"]
    assert "0.833 times" in compare_with_earlier_rig(out, rig_of(0.3))[0]
    lone = rig_of(0.3).cameras[0]
    assert compare_with_earlier_rig(out, Rig((lone,))) == []
    out.write_text("not a rig", encoding="utf-8")
    assert compare_with_earlier_rig(out, rig_of(0.3)) == []


def test_lenses_come_from_a_rig_or_from_a_file_for_each_camera(tmp_path: Path) -> None:
    rig = rig_of(0.3)
    files = [tmp_path / "rig.toml", tmp_path / "l.toml", tmp_path / "r.toml"]
    right = replace(rig.cameras[1], matrix=rig.cameras[1].matrix * np.array([[1.1], [1.1], [1.0]]), name="other")
    write_rig_toml(files[0], Rig((rig.cameras[0], right)))
    write_rig_toml(files[1], Rig((rig.cameras[0],)))
    write_rig_toml(files[2], Rig((right,)))
    for named in (files[:1], files[1:]):
        found = read_intrinsics(named, ("left", "right"))
        assert [camera.name for camera in found] == ["left", "other"]
        np.testing.assert_array_equal(found[1].matrix, right.matrix)
    with pytest.raises(CalibrationError, match="3 files of --intrinsics for two cameras"):
        read_intrinsics(files, ("left", "right"))
    with pytest.raises(CalibrationError, match="holds 2 cameras, 3 are to be calibrated"):
        read_intrinsics(files[:1], ("a", "b", "c"))
    assert [camera.name for camera in read_intrinsics(files[:1], ("other", "left"))] == ["other", "left"]


def test_how_far_a_lens_may_be_refined_goes_by_its_size() -> None:
    small, large = rig_of(0.3).cameras[0], rig_of(0.3, (1280, 960)).cameras[0]
    sigma = np.stack([compute_refinement_sigma(camera) for camera in (small, large)])
    assert sigma.shape == (2, 9) and np.all(sigma > 0.0)
    assert sigma[0, 0] == pytest.approx(0.02 * small.focal_px) and sigma[0, 2] == pytest.approx(6.4)
    np.testing.assert_allclose(sigma[1, :4], 2.0 * sigma[0, :4], rtol=1e-2)
    np.testing.assert_array_equal(sigma[0, 4:], sigma[1, 4:])


def test_a_fail_keeps_what_was_there(tmp_path: Path) -> None:
    bad, worse = Finding(Grade.POOR, "few views"), Finding(Grade.FAIL, "the world is bent", "use glass")
    said: list[str] = []
    print_report(QualityReport((bad, worse)), said.append)
    assert said == ["verdict: fail", "  fail the world is bent: use glass", "  poor few views"]
    check_verdict(QualityReport((bad,)), tmp_path / "rig.toml")
    with pytest.raises(CalibrationError, match=r"rig.toml is not written: the world is bent: use glass$"):
        check_verdict(QualityReport((bad, worse)), tmp_path / "rig.toml")
    out, picture = tmp_path / "rig.toml", tmp_path / "rig.png"
    assert choose_report_picture(QualityReport((worse,)), picture, out) == picture
    out.touch()
    assert choose_report_picture(QualityReport((worse,)), picture, out) == tmp_path / "rig.failed.png"
    assert (
        choose_report_picture(QualityReport((bad,)), picture, out) == picture
        and choose_report_picture(QualityReport((worse,)), None, out) is None
    )
    with pytest.raises(CalibrationError, match="is as it was"):
        check_verdict(QualityReport((worse,)), tmp_path / "rig.toml")
