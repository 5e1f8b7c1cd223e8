"""What all benchmarks share: tables that are printed as they grow, rows in groups, and one line for what a user can cause."""

from dataclasses import dataclass

import pytest

from benchmarks.report import Column, TablePrinter, compute_percentiles, group_rows, number_columns, parse_size, run_main
from config.errors import DatabaseError


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    clip: str
    mm: float


def test_rows_are_printed_as_they_come_and_kept_unless_they_are_means(capsys: pytest.CaptureFixture[str]) -> None:
    table = TablePrinter((Column("clip"), *number_columns(1, "mm"), Column("way")))
    table.add(Row("a", 1.25))
    table.add({"clip": "b", "mm": float("nan"), "way": "live"})
    table.show({"clip": "mean", "mm": 2.0})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["| clip | mm | way |", "|---|---|---|"]
    assert lines[2:] == ["| a | 1.2 | - |", "| b | - | live |", "| mean | 2.0 | - |"]
    assert len(table.rows) == 2


def test_groups_are_in_the_order_of_their_first_rows() -> None:
    rows = [Row("b", 1.0), Row("a", 2.0), Row("b", 3.0)]
    assert [[row.mm for row in same] for same in group_rows(rows, "clip")] == [[1.0, 3.0], [2.0]]
    assert list(group_rows([{"k": 1}, {}, {"k": 1}], "k")) == [[{"k": 1}, {"k": 1}], [{}]]


def test_an_error_of_a_user_is_one_line() -> None:
    def fail() -> None:
        raise DatabaseError("no motions; unpack some")

    with pytest.raises(SystemExit, match=r"^error: no motions; unpack some$"):
        run_main(fail)


def test_percentiles_and_sizes() -> None:
    assert compute_percentiles([1.0, 2.0, 3.0], 50, 100) == (2.0, 3.0)
    assert str(compute_percentiles([], 50)) == "(nan,)" and parse_size("640x480") == (640, 480)
