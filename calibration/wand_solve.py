"""A rig from a wand: time offset, which marker is which, relative pose, adjustment, and the scale.

Nothing is known at the start but the cameras' intrinsics, and the focal lengths perhaps roughly. The wand's middle, which is the
same point whichever marker is which, gives a first relative pose for every time offset tried; the best one tells markers apart.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera, Rig
from calibration.rig_solution import INTRINSICS
from calibration.triangulate import triangulate
from calibration.wand import WandSolution, WandTrack, WandViews
from calibration.wand_bundle import WandFit, WandProblem, WandState, adjust, residuals
from calibration.wand_essential import RelativePose, depths, ransac, sampson2
from calibration.wand_tracks import views_at
from config.errors import CalibrationError
from database.rotations import Floats, rotvec_from_matrix, skew

LEAST_SHARED = 40
MOST_MOMENTS = 500
LEAST_MOVE_PX = 3.0  # between two moments that count
OFFSET_RANGE_S = 0.12
BETTER = 0.7  # another offset than none must make the epipolar error so much smaller
MIDDLE_PX, POINT_PX = 4.0, 1.5  # what a wand's middle and a marker are off by, at the first look
STIFFNESS = 1e-3  # standard deviation of the wand's length as a share of it
OUTLIER, OUTLIER_PX = 4.0, 0.4  # sigmas, and at least so much, by which an observation may be off
ROUNDS = 4
FOCAL_KNOWN, OFFSET_KNOWN_S = 0.01, 0.004  # standard deviations at which they are believed
FLAT, THIN = 0.02, 0.02  # extents of the waved volume as shares of its length


def intrinsics_of(camera: Camera) -> Floats:
    """Give fx, fy, cx, cy, k1, k2, p1, p2, k3, (9,)."""
    K, out = camera.matrix, np.zeros(len(INTRINSICS))
    out[:4] = K[0, 0], K[1, 1], K[0, 2], K[1, 2]
    out[4 : 4 + len(camera.distortions)] = camera.distortions
    return out


def _rays(camera: Camera, px: Floats) -> Floats:
    """Give ideal normalised image points, homogeneous: (..., 2) [px] -> (..., 3)."""
    ideal = camera.undistort(px)
    return np.concatenate([ideal, np.ones((*ideal.shape[:-1], 1))], axis=-1)


def thinned(track: WandTrack, most: int = MOST_MOMENTS) -> WandTrack:
    """Keep moments between which the wand moved, evenly, at most so many: a wand at rest tells one thing again and again."""
    kept: list[int] = []
    for f in range(len(track.t_s)):
        if not kept or np.abs(track.points_px[f] - track.points_px[kept[-1]]).max() >= LEAST_MOVE_PX:
            kept.append(f)
    which = np.array(kept, np.int64)
    if len(which) > most:
        which = which[np.round(np.linspace(0, len(which) - 1, most)).astype(np.int64)]
    return WandTrack(track.t_s[which], track.points_px[which], track.run[which])


def solve_wand(
    tracks: tuple[WandTrack, WandTrack],
    cameras: tuple[Camera, Camera],
    *,
    length_m: float | None = None,
    distance_m: float | None = None,
    focal: bool = False,
    synchronised: bool = False,
    offset_s: float = 0.0,
) -> WandSolution:
    """Fit the right camera's place to a wand that both cameras follow.

    cameras: their intrinsics, where they stand is not looked at; length_m: of the wand of two markers; distance_m: between the
    cameras, which settles the scale where there is no length; focal: focal lengths are solved for too, and kept where well
    determined; synchronised: no time offset beyond offset_s is looked for. Raises CalibrationError: too little seen, a volume
    that is flat or a line, left and right swapped, nothing that fits.
    """
    left = thinned(tracks[0])
    if not synchronised:
        offset_s = _rough_offset(left, tracks[1], cameras, offset_s)
    views = _enough(views_at(left, tracks[1], offset_s))
    views, starts = _first_poses(views, cameras)
    fits = [_fit(views, _start(views, cameras, pose), 8.0 * POINT_PX, max_steps=15) for pose in starts]
    state = min(fits, key=lambda fit: fit.cost).state
    offset, kept_focal, notes = not synchronised, focal, list[str]()
    for _ in range(3):
        found = _refined((left, tracks[1]), cameras, state, offset_s, (kept_focal, offset))
        sigmas = np.sqrt(np.diag(found[1].covariance))
        if offset and sigmas[5 + 2 * kept_focal] > OFFSET_KNOWN_S:
            offset = False
            notes.append(f"the time offset is known to {1e3 * sigmas[5 + 2 * kept_focal]:.1f} ms only and is held: wave faster")
        elif kept_focal and sigmas[5:7].max() > FOCAL_KNOWN:
            kept_focal = False
            left_pc, right_pc = 100.0 * sigmas[5:7]
            notes.append(
                f"the focal lengths are known to {left_pc:.1f} and {right_pc:.1f} % only and are held as given: "
                "wave nearer and farther, in all of the picture, with a wand of two markers"
            )
        else:
            break
    return _solution(found, cameras, (kept_focal, offset), length_m, distance_m, tuple(notes))


def _enough(views: WandViews) -> WandViews:
    """Raise CalibrationError unless both cameras see the wand often enough."""
    if views.n_shared < LEAST_SHARED:
        raise CalibrationError(
            f"both cameras see the wand at the same moment {len(views)} times; expected at least "
            f"{LEAST_SHARED // views.points_px.shape[2]}, better 200: wave it slowly where both see it, for a minute"
        )
    return views


def _rough_offset(left: WandTrack, right: WandTrack, cameras: tuple[Camera, Camera], about_s: float) -> float:
    """Give the time offset at which the wand's middle agrees best with any relative pose."""
    few = thinned(left, 150)
    step_s = 0.5 * float(np.median(np.diff(right.t_s)))
    tries = about_s + step_s * np.arange(-round(OFFSET_RANGE_S / step_s), round(OFFSET_RANGE_S / step_s) + 1)
    costs = np.array([_middle_cost(views_at(few, right, float(offset_s)), cameras) for offset_s in tries])
    middle = len(tries) // 2
    best = int(np.argmin(costs))
    return float(tries[best] if costs[best] < BETTER * costs[middle] else tries[middle])


def _middle_cost(views: WandViews, cameras: tuple[Camera, Camera]) -> float:
    """Give how badly the wand's middle fits any relative pose."""
    if views.n_shared < LEAST_SHARED:
        return np.inf
    rays = [_rays(camera, px.mean(axis=1)) for camera, px in zip(cameras, views.points_px, strict=True)]
    poses = ransac(rays[0], rays[1], POINT_PX / cameras[0].focal_px, n_samples=60)
    return poses[0].cost if poses else np.inf


def _first_poses(views: WandViews, cameras: tuple[Camera, Camera]) -> tuple[WandViews, list[RelativePose]]:
    """Give the views with the same marker in the same column of both, and the relative poses to start from."""
    sigma = (POINT_PX if views.points_px.shape[2] == 1 else MIDDLE_PX) / cameras[0].focal_px
    rays = [_rays(camera, px.mean(axis=1)) for camera, px in zip(cameras, views.points_px, strict=True)]
    poses = ransac(rays[0], rays[1], sigma, seed=1, n_samples=300)
    if views.points_px.shape[2] == 2 and poses:
        views = _told_apart(views, cameras, poses[0])
        rays = [_rays(camera, px.reshape(-1, 2)) for camera, px in zip(cameras, views.points_px, strict=True)]
        poses = ransac(rays[0], rays[1], POINT_PX / cameras[0].focal_px, seed=2, n_samples=300) + poses[:1]
    if not poses:
        raise CalibrationError(
            "no place of the right camera explains what both see of the wand; "
            "are the videos of the same moments, and the intrinsics or --fov of these cameras?"
        )
    return views, poses


def _told_apart(views: WandViews, cameras: tuple[Camera, Camera], pose: RelativePose) -> WandViews:
    """Exchange the markers of the right view where that agrees better with a relative pose."""
    E = (skew(pose.translation) @ pose.rotation)[None]
    left, right = (_rays(camera, px) for camera, px in zip(cameras, views.points_px, strict=True))
    straight = sum(sampson2(E, left[:, k], right[:, k])[0] for k in range(2))
    crossed = sum(sampson2(E, left[:, k], right[:, 1 - k])[0] for k in range(2))
    return exchanged(views, np.asarray(crossed < straight))


def exchanged(views: WandViews, which: NDArray[np.bool_]) -> WandViews:
    """Exchange the two markers of the right view at some moments."""
    px, velocity = views.points_px.copy(), views.velocity_px_s.copy()
    px[1, which], velocity[which] = px[1, which, ::-1], velocity[which, ::-1]
    return WandViews(views.t_s, px, velocity)


def _start(views: WandViews, cameras: tuple[Camera, Camera], pose: RelativePose) -> WandState:
    """Give the state to adjust from."""
    intrinsics = np.stack([intrinsics_of(camera) for camera in cameras])
    points = _placed(views, intrinsics, cameras, pose.rotation, pose.translation)
    return WandState(intrinsics, pose.rotation, pose.translation, points, _length(points), 0.0, np.zeros(2))


def _placed(views: WandViews, intrinsics: Floats, cameras: tuple[Camera, Camera], R: Floats, t: Floats) -> Floats:
    """Give places of the markers, (F, K, 3): where the rays of both cameras come nearest, in front of them."""
    F, K = views.points_px.shape[1:3]
    now = [_with_intrinsics(camera, row) for camera, row in zip(cameras, intrinsics, strict=True)]
    left, right = (_rays(camera, px.reshape(-1, 2)) for camera, px in zip(now, views.points_px, strict=True))
    along, _ = depths(R, t, left, right)
    usual = float(np.median(along[along > 0.0])) if np.any(along > 0.0) else 1.0
    along = np.where(along > 0.02 * usual, np.minimum(along, 20.0 * usual), usual)
    return np.asarray((left * along[:, None]).reshape(F, K, 3))


def _length(points: Floats) -> float:
    """Give the usual distance of the two markers, 0 for one."""
    return float(np.median(np.linalg.norm(points[:, 0] - points[:, 1], axis=1))) if points.shape[1] == 2 else 0.0


def _with_intrinsics(camera: Camera, row: Floats) -> Camera:
    """Give a camera with other focal lengths."""
    matrix = camera.matrix.copy()
    matrix[0, 0], matrix[1, 1] = row[0], row[1]
    return Camera(camera.name, camera.size, matrix, camera.distortions.copy(), camera.rotation.copy(), camera.translation.copy())


def _fit(
    views: WandViews, state: WandState, sigma_px: float, focal: bool = False, offset: bool = False, max_steps: int = 40
) -> WandFit:
    """Adjust robustly, everything in use."""
    used = np.ones(views.points_px.shape[1:3], bool)
    rigid = max(STIFFNESS, 0.02 * min(sigma_px / 5.0, 1.0)) if sigma_px > POINT_PX else STIFFNESS
    problem = WandProblem(views.points_px, views.velocity_px_s, used, sigma_px, max(rigid * state.length, 1e-9), focal, offset)
    return adjust(state, problem, True, max_steps)


def _refined(
    tracks: tuple[WandTrack, WandTrack],
    cameras: tuple[Camera, Camera],
    state: WandState,
    offset_s: float,
    free: tuple[bool, bool],
) -> tuple[WandViews, WandFit, NDArray[np.bool_], float, float]:
    """Adjust in rounds: read the right track anew at the offset found, tell the markers apart, leave out what does not fit."""
    for _ in range(ROUNDS):
        views = views_at(*tracks, offset_s)
        views = _rigidly_told_apart(views, cameras, state)
        points = _placed(views, state.intrinsics, cameras, state.rotation, state.translation)
        state = replace(state, points=points, length=_length(points), delta_s=0.0)
        sigma = _noise(state, views)
        state = _fit(views, state, sigma, *free, max_steps=20).state
        offset_s += state.delta_s
    sigma = _noise(state, views)
    problem = WandProblem(
        views.points_px,
        views.velocity_px_s,
        np.ones(views.points_px.shape[1:3], bool),
        sigma,
        max(STIFFNESS * state.length, 1e-9),
        *free,
    )
    for _ in range(2):
        problem = replace(problem, used=_fitting(state, problem))
        fit = adjust(state, problem, robust=False, max_steps=20)
        state = fit.state
        problem = replace(problem, sigma_px=_chi(fit, problem))
    return views, adjust(state, problem, False, 5), problem.used, problem.sigma_px, offset_s + state.delta_s


def _rigidly_told_apart(views: WandViews, cameras: tuple[Camera, Camera], state: WandState) -> WandViews:
    """Exchange the markers of the right view where that agrees better with pose and length together."""
    if views.points_px.shape[2] == 1:
        return views
    both = (views, exchanged(views, np.ones(len(views), bool)))
    costs = []
    for one in both:
        points = _placed(one, state.intrinsics, cameras, state.rotation, state.translation)
        problem = WandProblem(one.points_px, one.velocity_px_s, np.ones(points.shape[:2], bool), 1.0)
        px, stretch = residuals(replace(state, points=points, delta_s=0.0), problem)
        usual = max(state.length, 1e-9)
        costs.append(np.minimum((px**2).sum(axis=(0, 2, 3)), 1e4) + 25.0 * np.minimum((20.0 * stretch / usual) ** 2, 100.0))
    return exchanged(views, np.asarray(costs[1] < costs[0]))


def _noise(state: WandState, views: WandViews) -> float:
    """Estimate the noise of a coordinate robustly: a point's four residuals have one degree of freedom."""
    E = (skew(state.translation) @ state.rotation)[None]
    K = [np.array([[row[0], 0.0, row[2]], [0.0, row[1], row[3]], [0.0, 0.0, 1.0]]) for row in state.intrinsics]
    focal = 0.5 * float(state.intrinsics[:, :2].mean(axis=1).sum())
    cameras = [
        Camera("", (1, 1), matrix, row[4:].copy(), np.eye(3), np.zeros(3))
        for matrix, row in zip(K, state.intrinsics, strict=True)
    ]
    left, right = (_rays(camera, px.reshape(-1, 2)) for camera, px in zip(cameras, views.points_px, strict=True))
    return max(1.4826 * focal * float(np.median(np.sqrt(sampson2(E, left, right)[0]))), 0.02)


def _fitting(state: WandState, problem: WandProblem) -> NDArray[np.bool_]:
    """Tell which observations fit: near in both images, and of a wand of the right length."""
    px, stretch = residuals(state, problem)
    near = (px**2).sum(axis=(0, 3)) < max(OUTLIER * problem.sigma_px, OUTLIER_PX) ** 2
    if problem.n_markers == 2:
        near &= near.all(axis=1, keepdims=True)
        near &= (np.abs(stretch) < 10.0 * problem.length_sigma)[:, None]
    return np.asarray(near)


def _chi(fit: WandFit, problem: WandProblem) -> float:
    """Give the noise of a coordinate from what is left over and the degrees of freedom."""
    px, _ = residuals(fit.state, problem)
    K, n = problem.n_markers, int(problem.used.sum())
    free = 4 * n - 3 * n + (n // 2 if K == 2 else 0) - problem.n_shared
    return max(float(np.sqrt((px[:, problem.used] ** 2).sum() / max(free, 1))), 0.01)


def _solution(
    found: tuple[WandViews, WandFit, NDArray[np.bool_], float, float],
    cameras: tuple[Camera, Camera],
    free: tuple[bool, bool],
    length_m: float | None,
    distance_m: float | None,
    notes: tuple[str, ...],
) -> WandSolution:
    """Settle the scale and check what came out."""
    views, fit, used, sigma_px, offset_s = found
    state, (focal, offset) = fit.state, free
    by_length = length_m is not None and state.length > 0.0
    if by_length:
        assert length_m is not None
        baseline_m, scale = length_m / state.length, f"the wand's length of {1e3 * length_m:g} mm"
    elif distance_m is not None:
        baseline_m, scale = distance_m, f"the cameras' distance of {1e3 * distance_m:g} mm"
    else:
        raise CalibrationError("nothing tells the scale; give --length of the wand or --distance between the cameras")
    points_m = baseline_m * state.points
    _check_volume(points_m[used])
    rig = _rig(state, cameras, baseline_m)
    _check_sides(rig)
    covariance = fit.covariance
    sigmas = np.sqrt(np.diag(covariance))
    J = _relative_by_shared(state, baseline_m, covariance.shape[0], by_length)
    px, _ = residuals(state, WandProblem(views.points_px, views.velocity_px_s, used, 1.0))
    at = 5 + 2 * focal
    return WandSolution(
        rig=rig,
        t_s=views.t_s,
        points_m=points_m,
        residual_px=np.where(used[None, :, :, None], px, 0.0),
        used=used,
        sigma_px=sigma_px,
        lengths_m=_free_lengths(rig, views, used),
        length_m=baseline_m * state.length if state.length > 0.0 else float("nan"),
        scale=scale,
        relative_covariance=J @ covariance @ J.T,
        focal_sigma=sigmas[5:7] if focal else np.zeros(2),
        offset_s=offset_s,
        offset_sigma_s=float(sigmas[at]) if offset else 0.0,
        world_sigma=_world_sigma(fit, used, by_length),
        notes=notes,
    )


def _rig(state: WandState, cameras: tuple[Camera, Camera], baseline_m: float) -> Rig:
    """Give the rig, world = left camera."""
    left, right = (_with_intrinsics(camera, row) for camera, row in zip(cameras, state.intrinsics, strict=True))
    return Rig(
        replace(left, rotation=np.eye(3), translation=np.zeros(3)),
        replace(right, rotation=state.rotation.copy(), translation=baseline_m * state.translation),
    )


def _free_lengths(rig: Rig, views: WandViews, used: NDArray[np.bool_]) -> Floats:
    """Give the wand's length moment by moment, each marker triangulated by itself, (F,) [m]; none for one marker."""
    whole = used.all(axis=1)
    if used.shape[1] < 2 or not whole.any():
        return np.zeros(0)
    px = views.points_px[:, whole].reshape(2, -1, 2)
    points, _ = triangulate(rig, px[0], px[1])
    gaps = points.reshape(-1, 2, 3)
    return np.asarray(np.linalg.norm(gaps[:, 0] - gaps[:, 1], axis=1))


def _relative_by_shared(state: WandState, baseline_m: float, n_shared: int, by_length: bool) -> Floats:
    """Give how the right camera's turn and shift move with the shared unknowns, (6, p)."""
    from calibration.wand_bundle import tangents

    J = np.zeros((6, n_shared))
    J[:3, :3] = np.eye(3)
    J[3:, 3:5] = baseline_m * tangents(state.translation)
    if by_length:
        J[3:, -1] = -baseline_m / state.length * state.translation
    return J


def _world_sigma(fit: WandFit, used: NDArray[np.bool_], by_length: bool) -> float:
    """Give the typical error of a place as a share of its distance from the left camera, from the shared unknowns alone."""
    F, K = used.shape
    G = fit.place_by_shared.reshape(F * K, 3, -1)[used.ravel()].copy()
    X = fit.state.points.reshape(-1, 3)[used.ravel()]
    if by_length:
        G[:, :, -1] -= X / fit.state.length
    error2 = np.einsum("nip,pq,niq->n", G, fit.covariance, G)
    return float(np.sqrt(np.mean(error2 / (X**2).sum(axis=1))))


def _check_volume(points_m: Floats) -> None:
    """Raise CalibrationError where the wand stayed in a plane or on a line, which leaves the cameras' places open."""
    if len(points_m) < LEAST_SHARED:
        raise CalibrationError(
            f"only {len(points_m)} observations of the wand fit together; expected at least {LEAST_SHARED}: are the videos of "
            "the same moments, the intrinsics or --fov of these cameras, and nothing else moving?"
        )
    extents = np.linalg.svd(points_m - points_m.mean(axis=0), compute_uv=False)
    if extents[1] < THIN * extents[0]:
        raise CalibrationError("the wand moved along one line only; wave it through the whole volume, high and low, near and far")
    if extents[2] < FLAT * extents[0]:
        raise CalibrationError("the wand stayed in one plane; wave it through the whole volume, high and low, near and far")


def _check_sides(rig: Rig) -> None:
    """Raise CalibrationError where the right camera stands to the left of the left one and both look the same way."""
    R, shift = rig.right.rotation, rig.right.center_m
    if R[2, 2] > 0.3 and R[0, 0] > 0.3 and shift[0] < -0.5 * rig.baseline_m:
        raise CalibrationError(
            f"left and right are swapped: the right camera stands {1e3 * abs(shift[0]):.0f} mm to the left of the left one; "
            "give the two videos in the other order"
        )


def turn_rad(rig: Rig) -> Floats:
    """Give the right camera's turn against the left one as a rotation vector, (3,)."""
    return rotvec_from_matrix(rig.right.rotation @ rig.left.rotation.T)
