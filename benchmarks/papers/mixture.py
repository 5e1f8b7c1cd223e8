"""Errors of poses by what the database holds: one behaviour, everything, everything but it, parts of it; and end to end.

Chai & Hodgins 2005, section 9, say that combining behaviours had no effect on the quality.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.papers.grown import cut_database, grown_database, pick_clips
from benchmarks.report import Column, Row, number_columns, text_columns
from config.errors import DatabaseError
from database.files.resample import SUFFIX
from database.store import PoseDatabase
from database.thinning import MARK
from reconstruct.search.examples import PoseTable, compute_examples
from tools.evaluate.clip_sets import TEST, TUNING
from tools.evaluate.protocol import ProtocolClip, cmu_folder, open_once
from tools.evaluate.rendered import RenderedOptions, measure_rendered
from tools.evaluate.synthesis.measure import run_method

CLIPS = ("14_02", "07_08", "09_09", "16_05", "05_18", "01_08")
PARTS = (0.03, 0.1, 0.3)  # of the database, random clips
N_DRAWS = 3  # of each part
METHODS = ("paper", "ours")
MIXED = "transitions"
PAPER_DEG = 2.54  # end to end, boxing


def read_behaviours(motion: Path) -> dict[str, str]:
    """Return the behaviour of each CMU clip by its stem, and of HDM05's kinds of motion. Raises DatabaseError: no list."""
    file = cmu_folder(motion).parent / "manifest.csv"
    if not file.is_file():
        raise DatabaseError(f"{file}: no such file; expected the list of the CMU clips with their behaviours")
    with file.open(encoding="utf-8") as stream:
        of_cmu = {row["clip"]: row["behaviour"] for row in csv.DictReader(stream)}
    return of_cmu | {name_kind(stem): behaviour for stem, behaviour in (TUNING | TEST).items() if stem.startswith("HDM_")}


def name_kind(name: str) -> str:
    """Return the name by which a clip's behaviour is known: its stem, of HDM05's the kind of motion."""
    stem = name.removesuffix(SUFFIX).partition(MARK)[0].partition("+")[0]
    return stem.split("_")[2] if stem.startswith("HDM_") else stem


def build_mixtures(
    database: PoseDatabase, which: ProtocolClip, behaviours: dict[str, str], n_draws: int
) -> Iterator[tuple[str, int, PoseTable]]:
    """Yield databases for a clip: what they hold, the number of the draw where that is random, the poses.

    Clips of several behaviours, transitions, are neither like the clip nor unlike it.

    Args:
        database: all clips.
        which: clip.
        behaviours: of clips by `name_kind`.
        n_draws: random parts of each size.
    """
    yield "all", 0, database
    found = np.array([behaviours.get(name_kind(name), "") for name in database.clip_names])
    alike, unlike = found == which.behaviour, ~np.isin(found, (which.behaviour, MIXED))
    if alike.any() and unlike.any():
        yield "its behaviour", 0, pick_clips(database, np.flatnonzero(alike))
        yield "all but it", 0, pick_clips(database, np.flatnonzero(unlike))
    for part in PARTS:
        for draw in range(n_draws):
            yield f"{100 * part:.0f} % of all", draw, cut_database(database, round(part * database.n_poses), draw)


def _measure_clip(which: ProtocolClip, path: Path, request: Request) -> list[Row]:
    """Return the rows of one clip. Raises DuocapError."""
    query, rows = request.load_query(which, 5.0), list[Row]()
    draws = 1 if request.quick else N_DRAWS
    for name, draw, table in build_mixtures(open_once(path), which, read_behaviours(request.motion), draws):
        examples = compute_examples(query.subject, table)
        about = {"clip": which.stem, "behaviour": which.behaviour, "database": name, "draw": draw, "poses": len(examples)}
        for method in METHODS:
            means = run_method(query, examples, request.settings.solve, method).means()
            figures = {"frames": len(query) - 1, "deg": means["asf_deg"], "mm": means["position_mm"]}
            rows.append(about | {"method": method} | figures)
    return rows


def compute_mixture(request: Request) -> Iterator[Row]:
    """Yield a row for each clip, database and method; quick: of the CMU motions at 60 Hz alone. Raises DuocapError."""
    clips, path = request.find_clips(CLIPS)
    if not request.quick and request.database is None:
        path = grown_database(request.motion)
    return request.run([partial(_measure_clip, clip, path, request) for clip in clips], "mixture")


def compute_end_to_end(request: Request) -> Iterator[Row]:
    """Yield a row for each clip, quick: for one: rendered, detected, calibrated, tracked. Raises DuocapError."""
    stems = ("02_05", "14_02")
    request = replace(request, only=(request.only or stems)[:1]) if request.quick else request
    yield from measure_clips(request, stems, request.markers, 2)


def measure_clips(request: Request, stems: Sequence[str], markers: str, n_cameras: int) -> Iterator[Row]:
    """Yield a row for each clip, rendered and tracked. Raises DuocapError."""
    clips, path = request.find_clips(stems)
    options = RenderedOptions(markers, request.choose_seconds(10.0), cameras=n_cameras)
    for found in measure_rendered(request.motion, path, request.settings, options, clips=clips, workers=request.workers).results:
        yield {
            "clip": found.clip,
            "behaviour": found.behaviour,
            "frames": found.score.frames,
            "deg": found.asf_deg[0],
            "deg p95": found.asf_deg[1],
            "mm": found.score.position_mm[0],
            "tracked %": 100.0 * found.score.tracked,
            "paper": PAPER_DEG if found.behaviour == "boxing" else None,
        }


TABLES = (
    PaperTable(
        "synthesis-mixture",
        "Chai & Hodgins 2005, section 9",
        "degrees per joint angle and mm per joint by what the database holds; exact markers",
        (
            *text_columns("behaviour", "clip", "database"),
            *number_columns(0, "draw", "poses", "frames"),
            Column("method"),
            *number_columns(2, "deg"),
            *number_columns(1, "mm"),
        ),
        compute_mixture,
        spread="method",
        cells=("deg", "mm"),
    ),
    PaperTable(
        "end-to-end",
        "Chai & Hodgins 2005, section 8",
        "two rendered cameras, subject and markers calibrated, tracked: degrees per joint angle, mm per joint",
        (
            *text_columns("behaviour", "clip"),
            Column("frames", 0),
            *number_columns(2, "deg", "deg p95"),
            *number_columns(1, "mm", "tracked %"),
            Column("paper", 2),
        ),
        compute_end_to_end,
    ),
)
