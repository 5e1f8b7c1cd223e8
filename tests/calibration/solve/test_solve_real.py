"""Real boards: the pairs of OpenCV's documentation and two webcams, judged by OpenCV's own calibration and rectification."""

import os
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.board.find import find_board
from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Rig
from calibration.depth import compute_depth_sigma_m
from calibration.formats.rig_toml import read_rig_toml
from calibration.quality.report import Grade
from calibration.quality.rig import judge_rig_solution
from calibration.quality.rig_picture import draw_rig
from calibration.solve.rig import solve_rig
from calibration.triangulate import triangulate

pytestmark = pytest.mark.slow
SIZES = ((640, 480), (640, 480))
DOC_BOARD, WEBCAM_BOARD = Board("chessboard", 9, 6, 0.025), Board("chessboard", 6, 9, 0.021)


@pytest.fixture(scope="module")
def doc_pairs() -> list[BoardMoment]:
    folder = Path(os.environ.get("DUOCAP_OPENCV_DOC", "/usr/share/doc/opencv-doc/examples/data"))
    if not (folder / "left01.jpg").is_file():
        pytest.skip(f"no pairs of OpenCV's documentation in {folder} (Debian: opencv-doc; or set DUOCAP_OPENCV_DOC)")
    pairs = []
    for i in (*range(1, 10), *range(11, 15)):
        names = [f"{side}{i:02d}" for side in ("left", "right")]
        images = [cv2.imread(str(folder / f"{name}.jpg"), cv2.IMREAD_GRAYSCALE) for name in names]
        views = [find_board(np.asarray(image), DOC_BOARD, name=name) for image, name in zip(images, names, strict=True)]
        pairs.append(BoardMoment((views[0], views[1])))
    return pairs


@pytest.fixture(scope="module")
def webcam_pairs(shared_data: Path) -> list[BoardMoment]:
    """Down the columns there, and from the other end: along rows of six here, so that the board faces the cameras."""
    file = shared_data / "two_webcams" / "board_corners.npz"
    if not file.is_file():
        pytest.skip(f"no real corners: {file} does not exist")
    with np.load(file) as stored:
        sides = [stored[key].reshape(-1, 9, 6, 2)[:, :, ::-1].reshape(-1, 54, 2) for key in ("left_px", "right_px")]
    seen = np.ones(54, bool)
    return [
        BoardMoment(tuple(BoardView(px.copy(), seen, i * 10**9, f"{i:02d}") for px in (left, right)))
        for i, (left, right) in enumerate(zip(*sides, strict=True))
    ]


def both_seen(pairs: Sequence[BoardMoment]) -> tuple[np.ndarray, np.ndarray]:
    """All corners of pairs that both cameras see, (V, 54, 2) each."""
    views = [(pair.views[0], pair.views[1]) for pair in pairs if pair.views[0] is not None and pair.views[1] is not None]
    assert all(left.seen.all() and right.seen.all() for left, right in views)
    return np.stack([left.corners_px for left, _ in views]), np.stack([right.corners_px for _, right in views])


def rectified_dy_px(rig: Rig, pairs: Sequence[BoardMoment]) -> float:
    """Mean |dy| of corresponding corners after OpenCV's rectification [px]."""
    (K1, d1), (K2, d2) = ((camera.matrix, camera.distortions) for camera in rig.cameras)
    R, t = rig.cameras[1].rotation, rig.cameras[1].translation
    R1, R2, P1, P2 = cv2.stereoRectify(K1, d1, K2, d2, rig.cameras[0].size, R, t.reshape(3, 1), flags=cv2.CALIB_ZERO_DISPARITY)[
        :4
    ]
    left, right = (px.reshape(-1, 1, 2) for px in both_seen(pairs))
    first, second = cv2.undistortPoints(left, K1, d1, R=R1, P=P1), cv2.undistortPoints(right, K2, d2, R=R2, P=P2)
    return float(np.abs(first[:, 0, 1] - second[:, 0, 1]).mean())


def edges_mm(rig: Rig, pairs: Sequence[BoardMoment], board: Board) -> np.ndarray:
    left, right = both_seen(pairs)
    X = triangulate(rig, left.reshape(-1, 2), right.reshape(-1, 2))[0].reshape(-1, board.rows, board.columns, 3)
    return 1e3 * np.concatenate([np.linalg.norm(np.diff(X, axis=axis), axis=-1).ravel() for axis in (1, 2)])


def test_opencvs_pairs_are_no_worse_than_opencvs_own_calibration(doc_pairs: list[BoardMoment]) -> None:
    """OpenCV, jointly refined with its finder: RMS 0.258 px, baseline 82.86 mm, |dy| 0.101 px, edges 25.00 +- 0.27 mm.

    Its joint calibration of the same corners, k1 k2 p1 p2, agrees in focal length, baseline and turn.
    """
    solution = solve_rig(DOC_BOARD, doc_pairs, SIZES)
    assert not solution.dropped and solution.used.sum() >= 1400
    assert solution.rms_px < 0.22
    assert 1e3 * solution.rig.baseline_m == pytest.approx(82.86, abs=0.6)
    assert rectified_dy_px(solution.rig, doc_pairs) < 0.101
    edges = edges_mm(solution.rig, doc_pairs, DOC_BOARD)
    assert edges.mean() == pytest.approx(25.0, abs=0.03) and edges.std() < 0.2
    left, right = (px.astype(np.float32)[:, :, None] for px in both_seen(doc_pairs))
    points = [DOC_BOARD.points_m.astype(np.float32)] * len(left)
    K, size = np.array([[530.0, 0, 320], [0, 530, 240], [0, 0, 1]]), SIZES[0]
    flags = cv2.CALIB_FIX_K3
    lenses = [cv2.calibrateCamera(points, list(px), size, K.copy(), np.zeros(5), flags=flags)[1:3] for px in (left, right)]
    (K1, d1), (K2, d2) = lenses
    _, K1, d1, K2, d2, R, t, *_ = cv2.stereoCalibrate(points, list(left), list(right), K1, d1, K2, d2, size, flags=flags)
    assert solution.rig.cameras[0].focal_px == pytest.approx(0.5 * (K1[0, 0] + K1[1, 1]), rel=0.005)
    assert solution.rig.baseline_m == pytest.approx(float(np.linalg.norm(t)), rel=0.005)
    turn = cv2.Rodrigues(R.T @ solution.rig.cameras[1].rotation)[0]
    assert np.degrees(np.linalg.norm(turn)) < 0.2


def test_pairs_left_out_are_rectified(doc_pairs: list[BoardMoment]) -> None:
    """Seven pairs to calibrate, the six others to judge."""
    chosen, rest = doc_pairs[::2], doc_pairs[1::2]
    assert len(chosen) == 7 and len(rest) == 6
    assert rectified_dy_px(solve_rig(DOC_BOARD, chosen, SIZES).rig, rest) < 0.16


def test_two_webcams(webcam_pairs: list[BoardMoment], shared_data: Path, tmp_path: Path) -> None:
    """The reference: RMS 0.2917 px, baseline 365.8 mm. The board was bent by a millimetre, which the reference does not know."""
    reference = read_rig_toml(shared_data / "two_webcams" / "rig.toml")
    solution = solve_rig(WEBCAM_BOARD, webcam_pairs, SIZES)
    assert len(solution.moments) >= 28 and solution.rms_px < 0.2917
    assert solution.rig.baseline_m == pytest.approx(reference.baseline_m, rel=0.005)
    assert rectified_dy_px(solution.rig, webcam_pairs) <= 1.02 * rectified_dy_px(reference, webcam_pairs)
    assert len(solution.lenses[0]) <= 1, "its lenses have next to no distortion: nothing shall be fitted to the noise"
    report = judge_rig_solution(solution, 4.0)
    assert report.grade is Grade.POOR, report.lines  # 37 cm apart and not synchronised
    words = "\n".join(report.lines)
    assert "at 4.0 m a marker found to 0.2 px is known to 15" in words and "move the cameras apart" in words
    # 16 m2 x 0.2 px x sqrt(2) / (800 px x 0.366 m)
    assert compute_depth_sigma_m(reference, 4.0, 0.2) == pytest.approx(0.0155, abs=0.0015)
    assert report.figures["edge_bias_percent"] == pytest.approx(0.0, abs=0.3)
    assert "moved during" not in words and "seems to be bent" not in words and "the board is bent by 1" in words
    # Held by hand before cameras that look one after the other: the views contradict each other by far more than their noise.
    assert report.figures["disagreement"] > 5.0 and 2.0 < report.figures["world_off_percent"] < 15.0
    assert draw_rig(solution, report, tmp_path / "rig.png").stat().st_size > 50_000
