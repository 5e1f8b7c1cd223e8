"""What a page of a paper is, and how measured rows become one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.report import Row

EQUAL = 0.05  # of the paper's figure: what is nearer than this is as good, or nearer than two standard errors


class Verdict(StrEnum):
    """Ours against the paper's."""

    BETTER = "better"
    EQUAL = "equal"
    WORSE = "worse"
    OPEN = "-"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row of a page; figures that there are not are None.

    Attributes:
        what: what was measured.
        paper: the paper's figure.
        faithful: ours with the paper's own model.
        ours: ours with our own.
        error, faithful_error: standard errors of ours and of the paper's model here, 0 where not known.
        digits: of the figures after the point.
        more: whether more is better.
        rival: whether it is another method's, which is not judged.
    """

    what: str
    paper: float | None
    faithful: float | None = None
    ours: float | None = None
    error: float = 0.0
    faithful_error: float = 0.0
    digits: int = 2
    more: bool = False
    rival: bool = False

    @property
    def verdict(self) -> Verdict:
        """Ours against the paper's: equal within 5 % or two standard errors."""
        if self.ours is None or self.paper is None or self.rival:
            return Verdict.OPEN
        gain = (self.ours - self.paper) * (1.0 if self.more else -1.0)
        if abs(gain) <= max(EQUAL * abs(self.paper), 2.0 * self.error):
            return Verdict.EQUAL
        return Verdict.BETTER if gain > 0.0 else Verdict.WORSE

    def format_cells(self) -> list[str]:
        """Return the cells of the row."""
        cells = [self.what]
        for value, error in ((self.paper, 0.0), (self.faithful, self.faithful_error), (self.ours, self.error)):
            spread = f" ± {2.0 * error:.{self.digits}f}" if error > 0.0 else ""
            cells.append("-" if value is None else f"{value:.{self.digits}f}{spread}")
        return [*cells, str(self.verdict)]


@dataclass(frozen=True, slots=True)
class PageItem:
    """A table or figure of a paper.

    Attributes:
        place: where it is in the paper.
        title: what it shows.
        text: our data and what differs; where nothing is measured for the page, where ours is.
        table: name of the table that measures it, empty: none does.
        compare: rows of the page from those of the table.
        why: why ours is worse where it is.
        only, count, seconds: as in `Request`.
        figures: file of the measured figures where another command than that of the tables writes them.
    """

    place: str
    title: str
    text: str
    table: str = ""
    compare: Callable[[Sequence[Row]], list[Comparison]] = lambda rows: []
    why: str = ""
    only: tuple[str, ...] = ()
    count: int = 0
    seconds: float | None = None
    figures: str = ""


@dataclass(frozen=True, slots=True)
class PaperPage:
    """The page of a paper. name: by which it is asked for; file: in the folder of documents."""

    name: str
    file: str
    title: str
    items: tuple[PageItem, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class MeasuredItem:
    """An item with the rows that were measured for it, none where none were.

    command: by which they were; processor_s: time that took [s], 0: not known.
    """

    item: PageItem
    rows: tuple[Row, ...] = ()
    command: str = ""
    processor_s: float = 0.0

    @property
    def comparisons(self) -> list[Comparison]:
        """The rows of the page."""
        return self.item.compare(self.rows) if self.rows else []


def format_grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]


def format_item(measured: MeasuredItem) -> list[str]:
    """Return the lines of an item."""
    item, lines = measured.item, [f"## {measured.item.place}: {measured.item.title}", "", measured.item.text, ""]
    if measured.comparisons:
        rows = [("", "paper", "paper's model here", "ours", "verdict"), *(one.format_cells() for one in measured.comparisons)]
        shown = [column for column in zip(*rows, strict=True) if set(column[1:]) != {"-"}]
        lines += format_grid([column[0] for column in shown], list(zip(*(column[1:] for column in shown), strict=True)))
        took = f" ({measured.processor_s:.0f} s of processor time)" if measured.processor_s else ""
        lines += ["", f"`{measured.command}`{took}", ""]
    elif item.table:
        lines += [f"Not measured yet: table `{item.table}`.", ""]
    return [*lines, item.why, ""] if item.why and measured.comparisons else lines


def format_page(page: PaperPage, measured: Sequence[MeasuredItem]) -> str:
    """Return a page."""
    lines = [f"# {page.title}", "", *([page.about.strip(), ""] if page.about else [])]
    for one in measured:
        lines += format_item(one)
    return "\n".join(lines).rstrip() + "\n"


def count_verdicts(measured: Sequence[MeasuredItem]) -> list[int]:
    """Return how many rows are better, equal, worse and not compared."""
    found = [one.verdict for item in measured for one in item.comparisons]
    return [found.count(verdict) for verdict in Verdict]
