"""Figure 5's curves on made poses whose answers are known, and the whole of it on real motion where there is some."""

import json
from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from config.settings import Settings
from database.rotations import Floats
from database.store import open_database, write_database
from tests.people import person, walk
from tools.evaluation.curves import Ints, best_mixture, clusters, curve, global_pca, local_model, mixture, projected
from tools.evaluation.dimensionality import CASES, Panel, evaluate_dimensionality, panels_of, table
from tools.evaluation.dimensionality_plot import draw

ALL = np.ones(6, bool)


def planes(n: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Give points of two far planes of two dimensions each, turned differently in six, and which plane each is of."""
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.normal(size=(6, 2)))[0] for _ in range(2)]
    offsets = [np.full(6, -4.0), np.array([5.0, 0.0, 3.0, 0.0, 4.0, 1.0])]
    side = rng.integers(0, 2, n)
    return np.array([offsets[s] + bases[s] @ rng.normal(size=2) for s in side]), side


def nearest(poses: Floats, tests: Floats, count: int) -> Ints:
    """Give the rows of the nearest poses to each test, nearest first."""
    distance = np.linalg.norm(tests[:, None] - poses, axis=2)
    return np.argsort(distance, axis=1)[:, :count]


def test_errors_by_hand() -> None:
    # Residuals of 3 and -4 degrees in two angles that move; what stands still does not count.
    residuals = np.radians(np.array([[[3.0, -4.0, 90.0]], [[0.0, 0.5, 90.0]]]))
    found = curve("a", np.array([1, 4]), residuals, np.array([True, True, False]))
    np.testing.assert_allclose(found.mean_deg, [3.5, 0.25])
    np.testing.assert_allclose(found.rms_deg, [np.sqrt(12.5), np.sqrt(0.125)])
    assert (found.dimensions_under(), found.dimensions_under(0.1)) == (4, None)


def test_projected_takes_one_direction_after_the_other() -> None:
    left = projected(np.array([[2.0, -3.0, 5.0]]), np.eye(3)[:, [2, 0]], 3)
    np.testing.assert_array_equal(left[:, 0], [[2.0, -3.0, 0.0], [0.0, -3.0, 0.0], [0.0, -3.0, 0.0]])


def test_global_pca_needs_the_dimensions_of_both_planes() -> None:
    poses, _ = planes(200)
    tests, _ = planes(30, seed=0)
    found = global_pca(poses, tests, 6, ALL)
    # Two planes and the line between them.
    assert found.mean_deg[3] > 0.1
    np.testing.assert_allclose(found.mean_deg[4:], 0.0, atol=1e-9)


def test_clusters_find_the_planes() -> None:
    poses, side = planes(300)
    centres, member = clusters(poses, 2)
    assert len(centres) == 2
    assert len(np.unique(member[side == 0])) == len(np.unique(member[side == 1])) == 1
    np.testing.assert_allclose(centres[member[0]], poses[member == member[0]].mean(axis=0), atol=1e-5)


def test_clusters_of_fewer_poses_than_asked_for() -> None:
    centres, member = clusters(np.repeat([[0.0, 1.0], [2.0, 0.5]], 4, axis=0), 5)
    assert len(np.unique(member)) == 2 and np.isfinite(centres).all()


def test_a_mixture_and_the_local_model_need_two_dimensions() -> None:
    poses, _ = planes(400)
    tests = poses[:40]
    assert mixture(poses, tests, 4, 2, ALL).dimensions_under() == 2
    assert best_mixture(poses, tests, 4, (1, 2), ALL).note == "2 clusters"
    found = local_model(poses[40:], tests, nearest(poses[40:], tests, 30), (10, 30), 4, ALL)
    assert found.dimensions_under() == 2
    np.testing.assert_allclose(found.mean_deg[1:], 0.0, atol=1e-9)


def made_panels() -> list[Panel]:
    """Give panels of made curves, one of them without a method under a degree."""
    slow = curve("global PCA", np.arange(1, 8), np.radians(np.full((7, 2, 3), 2.5)), np.ones(3, bool))
    fast = curve("local model", np.arange(1, 8), np.radians(np.full((7, 2, 3), 0.5)), np.ones(3, bool), "median K 20")
    return [Panel(case, kind, 1234, 2, 3, (slow, fast)) for case in CASES for kind in ("own", "unseen")]


def test_table_names_the_papers_dimensions_beside_ours() -> None:
    lines = table(made_panels())
    boxing = [line.split() for line in lines if line.startswith("boxing")]
    assert boxing[0][:4] == ["boxing", "1234", "2", "own"]
    # Ours, the paper's, ours by RMS.
    assert boxing[0][6:9] == ["-", "27", "-"] and boxing[1][6:9] == ["1", "6", "1"]


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    path = draw(made_panels(), tmp_path / "new")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 20_000


def test_a_file_in_the_folders_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    with pytest.raises(DuocapError, match="cannot be written"):
        draw(made_panels(), tmp_path / "taken")


def test_an_unknown_clip_is_said(tmp_path: Path) -> None:
    database = tmp_path / "poses.db"
    write_database(database, [walk(person().skeleton)])
    with pytest.raises(DuocapError, match="99_99: no such clip among the tests; take 07_08"):
        evaluate_dimensionality(tmp_path, database, Settings(), clips=("07_08", "99_99"))


def test_a_database_without_the_clips_is_said(tmp_path: Path) -> None:
    database = tmp_path / "poses.db"
    clip = walk(person().skeleton)
    write_database(database, [clip])
    with pytest.raises(DuocapError, match="holds none of 07_01"):
        panels_of(CASES[0], open_database(database), [clip], Settings().solve, quick=True)


@pytest.mark.slow
def test_real_walking(motion_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from database.build import build_database

    database = tmp_path / "walking.db"
    folder = motion_dir / "cmu" / "subjects" / "07"
    build_database([folder / f"{stem}.amc" for stem in ("07_01", "07_02")], database)
    out = tmp_path / "figures.json"
    panels = evaluate_dimensionality(
        motion_dir, database, Settings(), clips=("07_08",), json_file=out, plot=tmp_path, quick=True, only=("walking",)
    )
    own = {c.method: c for c in panels[0].curves}
    assert (own["local model"].dimensions_under() or 99) <= 4  # the paper has 4 and 14 for more walking
    assert (own["global PCA"].dimensions_under() or 99) <= 14
    two = np.flatnonzero(own["GPLVM"].dimensions == 2)[0]
    assert own["GPLVM"].mean_deg[two] < 2.7
    assert [entry["kind"] for entry in json.loads(out.read_text(encoding="utf-8"))] == ["own", "unseen"]
    assert "walking" in capsys.readouterr().out
