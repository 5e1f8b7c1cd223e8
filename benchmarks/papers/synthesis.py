"""Errors of poses by behaviour and method: what `duocap evaluate synthesis` measures, as tables of the paper's figure."""

from collections.abc import Iterator
from functools import partial

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.report import Column, Row, number_columns, text_columns
from tools.evaluate.protocol import synthesis_clips
from tools.evaluate.synthesis.measure import SynthesisOptions, measure_synthesis
from tools.evaluate.synthesis.table import PAPER, WHAT

VARIANTS = ("exact", "noise", "missing", "six")
IN_FIGURE = ("NN", "LWR", "paper")  # methods of the paper's figure
METHODS_SHOWN = (*IN_FIGURE, "paper-si", "ours")


def compute_synthesis(variant: str, request: Request) -> Iterator[Row]:
    """Yield a row for each clip and method. Raises DuocapError."""
    clips, path = request.find_clips(clip.stem for clip in synthesis_clips())
    seconds = request.choose_seconds(20.0)
    options = SynthesisOptions(
        request.motion, path, tuple(clips), seconds, request.markers, (variant,), METHODS_SHOWN, workers=request.workers
    )
    for run in measure_synthesis(options, request.settings.solve):
        paper = PAPER.get(run.behaviour, ())
        beside = paper[IN_FIGURE.index(run.method)] if paper and run.method in IN_FIGURE else None
        about = {"behaviour": run.behaviour, "clip": run.clip, "frames": run.frames, "method": run.method}
        yield about | run.means | {"deg": run.means["asf_deg"], "mm": run.means["position_mm"], "paper": beside}


TABLES = tuple(
    PaperTable(
        f"synthesis-{variant}",
        "Chai & Hodgins 2005, Figure 6",
        f"degrees per joint angle, mm per joint and the paper's degrees; {WHAT[variant]}",
        (
            *text_columns("behaviour", "clip"),
            Column("frames", 0),
            Column("method"),
            *number_columns(2, "deg"),
            *number_columns(1, "mm"),
            *number_columns(2, "paper"),
        ),
        partial(compute_synthesis, variant),
        mean_over=("behaviour", "clip"),
        spread="method",
        cells=("deg", "mm", "paper"),
    )
    for variant in VARIANTS
)
