"""What comes of a guided calibration, and how it gets onto the page."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from calibration.verdict import Verdict
from config.errors import DuocapError
from stream.guidance.page import GuidePage, Result

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of what was seen: the verdict, further lines, its picture, and why nothing was written, if so."""

    verdict: Verdict | None = None
    lines: tuple[str, ...] = ()
    picture: Path | None = None
    error: DuocapError | None = None


def finished(finish: Callable[[Progress], Outcome], words: str, page: GuidePage | None) -> Outcome:
    """Have it calibrated, and show what came out. words: what is worked with."""

    def progress(words: str, share: float | None = None) -> None:
        if page is not None:
            page.solving(words, share)

    progress(words)
    try:
        outcome = finish(progress)
    except DuocapError as error:
        outcome = Outcome(error=error)
    if page is not None:
        page.result(_result(outcome))
    return outcome


def _result(outcome: Outcome) -> Result:
    """Give what the page shows of an outcome."""
    verdict = outcome.verdict
    lines = (*(verdict.lines if verdict is not None else ()), *outcome.lines)
    error = "" if outcome.error is None else " ".join(str(outcome.error).split())
    return Result(None if verdict is None else verdict.grade, lines, _picture(outcome.picture), error)


def _picture(file: Path | None) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None":
    """Read a picture as RGB, None where there is none; through memory, since OpenCV cannot open every path on Windows."""
    if file is None or not file.is_file():
        return None
    image = cv2.imdecode(np.frombuffer(file.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    return None if image is None else np.ascontiguousarray(image[..., ::-1], dtype=np.uint8)
