"""The documents name what exists: links, source files, numbers of decisions, commands."""

import re
from pathlib import Path

import pytest

from tools.commands.evaluate.group import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])
PACKAGES = ("config", "numerics", "database", "calibration", "capture", "reconstruct", "stream", "tools", "duocap")
FOLDERS = "|".join([*PACKAGES, "benchmarks"])
MAX_LINES = 150  # of ARCHITECTURE.md: a tour that can be read at once
MAX_WORDS = 620  # of a decision: a page, with its tables
MAX_README_WORDS = 900
MAX_PAGE_WORDS = 1500  # of docs/: a job that a person has, tables included
MAX_SENTENCE_WORDS = 45


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_points_to_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    links = [link.partition("#") for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert [path for path, _, _ in links if path and not (page.parent / path).exists()] == []
    targets = [(page.parent / path if path else page, anchor) for path, _, anchor in links if anchor]
    assert [f"{target.name}#{anchor}" for target, anchor in targets if anchor not in anchors_of(target.read_text("utf-8"))] == []
    assert [file for file in re.findall(rf"`((?:{FOLDERS})/[\w/]+\.\w+)`", text) if not (ROOT / file).is_file()] == []


def anchors_of(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_that_a_page_shows_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    modules = re.findall(rf"python -m ((?:{FOLDERS})[\w.]*)", text)
    for module, names in re.findall(rf"^ *from ((?:{FOLDERS})[\w.]*) import (.+)$", text, re.MULTILINE):
        modules.append(module)
        source = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        defined = source.read_text("utf-8") if source.is_file() else ""
        assert [name for name in re.split(r"\W+", names) if not re.search(rf"(?:class|def) {name}\b", defined)] == []
    files = [ROOT.joinpath(*module.rstrip(".").split(".")) for module in modules]
    missing = [file for file in files if not (file.with_suffix(".py").is_file() or (file / "__main__.py").is_file())]
    assert missing == []


def test_decisions_have_the_numbers_of_their_files() -> None:
    numbers = []
    for page in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")):
        first = page.read_text("utf-8").partition("\n")[0]
        assert re.fullmatch(rf"# {int(page.name[:4])}\. .+", first), f"{page.name}: {first}"
        numbers.append(page.name[:4])
        words = len(page.read_text("utf-8").split())
        assert words <= MAX_WORDS, f"{page.name}: {words} words; a decision is a page, more figures go to decisions/figures"
    assert len(set(numbers)) == len(numbers) > 10
    index = (ROOT / "docs" / "decisions" / "README.md").read_text("utf-8")
    assert sorted(re.findall(r"\]\((\d{4})-", index)) == numbers


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= MAX_README_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    assert [part for part in sentences_of(page.read_text("utf-8")) if len(part.split()) > MAX_SENTENCE_WORDS] == []


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a page and the cells of its tables, without code and the addresses of links."""
    prose = re.sub(r"^    .*$", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), flags=re.MULTILINE)
    blocks = re.split(r"\n(?=\s*(?:[-*|#]|\d+\.|\n))", re.sub(r"\]\([^)]*\)", "]", prose))
    return [part for block in blocks for part in re.split(r"(?<=[.!?:])\s|\|", " ".join(block.split()))]


def test_a_page_is_read_at_once() -> None:
    words = {page.name: len(page.read_text("utf-8").split()) for page in (ROOT / "docs").glob("*.md")}
    assert {name: count for name, count in words.items() if count > MAX_PAGE_WORDS} == {}


def test_the_index_names_every_page() -> None:
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert len(pages) > 20
    assert sorted(pages - set(re.findall(r"\]\(([\w-]+\.md)", (ROOT / "docs" / "index.md").read_text("utf-8")))) == []


def test_every_evaluation_is_described() -> None:
    text = "".join(file.read_text("utf-8") for file in (ROOT / "docs").glob("evaluation*.md"))
    names = [
        command.name or command.callback.__name__
        for command in app.registered_commands
        if command.callback and not command.hidden
    ]
    assert len(names) == 5
    assert [name for name in names if f"`duocap evaluate {name}`" not in text] == []


def test_the_tour_of_the_architecture_is_short_and_names_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rooms = {file.parent.relative_to(ROOT).as_posix() for package in PACKAGES for file in (ROOT / package).rglob("*.py")}
    assert len(rooms) > 50
    assert sorted(room for room in rooms if f"`{room}/`" not in text) == []
    named = re.findall(rf"`((?:{FOLDERS})/(?:\w+/)*)`", text)
    assert [room for room in named if not (ROOT / room).is_dir()] == []
    assert len(text.splitlines()) <= MAX_LINES


def test_names_of_the_glossary_are_defined_in_the_files_it_gives() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines()
    checked = 0
    for cell in (cell for line in lines if line.startswith("|") for cell in line.split("|")):
        for names, file in re.findall(r"((?:`[^`]*`,? )+)\(`([\w/]+\.py)`\)", cell):
            source = (ROOT / file).read_text("utf-8")
            for name in re.findall(r"(\w+)`", names):
                assert re.search(rf"(?:class|def) {name}\b|^ *{name}(?: =|:) ", source, re.MULTILINE), f"{name}: not in {file}"
                checked += 1
    assert checked > 45
