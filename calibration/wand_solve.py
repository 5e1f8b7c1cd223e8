"""A rig from a wand: first look, adjustment, what is well enough determined to be kept, and the scale."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera, Rig
from calibration.triangulate import triangulate
from calibration.wand import WandSolution, WandTrack, WandViews
from calibration.wand_bundle import WandProblem, WandState, residuals
from calibration.wand_refine import Refined, quick_fit, refined
from calibration.wand_start import (
    LEAST_SHARED,
    POINT_PX,
    enough,
    first_poses,
    first_state,
    rough_offset,
    thinned,
    with_intrinsics,
)
from calibration.wand_tracks import views_at
from calibration.wand_world import lens_sigmas, uncertainty
from config.errors import CalibrationError
from database.rotations import Floats

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
) -> tuple[Refined, tuple[bool, bool], tuple[str, ...]]:
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
    found: Refined,
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
    """Give the rig, world = left camera."""
    left, right = (with_intrinsics(camera, row) for camera, row in zip(cameras, state.intrinsics, strict=True))
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
