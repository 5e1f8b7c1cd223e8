"""Missing markers: masks by their properties, every method on a small walk, the tables' arithmetic, what styles learn from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from config.errors import DatabaseError
from config.joints import N_JOINTS
from config.settings import Settings
from database.builtin import body
from database.clips import Clip, clip_slice
from reconstruct.basis import basis_for
from reconstruct.style.features import TrainingPoses, some, training_poses
from reconstruct.style.learn import LearnOptions, learn
from reconstruct.style.model import Style
from tests.people import person, table_of, walk, worn_markers
from tools.evaluation import missing_styles
from tools.evaluation.asf_angles import AsfAngles
from tools.evaluation.missing import Answers, Errors, MissingRun, answers, as_json, cases_named, errors_of
from tools.evaluation.missing_masks import (
    CASES,
    LEAD_FRAMES,
    LEAST_SEEN,
    Case,
    at_random,
    limb_in_turns,
    markers_of_limb,
    n_missing,
    scored,
    seen_in,
)
from tools.evaluation.missing_methods import Given, interpolated, method
from tools.evaluation.missing_plot import plot_missing
from tools.evaluation.missing_styles import KEPT_BACK_S, TAKES, lesson, lesson_of, strange_lesson, strangeness_deg
from tools.evaluation.missing_table import aims, mean, print_missing, table, worse_than_local
from tools.evaluation.protocol import MAIN, OTHERS, protocol_clip
from tools.evaluation.queries import Query

SUBJECT = person("boxing", skeleton=body(1.74))
CLIP = walk(SUBJECT.skeleton)
N = 60


def walk_query(visible: np.ndarray | None = None) -> Query:
    """Give the begin of a walk as a query."""
    marker_m, _ = worn_markers(SUBJECT, CLIP.rotvec[:N], CLIP.root_m[:N])
    seen = np.ones(marker_m.shape[:2], bool) if visible is None else visible
    return Query("walk", "walking", SUBJECT, CLIP.rotvec[:N].copy(), CLIP.root_m[:N].copy(), marker_m, seen, AsfAngles((), ()))


def gaps_of(seen: np.ndarray) -> list[tuple[int, int]]:
    """Give first frame and length of each gap of one marker, (N,)."""
    edges = np.diff(np.concatenate([[1], seen.astype(int), [1]]))
    return [(int(a), int(b - a)) for a, b in zip(np.flatnonzero(edges < 0), np.flatnonzero(edges > 0), strict=True)]


@given(st.integers(6, 20), st.floats(0.01, 0.99), st.integers(20, 60), st.integers(0, 2**31))
@effort(max_examples=25, deadline=None)
def test_gaps_at_random_have_their_length_and_share(n_markers: int, share: float, gap: int, seed: int) -> None:
    n, missing = 150, n_missing(share, n_markers)
    visible = at_random(n, n_markers, missing, gap, np.random.default_rng(seed))
    assert visible[:LEAD_FRAMES].all() and visible[-1].all()
    assert visible.sum(axis=1).min() >= LEAST_SEEN
    assert ((~visible[LEAD_FRAMES + gap : -1]).sum(axis=1) == missing).all()
    for m in range(n_markers):
        for first, length in gaps_of(visible[:, m]):
            assert length == min(gap, n - 1 - first)
    again = at_random(n, n_markers, missing, gap, np.random.default_rng(seed))
    np.testing.assert_array_equal(visible, again)


def test_shares_of_markers() -> None:
    assert [n_missing(share, 9) for share in (0.1, 0.3, 0.5, 0.7)] == [1, 3, 5, 6]
    assert [n_missing(share, 14) for share in (0.1, 0.3, 0.5, 0.7)] == [1, 4, 7, 10]
    assert n_missing(0.9, 8) == 5


def test_limbs_wear_the_right_markers() -> None:
    def names(limb: str) -> set[str]:
        return {name for name, worn in zip(SUBJECT.markers.names, markers_of_limb(SUBJECT, limb), strict=True) if worn}

    assert names("an arm") == {"left_hand"} and names("both arms") == {"left_hand", "right_hand"}
    assert names("a leg") == {"left_foot"}
    assert names("one side") == {"left_hand", "left_foot", "left_shoulder", "waist_left"}


def test_a_limb_goes_and_comes_back() -> None:
    worn = np.array([True, False])
    seen = limb_in_turns(100, worn, 20)
    assert seen[:, 1].all()
    assert gaps_of(seen[:, 0]) == [(6, 20), (46, 20), (86, 13)]
    assert scored(seen).sum() == 53


def test_a_seed_a_case_and_a_clip_always_hide_the_same() -> None:
    case = Case(0.5, share=0.5)
    one, same = (seen_in(case, SUBJECT, 90, 3, "07_08") for _ in range(2))
    other = seen_in(case, SUBJECT, 90, 3, "16_15")
    assert one is not None and same is not None and other is not None
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    assert seen_in(Case(2.0, share=0.5), SUBJECT, 120, 3, "07_08") is None  # too short a clip for gaps of 2 s


def test_cases_by_name() -> None:
    assert cases_named(()) == CASES
    assert cases_named(["50%", "2s"]) == (Case(2.0, share=0.5),)
    assert cases_named(["a leg"]) == (Case(0.5, limb="a leg"), Case(2.0, limb="a leg"))
    with pytest.raises(DatabaseError, match="'atail' is no case; take "):
        cases_named(["a tail"])


@pytest.fixture(scope="module")
def walked() -> Given:
    """A walk of which half the markers are missing, and a database of the like."""
    visible = at_random(N, len(SUBJECT.markers), 4, 20, np.random.default_rng(1))
    return Given(walk_query(visible), basis_for(SUBJECT, table_of([walk(SUBJECT.skeleton, 3)])), Settings(), None)


@pytest.fixture(scope="module")
def learned() -> Style:
    """A style of another part of the walk than is asked for."""
    poses = some(training_poses([clip_slice(CLIP, N + 20, CLIP.n_frames)]), 60)
    return learn(poses, SUBJECT.skeleton, "walk", LearnOptions(active=30, steps=30))


def test_interpolation_is_straight_between_what_is_seen(walked: Given) -> None:
    query = walked.query
    place = interpolated(query)
    np.testing.assert_array_equal(place[query.visible], query.marker_m[query.visible])
    m = int(np.flatnonzero((~query.visible).any(axis=0))[0])
    first, length = gaps_of(query.visible[:, m])[0]
    before, after = query.marker_m[first - 1, m], query.marker_m[first + length, m]
    np.testing.assert_allclose(place[first + 4, m], before + 5.0 / (length + 1) * (after - before))


@pytest.mark.parametrize("name", ["hold", "linear", "local"])
def test_every_method_follows_a_walk_without_half_of_its_markers(name: str, walked: Given) -> None:
    found = answers(name, walked)
    errors = errors_of(walked.query, walked.query.visible, found)
    assert np.isfinite(found.rotvec).all() and np.isfinite(found.marker_m).all()
    assert 0.0 < errors.marker_mm < 300.0 and errors.position_mm < 150.0 and errors.geodesic_deg < 20.0
    if name == "linear":
        missing = ~walked.query.visible
        np.testing.assert_array_equal(found.marker_m[missing], interpolated(walked.query)[missing])


@pytest.mark.parametrize(("name", "missing"), [("style", 1), ("both", 4), ("chosen", 4)])
def test_a_style_of_the_walk_follows_it(name: str, missing: int, walked: Given, learned: Style) -> None:
    visible = walked.query.visible.copy()
    if missing == 1:  # a style learned so briefly is no good by itself: the hand may be anywhere within reach
        visible[:], visible[20:40, 0] = True, False
    told = replace(walked, query=walk_query(visible), style=learned)
    found = answers(name, told)
    errors = errors_of(told.query, visible, found)
    assert np.isfinite(found.rotvec).all() and np.isfinite(found.marker_m).all()
    assert 0.0 < errors.marker_mm < (300.0 if name == "style" else 80.0)
    assert errors.position_mm < 50.0 and errors.geodesic_deg < 12.0


def test_an_unknown_method_is_named(walked: Given) -> None:
    with pytest.raises(DatabaseError, match="'magic' is no method; take hold, linear, local"):
        method("magic", walked)


def test_errors_count_missing_markers_while_they_are_missing() -> None:
    visible = np.ones((N, len(SUBJECT.markers)), bool)
    visible[10:20, 2] = False
    query = walk_query(visible)
    marker_m = query.marker_m.copy()
    marker_m[10:20, 2, 1] += 0.03
    marker_m[:, 4] += 1.0  # seen, and of no concern
    root_m = query.root_m.copy()
    root_m[15:, 0] += 0.02  # half of the frames that count, and others
    errors = errors_of(query, visible, Answers(query.rotvec, root_m, marker_m, 0.0))
    assert errors.marker_mm == pytest.approx(30.0) and errors.marker_p95_mm == pytest.approx(30.0)
    assert errors.position_mm == pytest.approx(10.0) and errors.geodesic_deg == pytest.approx(0.0, abs=1e-5)


def run_of(clip: str, name: str, mm: float, strange_deg: float = 2.0) -> MissingRun:
    """Give a run whose errors with none missing are 10 mm and 4 degrees."""
    errors, whole = Errors(mm, 2.0 * mm, 0.4 * mm, mm), Errors(10.0, 20.0, 4.0, 10.0)
    cell = (clip, "walking", "boxing", "known", "takes", strange_deg, Case(2.0, share=0.5), name, 0.5, 60)
    return MissingRun(*cell, errors, whole, 1.0)


def test_the_table_is_of_means_and_multiples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [run_of("a", "local", 20.0), run_of("a", "both", 12.0), run_of("b", "local", 10.0), run_of("b", "both", 16.0)]
    assert mean(runs[:2], "marker_mm") == 16.0 and mean(runs, "geodesic_deg", whole=True) == 4.0
    words = table(runs, "position_mm")[1].split()
    assert words == ["50", "%", "2", "50%", "10.0", "15.0", "x", "1.50", "14.0", "x", "1.40"]
    told = aims(runs)
    assert told[1].split() == ["boxing", "2", "s", "a", "known", "both", "1.20", "1.20", "local", "2.00", "2.00", "holds"]
    assert told[2].split()[-7:] == ["both", "1.60", "1.60", "local", "1.00", "1.00", "missed"]
    worse = worse_than_local(runs, "both")
    assert worse[0].strip().endswith("1 of 2:") and "b, known style" in worse[1] and worse_than_local(runs, "chosen") == []
    print_missing([*runs, run_of("c", "local", 30.0, 20.0), run_of("c", "both", 30.0, 20.0)])
    printed = capsys.readouterr().out
    assert "the style knows the motion" in printed and "the style does not know the motion" in printed and "nan" not in printed
    assert as_json(runs[0])["whole_position_mm"] == 10.0 and as_json(runs[0])["gap_s"] == 2.0
    files = plot_missing(runs, tmp_path)
    assert [file.name for file in files] == ["missing_1.png"] and files[0].stat().st_size > 10_000


def test_takes_to_learn_from_are_of_the_subject_and_no_queries() -> None:
    queries = {clip.stem for clip in (*MAIN, *OTHERS)}
    for stem, takes in TAKES.items():
        assert stem not in takes and not queries & set(takes)
        assert {take.partition("_")[0] for take in takes} == {stem.partition("_")[0]}


def numbered(stem: str, n: int) -> Clip:
    """Give a walk at 120 Hz whose root tells the frame."""
    rotvec = np.resize(CLIP.rotvec, (n, *CLIP.rotvec.shape[1:]))
    root_m = np.stack([np.arange(n), np.ones(n), np.zeros(n)], axis=1).astype(float)
    return Clip(stem, CLIP.skeleton, 120.0, rotvec, root_m)


@pytest.mark.parametrize(("stem", "begin"), [("14_02", 3000), ("09_12", 950)])
def test_a_style_never_learns_from_what_is_asked_for(stem: str, begin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = numbered(stem, 4000 if stem == "14_02" else 1900)
    monkeypatch.setattr(missing_styles, "take", lambda stem, motion: whole)
    monkeypatch.setattr(missing_styles, "query", lambda which, motion: clip_slice(whole, which.start, whole.n_frames))
    known = lesson(protocol_clip(stem), Path())
    learned, asked = known.clips[0].root_m[:, 0], known.asked.root_m[:, 0]
    assert asked[0] == begin and asked[-1] == whole.n_frames - 1
    seen = known.seen.root_m[:, 0]
    assert learned[-1] + 1 == seen[0] and seen[-1] < begin - KEPT_BACK_S * 120.0 and len(learned) > 500 and len(seen) > 180
    assert known.source.startswith(
        f"frames {learned[0] + 1:.0f}-{seen[-1] + 1:.0f} of the take, the last {len(seen) / 120:.1f} s"
    )
    strange = strange_lesson(protocol_clip(stem), Path())
    np.testing.assert_array_equal(strange.asked.root_m, known.asked.root_m)
    with pytest.raises(DatabaseError, match="'both' is no kind of style"):
        lesson_of("both", protocol_clip(stem), Path())


def test_strangeness_is_the_turn_from_the_nearest_pose() -> None:
    clip = numbered("walk", 240)
    poses = training_poses([clip])
    assert strangeness_deg(poses, poses.rotvec[3:5]) == pytest.approx(0.0, abs=1e-4)
    turned = np.zeros((1, N_JOINTS, 3))
    turned[0, 5, 1] = np.radians(44.0)
    assert strangeness_deg(TrainingPoses(poses.features[:1], np.zeros((1, N_JOINTS, 3))), turned) == pytest.approx(2.0)
