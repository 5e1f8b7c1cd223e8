"""C3D (c3d.org, the C3D File Format user guide): joint centres and measured markers in millimetres, Y up, at one rate.

Blocks of 512 bytes: a header, parameters in groups, then four floats a point and frame: x, y, z and, in one number, the
cameras that saw it (bits, high byte) and its residual (low byte); -1 where it was not seen. Joint centres are computed: no
camera. Little-endian ("Intel"), readable by everything since 1990.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from config.files import atomic_write
from database.rotations import Floats
from stream.export.c3d_parameters import BLOCK, Groups, parameter_bytes
from stream.export.even import evenly_timed
from stream.export.points import Points, ascii_text, points_of
from stream.export.take import Take, frame_period_s, software_version

MM_PER_M = 1000.0
BOTH_CAMERAS = 0b11 << 8
UNSEEN = -1.0
MOST = 0xFFFF  # what a word of the header can say
MAX_TEXTS = 255  # in one parameter; names go on in LABELS2


def write_c3d(file: Path, take: Take) -> None:
    """Write joint centres and markers, resampled to equal frame times where the cameras stuttered."""
    atomic_write(file, c3d_bytes(take))


def c3d_bytes(take: Take) -> bytes:
    """Give a take as the bytes of a C3D file."""
    even = evenly_timed(take)
    points = points_of(even)
    rate_hz = 1.0 / frame_period_s(even.seconds)
    largest_mm = float(np.abs(points.point_m).max(initial=0.0)) * MM_PER_M
    # Data are floats, which the minus says; its size would scale them if they were made integers.
    scale = -max(largest_mm / 32000.0, 0.01)
    n_blocks = len(parameter_bytes(_groups(take, points, rate_hz, scale, 0))) // BLOCK
    data_block = 2 + n_blocks
    parameters = parameter_bytes(_groups(take, points, rate_hz, scale, data_block))
    return _header(points, rate_hz, scale, data_block) + parameters + _frames(points).astype("<f4").tobytes()


def _header(points: Points, rate_hz: float, scale: float, data_block: int) -> bytes:
    """Give the first block."""
    n_frames, n_points = points.valid.shape
    counts = struct.pack("<BB5H", 2, 0x50, n_points, 0, 1, min(n_frames, MOST), 10)
    return (counts + struct.pack("<fHHf", scale, data_block, 1, rate_hz)).ljust(BLOCK, b"\0")


def _frames(points: Points) -> Floats:
    """Give four numbers a point, (N, P, 4)."""
    fourth = np.where(points.valid, np.where(points.measured, BOTH_CAMERAS, 0), UNSEEN)
    return np.concatenate([points.point_m * MM_PER_M, fourth[..., None]], axis=2)


def _groups(take: Take, points: Points, rate_hz: float, scale: float, data_block: int) -> Groups:
    """Give what the file says of itself; `take`: as it was recorded, before it was resampled."""
    n_frames, n_points = points.valid.shape
    info = take.info
    point = {
        "USED": n_points,
        "SCALE": scale,
        "RATE": rate_hz,
        "DATA_START": data_block,
        "FRAMES": min(n_frames, MOST),
        "LONG_FRAMES": float(n_frames),
        "UNITS": "mm",
        "X_SCREEN": "+X",
        "Y_SCREEN": "+Y",
        **_listed("LABELS", points.names),
        **_listed("DESCRIPTIONS", points.words),
    }
    trial = {
        "ACTUAL_START_FIELD": [1, 0],
        "ACTUAL_END_FIELD": [n_frames & MOST, n_frames >> 16],
        "CAMERA_RATE": rate_hz,
        "DATE": info.recorded[:10],
    }
    ours = {
        "SESSION": ascii_text(info.session),
        "RECORDED": ascii_text(info.recorded),
        "SOURCE": ascii_text(info.source),
        "FLOOR_KNOWN": int(info.floor_known),
        "ORIGINAL_FRAMES": float(len(take)),
        "ORIGINAL_SECONDS": float(np.ptp(take.seconds)) if len(take) else 0.0,
        "LONGEST_GAP": float(np.diff(take.seconds).max(initial=0.0)),
    }
    return {
        "POINT": point,
        "ANALOG": {"USED": 0, "GEN_SCALE": 1.0, "RATE": rate_hz},
        "FORCE_PLATFORM": {"USED": 0},
        "TRIAL": trial,
        "SUBJECTS": {"IS_STATIC": 0, "USES_PREFIXES": 0, "USED": 1, "NAMES": [ascii_text(info.subject)]},
        "MANUFACTURER": {"COMPANY": "duocap", "SOFTWARE": "duocap", "VERSION_LABEL": software_version()},
        "DUOCAP": ours,
    }


def _listed(name: str, texts: Sequence[str]) -> dict[str, Sequence[str]]:
    """Give texts as NAME, NAME2, ... of at most MAX_TEXTS each."""
    starts = range(0, max(len(texts), 1), MAX_TEXTS)
    return {f"{name}{k if k > 1 else ''}": texts[start : start + MAX_TEXTS] for k, start in enumerate(starts, 1)}
