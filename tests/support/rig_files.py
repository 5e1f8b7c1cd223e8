"""A rig to write to files of all formats, and their usual names."""

import numpy as np

from calibration.camera import Camera, Rig
from calibration.formats.rig_file import (
    FORMATS,
)
from database.geometry.rotations import matrix_from_rotvec

NAMES = {
    "toml": "rig.toml",
    "caliscope": "camera_array.toml",
    "opencv": "rig.yml",
    "kalibr": "camchain.yaml",
    "easymocap": "calib",
    "qualisys": "rig.qca.txt",
}

WITH_K3 = [form for form in FORMATS if form != "kalibr"]


def a_rig(
    left_turn: tuple[float, ...] = (3.0, 0.1, -0.2),
    right_turn: tuple[float, ...] = (2.9, -0.2, 0.15),
    places_m: tuple[tuple[float, ...], ...] = ((-0.21, 1.3, 3.7), (0.33, 1.4, 3.9)),
) -> Rig:
    """Return a rig in which nothing is alike: two sizes, two lenses, two places."""
    cameras = []
    for name, size, turn, place in zip(
        ("left", "right"), ((640, 480), (1280, 720)), (left_turn, right_turn), places_m, strict=True
    ):
        f = 0.93 * size[0]
        K = np.array([[f, 0.0, 0.5 * size[0] - 7.3], [0.0, 1.01 * f, 0.5 * size[1] + 3.1], [0.0, 0.0, 1.0]])
        lens = np.array([-0.031, 0.5, 0.00089, -0.0026, -2.4]) * (1.0 if name == "left" else -0.7)
        R = matrix_from_rotvec(np.array(turn))
        cameras.append(Camera(name, size, K, lens, R, -R @ np.array(place)))
    return Rig((cameras[0], cameras[1]), error_px=0.2917, floor_known=True)


def four_cameras(n: int = 4) -> Rig:
    """Return a rig of four cameras around a room, none like another and without k3, which Kalibr does not have."""
    cameras = []
    for k in range(n):
        size, turn = (640 + 32 * k, 480 + 16 * k), np.array([3.0, 0.1 + 0.7 * k, -0.2 + 0.05 * k])
        K = np.array([[600.0 + 7.0 * k, 0.0, 313.0 + 9.0 * k], [0.0, 605.0 + 5.0 * k, 236.0 + 11.0 * k], [0.0, 0.0, 1.0]])
        lens, R = np.array([-0.1 - 0.02 * k, 0.05, 0.001 * k, -0.0005, 0.0]), matrix_from_rotvec(turn)
        cameras.append(Camera(f"view{k}", size, K, lens, R, -R @ np.array([2.0 * np.cos(k), 1.2 + 0.1 * k, 2.0 * np.sin(k)])))
    return Rig(tuple(cameras), error_px=0.25, floor_known=True)


def assert_alike(a: Rig, b: Rig, tolerance: float) -> None:
    """Check that two rigs are the same to the last bits."""
    for one, other in zip(a.cameras, b.cameras, strict=True):
        assert one.size == other.size
        for what in ("matrix", "distortions", "rotation", "translation"):
            np.testing.assert_allclose(getattr(other, what), getattr(one, what), rtol=tolerance, atol=tolerance, err_msg=what)
