"""Pages of the papers: verdicts, what is kept, what is measured."""

import json
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install "duocap[benchmarks]"')

from benchmarks.papers.frame import Request
from benchmarks.papers.page.compare import compare_restoring, name_best
from benchmarks.papers.page.frame import Comparison, MeasuredItem, PageItem, Verdict, count_verdicts, format_item
from benchmarks.papers.page.make import FIGURES, PAGES, PageOptions, choose_request, find_table, make_pages
from benchmarks.report import Row
from config.errors import DatabaseError

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (Comparison("", 2.0, None, 1.8), Verdict.BETTER),
        (Comparison("", 2.0, None, 1.92), Verdict.EQUAL),
        (Comparison("", 2.0, None, 1.8, error=0.11), Verdict.EQUAL),
        (Comparison("", 2.0, None, 2.2), Verdict.WORSE),
        (Comparison("", 2.0, None, 2.2, more=True), Verdict.BETTER),
        (Comparison("", 2.0, 2.2, None), Verdict.OPEN),
        (Comparison("", 2.0, None, 2.2, rival=True), Verdict.OPEN),
    ],
)
def test_ours_is_judged_by_the_papers_figure_and_its_own_error(one: Comparison, verdict: Verdict) -> None:
    assert one.verdict is verdict
    assert one.format_cells()[-1] == str(verdict)


def test_models_within_two_standard_errors_of_paired_differences_are_tied() -> None:
    rows: list[Row] = [
        {"model": "a", "error": 1.0, "errors": [0.9, 1.0, 1.1]},
        {"model": "b", "error": 1.01, "errors": [0.96, 1.0, 1.07]},
        {"model": "c", "error": 1.1, "errors": [1.0, 1.1, 1.2]},
    ]
    assert name_best(rows) == "tie of a, b" and name_best(rows[::2]) == "best a"


def test_a_row_has_the_papers_model_and_the_better_of_ours() -> None:
    about: Row = {"data": "07 walking", "task": "completion", "halves": "random halves", "stands for": "07 walking"}
    rows: list[Row] = [
        about | {"model": name, "error": error, "errors": [error], "paper": paper}
        for name, error, paper in (("omp", 0.02, 0.07), ("k-svd", 0.01, None), ("all-poses", 0.005, None))
    ]
    (one,) = compare_restoring(["completion"])(rows)
    assert (one.paper, one.faithful, one.ours, one.verdict) == (0.07, 0.02, 0.005, Verdict.BETTER)
    measured = MeasuredItem(PageItem("Table 4", "t", "text", "restoring-small", compare_restoring(["completion"])), tuple(rows))
    assert count_verdicts([measured]) == [1, 0, 0, 0]
    assert any("best all-poses" in line and line.endswith("| better |") for line in format_item(measured))


def test_every_item_has_a_table_that_takes_what_it_asks_for() -> None:
    for item in (item for page in PAGES for item in page.items if item.table):
        table = find_table(item.table)
        assert not table.choices or set(item.only) <= set(table.choices)


def test_the_committed_pages_are_those_of_the_committed_figures(tmp_path: Path) -> None:
    for file in make_pages(PageOptions(tmp_path)):
        assert file.read_text("utf-8") == (DOCS / file.name).read_text("utf-8"), (
            f"python -m benchmarks.papers --page docs: {file.name}"
        )
    for figures in FIGURES.glob("*.json"):
        assert json.loads(figures.read_text("utf-8"))["rows"] and figures.stat().st_size < 200_000


def test_quick_takes_a_second_of_a_clip_and_the_tables_own_count() -> None:
    item = PageItem("Table 1", "t", "text", "search", only=("07_08",), count=160, seconds=4.0)
    asked = [choose_request(item, Request(Path("motion"), quick=quick, seeds=2)) for quick in (False, True)]
    assert [(one.only, one.count, one.seconds, one.seeds) for one in asked] == [
        (("07_08",), 160, 4.0, 2),
        (("07_08",), 0, 1.0, 2),
    ]


def test_one_paper_can_be_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "docs"
    assert [file.name for file in make_pages(PageOptions(folder, ("lai",)))] == ["papers-lai.md", "papers.md"]
    with pytest.raises(DatabaseError, match="take chai, chai-behaviours, grochow, lai, lai-sizes, wei"):
        make_pages(PageOptions(tmp_path, ("newton",)))


def test_what_cannot_be_measured_is_told_when_all_pages_are_written(tmp_path: Path) -> None:
    options = PageOptions(tmp_path / "docs", ("grochow",), Request(tmp_path / "none", quick=True), figures=tmp_path / "figures")
    with pytest.raises(DatabaseError, match=r"not measured, all else is in the pages:\nstyle-keys: .*none"):
        make_pages(options)
    assert sorted(file.name for file in (tmp_path / "docs").iterdir()) == ["papers-grochow.md", "papers.md"]
