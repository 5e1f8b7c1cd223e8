"""Missing markers: every method on a small walk, errors by hand, the arithmetic of the tables."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.settings import Settings
from database.clips import slice_clip
from reconstruct.models.style.features import build_training_poses, subsample_poses
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.models.style.model import Style
from reconstruct.pose import TrackingState
from reconstruct.search.index import load_search_index
from tests.support.people import table_of, walk
from tests.tools.evaluate.walks import CLIP, SUBJECT, walk_query
from tools.evaluate.missing.masks import MissingCase, at_random
from tools.evaluate.missing.measure import MissingErrors, MissingRun, errors_of, solve
from tools.evaluate.missing.methods import MethodInput, SolvedMarkers, interpolated
from tools.evaluate.missing.plot import plot_missing_markers
from tools.evaluate.missing.table import aims, mean, report, table, worse_than_local
from tools.evaluate.states import JudgedPoses

N = 60


@pytest.fixture(scope="module")
def walked() -> MethodInput:
    """A walk of which half the markers are missing, and a database of the like."""
    visible = at_random(N, len(SUBJECT.markers), 4, 20, np.random.default_rng(1))
    return MethodInput(
        walk_query(N, visible=visible), load_search_index(SUBJECT, table_of([walk(SUBJECT.skeleton, 3)])), Settings(), None
    )


@pytest.fixture(scope="module")
def learned() -> Style:
    """A style of another part of the walk than is asked for."""
    poses = subsample_poses(build_training_poses([slice_clip(CLIP, N + 20, CLIP.n_frames)]), 60)
    return fit_style(poses, SUBJECT.skeleton, "walk", LearnOptions(active=30, steps=30))


def test_interpolation_is_straight_between_what_is_seen(walked: MethodInput) -> None:
    query = walked.query
    place = interpolated(query)
    np.testing.assert_array_equal(place[query.visible], query.marker_m[query.visible])
    m = int(np.flatnonzero((~query.visible).any(axis=0))[0])
    first = int(np.flatnonzero(~query.visible[:, m])[0])
    length = int(np.flatnonzero(query.visible[first:, m])[0])
    before, after = query.marker_m[first - 1, m], query.marker_m[first + length, m]
    np.testing.assert_allclose(place[first + 4, m], before + 5.0 / (length + 1) * (after - before))


@pytest.mark.parametrize("name", ["hold", "linear", "local"])
def test_every_method_follows_a_walk_without_half_of_its_markers(name: str, walked: MethodInput) -> None:
    found = solve(name, walked)
    errors = errors_of(walked.query, walked.query.visible, found)
    assert np.isfinite(found.rotvec).all() and np.isfinite(found.marker_m).all()
    assert 0.0 < errors.marker_mm < 300.0 and errors.position_mm < 150.0 and errors.geodesic_deg < 20.0
    if name == "linear":
        missing = ~walked.query.visible
        np.testing.assert_array_equal(found.marker_m[missing], interpolated(walked.query)[missing])


@pytest.mark.parametrize(("name", "missing"), [("synthesis", 1), ("fixed", 4), ("style", 4)])
def test_a_style_of_the_walk_follows_it(name: str, missing: int, walked: MethodInput, learned: Style) -> None:
    visible = walked.query.visible.copy()
    if missing == 1:  # a style learned so briefly is no good by itself: the hand may be anywhere within reach
        visible[:], visible[20:40, 0] = True, False
    given = replace(walked, query=walk_query(N, visible=visible), style=learned)
    found = solve(name, given)
    errors = errors_of(given.query, visible, found)
    assert np.isfinite(found.rotvec).all() and np.isfinite(found.marker_m).all()
    assert 0.0 < errors.marker_mm < (300.0 if name == "synthesis" else 80.0)
    assert errors.position_mm < 50.0 and errors.geodesic_deg < 12.0


def test_errors_count_missing_markers_while_they_are_missing() -> None:
    visible = np.ones((N, len(SUBJECT.markers)), bool)
    visible[10:20, 2] = False
    query = walk_query(N, visible=visible)
    marker_m = query.marker_m.copy()
    marker_m[10:20, 2, 1] += 0.03
    marker_m[:, 4] += 1.0  # seen, and of no concern
    root_m = query.root_m.copy()
    root_m[15:, 0] += 0.02  # half of the frames that count, and others
    errors = errors_of(query, visible, SolvedMarkers(query.rotvec, root_m, marker_m, root_m, 0.0))
    assert errors.marker_mm == pytest.approx(30.0) and errors.marker_p95_mm == pytest.approx(30.0)
    assert errors.position_mm == pytest.approx(10.0) and errors.geodesic_deg == pytest.approx(0.0, abs=1e-5)


def run_of(clip: str, name: str, mm: float, strange_deg: float = 2.0) -> MissingRun:
    """Return a run whose errors with none missing are 10 mm and 4 degrees."""
    errors, whole = MissingErrors(mm, 2.0 * mm, 0.4 * mm, mm), MissingErrors(10.0, 20.0, 4.0, 10.0)
    cell = (clip, "walking", "boxing", "known", "takes", strange_deg, MissingCase(2.0, share=0.5), name, 0.5, 60)
    judged = JudgedPoses((TrackingState.TRACKING,), np.full((1, 3), 1e-3 * mm), np.full((1, 3), 0.02), 60.0)
    return MissingRun(*cell, errors, whole, judged, 1.0)


def test_the_table_is_of_means_and_multiples(tmp_path: Path) -> None:
    runs = [run_of("a", "local", 20.0), run_of("a", "fixed", 12.0), run_of("b", "local", 10.0), run_of("b", "fixed", 16.0)]
    assert mean(runs[:2], "marker_mm") == 16.0 and mean(runs, "geodesic_deg", whole=True) == 4.0
    words = table(runs, "position_mm")[1].split()
    assert words == ["50", "%", "2", "50%", "10.0", "15.0", "x", "1.50", "14.0", "x", "1.40"]
    told = aims(runs)
    assert told[1].split() == ["boxing", "2", "s", "a", "known", "fixed", "1.20", "1.20", "local", "2.00", "2.00", "holds"]
    assert told[2].split()[-7:] == ["fixed", "1.60", "1.60", "local", "1.00", "1.00", "missed"]
    worse = worse_than_local(runs, "fixed")
    assert worse[0].strip().endswith("1 of 2:") and "b, known style" in worse[1] and worse_than_local(runs, "style") == []
    printed = "\n".join(report([*runs, run_of("c", "local", 30.0, 20.0), run_of("c", "fixed", 30.0, 20.0)], False, 3.2))
    assert printed.endswith("5 mm of noise in every coordinate; 3 s in all")
    assert "the style knows the motion" in printed and "the style does not know the motion" in printed and "nan" not in printed
    assert runs[0].as_json()["whole_position_mm"] == 10.0 and runs[0].as_json()["gap_s"] == 2.0
    assert runs[0].as_json()["states"] == ["tracking"] and runs[0].as_json()["within_1"] == 1.0
    files = plot_missing_markers(runs, tmp_path)
    assert [file.name for file in files] == ["missing_1.png"] and files[0].stat().st_size > 10_000
