"""Errors of poses by what the database holds: one behaviour, everything, everything but it, parts of it; and end to end.

Chai & Hodgins 2005, section 9, say that combining behaviours had no effect on the quality.
"""

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.papers.grown import cut_database, pick_clips
from benchmarks.papers.synthesis import IN_FIGURE
from benchmarks.report import Column, Row, number_columns, text_columns
from config.errors import DatabaseError
from database.store import PoseDatabase
from database.thinning import MARK
from reconstruct.search.examples import PoseTable, compute_examples
from tools.evaluate.protocol import ProtocolClip, cmu_folder, open_once
from tools.evaluate.rendered import RenderedOptions, measure_rendered
from tools.evaluate.synthesis.measure import run_method

CLIPS = ("14_02", "07_08", "09_09", "16_05", "05_18", "01_08")
PARTS = (0.03, 0.1, 0.3)  # of the database, random clips
METHODS = (*IN_FIGURE, "ours")
PAPER_DEG = 2.54  # end to end, boxing


def read_behaviours(motion: Path) -> dict[str, str]:
    """Return the behaviour of each CMU clip by its stem. Raises DatabaseError: no list of them."""
    file = cmu_folder(motion).parent / "manifest.csv"
    if not file.is_file():
        raise DatabaseError(f"{file}: no such file; expected the list of the CMU clips with their behaviours")
    with file.open(encoding="utf-8") as stream:
        return {row["clip"]: row["behaviour"] for row in csv.DictReader(stream)}


def build_mixtures(database: PoseDatabase, which: ProtocolClip, behaviours: dict[str, str]) -> dict[str, PoseTable]:
    """Return databases by what they hold, for a clip."""
    stems = [name.partition(MARK)[0].partition("+")[0] for name in database.clip_names]
    alike = np.array([behaviours.get(stem) == behaviours.get(which.stem) for stem in stems])
    found: dict[str, PoseTable] = {"all": database}
    if alike.any() and not alike.all():
        found |= {
            "its behaviour": pick_clips(database, np.flatnonzero(alike)),
            "all but it": pick_clips(database, np.flatnonzero(~alike)),
        }
    return found | {f"{100 * part:.0f} % of all": cut_database(database, round(part * database.n_poses)) for part in PARTS}


def _measure_clip(which: ProtocolClip, path: Path, request: Request) -> list[Row]:
    """Return the rows of one clip. Raises DuocapError."""
    query = request.load_query(which, 5.0)
    mixtures, rows = build_mixtures(open_once(path), which, read_behaviours(request.motion)), list[Row]()
    for name, table in mixtures.items():
        examples = compute_examples(query.subject, table)
        for method in METHODS[-2:] if request.quick else METHODS:
            means = run_method(query, examples, request.settings.solve, method).means()
            about = {"clip": which.stem, "behaviour": which.behaviour, "database": name, "poses": len(examples), "method": method}
            rows.append(about | {"frames": len(query) - 1, "deg": means["asf_deg"], "mm": means["position_mm"]})
    return rows


def compute_mixture(request: Request) -> Iterator[Row]:
    """Yield a row for each clip, database and method. Raises DuocapError."""
    clips, path = request.find_clips(CLIPS)
    return request.run([partial(_measure_clip, clip, path, request) for clip in clips], "mixture")


def compute_end_to_end(request: Request) -> Iterator[Row]:
    """Yield a row for each clip: rendered, detected, calibrated, tracked. Raises DuocapError."""
    yield from measure_clips(request, ("02_05", "14_02"), request.markers, 2)


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
            *number_columns(0, "poses", "frames"),
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
