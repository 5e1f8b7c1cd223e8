"""A rig from a wand: first look, adjustment, what is well enough determined to be kept, and the scale.

A wand's adjustment in rounds: read at the time offset found, markers told apart anew, what does not fit left out.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera, Rig
from calibration.solve.start import as_camera
from calibration.triangulate import triangulate
from calibration.wand.adjust import WandFit, WandProblem, WandState, adjust, residuals
from calibration.wand.start import (
    LEAST_SHARED,
    POINT_PX,
    enough,
    exchanged,
    first_poses,
    first_state,
    placed,
    rough_offset,
    sampson2,
    thinned,
    usual_length,
    with_intrinsics,
)
from calibration.wand.tracks import WandSolution, WandTrack, WandViews, views_at
from calibration.wand.world_error import lens_sigmas, uncertainty
from config.arrays import Floats
from config.errors import CalibrationError
from database.geometry.rotations import skew

STIFFNESS = 1e-3  # standard deviation of the wand's length as a share of it
OUTLIER, OUTLIER_PX = 4.0, 0.4  # sigmas, and at least so much, by which an observation may be off
ROUNDS = 4


def quick_fit(
    views: WandViews, state: WandState, sigma_px: float, focal: bool = False, offset: bool = False, max_steps: int = 40
) -> WandFit:
    """Adjust robustly, everything in use."""
    used = np.ones(views.points_px.shape[1:3], bool)
    rigid = max(STIFFNESS, 0.02 * min(sigma_px / 5.0, 1.0)) if sigma_px > POINT_PX else STIFFNESS
    problem = WandProblem(views.points_px, views.velocity_px_s, used, sigma_px, max(rigid * state.length, 1e-9), focal, offset)
    return adjust(state, problem, True, max_steps)


@dataclass(frozen=True, slots=True)
class RefinedWand:
    """What the adjustment came to: the views it rests on, which observations fit, (F, K), noise, and time offset in all."""

    views: WandViews
    fit: WandFit
    used: NDArray[np.bool_]
    sigma_px: float
    offset_s: float


def refined(
    tracks: tuple[WandTrack, WandTrack],
    cameras: tuple[Camera, Camera],
    state: WandState,
    offset_s: float,
    free: tuple[bool, bool],
) -> RefinedWand:
    """Adjust in rounds: read the right track anew at the offset found, tell the markers apart, leave out what does not fit.

    free: whether focal lengths and the time offset may move. Raises CalibrationError: at the offset found hardly anything is
    seen.
    """
    for _ in range(ROUNDS):
        offset_s, state = offset_s + state.delta_s, replace(state, delta_s=0.0)
        views = _rigidly_told_apart(enough(views_at(*tracks, offset_s)), cameras, state)
        points = placed(views, state.intrinsics, cameras, state.rotation, state.translation)
        state = replace(state, points=points, length=usual_length(points))
        state = quick_fit(views, state, _noise(state, views), *free, max_steps=20).state
    all_used = np.ones(views.points_px.shape[1:3], bool)
    rigid = max(STIFFNESS * state.length, 1e-9)
    problem = WandProblem(views.points_px, views.velocity_px_s, all_used, _noise(state, views), rigid, *free)
    for _ in range(2):
        problem = replace(problem, used=_fitting(state, problem))
        fit = adjust(state, problem, robust=False, max_steps=20)
        state = fit.state
        problem = replace(problem, sigma_px=_chi(fit, problem))
    fit = adjust(state, problem, False, 5)
    return RefinedWand(views, fit, problem.used, problem.sigma_px, offset_s + fit.state.delta_s)


def _rigidly_told_apart(views: WandViews, cameras: tuple[Camera, Camera], state: WandState) -> WandViews:
    """Exchange the markers of the right view where that agrees better with pose and length together."""
    if views.points_px.shape[2] == 1:
        return views
    both = (views, exchanged(views, np.ones(len(views), bool)))
    costs = []
    for one in both:
        points = placed(one, state.intrinsics, cameras, state.rotation, state.translation)
        problem = WandProblem(one.points_px, one.velocity_px_s, np.ones(points.shape[:2], bool), 1.0)
        px, stretch = residuals(replace(state, points=points, delta_s=0.0), problem)
        usual = max(state.length, 1e-9)
        costs.append(np.minimum((px**2).sum(axis=(0, 2, 3)), 1e4) + 25.0 * np.minimum((20.0 * stretch / usual) ** 2, 100.0))
    return exchanged(views, np.asarray(costs[1] < costs[0]))


def _noise(state: WandState, views: WandViews) -> float:
    """Estimate the noise of a coordinate robustly: a point's four residuals have one degree of freedom."""
    E = skew(state.translation) @ state.rotation
    focal = float(state.intrinsics[:, :2].mean())
    cameras = [as_camera("", (1, 1), row, np.eye(3), np.zeros(3)) for row in state.intrinsics]
    left, right = (camera.rays(px.reshape(-1, 2)) for camera, px in zip(cameras, views.points_px, strict=True))
    return max(1.4826 * focal * float(np.median(np.sqrt(sampson2(E, left, right)))), 0.02)


def _fitting(state: WandState, problem: WandProblem) -> NDArray[np.bool_]:
    """Return which observations fit: near in both images, and of a wand of the right length."""
    px, stretch = residuals(state, problem)
    near = (px**2).sum(axis=(0, 3)) < max(OUTLIER * problem.sigma_px, OUTLIER_PX) ** 2
    if problem.n_markers == 2:
        near &= near.all(axis=1, keepdims=True)
        near &= (np.abs(stretch) < 10.0 * problem.length_sigma)[:, None]
    return np.asarray(near)


def _chi(fit: WandFit, problem: WandProblem) -> float:
    """Return the noise of a coordinate from what is left over and the degrees of freedom."""
    px, _ = residuals(fit.state, problem)
    K, n = problem.n_markers, int(problem.used.sum())
    free = 4 * n - 3 * n + (n // 2 if K == 2 else 0) - problem.n_shared
    return max(float(np.sqrt((px[:, problem.used] ** 2).sum() / max(free, 1))), 0.01)


FOCAL_KNOWN, OFFSET_KNOWN_S = 0.005, 0.004  # standard deviations at which they are believed
FLAT = 0.02  # least extent of the waved volume as a share of its length
NOTHING_PX = 5.0  # noise beyond which nothing fits
LEAST_FITTING = 0.5  # share of all observations


def solve_wand(
    tracks: tuple[WandTrack, WandTrack],
    cameras: tuple[Camera, Camera],
    *,
    length_m: float | None = None,
    distance_m: float | None = None,
    assumed_lens: bool = False,
    focal: bool = False,
    synchronised: bool = False,
    offset_s: float = 0.0,
) -> WandSolution:
    """Fit the right camera's place to a wand that both cameras follow.

    cameras: their intrinsics, where they stand is not looked at; length_m: of the wand of two markers; distance_m: between the
    cameras, which settles the scale where there is no length; assumed_lens: only a field of view is known of the lenses; focal:
    focal lengths are solved for too, and kept where well determined; synchronised: no time offset beyond offset_s is looked
    for. Raises CalibrationError: too little seen, a volume that is flat or a line, left and right swapped, nothing that fits.
    """
    left = thinned(tracks[0])
    synchronised |= left.of_stills
    if not synchronised:
        offset_s = rough_offset(left, tracks[1], cameras, offset_s)
    views = enough(views_at(left, tracks[1], offset_s))
    views, starts = first_poses(views, cameras)
    fits = [quick_fit(views, first_state(views, cameras, pose), 8.0 * POINT_PX, max_steps=15) for pose in starts]
    state = min(fits, key=lambda fit: fit.cost).state
    found, free, notes = _determined((left, tracks[1]), cameras, state, offset_s, (focal, not synchronised))
    return _solution(found, cameras, free, _scale(found.fit.state, length_m, distance_m), assumed_lens, notes)


def _determined(
    tracks: tuple[WandTrack, WandTrack],
    cameras: tuple[Camera, Camera],
    state: WandState,
    offset_s: float,
    free: tuple[bool, bool],
) -> tuple[RefinedWand, tuple[bool, bool], tuple[str, ...]]:
    """Adjust, and once more without what was not determined well: focal lengths, time offset; say so."""
    (focal, offset), notes = free, list[str]()
    while True:
        found = refined(tracks, cameras, state, offset_s, (focal, offset))
        sigmas = np.sqrt(np.diag(found.fit.covariance))
        if offset and sigmas[5 + 2 * focal] > OFFSET_KNOWN_S:
            notes.append(f"the time offset is known to {1e3 * sigmas[5 + 2 * focal]:.1f} ms only and is held: wave faster")
            offset = False
        elif focal and sigmas[5:7].max() > FOCAL_KNOWN:
            left_pc, right_pc = 100.0 * sigmas[5:7]
            notes.append(
                f"the focal lengths are known to {left_pc:.1f} and {right_pc:.1f} % only and are held as given: "
                "wave nearer and farther, in all of the picture, with a wand of two markers"
            )
            focal = False
        else:
            return found, (focal, offset), tuple(notes)


@dataclass(frozen=True, slots=True)
class _Scale:
    """How long the baseline is, by what, and whether that is the wand's length."""

    baseline_m: float
    words: str
    by_length: bool


def _scale(state: WandState, length_m: float | None, distance_m: float | None) -> _Scale:
    """Settle the unit of length. Raises CalibrationError: nothing tells it."""
    if length_m is not None and state.length > 0.0:
        return _Scale(length_m / state.length, f"the wand's length of {1e3 * length_m:g} mm", True)
    if distance_m is not None:
        return _Scale(distance_m, f"the cameras' distance of {1e3 * distance_m:g} mm", False)
    raise CalibrationError("nothing tells the scale; give --length of the wand or --distance between the cameras")


def _solution(
    found: RefinedWand,
    cameras: tuple[Camera, Camera],
    free: tuple[bool, bool],
    scale: _Scale,
    assumed_lens: bool,
    notes: tuple[str, ...],
) -> WandSolution:
    """Check what came out and give it in metres."""
    fit, used, views, (focal, offset) = found.fit, found.used, found.views, free
    state, points_m = fit.state, scale.baseline_m * fit.state.points
    _check_fit(used, found.sigma_px)
    _check_volume(points_m[used])
    rig = _rig(state, cameras, scale.baseline_m)
    _check_sides(rig)
    problem = WandProblem(views.points_px, views.velocity_px_s, used, found.sigma_px, 1.0, *free)
    px, _ = residuals(state, problem)
    lens_sigma = lens_sigmas((cameras[0].size[0], cameras[1].size[0]), assumed_lens, focal)
    unsure = uncertainty(fit, problem, scale.baseline_m, scale.by_length, lens_sigma)
    sigmas = np.sqrt(np.diag(fit.covariance))
    return WandSolution(
        rig=rig,
        t_s=views.t_s,
        points_m=points_m,
        residual_px=np.where(used[None, :, :, None], px, 0.0),
        used=used,
        sigma_px=found.sigma_px,
        lengths_m=_free_lengths(rig, views, used),
        length_m=scale.baseline_m * state.length if state.length > 0.0 else float("nan"),
        scale=scale.words,
        relative_covariance=unsure.relative_covariance,
        focal_sigma=sigmas[5:7] if focal else np.zeros(2),
        offset_s=found.offset_s,
        offset_sigma_s=float(sigmas[5 + 2 * focal]) if offset else 0.0,
        world_sigma=unsure.world_sigma,
        notes=notes,
    )


def _rig(state: WandState, cameras: tuple[Camera, Camera], baseline_m: float) -> Rig:
    """Return the rig, world = left camera."""
    left, right = (with_intrinsics(camera, row) for camera, row in zip(cameras, state.intrinsics, strict=True))
    return Rig(
        (
            replace(left, rotation=np.eye(3), translation=np.zeros(3)),
            replace(right, rotation=state.rotation.copy(), translation=baseline_m * state.translation),
        ),
    )


def _free_lengths(rig: Rig, views: WandViews, used: NDArray[np.bool_]) -> Floats:
    """Return the wand's length moment by moment, each marker triangulated by itself, (F,) [m]; none for one marker."""
    whole = used.all(axis=1)
    if used.shape[1] < 2 or not whole.any():
        return np.zeros(0)
    px = views.points_px[:, whole].reshape(2, -1, 2)
    points, _ = triangulate(rig, px[0], px[1])
    gaps = points.reshape(-1, 2, 3)
    return np.asarray(np.linalg.norm(gaps[:, 0] - gaps[:, 1], axis=1))


def _check_fit(used: NDArray[np.bool_], sigma_px: float) -> None:
    """Raise CalibrationError where most of what was seen fits no rig at all."""
    n = int(used.sum())
    if sigma_px > NOTHING_PX:
        raise CalibrationError(
            f"no rig explains what both cameras see of the wand, which is off by {sigma_px:.0f} px: are the videos of the same "
            "moments, and the intrinsics or --fov of these cameras?"
        )
    if n < max(LEAST_SHARED, LEAST_FITTING * used.size):
        raise CalibrationError(
            f"only {n} of {used.size} observations of the wand fit together: are the videos of the same moments, the intrinsics "
            "or --fov of these cameras, and is nothing else moving?"
        )


def _check_volume(points_m: Floats) -> None:
    """Raise CalibrationError where the wand stayed in a plane, which leaves much of the cameras' places open."""
    extents = np.linalg.svd(points_m - points_m.mean(axis=0), compute_uv=False)
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
