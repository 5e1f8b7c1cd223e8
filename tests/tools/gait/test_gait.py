"""Gait: events beside force plates, steps of a walk that was planned, on the ground and on a belt, and events in a C3D file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from database.builtin import make_builtin_clip
from database.builtin.bodies import build_person_skeleton
from database.clips import Clip
from stream.export.c3d import write_c3d
from stream.export.events import GaitEvent, GaitEventKind
from tests.support.commands import duocap
from tests.support.files.takes import take, write_clip
from tests.support.people import walk
from tools.gait.events import compute_feet_motion, find_gait_events
from tools.gait.steps import GaitReport, describe_no_walk, measure_steps
from tools.gait.walk import measure_gait
from tools.physics.motion import motion_from_clip, read_motion

BODY = build_person_skeleton(1.75)


def measured(clip: Clip) -> GaitReport:
    feet = compute_feet_motion(clip.skeleton, clip.rotvec, clip.root_m, clip.fps)
    return measure_steps(feet, find_gait_events(feet))


def test_steps_alternate_and_add_up_to_the_way() -> None:
    report = measured(walk(BODY))
    known = [step for step in report.steps if np.isfinite(step.length_m)]
    assert len(known) >= 3 and report.belt_m_s == 0.0
    for first, second in zip(report.steps, report.steps[1:], strict=False):
        assert first.foot != second.foot and second.step_s == pytest.approx(second.strike_s - first.strike_s)
    for step in known:
        assert 0.3 < step.length_m < 0.9 and 0.0 <= step.width_m < 0.3
        assert step.stride_m == pytest.approx(2.0 * step.length_m, rel=0.25)
    shares = [step.stance_share for step in report.steps if np.isfinite(step.stance_share)]
    assert shares and min(shares) > 0.5 and max(shares) < 0.75


def test_a_treadmill_changes_nothing_but_the_way() -> None:
    clip = walk(BODY)
    middle = slice(30, clip.n_frames - 30)
    ground = replace(clip, rotvec=clip.rotvec[middle].copy(), root_m=clip.root_m[middle].copy())
    speed = (ground.root_m[-1] - ground.root_m[0]) / ((ground.n_frames - 1) / ground.fps) * (1.0, 0.0, 1.0)
    belt = replace(ground, root_m=ground.root_m - np.arange(ground.n_frames)[:, None] / ground.fps * speed)
    first, second = measured(ground), measured(belt)
    assert second.belt_m_s == pytest.approx(np.linalg.norm(speed), rel=0.02)
    for a, b in zip(first.steps, second.steps, strict=True):
        assert a.strike_s == pytest.approx(b.strike_s, abs=0.02)
        assert np.isnan(a.length_m) or b.length_m == pytest.approx(a.length_m, abs=0.02)


def test_ezc3d_finds_the_events(tmp_path: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    events = [GaitEvent(0.05 + 0.3 * k, k % 2, list(GaitEventKind)[k % 2]) for k in range(300)]
    write_c3d(tmp_path / "walk.c3d", take(12), events)
    group = ezc3d.c3d(str(tmp_path / "walk.c3d"))["parameters"]["EVENT"]
    assert group["USED"]["value"][0] == 300
    times = np.concatenate([group["TIMES"]["value"], group["TIMES2"]["value"]], axis=1)
    np.testing.assert_allclose(times[0] * 60.0 + times[1], [event.seconds for event in events], atol=1e-4)
    assert group["CONTEXTS"]["value"][:2] == ["Left", "Right"] and len(group["CONTEXTS2"]["value"]) == 45
    assert group["LABELS"]["value"][:2] == ["Foot Strike", "Foot Off"]


def test_the_command_writes_a_table_and_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_clip(tmp_path / "walk.bvh", walk(BODY))
    out = [tmp_path / name for name in ("steps.csv", "walk.c3d")]
    done = duocap(capsys, "gait", file, "--out", out[0], "--out", out[1])
    assert done.status == 0 and "step length, m" in done.out and "asymmetry" in done.out and done.out.count("over ground") == 1
    head, *rows = out[0].read_text().splitlines()
    assert head.startswith("foot,strike_s,step_time_s") and len(rows) >= 4
    assert b"Foot Strike" in out[1].read_bytes()
    assert duocap(capsys, "gait", file, "--out", tmp_path / "a.txt").err.count("expected a name that ends with .csv") == 1
    first = walk(BODY)
    standing = Clip("still", BODY, 60.0, np.repeat(first.rotvec[:1], 60, axis=0), np.repeat(first.root_m[:1], 60, axis=0))
    write_clip(file, standing)
    assert "no steps in 60 frames" in duocap(capsys, "gait", file).err


@pytest.mark.parametrize("motion", ["walk", "walk_fast"])
def test_nothing_is_said_of_walks(motion: str) -> None:
    assert measure_gait(motion_from_clip(make_builtin_clip(motion, BODY), motion)).notes == ()


@pytest.mark.parametrize(("clip", "runs"), [("09/09_09", True), ("16/16_45", True), ("07/07_08", False), ("07/07_12", False)])
def test_real_runs_are_told_from_walks(motion_dir: Path, clip: str, runs: bool) -> None:
    said = describe_no_walk(measure_gait(read_motion(motion_dir / "cmu" / "subjects" / f"{clip}.amc")).report)
    assert ("that is running" in said[0]) if runs else said == ()


def test_steps_on_the_spot_and_strikes_out_of_turn_are_no_walk() -> None:
    report = measured(walk(BODY))
    steps = tuple(replace(step, stride_m=0.1, step_s=np.nan) for step in report.steps)
    said = describe_no_walk(replace(report, steps=steps))[0]
    assert "strides of 0.10 m: nobody goes anywhere" in said and "do not follow one of the other foot" in said
