"""The page of a guided calibration, opened beside it: on this machine, in the system's browser if there is a display.

What comes of a guided calibration, and how it gets onto the page.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import cv2
import numpy as np

from calibration.quality.report import QualityReport
from config.errors import DuocapError
from config.settings import Settings
from stream.guidance.page import AGAIN, CLOSE, GuidePage, PageResult
from stream.web.server import serve_page
from tools.interrupt import raise_on_interrupt
from tools.viewer import SEEN_S, can_browse, open_browser, tell_page, wants_dark

TURN_S = 0.1


OpenPage = Callable[[str], contextlib.AbstractContextManager[GuidePage | None]]  # from its title


@contextlib.contextmanager
def open_no_page(title: str) -> Iterator[None]:
    """Open no page: words in the terminal do."""
    yield None


def choose_page(settings: Settings, tell: Callable[[str], None], wanted: bool) -> OpenPage:
    """Return the way to open the page of a guided calibration of its own, or none where it is not wanted."""
    return partial(_open_guide_page, settings, tell=tell) if wanted else open_no_page


@contextlib.contextmanager
def _open_guide_page(settings: Settings, title: str, tell: Callable[[str], None]) -> Iterator[GuidePage | None]:
    """Open a page while the block runs; yields None where it could not be opened: words in the terminal do.

    A page is told of, and opened by itself where there is a display.

    Args:
        settings: settings of the run.
        title: title of the page.
        tell: receives progress messages as text.
    """
    page = None
    try:
        served = serve_page(settings.viewer.host, settings.viewer.port, "duocap")
    except DuocapError as error:
        tell(f"without a page: {error}")
    else:
        page = GuidePage(served.server, title, wants_dark(settings.viewer.theme))
        tell_page("guidance", served.url, settings.viewer.port, tell, "")
        if can_browse():
            open_browser(served.url)
    try:
        yield page
    finally:
        if page is not None:
            page.close()


def _show_result(page: GuidePage, tell: Callable[[str], None]) -> bool:
    """Show the result while somebody looks at it; True: all is to be done again. Ctrl-C and a closed page end it, too."""
    if not page.n_pages:
        return False
    tell("the result is on the page; close it or press Ctrl-C to end")
    last_seen_s = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        while time.monotonic() - last_seen_s < SEEN_S:
            asked = page.asked()
            if AGAIN in asked:
                return True
            if CLOSE in asked:
                return False
            if page.n_pages:
                last_seen_s = time.monotonic()
            time.sleep(TURN_S)
    return False


Collected = TypeVar("Collected")
Progress = Callable[[str, float | None], None]


@dataclass(frozen=True, slots=True)
class GuideOutcome:
    """Result of a guided calibration: the verdict, further lines, its picture, and why nothing was written, if so."""

    report: QualityReport | None = None
    lines: tuple[str, ...] = ()
    picture: Path | None = None
    error: DuocapError | None = None


def guide_until_accepted(
    opened: contextlib.AbstractContextManager[GuidePage | None],
    collect: Callable[[GuidePage | None], tuple[Collected, str]],
    finish: Callable[[Collected, Progress], GuideOutcome],
    tell: Callable[[str], None],
) -> GuideOutcome:
    """Collect views, calibrate and show the result, again for as long as somebody asks for that on the page.

    Args:
        opened: opens the page (`_open_guide_page`).
        collect: guides until it is enough, on the page if there is one, and returns the views and a description of them.
        finish: calibrates with the views.
        tell: receives progress messages as text.
    Raises: DuocapError: what `collect` raises, or `finish` raises or returns as its error.
    """
    with raise_on_interrupt(), opened as page:
        while True:
            collected, words = collect(page)
            tell(f"solving {words}")
            outcome = _finish_guide(partial(finish, collected), words, page)
            if page is None or not _show_result(page, tell):
                break
    if outcome.error is not None:
        raise outcome.error
    return outcome


def _finish_guide(finish: Callable[[Progress], GuideOutcome], words: str, page: GuidePage | None) -> GuideOutcome:
    """Calibrate with the views; show how far that is, and the result, on the page if there is one."""

    def progress(words: str, share: float | None = None) -> None:
        if page is not None:
            page.solving(words, share)

    progress(words)
    try:
        outcome = finish(progress)
    except DuocapError as error:
        outcome = GuideOutcome(error=error)
    if page is not None:
        page.result(_build_page_result(outcome))
    return outcome


def _build_page_result(outcome: GuideOutcome) -> PageResult:
    """Return what the page shows of an outcome."""
    error = "" if outcome.error is None else " ".join(str(outcome.error).split())
    return PageResult(outcome.report, outcome.lines, _read_picture(outcome.picture), error)


def _read_picture(file: Path | None) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None":
    """Read a picture as RGB, None where there is none; through memory, since OpenCV cannot open every path on Windows."""
    if file is None or not file.is_file():
        return None
    image = cv2.imdecode(np.frombuffer(file.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    return None if image is None else np.ascontiguousarray(image[..., ::-1], dtype=np.uint8)
