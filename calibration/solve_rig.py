"""Solve for a rig of two cameras, or one camera, from views of a board: lens models, intrinsics, relative pose, covariances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_pose import MIN_CORNERS, refined_places
from calibration.bundle import BundleState, Freedom, Observations, residual_px
from calibration.bundle_robust import RobustFit, good_views, view_distances_px
from calibration.bundle_solve import Prior, normal_equations, shared_covariance
from calibration.bundle_start import agreed_pose, as_camera, nine_numbers, sighting, weak_prior
from calibration.camera import Camera, Rig
from calibration.lens import HELD, LensModel
from calibration.rig_solution import RigSolution
from calibration.solve_checks import check_enough, check_intrinsics, check_shared, check_sides, check_views
from calibration.solve_lone import LoneCamera, lone_camera, settled
from calibration.views import BoardView, ViewPair
from config.errors import CalibrationError
from database.rotations import Floats, rotvec_from_matrix, skew

LARGEST_SHARE_BAD = 0.4  # of the views: with more, nothing is to be believed
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Lens:
    """A camera before the joint adjustment: its nine numbers, which are free, and what is known of them beforehand."""

    intrinsics: Floats
    lens: LensModel
    prior: Prior
    errors_px2: Mapping[LensModel, Floats]


def solve_rig(
    board: Board,
    pairs: Sequence[ViewPair],
    sizes: tuple[tuple[int, int], tuple[int, int]],
    *,
    names: tuple[str, str] = ("left", "right"),
    intrinsics: tuple[Camera, Camera] | None = None,
    intrinsic_sigma: Floats | None = None,
    solve_offset: bool = False,
    progress: Progress = lambda words: None,
) -> RigSolution:
    """Solve for two cameras; the world is the left camera's frame.

    sizes: width and height of each camera's pictures; intrinsics: known from earlier, held, or with intrinsic_sigma (2, 9) a first
    guess that may move by that much; solve_offset: find by how much the right camera's stamps are late, from views in motion whose
    `velocity_px_s` is known; progress: told in words what is being done.
    Raises CalibrationError: too few or too similar views, corners that do not fit the pictures, cameras swapped, an absurd lens.
    """
    check_both(board, pairs, sizes, names, intrinsics)
    seen = observations(board, pairs, solve_offset)
    lenses = []
    for c in range(2):
        progress(f"solving for the {names[c]} camera alone")
        lenses.append(_lens(board, seen.of_camera(c), sizes[c], names[c], c, intrinsics, intrinsic_sigma))
    progress("solving for both cameras together")
    state, seen, kept, dropped = _joint_start(lenses, seen, pairs, names)
    freedom = Freedom(tuple(lens.lens for lens in lenses), offset=solve_offset)
    prior = Prior(
        *(np.concatenate(both) for both in zip(*((lens.prior.mean, lens.prior.weight) for lens in lenses), strict=True))
    )
    moved = None if solve_offset else moved_px([pairs[v] for v in kept])
    fit, good, more = _without_bad(settled(state, seen, freedom, prior, moved), freedom, prior, moved, [pairs[v] for v in kept])
    check_sides(-fit.state.rotation.T @ fit.state.translation, names)
    for c in range(2):
        check_intrinsics(fit.state.intrinsics[c], sizes[c], names[c], board)
    used_pairs = tuple(pairs[v] for v in kept[good])
    return _solution(board, used_pairs, sizes, names, fit, freedom, prior, lenses, (*dropped, *more), intrinsics is not None)


def solve_camera(board: Board, views: Sequence[BoardView], size: tuple[int, int], *, name: str = "left") -> RigSolution:
    """Solve for one camera alone: a rig of one camera, whose frame is the world. Raises CalibrationError as `solve_rig` does."""
    check_views(board, views, size, name)
    check_enough(views, name)
    pairs = [ViewPair(view, None) for view in views if view.n_seen >= MIN_CORNERS]
    seen = observations(board, pairs, False).of_camera(0)
    lone = lone_camera(board, seen, size, name)
    freedom, prior = Freedom((lone.lens,), relative=False), weak_prior(size)
    fit, good, dropped = _without_bad(lone.fit, freedom, prior, None, pairs)
    check_intrinsics(fit.state.intrinsics[0], size, name, board)
    lens = _Lens(fit.state.intrinsics[0], lone.lens, prior, lone.errors_px2)
    kept = tuple(pairs[v] for v in good)
    return _solution(board, kept, (size, size), (name, name), fit, freedom, prior, [lens], dropped, False)


def check_both(
    board: Board,
    pairs: Sequence[ViewPair],
    sizes: tuple[tuple[int, int], tuple[int, int]],
    names: tuple[str, str],
    intrinsics: tuple[Camera, Camera] | None,
) -> None:
    """Raise CalibrationError where the views cannot be solved from."""
    for c in range(2):
        views = [view for pair in pairs if (view := pair.views[c]) is not None]
        check_views(board, views, sizes[c], names[c])
        if intrinsics is None:
            check_enough(views, names[c])
        elif intrinsics[c].size != tuple(sizes[c]):
            known, size = intrinsics[c].size, sizes[c]
            raise CalibrationError(
                f"the {names[c]} camera's earlier calibration is for pictures of {known[0]}x{known[1]}, these are {size[0]}x{size[1]}: "
                f"use the same mode of the camera or calibrate the lens again"
            )
    check_shared(sum(pair.n_shared >= MIN_CORNERS for pair in pairs))


def observations(board: Board, pairs: Sequence[ViewPair], solve_offset: bool) -> Observations:
    """Give all corners as arrays, weight 1 where seen; velocities and lags where the offset is to be solved for."""
    V, N = len(pairs), len(board)
    px, weight, velocity, lag_s = np.zeros((2, V, N, 2)), np.zeros((2, V, N)), np.zeros((V, N, 2)), np.zeros(V)
    for v, pair in enumerate(pairs):
        for c, view in enumerate(pair.views):
            if view is not None and view.n_seen >= MIN_CORNERS:
                weight[c, v] = view.seen
                px[c, v, view.seen] = view.corners_px[view.seen]
        if pair.left is not None and pair.right is not None and pair.right.velocity_px_s is not None:
            velocity[v] = np.where(pair.right.seen[:, None], pair.right.velocity_px_s, 0.0)
            lag_s[v] = 1e-9 * (pair.right.t_ns - pair.left.t_ns)
    if not solve_offset:
        return Observations(board.points_m, px, weight)
    if not velocity.any():
        raise CalibrationError(
            "the time offset cannot be solved for: no view of the right camera shows the board in motion with its speed known; "
            "give videos in which it is moved slowly, or leave the offset alone"
        )
    return Observations(board.points_m, px, weight, velocity, lag_s)


def moved_px(pairs: Sequence[ViewPair]) -> Floats:
    """Give how far the board moved between pictures, by camera (2, V) [px], 0 where still or one camera alone saw it."""
    out = np.zeros((2, len(pairs)))
    for v, pair in enumerate(pairs):
        for c, view in enumerate(pair.views):
            if view is not None and pair.n_shared and np.isfinite(view.moved_px):
                out[c, v] = view.moved_px
    return out


def _lens(
    board: Board,
    seen: Observations,
    size: tuple[int, int],
    name: str,
    camera: int,
    intrinsics: tuple[Camera, Camera] | None,
    sigma: Floats | None,
) -> _Lens:
    """Solve for one camera's lens, or take it from earlier."""
    if intrinsics is None:
        lone: LoneCamera = lone_camera(board, seen, size, name)
        return _Lens(lone.fit.state.intrinsics[0], lone.lens, weak_prior(size), lone.errors_px2)
    known = nine_numbers(intrinsics[camera])
    if sigma is None:
        return _Lens(known, HELD, Prior(known[None], np.zeros((1, 9))), {})
    free = LensModel(tuple(np.array(("k1", "k2", "p1", "p2", "k3"))[sigma[camera, 4:] > 0]), square=False)
    weight = np.where(sigma[camera] > 0, 1.0 / np.maximum(sigma[camera], 1e-12) ** 2, 1e12)
    return _Lens(known, free, Prior(known[None], weight[None]), {})


def _joint_start(
    lenses: Sequence[_Lens], seen: Observations, pairs: Sequence[ViewPair], names: tuple[str, str]
) -> tuple[BundleState, Observations, NDArray[np.intp], tuple[str, ...]]:
    """Find the pose between the cameras and every place of the board; leave out pairs that are not of one place."""
    V = seen.n_views
    sights = [sighting(lens.intrinsics, seen.of_camera(c)) for c, lens in enumerate(lenses)]
    seen_by = [(seen.weight[c] > 0).sum(axis=1) >= MIN_CORNERS for c in range(2)]
    shared = seen_by[0] & seen_by[1]
    R, t, choice, agrees = agreed_pose(sights[0], sights[1], shared)
    if agrees.sum() < max(3, (1.0 - LARGEST_SHARE_BAD) * shared.sum()):
        raise CalibrationError(
            f"only {int(agrees.sum())} of {int(shared.sum())} pairs of pictures agree on where the cameras stand: do left and right "
            f"pictures belong together, was the board still, and did no camera move?"
        )
    keep = np.flatnonzero(agrees | (seen_by[0] ^ seen_by[1]))
    dropped = tuple(
        f"{_pair_name(pairs[v])}: the two pictures do not show the board in one place" for v in np.flatnonzero(shared & ~agrees)
    )
    index = np.arange(V) + V * choice
    Rb, tb = sights[0].state.board_rotation[index], sights[0].state.board_translation[index]
    lone = ~seen_by[0]
    Rb[lone] = R.T @ sights[1].state.board_rotation[:V][lone]
    tb[lone] = (sights[1].state.board_translation[:V][lone] - t) @ R
    state = BundleState(np.stack([lens.intrinsics for lens in lenses]), R, t, Rb[keep], tb[keep])
    return refined_places(state, seen.at(keep))[0], seen.at(keep), keep, dropped


def _without_bad(
    fit: RobustFit, freedom: Freedom, prior: Prior, moved: Floats | None, pairs: Sequence[ViewPair]
) -> tuple[RobustFit, NDArray[np.intp], tuple[str, ...]]:
    """Leave out views that fit far worse than the others and adjust again: the fit, the places kept, and words."""
    kept, words = np.arange(fit.seen.n_views), []
    for _ in range(4):
        good = good_views(fit)
        if good.all():
            return fit, kept, tuple(words)
        off = view_distances_px(fit)
        words += [
            f"{_pair_name(pairs[kept[v]])}: corners are {off[v]:.2f} px off, usual are {np.median(off):.2f} px"
            for v in np.flatnonzero(~good)
        ]
        kept = kept[good]
        if len(kept) < (1.0 - LARGEST_SHARE_BAD) * len(pairs) or len(kept) < 3:
            raise CalibrationError(
                f"{len(words)} of {len(pairs)} views of the board contradict the others: was the board flat and still, did no camera "
                f"move, and do left and right pictures belong together? ({words[0]})"
            )
        part = fit.at(good)
        fit = settled(part.state, part.unweighed, freedom, prior, None if moved is None else moved[:, kept])
    return fit, kept, tuple(words)


def _solution(
    board: Board,
    pairs: tuple[ViewPair, ...],
    sizes: tuple[tuple[int, int], tuple[int, int]],
    names: tuple[str, str],
    fit: RobustFit,
    freedom: Freedom,
    prior: Prior,
    lenses: Sequence[_Lens],
    dropped: tuple[str, ...],
    fixed: bool,
) -> RigSolution:
    """Put the result together with its covariances."""
    state, C = fit.state, fit.seen.n_cameras
    covariance = shared_covariance(normal_equations(state, fit.seen, freedom, prior))
    intrinsic_sigma, column = np.zeros((2, 9)), 0
    for c, lens in enumerate(freedom.lenses):
        S, at = lens.directions, slice(column, column + lens.n_free)
        intrinsic_sigma[c] = np.sqrt(np.einsum("ij,jk,ik->i", S, covariance[at, at], S))
        column += lens.n_free
    poses = [(np.eye(3), np.zeros(3)), (state.rotation, state.translation)]
    cameras = [as_camera(names[c], sizes[c], state.intrinsics[c], *poses[c]) for c in range(C)]
    residual, used = np.zeros((2, len(pairs), len(board), 2)), np.zeros((2, len(pairs), len(board)), bool)
    residual[:C], used[:C] = np.where(fit.used[..., None], residual_px(state, fit.seen), 0.0), fit.used
    rms = float(np.sqrt((residual**2).sum() / max(int(used.sum()), 1)))
    relative = np.zeros((6, 6))
    if C == 2:
        turn = np.eye(6)
        turn[:3, :3] = _rotvec_derivative(rotvec_from_matrix(state.rotation))
        relative = turn @ covariance[column : column + 6, column : column + 6] @ turn.T
    models = [lens.lens.coefficients for lens in lenses]
    sigma = np.array([*fit.sigma_px, *([0.0] if C == 1 else [])])
    return RigSolution(
        board=board,
        rig=Rig(cameras[0], cameras[-1], rms),
        pairs=pairs,
        board_to_world=np.hstack([rotvec_from_matrix(state.board_rotation), state.board_translation]),
        residual_px=residual,
        used=used,
        sigma_px=sigma,
        lenses=(models[0], models[-1]),
        held_out_px=_held_out(lenses),
        intrinsic_sigma=intrinsic_sigma,
        relative_covariance=relative,
        fixed_intrinsics=fixed,
        dropped=dropped,
        offset_s=state.offset_s if freedom.offset else float("nan"),
        offset_sigma_s=float(np.sqrt(covariance[-1, -1])) if freedom.offset else float("nan"),
        n_parameters=freedom.n_shared + 6 * len(pairs),
    )


def _held_out(lenses: Sequence[_Lens]) -> Mapping[str, float]:
    """Give each lens model's error in views left out, over the cameras that tried it [px]."""
    tried: dict[str, list[Floats]] = {}
    for lens in lenses:
        for model, errors in lens.errors_px2.items():
            tried.setdefault(model.words, []).append(2.0 * errors)
    return {words: float(np.sqrt(np.concatenate(errors).mean())) for words, errors in tried.items()}


def _rotvec_derivative(rotvec: Floats) -> Floats:
    """Give d rotvec / d w of exp([w]x) exp([rotvec]x) at w = 0, (3, 3) (inverse left Jacobian of SO(3))."""
    angle, K = float(np.linalg.norm(rotvec)), skew(rotvec)
    if angle < 1e-6:
        return np.asarray(np.eye(3) - 0.5 * K)
    return np.asarray(np.eye(3) - 0.5 * K + (1.0 / angle**2 - 0.5 / angle / np.tan(0.5 * angle)) * K @ K)


def _pair_name(pair: ViewPair) -> str:
    """Name a place by its pictures."""
    return " and ".join(dict.fromkeys(view.name for view in pair.views if view is not None and view.name)) or "a view"
