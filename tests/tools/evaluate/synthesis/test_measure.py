"""Synthesis tables: errors of known poses, means by behaviour, and figures."""

from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose

from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.clips import Clip
from reconstruct.search.examples import Examples, compute_examples
from tests.support.people import table_of
from tools.evaluate.methods import SolvedMotion
from tools.evaluate.queries import FPS, MotionQuery
from tools.evaluate.synthesis.measure import SynthesisRun, errors_of, run_method
from tools.evaluate.synthesis.plot import plot_runs
from tools.evaluate.synthesis.table import behaviour_mean, report, table


def test_errors_are_what_was_done_to_the_poses(query: MotionQuery) -> None:
    rotvec, root_m = query.rotvec.copy(), query.root_m + [0.0, 0.003, 0.004]
    errors = errors_of(query, SolvedMotion(rotvec, root_m, 0.0))
    assert_allclose(errors.position_mm, 5.0, atol=1e-9)
    assert_allclose(errors.geodesic_deg, 0.0, atol=1e-5)
    assert run_method(query, _one(query), SolveSettings(), "NN").means()["position_mm"] > 20.0  # all it knows is one pose


def _one(query: MotionQuery) -> Examples:
    still = Clip("still", query.subject.skeleton, FPS, np.zeros((1, N_JOINTS, 3)), np.zeros((1, 3)))
    return compute_examples(query.subject, table_of([still]))


def test_tables_and_figures(tmp_path: Path) -> None:
    runs = []
    for name, mm, frames in (("LWR", 10.0, 30), ("ours", 4.0, 30), ("LWR", 20.0, 10), ("ours", 8.0, 10)):
        means = {"asf_deg": mm / 4, "component_deg": 2.0, "geodesic_deg": 3.0, "position_mm": mm, "frame_ms": 1.0}
        runs.append(
            SynthesisRun(f"c{frames}", "walking", "exact", name, frames, means, np.full(frames, 2.0), np.full(frames, mm))
        )
    assert behaviour_mean(runs, "walking", "LWR", "position_mm") == 12.5  # frames count alike
    lines = table(runs, "asf_deg")
    assert lines[1].split()[:6] == ["walking", "2", "40", "3.12", "1.25", "0.40"] and "1.30, 0.39" in lines[1]
    assert "== exact markers ==" in "\n".join(report(runs, 12.3)) and [*report(runs, 12.3)][-1] == "\n12 s in all"
    files = plot_runs(runs[:2], tmp_path / "figures")
    assert [file.name for file in files] == ["bars_exact.png", "c30_exact.png"]
    assert all(file.read_bytes()[:4] == b"\x89PNG" for file in files)
