"""Calibrations of real cameras against their references and OpenCV's own, on fitted and on held-out views.

    python -m benchmarks.calibration.real [--opencv-doc DIR] [--shared DIR] [--splits 10] [--json F]

13 pairs of OpenCV's documentation (9x6 inner corners of 25 mm), found by our finder and by findChessboardCornersSB, and
board_corners.npz of two webcams (32 views of 9x6 corners of 21 mm). The peer: calibrateCamera for each camera, then
stereoCalibrate with the intrinsics refined, five distortion coefficients, on the same corners. Ours may leave outliers out of the
fit and its RMS; placed RMS counts every corner, with each board's pose fitted to the rig. |dy|: mean distance of a corner's two
rectified images across the rows; edges: distances between neighbouring triangulated corners. Held out: a rig is fitted to some
views, the figures are those of the others.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from benchmarks.report import parser_of, write_json
from calibration.board.find import find_board
from calibration.board.pattern import Board
from calibration.board.views import BoardView, ViewPair
from calibration.camera import Camera, Rig
from calibration.formats.rig_file import read_rig
from calibration.solve.rig import solve_rig
from calibration.triangulate import triangulate
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

OPENCV_DOC = Path("/usr/share/doc/opencv-doc/examples/data")
SB_TRIES = (cv2.CALIB_CB_ACCURACY, cv2.CALIB_CB_ACCURACY | cv2.CALIB_CB_EXHAUSTIVE, cv2.CALIB_CB_NORMALIZE_IMAGE, 0)
N_HELD = 6  # of the 13 pairs


@dataclass(frozen=True, slots=True)
class Views:
    """Corners of a board in V poses seen by both cameras: left_px, right_px (V, N, 2) [px]."""

    board: Board
    size: tuple[int, int]
    left_px: Floats
    right_px: Floats

    def __len__(self) -> int:
        return len(self.left_px)

    def at(self, which: Sequence[int] | NDArray[np.int_]) -> "Views":
        """Return some of the views."""
        index = np.asarray(which, int)
        return Views(self.board, self.size, self.left_px[index], self.right_px[index])


Solver = Callable[[Views], tuple[Rig, float]]


def ours(views: Views) -> tuple[Rig, float]:
    """Calibrate by our own adjustment; with the RMS [px]."""
    seen = np.ones(len(views.board), bool)
    pairs = [
        ViewPair(
            *(BoardView(np.ascontiguousarray(px[v]), seen, v * 10**9, f"view {v}") for px in (views.left_px, views.right_px))
        )
        for v in range(len(views))
    ]
    solution = solve_rig(views.board, pairs, (views.size, views.size))
    return solution.rig, solution.rms_px


def opencv(views: Views) -> tuple[Rig, float]:
    """Calibrate by OpenCV, each camera alone and then both together, everything refined."""
    points = [views.board.points_m.astype(np.float32)] * len(views)
    left, right = ([view.astype(np.float32) for view in px] for px in (views.left_px, views.right_px))
    lenses = [cv2.calibrateCamera(points, px, views.size, None, None)[1:3] for px in (left, right)]
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_MAX_ITER, 200, 1e-9)
    rms, K1, d1, K2, d2, R, t, *_ = cv2.stereoCalibrate(
        points, left, right, *lenses[0], *lenses[1], views.size, flags=cv2.CALIB_USE_INTRINSIC_GUESS, criteria=criteria
    )
    cameras = [
        Camera("left", views.size, np.asarray(K1), np.asarray(d1).ravel()[:5].copy(), np.eye(3), np.zeros(3)),
        Camera("right", views.size, np.asarray(K2), np.asarray(d2).ravel()[:5].copy(), np.asarray(R), np.asarray(t).ravel()),
    ]
    return Rig(cameras[0], cameras[1]), float(rms)


def rectified_dy_px(rig: Rig, views: Views) -> Floats:
    """Return |dy| of every corner after rectification, (V, N) [px]."""
    R = rig.right.rotation @ rig.left.rotation.T
    t = rig.right.translation - R @ rig.left.translation
    K1, K2, d1, d2 = rig.left.matrix, rig.right.matrix, rig.left.distortions, rig.right.distortions
    R1, R2, P1, P2, *_ = cv2.stereoRectify(K1, d1, K2, d2, views.size, R, t[:, None], flags=0)
    rows = []
    for camera, R_rect, P, px in ((rig.left, R1, P1, views.left_px), (rig.right, R2, P2, views.right_px)):
        ideal = camera.undistort(px)
        rays = np.concatenate([ideal, np.ones((*ideal.shape[:2], 1))], axis=-1) @ np.asarray(R_rect).T
        rows.append(P[1, 1] * rays[..., 1] / rays[..., 2] + P[1, 2])
    return np.asarray(np.abs(rows[0] - rows[1]))


def edges_mm(rig: Rig, views: Views) -> Floats:
    """Return the distances between neighbouring triangulated corners [mm]."""
    shape = (len(views), views.board.rows, views.board.columns, 3)
    flat = [np.ascontiguousarray(px.reshape(-1, 2)) for px in (views.left_px, views.right_px)]
    points = triangulate(rig, flat[0], flat[1])[0].reshape(shape)
    along, down = (np.linalg.norm(np.diff(points, axis=axis), axis=-1).ravel() for axis in (2, 1))
    return 1e3 * np.concatenate([along, down])


def placed_rms_px(rig: Rig, views: Views) -> Floats:
    """Return each view's RMS over both cameras [px], with the board's pose fitted to the rig, (V,)."""
    return np.array([_placed_rms(rig, views, v) for v in range(len(views))])


def _placed_rms(rig: Rig, views: Views, v: int) -> float:
    """Fit the pose of the board of one view to both cameras."""
    points, measured = views.board.points_m, (views.left_px[v], views.right_px[v])
    ok, rotvec, t = cv2.solvePnP(points, measured[0], rig.left.matrix, rig.left.distortions, flags=cv2.SOLVEPNP_IPPE)
    assert ok
    R = rig.left.rotation.T @ matrix_from_rotvec(rotvec.ravel())
    start = np.concatenate([rotvec_from_matrix(R), rig.left.rotation.T @ (t.ravel() - rig.left.translation)])

    def residual(pose: Floats) -> Floats:
        world = points @ matrix_from_rotvec(pose[:3]).T + pose[3:]
        return np.concatenate([(c.project(world) - px).ravel() for c, px in zip(rig.cameras, measured, strict=True)])

    fit = least_squares(residual, start, method="lm")
    return float(np.sqrt(2.0 * np.mean(fit.fun**2)))


def figures(rig: Rig, views: Views) -> dict[str, float]:
    """Return the figures of a rig on some views."""
    dy, edges = rectified_dy_px(rig, views), edges_mm(rig, views)
    return {
        "dy_px": float(dy.mean()),
        "edge_mm": float(edges.mean()),
        "edge_sd_mm": float(edges.std()),
        "placed_rms_px": float(np.sqrt(np.mean(placed_rms_px(rig, views) ** 2))),
    }


def whole(views: Views, solver: Solver) -> dict[str, float]:
    """Fit to all views; give the figures on them."""
    rig, rms = solver(views)
    return {"rms_px": rms, "baseline_mm": 1e3 * rig.baseline_m} | figures(rig, views)


def held_out(views: Views, solver: Solver, folds: Sequence[NDArray[np.int_]]) -> list[dict[str, float]]:
    """For each fold, fit to the views outside of it and give the figures on those inside."""
    rows = []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(views)), fold)
        rig, _ = solver(views.at(rest))
        rows.append({"baseline_mm": 1e3 * rig.baseline_m} | figures(rig, views.at(fold)))
    return rows


def splits(n_views: int, n_held: int, n_splits: int, seed: int = 1) -> list[NDArray[np.int_]]:
    """Draw sets of views to hold out."""
    rng = np.random.default_rng(seed)
    return [np.sort(rng.permutation(n_views)[:n_held]) for _ in range(n_splits)]


def doc_views(folder: Path, by_sb: bool) -> Views:
    """Find the 13 pairs' corners, by our finder or by findChessboardCornersSB as it is."""
    board = Board("chessboard", 9, 6, 0.025)
    found: list[list[Floats]] = [[], []]
    size = (0, 0)
    for number in (*range(1, 10), *range(11, 15)):
        for camera, side in enumerate(("left", "right")):
            image = cv2.imread(str(folder / f"{side}{number:02d}.jpg"), cv2.IMREAD_GRAYSCALE)
            assert image is not None, f"{side}{number:02d}.jpg is missing"
            size = (image.shape[1], image.shape[0])
            view = find_board(image, board)
            assert view is not None and view.seen.all(), f"{side}{number:02d}.jpg"
            found[camera].append(_by_sb(image, view.corners_px, board) if by_sb else view.corners_px)
    return Views(board, size, np.array(found[0]), np.array(found[1]))


def _by_sb(image: NDArray[np.uint8], like: Floats, board: Board) -> Floats:
    """Find corners by findChessboardCornersSB, in the order of ours: it begins at either end."""
    tries = (cv2.findChessboardCornersSB(image, (board.columns, board.rows), None, flags) for flags in SB_TRIES)
    corners = next(np.asarray(px, float).reshape(-1, 2) for ok, px in tries if ok)
    return min((corners, corners[::-1]), key=lambda each: float(np.abs(each - like).max()))


def webcam_views(folder: Path) -> Views:
    """Read board_corners.npz."""
    data = np.load(folder / "board_corners.npz")
    board = Board("chessboard", 9, 6, 0.021)
    corners = np.asarray(data["board_mm"], float)[:, :2]
    row_by_row = np.lexsort((corners[:, 0], corners[:, 1]))
    assert np.allclose(1e-3 * corners[row_by_row], board.points_m[:, :2])
    left, right = (np.ascontiguousarray(np.asarray(data[key], float)[:, row_by_row]) for key in ("left_px", "right_px"))
    return Views(board, (640, 480), left, right)


def line(name: str, row: dict[str, float]) -> str:
    """Return a row of the table."""
    rms = f"{row['rms_px']:7.3f}" if "rms_px" in row else "      -"
    edges = f"{row['edge_mm']:6.2f} +- {row['edge_sd_mm']:.2f}"
    return f"  {name:30s} {rms} {row['placed_rms_px']:10.3f} {row['baseline_mm']:9.2f} {row['dy_px']:8.3f}  {edges}"


HEADER = f"  {'':30s} {'RMS px':>7s} {'placed RMS':>10s} {'baseline':>9s} {'|dy| px':>8s}  edges mm"


def report(title: str, views: Views, folds: Sequence[NDArray[np.int_]], reference: str) -> dict[str, object]:
    """Print both solvers on all views and held out; give all figures."""
    print(f"\n{title}\n{HEADER}")
    out: dict[str, object] = {}
    for name, solver in (("duocap", ours), ("cv2.stereoCalibrate", opencv)):
        row = whole(views, solver)
        print(line(name, row))
        rows = held_out(views, solver, folds)
        for word, pick in (("mean", np.mean), ("worst", np.max)):
            summary = {key: float(pick([row[key] for row in rows])) for key in rows[0]}
            print(line(f"{name}, held out, {word}", summary))
        out[name] = {"all": row, "held_out": rows}
    print(f"  reference: {reference}", flush=True)
    return out


def main() -> None:
    """Print everything that the data at hand allows."""
    parser = parser_of(__doc__)
    named = os.environ.get("DUOCAP_OPENCV_DOC")
    parser.add_argument("--opencv-doc", type=Path, default=Path(named) if named else OPENCV_DOC)
    shared = os.environ.get("DUOCAP_SHARED_DATA")
    parser.add_argument("--shared", type=Path, default=Path(shared) if shared else None, help="folder with two_webcams/")
    parser.add_argument("--splits", type=int, default=10)
    given = parser.parse_args()
    results: dict[str, object] = {"opencv": cv2.__version__}
    if (given.opencv_doc / "left01.jpg").is_file():
        reference = "RMS 0.258 px, baseline 82.86 mm, |dy| 0.101 px, edges 25.00 +- 0.27 mm; aim held out |dy| below 0.16 px"
        folds = splits(13, N_HELD, given.splits)
        for name, by_sb in (("our finder", False), ("findChessboardCornersSB", True)):
            title = f"13 pairs of opencv-doc, corners by {name}; held out: {given.splits} random splits, 7 to fit and 6 to judge"
            results[f"opencv_doc, {name}"] = report(title, doc_views(given.opencv_doc, by_sb), folds, reference)
    else:
        print(f"no pictures in {given.opencv_doc}: install Debian's opencv-doc or give --opencv-doc")
    folder = None if given.shared is None else given.shared / "two_webcams"
    if folder is not None and (folder / "board_corners.npz").is_file():
        views, rig = webcam_views(folder), read_rig(folder / "rig.toml")
        mixed = np.random.default_rng(2).permutation(len(views))
        folds = [np.sort(mixed[k::8]) for k in range(8)]
        title = "two webcams, board_corners.npz: 32 views of 21 mm squares; held out: 8 folds of 4 views"
        own = {"baseline_mm": 1e3 * rig.baseline_m} | figures(rig, views)
        words = f"RMS 0.2917 px, baseline 365.8 mm\n{line('rig.toml on all views', own)}"
        results["two_webcams"] = report(title, views, folds, words) | {"reference": own}
    else:
        print("no two_webcams: give --shared DIR or set DUOCAP_SHARED_DATA")
    write_json(given.json, results)


if __name__ == "__main__":
    main()
