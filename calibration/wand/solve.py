"""A rig from a wand: first look, adjustment, what is well enough determined to be kept, and the scale.

A wand's adjustment in rounds: read at the time offset found, markers told apart anew, what does not fit left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera, Rig, camera_from_intrinsics
from calibration.triangulate import triangulate_views
from calibration.wand.adjust import WandFit, WandFreedom, WandProblem, WandState, adjust_wand, compute_wand_residuals
from calibration.wand.links import STIFFNESS, WandInput, chain_start, fit_quickly
from calibration.wand.start import (
    LEAST_SHARED,
    MOST_MOMENTS,
    check_enough_moments,
    compute_sampson2,
    exchange_markers,
    measure_usual_length,
    place_markers,
    thin_track,
)
from calibration.wand.tracks import WandSolution, WandTrack, WandViews, collect_shared_views
from calibration.wand.world_error import choose_lens_sigmas, compute_wand_uncertainty
from config.arrays import Floats
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES
from database.geometry.rotations import skew_from_vector

OUTLIER, OUTLIER_PX = 4.0, 0.4  # sigmas, and at least so much, by which an observation may be off
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class RefinedWand:
    """What the adjustment came to: the problem, its fit, and by how much each camera's stamps are late in all, (C,)."""

    problem: WandProblem
    fit: WandFit
    offset_s: Floats


def _refine_wand(given: WandInput, state: WandState, offset_s: Floats, free: WandFreedom) -> RefinedWand:
    """Adjust in rounds: read the tracks anew at the offsets found, tell the markers apart, leave out what does not fit.

    Args:
        given: what is solved from.
        state: where to begin.
        offset_s: by which each camera's timestamps are late, (C,).
        free: which further unknowns may move.
    Raises: CalibrationError: at the offsets found hardly anything is seen.
    """
    for _ in range(ROUNDS):
        offset_s, state = offset_s + state.delta_s, replace(state, delta_s=np.zeros(len(offset_s)))
        views = check_enough_moments(collect_shared_views(given.moments, given.tracks, offset_s))
        views = _sort_markers_rigidly(views, state)
        points = place_markers(views, state.intrinsics, state.rotation, state.translation)
        state = replace(state, points=points, length=measure_usual_length(points))
        state = fit_quickly(views, state, _estimate_noise(state, views), free, max_steps=20).state
    all_used = np.ones(views.points_px.shape[1:3], bool)
    problem = WandProblem(views, all_used, _estimate_noise(state, views), max(STIFFNESS * state.length, 1e-9), free, robust=False)
    for _ in range(2):
        problem = replace(problem, used=_find_fitting(state, problem))
        fit = adjust_wand(state, problem, 20)
        state = fit.state
        problem = replace(problem, sigma_px=_estimate_noise_scale(fit, problem))
    fit = adjust_wand(state, problem, 5)
    return RefinedWand(problem, fit, offset_s + fit.state.delta_s)


def _sort_markers_rigidly(views: WandViews, state: WandState) -> WandViews:
    """Exchange the markers of each camera in turn where that agrees better with poses, length and the cameras before it."""
    if views.points_px.shape[2] == 1:
        return views
    for c in range(1, views.n_cameras):
        which = np.flatnonzero(views.seen[c] & views.seen[:c].any(axis=0))
        costs = []
        for one in (views, exchange_markers(views, c, np.ones(len(views), bool))):
            part = one.select_moments(which, c + 1)
            n = slice(c + 1)
            points = place_markers(part, state.intrinsics[n], state.rotation[n], state.translation[n])
            here = replace(
                state,
                intrinsics=state.intrinsics[n],
                rotation=state.rotation[n],
                translation=state.translation[n],
                points=points,
                delta_s=np.zeros(c + 1),
            )
            px, stretch = compute_wand_residuals(here, WandProblem(part, np.ones(points.shape[:2], bool), 1.0))
            usual = max(state.length, 1e-9)
            bent = 25.0 * np.minimum((20.0 * stretch / usual) ** 2, 100.0)
            costs.append(np.minimum((px**2).sum(axis=(0, 2, 3)), 1e4) + bent)
        views = exchange_markers(views, c, which[costs[1] < costs[0]])
    return views


def _estimate_noise(state: WandState, views: WandViews) -> float:
    """Estimate the noise of a coordinate robustly: a point's four residuals in two cameras have one degree of freedom."""
    focal = float(state.intrinsics[:, :2].mean())
    cameras = [camera_from_intrinsics("", (1, 1), row, np.eye(3), np.zeros(3)) for row in state.intrinsics]
    found, (first, second) = [], views.first_pair
    for a, b in combinations(range(views.n_cameras), 2):
        at = np.flatnonzero((first == a) & (second == b))
        if len(at):
            turn = state.rotation[b] @ state.rotation[a].T
            E = skew_from_vector(state.translation[b] - turn @ state.translation[a]) @ turn
            here, there = (cameras[c].rays(views.points_px[c, at].reshape(-1, 2)) for c in (a, b))
            found.append(np.sqrt(compute_sampson2(E, here, there)))
    return max(1.4826 * focal * float(np.median(np.concatenate(found))), 0.02)


def _find_fitting(state: WandState, problem: WandProblem) -> NDArray[np.bool_]:
    """Return which observations fit: near in all images, and of a wand of the right length."""
    px, stretch = compute_wand_residuals(state, problem)
    near = (px**2).sum(axis=(0, 3)) < problem.freedom * max(OUTLIER * problem.sigma_px, OUTLIER_PX) ** 2
    if problem.n_markers == 2:
        near &= near.all(axis=1, keepdims=True)
        near &= (np.abs(stretch) < 10.0 * problem.length_sigma)[:, None]
    return np.asarray(near)


def _estimate_noise_scale(fit: WandFit, problem: WandProblem) -> float:
    """Return the noise of a coordinate from what is left over and the degrees of freedom."""
    px, _ = compute_wand_residuals(fit.state, problem)
    K, n = problem.n_markers, int(problem.used.sum())
    free = float((problem.used * problem.freedom).sum()) + (n // 2 if K == 2 else 0) - problem.n_shared
    return max(float(np.sqrt((px[:, problem.used] ** 2).sum() / max(free, 1))), 0.01)


FOCAL_KNOWN, OFFSET_KNOWN_S = 0.005, 0.004  # standard deviations at which they are believed
FLAT = 0.02  # least extent of the waved volume as a share of its length
NOTHING_PX = 5.0  # noise beyond which nothing fits
LEAST_FITTING = 0.5  # share of all observations


def solve_wand(
    tracks: Sequence[WandTrack],
    cameras: Sequence[Camera],
    *,
    length_m: float | None = None,
    distance_m: float | None = None,
    assumed_lens: bool = False,
    focal: bool = False,
    synchronised: bool = False,
    offset_s: float = 0.0,
) -> WandSolution:
    """Fit the places of all cameras but the first to a wand that any two of them follow.

    Args:
        tracks: the wand in each camera.
        cameras: their intrinsics and names; where they stand is not looked at.
        length_m: of the wand of two markers.
        distance_m: between the first two cameras, which settles the scale where there is no length.
        assumed_lens: only a field of view is known of the lenses.
        focal: focal lengths are solved for too, and kept where well determined.
        synchronised: no time offset beyond offset_s is looked for.
        offset_s: by which the stamps of all cameras but the first are late, about.
    Raises: CalibrationError: too little seen, cameras that the wand does not link, a volume that is flat or a line, left and
        right swapped, nothing that fits.
    """
    names = CAMERA_NAMES[:2] if len(cameras) == 2 else tuple(camera.name for camera in cameras)
    most = MOST_MOMENTS // (len(tracks) - 1) + MOST_MOMENTS // 2 * (len(tracks) > 2)
    given = WandInput(tuple(cameras), names, tuple(tracks), tuple(thin_track(track, most) for track in tracks))
    synchronised |= given.moments[0].of_stills
    state, late_s = chain_start(given, synchronised, offset_s)
    found, free, notes = _drop_undetermined(given, state, late_s, WandFreedom(focal, not synchronised))
    return _build_solution(given, found, free, _find_scale(found.fit.state, length_m, distance_m), assumed_lens, notes)


def _drop_undetermined(
    given: WandInput, state: WandState, offset_s: Floats, free: WandFreedom
) -> tuple[RefinedWand, WandFreedom, tuple[str, ...]]:
    """Adjust, and once more without focal lengths or time offsets that were not determined well; return what was free, and
    notes.
    """
    notes = list[str]()
    while True:
        found = _refine_wand(given, state, offset_s, free)
        sigmas = np.sqrt(np.diag(found.fit.covariance))
        offsets, focals = sigmas[found.problem.offset_columns], sigmas[found.problem.focal_columns]
        if free.offset and offsets.max() > OFFSET_KNOWN_S:
            what = "the time offset is" if len(offsets) == 1 else "the time offsets are"
            held = "is held" if len(offsets) == 1 else "are held"
            notes.append(f"{what} known to {1e3 * offsets.max():.1f} ms only and {held}: wave faster")
            free = replace(free, offset=False)
        elif free.focal and focals.max() > FOCAL_KNOWN:
            *first, last = (f"{100.0 * one:.1f}" for one in focals)
            notes.append(
                f"the focal lengths are known to {', '.join(first)} and {last} % only and are held as given: "
                "wave nearer and farther, in all of the picture, with a wand of two markers"
            )
            free = replace(free, focal=False)
        else:
            return found, free, tuple(notes)


@dataclass(frozen=True, slots=True)
class _Scale:
    """How long the baseline is, by what, and whether that is the wand's length."""

    baseline_m: float
    words: str
    by_length: bool


def _find_scale(state: WandState, length_m: float | None, distance_m: float | None) -> _Scale:
    """Return what settles the unit of length. Raises CalibrationError: nothing does."""
    if length_m is not None and state.length > 0.0:
        return _Scale(length_m / state.length, f"the wand's length of {1e3 * length_m:g} mm", True)
    if distance_m is not None:
        return _Scale(distance_m, f"the cameras' distance of {1e3 * distance_m:g} mm", False)
    raise CalibrationError("nothing tells the scale; give --length of the wand or --distance between the cameras")


def _build_solution(
    given: WandInput, found: RefinedWand, free: WandFreedom, scale: _Scale, assumed_lens: bool, notes: tuple[str, ...]
) -> WandSolution:
    """Check the result and return it in metres."""
    fit, views, used, C = found.fit, found.problem.views, found.problem.used, len(given.cameras)
    state, points_m = fit.state, scale.baseline_m * fit.state.points
    _check_fit(used, found.problem.sigma_px)
    _check_volume(points_m[used])
    rig = _build_rig(state, given.cameras, scale.baseline_m)
    if C == 2:
        _check_sides(rig)
    problem = WandProblem(views, used, found.problem.sigma_px, 1.0, free)
    px, _ = compute_wand_residuals(state, problem)
    lens_sigma = choose_lens_sigmas([camera.size[0] for camera in given.cameras], assumed_lens, free.focal)
    unsure = compute_wand_uncertainty(fit, problem, scale.baseline_m, scale.by_length, lens_sigma)
    sigmas = np.sqrt(np.diag(fit.covariance))
    return WandSolution(
        rig=rig,
        t_s=views.t_s,
        points_m=points_m,
        residual_px=np.where(used[None, :, :, None], px, 0.0),
        used=used,
        seen=views.seen,
        sigma_px=found.problem.sigma_px,
        lengths_m=_measure_lengths(rig, views, used),
        length_m=scale.baseline_m * state.length if state.length > 0.0 else float("nan"),
        scale=scale.words,
        pose_covariance=unsure.pose_covariance,
        focal_sigma=sigmas[problem.focal_columns] if free.focal else np.zeros(C),
        offset_s=found.offset_s,
        offset_sigma_s=np.append(0.0, sigmas[problem.offset_columns]) if free.offset else np.zeros(C),
        world_sigma=unsure.world_sigma,
        notes=notes,
    )


def _build_rig(state: WandState, cameras: Sequence[Camera], baseline_m: float) -> Rig:
    """Return the rig, world = first camera."""
    poses = zip(cameras, state.intrinsics, state.rotation, baseline_m * state.translation, strict=True)
    return Rig(tuple(camera_from_intrinsics(camera.name, camera.size, row, R, t) for camera, row, R, t in poses))


def _measure_lengths(rig: Rig, views: WandViews, used: NDArray[np.bool_]) -> Floats:
    """Return the wand's length moment by moment, each marker triangulated by itself, (F,) [m]; none for one marker."""
    whole = used.all(axis=1)
    if used.shape[1] < 2 or not whole.any():
        return np.zeros(0)
    px = views.points_px[:, whole].reshape(views.n_cameras, -1, 2)
    points, _ = triangulate_views(rig, px, np.repeat(views.seen[:, whole], 2, axis=1))
    gaps = points.reshape(-1, 2, 3)
    return np.asarray(np.linalg.norm(gaps[:, 0] - gaps[:, 1], axis=1))


def _check_fit(used: NDArray[np.bool_], sigma_px: float) -> None:
    """Raise CalibrationError where most of what was seen fits no rig at all."""
    n = int(used.sum())
    if sigma_px > NOTHING_PX:
        raise CalibrationError(
            f"no rig explains what the cameras see of the wand, which is off by {sigma_px:.0f} px: are the videos of the same "
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
    R, shift = rig.cameras[1].rotation, rig.cameras[1].center_m
    if R[2, 2] > 0.3 and R[0, 0] > 0.3 and shift[0] < -0.5 * rig.baseline_m:
        raise CalibrationError(
            f"left and right are swapped: the right camera stands {1e3 * abs(shift[0]):.0f} mm to the left of the left one; "
            "give the two videos in the other order"
        )
