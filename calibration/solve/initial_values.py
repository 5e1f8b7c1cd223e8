"""Initial values: the focal length in closed form, and the relative pose of the cameras on which most views agree.

Focal length: Zhang 2000, section 3.1, with square pixels and the principal point in the middle of the picture.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.solve.adjust import IntrinsicsPrior, adjust_bundle
from calibration.solve.board_pose import (
    PoseCandidates,
    compute_homography,
    compute_view_costs,
    count_least_corners,
    find_pose_candidates,
)
from calibration.solve.equations import BundleState, CornerObservations, FreeParameters, select_state_views
from calibration.solve.solution import N_INTRINSICS, LensModel
from config.arrays import Floats
from database.geometry.rotations import compute_geodesic_rad, find_nearest_rotation

FOCALS, FISHEYE_FOCALS, N_FOCALS = (0.4, 6.0), (0.25, 1.2), 10  # of the longer side: the range tried where the closed form fails
GOOD_START_PX = 1.0  # error up to which a start is good
START_STEPS = 12
CENTRE_SIGMA = 0.1  # of the longer side: standard deviation of the principal point from the middle of the picture
K_SIGMA = (1.0, 3.0, 0.02, 0.02, 10.0)  # k1, k2, p1, p2, k3: weak, for what the views do not determine
FISHEYE_SIGMA = (0.3, 0.3, 0.3, 0.3, 1.0)  # k1, k2, k3, k4: of lenses made for that projection
AGREE_RAD, AGREE_SHARE = 0.05, 0.05  # views agree on the relative pose within: rotation, and share of the board's distance


def make_weak_prior(size: tuple[int, int], fisheye: bool = False) -> IntrinsicsPrior:
    """Return what is known of any camera's lens: its axis goes roughly through the middle of the picture."""
    mean, weight = np.zeros((1, N_INTRINSICS)), np.zeros((1, N_INTRINSICS))
    mean[0, 2:4] = 0.5 * (size[0] - 1), 0.5 * (size[1] - 1)
    weight[0, 2:4] = (CENTRE_SIGMA * max(size)) ** -2
    weight[0, 4:] = np.array(FISHEYE_SIGMA if fisheye else K_SIGMA) ** -2.0
    return IntrinsicsPrior(mean, weight)


def _compute_closed_form_focal(points_m: Floats, px: Floats, weight: Floats, size: tuple[int, int]) -> float:
    """Return the focal length from the homographies of all views [px], NaN if undetermined.

    Args:
        points_m: the board's corners, (N, 3) [m].
        px: where they were seen, (V, N, 2) [px].
        weight: (V, N), 0 where not seen.
        size: width and height of the picture [px].
    """
    centre, scale = np.array([0.5 * (size[0] - 1), 0.5 * (size[1] - 1)]), float(max(size))
    coefficient, constant = [], []
    for corners, w in zip(px, weight, strict=True):
        if (w > 0).sum() < count_least_corners(len(w)):
            continue
        h1, h2, _ = compute_homography(points_m[:, :2], (corners - centre) / scale, w).T
        norm = np.linalg.norm(h1[:2]) * np.linalg.norm(h2[:2])
        coefficient += [(h1[:2] @ h2[:2]) / norm, (h1[:2] @ h1[:2] - h2[:2] @ h2[:2]) / norm]
        constant += [h1[2] * h2[2] / norm, (h1[2] ** 2 - h2[2] ** 2) / norm]
    a, b = np.array(coefficient), np.array(constant)
    inverse_square = -float(a @ b) / max(float(a @ a), 1e-300)  # a / f^2 + b = 0 for every view
    return scale / np.sqrt(inverse_square) if inverse_square > 0 else float("nan")


def find_initial_camera(seen: CornerObservations, size: tuple[int, int], lens: LensModel) -> PoseCandidates:
    """Return a camera's intrinsics and the board poses without prior knowledge.

    The closed form's focal length is tried first. Where noise spoils it (small boards, far away), or it leads to a bad fit, a
    range of focal lengths is tried, and those at which the poses fit best are adjusted; of fisheyes always.

    Args:
        seen: corners of that camera in the views it sees, weight 1.
        size: width and height of the picture [px].
        lens: the model.
    """
    closed = float("nan") if lens.fisheye else _compute_closed_form_focal(seen.points_m, seen.px[0], seen.weight[0], size)
    tried = [_adjust_from_focal(closed, seen, size, lens)] if 0.3 * max(size) < closed < 10.0 * max(size) else []
    if not tried or tried[0][0] > GOOD_START_PX**2 * seen.px.shape[2]:
        shortest, longest = FISHEYE_FOCALS if lens.fisheye else FOCALS
        focals = np.geomspace(shortest, longest, N_FOCALS) * max(size)
        plain = [_make_undistorted_lens(f, size, lens.fisheye) for f in focals]
        costs = [float(np.median(find_pose_candidates(each, seen).costs[: seen.n_views])) for each in plain]
        tried += [_adjust_from_focal(float(focals[i]), seen, size, lens) for i in np.argsort(costs)[:2]]
    return min(tried, key=lambda start: start[0])[1]


def _adjust_from_focal(
    focal_px: float, seen: CornerObservations, size: tuple[int, int], lens: LensModel
) -> tuple[float, PoseCandidates]:
    """Adjust from a focal length, first without distortion, with new candidate poses each time; return the typical cost too."""
    prior, views = make_weak_prior(size, lens.fisheye), np.arange(seen.n_views)
    now = find_pose_candidates(_make_undistorted_lens(focal_px, size, lens.fisheye), seen)
    for model in (LensModel(fisheye=lens.fisheye), lens):
        state = select_state_views(now.state, views)
        fit = adjust_bundle(state, cap_weights(state, seen), FreeParameters((model,), relative=False), prior, START_STEPS)
        now = find_pose_candidates(fit.state.intrinsics[0], seen)
    return float(np.median(now.costs[: seen.n_views])), now


def _make_undistorted_lens(focal_px: float, size: tuple[int, int], fisheye: bool) -> Floats:
    """Return the intrinsics of a camera without coefficients whose axis goes through the middle of the picture, (10,)."""
    centre = 0.5 * (size[0] - 1), 0.5 * (size[1] - 1)
    return np.array([focal_px, focal_px, *centre, 0.0, 0.0, 0.0, 0.0, 0.0, float(fisheye)])


def cap_weights(state: BundleState, seen: CornerObservations) -> CornerObservations:
    """Return the observations with less weight on views that fit far worse than most."""
    costs = compute_view_costs(state, seen)
    typical = np.median(costs[np.isfinite(costs)]) if np.isfinite(costs).any() else 1.0
    share = np.minimum(1.0, 9.0 * typical / np.maximum(costs, 1e-300))
    return replace(seen, weight=seen.weight * np.where(np.isfinite(costs), share, 0.0)[None, :, None])


@dataclass(frozen=True, slots=True)
class PoseVote:
    """The pose of one camera in another one's frame on which most views agree.

    rotation, translation: of the second camera, (3, 3), (3,) [m]; choice: index of the first camera's pose of the board that
    belongs to it, (V,), 0 or 1; agrees: (V,).
    """

    rotation: Floats
    translation: Floats
    choice: NDArray[np.intp]
    agrees: NDArray[np.bool_]


def vote_relative_pose(first: PoseCandidates, second: PoseCandidates, shared: NDArray[np.bool_]) -> PoseVote:
    """Find the relative pose of two cameras on which most views agree, and which of the first one's two poses belongs to it.

    Every pairing of a first with a second pose of one view votes.

    Args:
        first, second: the poses of the board as each camera sees it.
        shared: which views both cameras see, (V,).
    """
    V = len(shared)
    views = np.flatnonzero(shared)
    R, t, distance, ok = [], [], [], []
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        i, j = views + a * V, views + b * V
        rotation = second.state.board_rotation[j] @ np.swapaxes(first.state.board_rotation[i], 1, 2)
        R.append(rotation)
        t.append(second.state.board_translation[j] - (rotation @ first.state.board_translation[i][..., None])[..., 0])
        distance.append(np.linalg.norm(first.state.board_translation[i], axis=1))
        ok.append(np.isfinite(first.costs[i]) & np.isfinite(second.costs[j]))
    Rs, ts, distances, oks = np.stack(R), np.stack(t), np.stack(distance), np.stack(ok)  # (4, S, ...)
    flat_R, flat_t = Rs.reshape(-1, 3, 3), ts.reshape(-1, 3)
    angle = compute_geodesic_rad(flat_R[:, None, None], Rs[None])  # (4 S, 4, S)
    shift = np.linalg.norm(flat_t[:, None, None] - ts[None], axis=-1) / distances[None]
    gap = np.where(oks[None], np.minimum((angle / AGREE_RAD) ** 2 + (shift / AGREE_SHARE) ** 2, 8.0), 8.0)
    score = gap.min(axis=1).sum(axis=1)
    winner = int(np.argmin(np.where(oks.ravel(), score, np.inf)))
    pairing, nearest = gap[winner].argmin(axis=0), gap[winner].min(axis=0)
    choice = np.zeros(V, np.intp)
    choice[views] = pairing // 2
    agrees = np.zeros(V, bool)
    agrees[views] = nearest < 8.0
    own = Rs[pairing, np.arange(len(views))][nearest < 8.0], ts[pairing, np.arange(len(views))][nearest < 8.0]
    return PoseVote(find_nearest_rotation(own[0].sum(axis=0)), np.asarray(np.median(own[1], axis=0)), choice, agrees)
