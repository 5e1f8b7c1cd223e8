"""`duocap sync`: the offset of rendered recordings whose one stamp a pair hides it, by any movement, by a jump, by nothing."""

import csv

import numpy as np
import pytest

from calibration.formats.rig_toml import read_rig_toml
from capture.recording.recording import CaptureRecording, RecordingSpec
from capture.sources.simulated.scene import SimulatedScene
from capture.timing.events import OffsetMeasurement
from config.markers import read_marker_set
from config.settings import DetectorSettings
from tools.simulate import simulate_recording
from tools.sync import (
    OffsetNotFoundError,
    SyncResult,
    SyncSamples,
    collect_sync_samples,
    estimate_sync_offset,
    format_sync_result,
    format_sync_usage,
)

SKEW_MS = 12.0


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[SyncSamples, SyncSamples]:
    """One jump with 12 ms of skew, with the stamps of the left camera for both, and with those of each."""
    folder = tmp_path_factory.mktemp("sync")
    scene = SimulatedScene(motion="jump", fps=30.0, skew_ms=SKEW_MS, tpose_s=0.5, pixel_noise_px=0.1, width_px=480, height_px=360)
    simulate_recording(scene, folder / "scene")
    folder = folder / "scene"
    rows = list(csv.reader((folder / "timestamps.csv").read_text(encoding="utf-8").splitlines()))[1:]
    lines = ["frame,seconds", *(f"{row[0]},{row[1]}" for row in rows)]
    (folder / "one.csv").write_text("\n".join(lines), encoding="utf-8")
    rig = read_rig_toml(folder / "rig.toml")
    worn = read_marker_set(folder / "markers.toml")
    spec = [
        RecordingSpec((str(folder / "left.avi"), str(folder / "right.avi")), folder / f"{n}.csv") for n in ("one", "timestamps")
    ]
    hidden, known = (collect_sync_samples(CaptureRecording(one, DetectorSettings(), worn), rig) for one in spec)
    return hidden, known


def test_the_epipolar_error_tells_a_hidden_offset(seen: tuple[SyncSamples, SyncSamples]) -> None:
    """Both stamped as the left one: the right camera looked 12 ms later, so its stamps are 12 ms early."""
    found = estimate_sync_offset(seen[0], "epipolar")
    assert 1e3 * found.offset.offset_s == pytest.approx(-SKEW_MS, abs=1.0)
    before, after = found.error_px
    assert after[1] < 0.5 * before[1]
    lines = [*format_sync_result(found, "epipolar"), *format_sync_usage([found])]
    assert lines[0].startswith("the right camera's stamps are 1") and "ms early" in lines[0]
    assert lines[-1].startswith("to use it: --set time.offset_ms=-1")


def test_true_stamps_have_none(seen: tuple[SyncSamples, SyncSamples]) -> None:
    assert 1e3 * estimate_sync_offset(seen[1], "epipolar").offset.offset_s == pytest.approx(0.0, abs=1.0)


def test_the_jump_tells_it_too(seen: tuple[SyncSamples, SyncSamples]) -> None:
    found = estimate_sync_offset(seen[0], "jump").offset
    assert abs(1e3 * found.offset_s + SKEW_MS) < max(3e3 * found.sigma_s, 3.0)


def test_what_is_not_there_is_said(seen: tuple[SyncSamples, SyncSamples]) -> None:
    with pytest.raises(OffsetNotFoundError, match="switch one five times"):
        estimate_sync_offset(seen[0], "flash")
    with pytest.raises(OffsetNotFoundError, match="too little moves"):
        estimate_sync_offset(SyncSamples(2), "epipolar")
    with pytest.raises(OffsetNotFoundError, match="jump once"):
        estimate_sync_offset(SyncSamples(2), "jump")
    assert np.isfinite(estimate_sync_offset(seen[0], "epipolar").error_px).all()


def found_of(offset_ms: float) -> SyncResult:
    return SyncResult(OffsetMeasurement(1e-3 * offset_ms, 1e-4), np.zeros((0, 3)), np.nan, np.zeros((2, 2)))


def test_what_is_found_of_three_cameras_is_put_to_use_at_once() -> None:
    late, right, still = (found_of(ms) for ms in (7.5, 0.01, -4.0))
    assert format_sync_result(still, "flash", 2)[0].startswith("the third camera's stamps are 4.00 ms early")
    (line,) = format_sync_usage([late, still])
    assert line.startswith("to use it: --set time.offset_ms=7.50 --set time.more_offsets_ms=[-4.00], or in a settings file")
    (other,) = format_sync_usage([right, still])
    assert format_sync_usage([right]) == [] and "--set time.offset_ms=0.00 --set time.more_offsets_ms=[-4.00]" in other
