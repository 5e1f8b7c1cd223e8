"""Forces of the ground with a take: in a recording and back, played, moved, and as force plates that ezc3d reads."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from database.geometry.rotations import matrix_from_rotvec
from database.marker_files.c3d import C3dContent, open_c3d, read_analog
from database.marker_files.c3d_extras import read_c3d_extras
from reconstruct.pose import TrackingState
from stream.export.c3d import encode_c3d, write_c3d
from stream.export.events import GaitEvent, GaitEventKind
from stream.protocol.codec import decode_message, encode_message
from stream.recording.playback import restamp_pose
from stream.recording.recording import open_recording
from stream.take.from_recording import read_longest_motion
from stream.take.ground import FEET, GroundForces, forces_from_points
from stream.take.recorded import write_recording
from stream.take.resampling import resample_evenly
from stream.take.take import MarkerTracks, Take, TakeInfo, cut_take, remove_root_motion
from tests.support.files.takes import take

N = 40
JOINTS = ("leftFoot", "leftFoot", "leftToes", "rightFoot", "rightToes", "rightToes")


def points() -> tuple[np.ndarray, np.ndarray]:
    """Return forces on six points and their places, on a floor that is not quite level; the right foot is in the air at first."""
    rng = np.random.default_rng(5)
    force_n = rng.uniform((-40.0, 50.0, -40.0), (40.0, 300.0, 40.0), (N, 6, 3))
    force_n[:15, 3:] = 0.0
    point_m = rng.uniform((-0.1, 0.0, -0.15), (0.1, 0.0, 0.15), (N, 6, 3))
    point_m[..., 2] += np.linspace(-1.0, 1.0, N)[:, None]
    point_m[:, 3:, 0] += 0.3
    point_m[..., 1] = 0.02 - 0.03 * point_m[..., 2]
    return force_n, point_m


def forced() -> Take:
    """Build a take with markers, forces, and a frame that is lost."""
    known = np.arange(N) != 7
    forces = forces_from_points(*points(), JOINTS, 71.5).only(known)
    states = tuple(TrackingState.TRACKING if here else TrackingState.LOST for here in known)
    valid = np.random.default_rng(1).random((N, 2)) > 0.4
    markers = MarkerTracks(("a", "b"), np.where(valid[..., None], (0.25, 1.0, 0.5), 0.0), valid)
    return replace(take(N, states=states), markers=markers, forces=forces, info=TakeInfo("Ann"))


def wrench(forces: GroundForces) -> np.ndarray:
    """Return forces and moments about the origin, (N, 2, 6)."""
    return np.concatenate([forces.force_n, np.cross(forces.center_m, forces.force_n) + forces.moment_nm], axis=2)


def test_a_foot_has_the_force_and_the_moment_of_its_points() -> None:
    force_n, point_m = points()
    forces = forces_from_points(force_n, point_m, JOINTS, 71.5)
    moment = np.cross(point_m, force_n)
    expected = [
        np.concatenate([each[:, rows].sum(axis=1) for each in (force_n, moment)], axis=1) for rows in ((0, 1, 2), (3, 4, 5))
    ]
    np.testing.assert_allclose(wrench(forces), np.stack(expected, axis=1), atol=1e-9)
    assert not forces.loaded[:15, 1].any() and forces.loaded[15:].all() and not forces.contacts[:15, 2:].any()


def test_a_recording_keeps_them_and_plays_them(tmp_path: Path) -> None:
    given = forced()
    write_recording(tmp_path / "a.mcap", given)
    recording = open_recording(tmp_path / "a.mcap")
    motion = read_longest_motion(recording)
    found = motion.take()
    assert not recording.notes and not motion.note and found.states == given.states
    np.testing.assert_allclose(found.seconds, given.seconds, atol=1e-9)
    np.testing.assert_allclose(found.positions_m(), given.positions_m(), atol=1e-6)
    assert np.array_equal(found.markers.valid, given.markers.valid) and np.array_equal(
        found.markers.point_m, given.markers.point_m
    )
    for name in ("force_n", "center_m", "moment_nm", "known", "contacts"):
        assert np.array_equal(getattr(found.forces, name), getattr(given.forces, name)), name
    assert found.forces.mass_kg == 71.5
    again = decode_message(encode_message(restamp_pose(recording.poses[20], "new", 3, 10**12)))
    assert [foot.joint for foot in again.ground_forces] == list(FEET) and not recording.poses[7].ground_forces


def test_forces_go_where_the_take_goes() -> None:
    given = forced()
    part = cut_take(given, 10 / 60.0, 20 / 60.0).forces
    assert np.array_equal(part.force_n, given.forces.force_n[10:21])
    there = remove_root_motion(given)
    moved = (there.root_m - given.root_m)[:, None] * given.forces.loaded[..., None]
    np.testing.assert_allclose(there.forces.center_m, given.forces.center_m + moved, atol=1e-12)
    R = matrix_from_rotvec(np.array([0.1, 0.7, -0.2]))
    turned = given.forces.moved(R, np.array([1.0, 0.0, 2.0]))
    np.testing.assert_allclose(turned.moment_nm, given.forces.moment_nm @ R.T)
    doubled = resample_evenly(given, 120.0).forces
    np.testing.assert_allclose(doubled.force_n[::2], given.forces.force_n, atol=1e-9)
    np.testing.assert_allclose(doubled.center_m[::2], given.forces.center_m, atol=1e-9)
    np.testing.assert_allclose(doubled.force_n[41], given.forces.force_n[20:22].mean(axis=0))
    assert not doubled.known[14] and doubled.known[[12, 16]].all()


@pytest.mark.judge
def test_ezc3d_finds_the_same_forces_on_plates(tmp_path: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    given = forced()
    write_c3d(tmp_path / "a.c3d", given)
    read = ezc3d.c3d(str(tmp_path / "a.c3d"), extract_forceplat_data=True)
    assert read["parameters"]["ANALOG"]["LABELS"]["value"][:7] == ["Fx1", "Fy1", "Fz1", "Mx1", "My1", "Mz1", "Fx2"]
    assert read["parameters"]["DUOCAP"]["BODY_MASS"]["value"] == [71.5] and read["header"]["analogs"]["frame_rate"] == 60.0
    plates, forces = read["data"]["platform"], given.forces
    assert len(plates) == 2
    for k, plate in enumerate(plates):
        assert (plate["unit_force"], plate["unit_moment"], plate["unit_position"]) == ("N", "Nmm", "mm")
        loaded = forces.loaded[:, k]
        middle_m = 1e-3 * plate["corners"].mean(axis=1)
        force_n, moment_nm = plate["force"].T, 1e-3 * plate["moment"].T
        expected = forces.moment_nm[:, k] + np.cross(forces.center_m[:, k] - middle_m, forces.force_n[:, k])
        print(f"ezc3d, plate {k}: force to {np.abs(force_n - forces.force_n[:, k]).max():.1e} N", end=", ")
        print(f"moment to {np.abs(moment_nm - expected * loaded[:, None]).max():.1e} Nm", end=", ")
        center_m = 1e-3 * plate["center_of_pressure"].T[loaded]
        print(f"centre of pressure to {1e3 * np.abs(center_m - forces.center_m[loaded, k]).max():.1e} mm")
        np.testing.assert_allclose(force_n, forces.force_n[:, k], atol=1e-3)
        np.testing.assert_allclose(moment_nm, expected * loaded[:, None], atol=1e-3)
        np.testing.assert_allclose(center_m, forces.center_m[loaded, k], atol=2e-3)
        whole = np.cross(center_m, force_n[loaded]) + 1e-3 * plate["Tz"].T[loaded]
        np.testing.assert_allclose(whole, wrench(forces)[loaded, k, 3:], atol=1e-3)


def test_channels_plates_and_events_of_a_file_are_carried_over(tmp_path: Path) -> None:
    events = [GaitEvent(0.02, 0, GaitEventKind.FOOT_STRIKE), GaitEvent(0.07, 1, GaitEventKind.FOOT_OFF)]
    write_c3d(tmp_path / "a.c3d", forced(), events)
    turn = np.eye(3)[[1, 2, 0]]
    extras = read_c3d_extras(tmp_path / "a.c3d", turn)
    assert extras.per_frame == 1 and set(extras.groups) == {"ANALOG", "FORCE_PLATFORM", "EVENT"}
    write_c3d(tmp_path / "b.c3d", replace(forced(), forces=None, extras=extras))
    a, b = (open_c3d(tmp_path / f"{name}.c3d") for name in "ab")
    for first, second in zip(read_analog(tmp_path / "a.c3d", a), read_analog(tmp_path / "b.c3d", b), strict=True):
        np.testing.assert_allclose(second, first, rtol=1e-6)
    for group in ("ANALOG", "EVENT"):
        for name in extras.groups[group]:
            assert b.parameters[f"{group}:{name}"] == a.parameters[f"{group}:{name}"], name
    corners = [content.numbers("FORCE_PLATFORM:CORNERS").reshape(-1, 3) for content in (a, b)]
    np.testing.assert_allclose(corners[1], corners[0] @ turn.T, rtol=1e-6)
    assert np.array_equal(b.numbers("FORCE_PLATFORM:CHANNEL"), a.numbers("FORCE_PLATFORM:CHANNEL"))
    longer = replace(forced(), forces=None, extras=replace(extras, samples=np.zeros((3, 12))))
    assert "EVENT:LABELS" not in C3dContent(encode_c3d(longer)).parameters  # of other frames
