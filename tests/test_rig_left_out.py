"""Views left out at one end of a calibration betray a camera that was moved."""

from dataclasses import replace

import pytest

from benchmarks.calibration_scene import random_scene
from benchmarks.calibration_truth import fitted
from calibration.rig_left_out import key_of, left_out_findings
from calibration.rig_solution import RigSolution
from calibration.verdict import Finding, Grade


def without(numbers: list[int]) -> RigSolution:
    """Give a calibration whose views of these numbers were left out; its pictures are left00, right00 and so on."""
    solution = fitted(random_scene(24, adversity="none"))
    kept = [v for v in range(len(solution.pairs)) if v not in numbers]
    dropped = tuple(f"left{v:02d} and right{v:02d}: corners are 9.1 px off, usual are 0.2 px" for v in numbers)
    return replace(solution, pairs=tuple(solution.pairs[v] for v in kept), dropped=dropped)


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_the_last_views_left_out_are_told() -> None:
    n = len(fitted(random_scene(24, adversity="none")).pairs)
    finding = only(left_out_findings(without(list(range(n - 6, n)))))
    assert finding.grade is Grade.POOR and finding.text.startswith(f"the last 6 of {n} views contradict all before")


def test_the_first_views_left_out_are_poor() -> None:
    assert only(left_out_findings(without([0, 1, 2, 3, 5]))).text.startswith("the first 5 of")


@pytest.mark.parametrize("numbers", [[], [29], [28, 29], [2, 9, 14, 21, 25], [3, 4, 5, 6]])
def test_views_left_out_here_and_there_are_no_move(numbers: list[int]) -> None:
    assert left_out_findings(without(numbers)) == []


def test_names_sort_as_time_does() -> None:
    assert key_of("9.5 s: blurred") < key_of("12.25 s and 12.3 s: blurred")
    assert key_of("left9.jpg and right9.jpg: moved") < key_of("left10.jpg: moved")
    assert key_of("a view: moved") == ()
