"""`duocap solve` from end to end: a walk's markers with gaps and exchanged labels, without any, and with names of one's own."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from calibration.subject.labelled import wear_places
from config.arrays import Bools, Floats
from config.optical import read_optical_set
from database.builtin import build_person_skeleton
from database.clips import slice_clip
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.marker_files.c3d import read_c3d
from tests.support.commands import duocap
from tests.support.people import walk
from tests.tools.solve.files import write_trc

LABELS = tuple(read_optical_set("cmu_41"))
GAP = slice(45, 75)  # half a second


def make_markers(n_frames: int = 120) -> tuple[Floats, Floats]:
    """Return the markers (N, M, 3) and the joints (N, J, 3) of a walk of somebody who wears them a centimetre off [m]."""
    clip = slice_clip(walk(build_person_skeleton(1.72)), 20, 20 + n_frames)
    worn = wear_places(read_optical_set("cmu_41"))
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)
    offset_m = worn.offset_m + 0.008 * np.random.default_rng(1).normal(size=worn.offset_m.shape)
    return p[:, worn.joint] + np.einsum("nmij,mj->nmi", G[:, worn.joint], offset_m), p


def read_solved_markers(file: Path, labels: Sequence[str]) -> Floats:
    """Return the named markers of a C3D, (N, M, 3) [m]."""
    read = read_c3d(file)
    return np.stack([read.point_m[:, read.labels.index(label)] for label in labels], axis=1)


def check_solved_take(take: Path, found_m: Floats, marker_m: Floats, valid: Bools, joint_m: Floats) -> None:
    """Check that seen markers stay, and that filled ones and the joints are near the truth."""
    off_mm = 1e3 * np.linalg.norm(found_m - marker_m, axis=2)
    assert off_mm[valid].max() < 0.1 and off_mm[~valid].mean() < 10.0
    clip = read_clip(take)
    places = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    assert 1e3 * np.linalg.norm(places - joint_m, axis=2).mean() < 25.0


def hide_some(n: int) -> Bools:
    """Return which markers are seen: some are not for half a second."""
    valid = np.ones((n, len(LABELS)), bool)
    for label in ("LKNE", "RWRA", "C7"):
        valid[GAP, LABELS.index(label)] = False
    return valid


@pytest.mark.slow
def test_exchanged_labels_are_put_right_and_gaps_filled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker_m, joint_m = make_markers()
    valid, at = hide_some(len(marker_m)), marker_m.copy()
    a, b = LABELS.index("RANK"), LABELS.index("RHEE")
    at[80:, [a, b]] = marker_m[80:, [b, a]]
    write_trc(tmp_path / "walk.trc", LABELS, at, valid, 60.0)
    out, report = (tmp_path / "o.bvh", tmp_path / "o.c3d"), tmp_path / "r.json"
    done = duocap(capsys, "solve", tmp_path / "walk.trc", "--out", out[0], "--out", out[1], "--report", report)
    assert done.status == 0 and "gaps filled: 3" in done.out, done.err
    told = json.loads(report.read_text())
    assert {(each["point"], each["label"]) for each in told["labels_changed"]} == {("RANK", "RHEE"), ("RHEE", "RANK")}
    check_solved_take(out[0], read_solved_markers(out[1], LABELS), marker_m, valid, joint_m)


@pytest.mark.slow
def test_points_without_names_get_their_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker_m, _ = make_markers()
    valid = hide_some(len(marker_m))
    order = np.random.default_rng(3).permutation(len(LABELS))
    names = tuple(f"*{k}" for k in range(len(LABELS)))
    write_trc(tmp_path / "walk.trc", names, marker_m[:, order], valid[:, order], 60.0)
    refused = duocap(capsys, "solve", tmp_path / "walk.trc", "--out", tmp_path / "o.c3d")
    assert refused.status == 1 and "--markers" in refused.err and len(refused.err.strip().splitlines()) == 1
    done = duocap(capsys, "solve", tmp_path / "walk.trc", "--markers", "cmu_41", "--out", tmp_path / "o.c3d")
    assert done.status == 0, done.err
    right = np.linalg.norm(read_solved_markers(tmp_path / "o.c3d", LABELS) - marker_m, axis=2) < 0.001
    assert right[valid].mean() > 0.999


@pytest.mark.slow
def test_markers_of_ones_own_are_solved_by_the_places_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker_m, joint_m = make_markers(90)
    valid, names = np.ones(marker_m.shape[:2], bool), tuple(f"Own{k}" for k in range(len(LABELS)))
    valid[30:60, 7] = False
    with_racket = np.append(marker_m, marker_m[:, :1] + 1.0, axis=1), valid[:, [*range(len(names)), 0]]
    write_trc(tmp_path / "walk.trc", (*names, "Racket"), with_racket[0], with_racket[1], 60.0)
    tables = [
        f'[{name}]\njoint = "{place.joint}"\noffset_m = {list(place.offset_m)}\ntorso = {str(place.torso).lower()}\n'
        for name, place in zip(names, read_optical_set("cmu_41").values(), strict=True)
    ]
    (tmp_path / "mine.toml").write_text("\n".join(tables))
    refused = duocap(capsys, "solve", tmp_path / "walk.trc", "--out", tmp_path / "o.bvh")
    assert refused.status == 1 and "--markers" in refused.err and len(refused.err.strip().splitlines()) == 1
    out = (tmp_path / "o.bvh", tmp_path / "o.c3d")
    done = duocap(capsys, "solve", tmp_path / "walk.trc", "--markers", tmp_path / "mine.toml", "--out", out[0], "--out", out[1])
    assert done.status == 0 and "Racket" in done.out + done.err, done.err
    check_solved_take(out[0], read_solved_markers(out[1], names), marker_m, valid, joint_m)
