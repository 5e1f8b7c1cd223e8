"""The frame of the tables: text, means, spread columns, charts; the command line, and some tables on real motion."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install "duocap[benchmarks]"')

from benchmarks.papers import __main__ as command
from benchmarks.papers.frame import Chart, PaperTable, Request, draw_chart, format_table
from benchmarks.papers.tables import TABLES
from benchmarks.report import Column, Row, number_columns, run_main, text_columns
from database.build import build_database
from tools.commands.evaluate.group import MOVED
from tools.evaluate.protocol import cmu_folder

ROWS: list[Row] = [
    {"clip": "a", "method": "NN", "mm": 10.0, "deg": 2.0},
    {"clip": "a", "method": "ours", "mm": 4.0, "deg": 1.0},
    {"clip": "b", "method": "NN", "mm": 20.0, "deg": float("nan")},
    {"clip": "b", "method": "ours", "mm": 6.0, "deg": 2.5},
]


def compute_none(request: Request) -> Iterator[Row]:
    """Yield nothing."""
    yield from ()


def make_table(**more: object) -> PaperTable:
    """Return a table of clips and methods."""
    columns = (*text_columns("clip", "method"), *number_columns(1, "mm"), Column("deg", 2))
    return PaperTable("made", "nobody", "a table", columns, compute_none, **more)  # type: ignore[arg-type]


def cells(line: str) -> list[str]:
    """Return the cells of a line."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_rows_become_lines_and_means_leave_out_what_is_missing() -> None:
    lines = format_table(make_table(mean_over=("clip",)), ROWS)
    assert cells(lines[0]) == ["clip", "method", "mm", "deg"] and len(lines) == 2 + 4 + 2
    assert cells(lines[4]) == ["b", "NN", "20.0", "-"]
    assert cells(lines[-2]) == ["mean", "NN", "15.0", "2.00"] and cells(lines[-1]) == ["mean", "ours", "5.0", "1.75"]


def test_a_column_is_spread_over_headings() -> None:
    lines = format_table(make_table(mean_over=("clip",), spread="method", cells=("mm", "deg")), ROWS)
    assert [cells(line) for line in (lines[0], *lines[2:])] == [
        ["clip", "NN", "ours"],
        ["a", "10.0 / 2.00", "4.0 / 1.00"],
        ["b", "20.0 / -", "6.0 / 2.50"],
        ["mean", "15.0 / 2.00", "5.0 / 1.75"],
    ]


def test_a_chart_is_drawn(tmp_path: Path) -> None:
    file = draw_chart(make_table(), Chart("mm", "deg", "method", panel=("clip",)), ROWS, tmp_path / "new")
    assert file == tmp_path / "new" / "made.png" and file.stat().st_size > 5_000


def test_tables_are_named_once_and_their_spread_is_of_their_columns() -> None:
    assert len({table.name for table in TABLES}) == len(TABLES)
    for table in TABLES:
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        assert set(table.cells) | set(table.mean_over) | {table.spread} - {""} <= set(names), table.name


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing", "--motion", "."], "'nothing' is no table; take synthesis-exact"),
        (["search"], "--motion is missing"),
        (["posing", "--motion", ".", "--only", "07 flying"], "posing has no '07 flying'; take 07 walking"),
        (["restoring-small", "--motion", "."], "no CMU motions"),
        (["feet", "--motion", ".", "--clips", "all"], "tuning, test or quick"),
    ],
)
def test_what_is_unknown_or_missing_is_said_in_a_line(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        run_main(lambda: command.main(words))
    assert told in str(ended.value) and str(ended.value).startswith("error: ") and "\n" not in str(ended.value)


def test_commands_that_moved_name_tables_that_are_there() -> None:
    assert {name for tables in MOVED.values() for name in tables.split()} <= {table.name for table in TABLES}


def test_tables_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    command.main([])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [table.name for table in TABLES]


@pytest.mark.slow
def test_tables_of_a_real_walk(motion_dir: Path, tmp_path: Path) -> None:
    folder = cmu_folder(motion_dir) / "07"
    files = sorted(folder.glob("07_0[1-5].amc"))
    if not files or not (folder / "07_08.amc").is_file():
        pytest.skip(f"no walks in {folder}")
    build_database(files, tmp_path / "walks.db", processes=1)
    names = ["synthesis-exact", "search", "feet", "acquisition"]
    words = ["--motion", motion_dir, "--database", tmp_path / "walks.db", "--only", "07_08", "--seconds", 1.5, "--count", 3]
    words += ["--quick", "--workers", 1, "--seed", 0, "--json", tmp_path / "f.json"]
    command.main([*names, *map(str, words)])
    found = json.loads((tmp_path / "f.json").read_text("utf-8"))
    by_method = {row["method"]: row["mm"] for row in found["synthesis-exact"]}
    assert by_method["ours"] < by_method["NN"] < 60.0
    (searched,) = found["search"]
    assert searched["ratio"] < 1.05 and searched["examined"] < searched["poses"]
    slide = {(row["feet"], row["poses"]): row["slide mm"] for row in found["feet"]}
    assert slide["seen", "held"] < slide["seen", "solved"]
    plain = found["acquisition"][0]
    # Found within a second, all nine markers labelled correctly, the pose as good as in tracking.
    assert plain["case"] == "no past, 0 missing, 0 false" and plain["wrong %"] == plain["never %"] == 0.0 and plain["mm"] < 60.0


@pytest.mark.slow
def test_tables_of_models_of_a_real_run(motion_dir: Path, tmp_path: Path) -> None:
    words = ["--motion", motion_dir, "--quick", "--workers", "1", "--json", tmp_path / "f.json"]
    command.main(["posing", *map(str, words), "--count", "3", "--only", "09 running"])
    rows = json.loads((tmp_path / "f.json").read_text("utf-8"))["posing"]
    mm = {(row["given"], row["method"]): row["mm"] for row in rows}
    for model in ("local", "sparse", "style"):
        assert mm["6 points", model] < 0.7 * mm["6 points", "NN"], model
    command.main(["restoring-small", *map(str, words), "--count", "200", "--only", "09", "gaussian", "mfa", "sgplvm"])
    found = json.loads((tmp_path / "f.json").read_text("utf-8"))
    rows = [row for row in found["restoring-small"] if row["halves"] == "random halves"]
    error = {(row["model"], row["task"]): row["error"] for row in rows}
    assert error["mfa", "completion"] < error["gaussian", "completion"] < 0.1
    assert error["mfa", "sparse noise"] < 0.05
