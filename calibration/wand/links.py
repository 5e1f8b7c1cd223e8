"""Where the adjustment of a wand starts: pairs of cameras solved alone, and chained.

Any two cameras that see the wand at the same moments are a link; the strongest links that connect all cameras give their places.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from calibration.camera import Camera
from calibration.pairs import find_spanning_tree
from calibration.wand.adjust import WandFit, WandFreedom, WandProblem, WandState, adjust_wand
from calibration.wand.start import (
    LEAST_SHARED,
    POINT_PX,
    build_first_state,
    check_enough_moments,
    estimate_rough_offset,
    find_first_poses,
    place_markers,
)
from calibration.wand.tracks import WandTrack, WandViews, interpolate_views
from config.arrays import Floats
from config.errors import CalibrationError
from config.words import format_count

STIFFNESS = 1e-3  # standard deviation of the wand's length as a share of it


@dataclass(frozen=True, slots=True)
class WandInput:
    """What is solved from: the cameras with their intrinsics, their names, the wand in each, and moments of each to look at."""

    cameras: tuple[Camera, ...]
    names: tuple[str, ...]
    tracks: tuple[WandTrack, ...]
    moments: tuple[WandTrack, ...]


def fit_quickly(
    views: WandViews,
    state: WandState,
    sigma_px: float,
    free: WandFreedom = WandFreedom(),  # noqa: B008 - immutable
    max_steps: int = 40,
) -> WandFit:
    """Adjust robustly with all observations in use.

    Args:
        views: the wand in the cameras.
        state: where to begin.
        sigma_px: noise of a coordinate.
        free: which further unknowns may move.
        max_steps: number of steps at most.
    """
    used = np.ones(views.points_px.shape[1:3], bool)
    rigid = max(STIFFNESS, 0.02 * min(sigma_px / 5.0, 1.0)) if sigma_px > POINT_PX else STIFFNESS
    return adjust_wand(state, WandProblem(views, used, sigma_px, max(rigid * state.length, 1e-9), free), max_steps)


@dataclass(frozen=True, slots=True)
class _LinkStart:
    """Two cameras alone: the views they share, the state of both, and by how much the second one's stamps are later."""

    views: WandViews
    state: WandState
    offset_s: float


@dataclass(frozen=True, slots=True)
class _PlacedCameras:
    """The cameras that are placed, `linked`: poses by camera, (C, 3, 3), (C, 3), and by how much their stamps are late, (C,)."""

    rotation: Floats
    translation: Floats
    late_s: Floats
    linked: list[int]


def chain_start(given: WandInput, synchronised: bool, about_s: float) -> tuple[WandState, Floats]:
    """Chain the cameras' poses along the pairs that share most moments; return the state and the offsets, (C,) [s].

    The lengths of pairs are compared by that of the wand, or, of one marker, by places that a camera before them saw, too.

    Args:
        given: what is solved from.
        synchronised: no time offset beyond `about_s` is looked for.
        about_s: by which the timestamps of all cameras but the first are late, about.
    Raises: CalibrationError: no chain of pairs reaches all cameras.
    """
    C = len(given.cameras)
    R, t, late_s = np.tile(np.eye(3), (C, 1, 1)), np.zeros((C, 3)), np.zeros(C)
    linked, length = [0], 0.0
    for a, b in _find_spanning_pairs(given, about_s):
        link = _solve_link_start(given, (a, b), synchronised, about_s * (a == 0))
        late_s[b] = late_s[a] + link.offset_s
        unit = 1.0
        if len(linked) == 1:
            length = link.state.length
        elif length > 0.0:
            unit = length / link.state.length
        else:
            unit = _measure_unit(given, (a, b), link, _PlacedCameras(R, t, late_s, linked))
        R[b] = link.state.rotation[1] @ R[a]
        t[b] = link.state.rotation[1] @ t[a] + unit * link.state.translation[1]
        linked.append(b)
    unit = float(np.linalg.norm(t[1]))
    intrinsics = np.stack([camera.intrinsics for camera in given.cameras])
    if C == 2:
        return link.state, late_s
    return WandState(intrinsics, R, t / unit, np.zeros((0, 1, 3)), length / unit, np.zeros(C), np.zeros(C)), late_s


def _find_spanning_pairs(given: WandInput, about_s: float) -> list[tuple[int, int]]:
    """Return the pairs of cameras that link all of them by as many shared moments as possible."""
    C = len(given.cameras)
    if C == 2:
        return [(0, 1)]
    n_shared = np.zeros((C, C), int)
    for a, b in combinations(range(C), 2):
        n_shared[a, b] = n_shared[b, a] = interpolate_views(given.moments[a], given.tracks[b], about_s * (a == 0)).n_shared
    links, linked = find_spanning_tree(n_shared), [0]
    for a, b in links:
        if n_shared[a, b] < LEAST_SHARED:
            groups = [", ".join(given.names[c] for c in some) for some in (linked, [c for c in range(C) if c not in linked])]
            raise CalibrationError(
                f"no camera of {groups[0]} sees the wand together with one of {groups[1]} often enough; wave it slowly where "
                "both see it, for a minute"
            )
        linked.append(b)
    return links


def _solve_link_start(given: WandInput, pair: tuple[int, int], synchronised: bool, about_s: float) -> _LinkStart:
    """Solve roughly for two cameras alone."""
    a, b = pair
    moments, track, cameras = given.moments[a], given.tracks[b], (given.cameras[a], given.cameras[b])
    offset_s = about_s if synchronised else estimate_rough_offset(moments, track, cameras, about_s)
    views, starts = find_first_poses(check_enough_moments(interpolate_views(moments, track, offset_s)), cameras)
    fits = [fit_quickly(views, build_first_state(views, cameras, pose), 8.0 * POINT_PX, max_steps=15) for pose in starts]
    return _LinkStart(views, min(fits, key=lambda fit: fit.cost).state, offset_s)


def _measure_unit(given: WandInput, pair: tuple[int, int], link: _LinkStart, placed: _PlacedCameras) -> float:
    """Return the length of a pair's unit by places of a single marker that a camera which stands already saw, too."""
    R, t, late_s = placed.rotation, placed.translation, placed.late_s
    a, b = pair
    ratios = []
    for other in placed.linked:
        if other == a:
            continue
        cameras = (given.cameras[a], given.cameras[other])
        views = interpolate_views(given.moments[a], given.tracks[other], late_s[other] - late_s[a])
        turn = R[other] @ R[a].T
        poses = np.stack([np.eye(3), turn]), np.stack([np.zeros(3), t[other] - turn @ t[a]])
        points = place_markers(views, np.stack([camera.intrinsics for camera in cameras]), poses[0], poses[1])
        _, here, there = np.intersect1d(views.t_s, link.views.t_s, return_indices=True)
        ratios.append(points[here, :, 2].ravel() / link.state.points[there, :, 2].ravel())
    found = np.concatenate(ratios) if ratios else np.zeros(0)
    if len(found) < LEAST_SHARED:
        raise CalibrationError(
            f"nothing tells how far {given.names[b]} stands: a single marker must be seen by it and two other cameras at one "
            f"moment, which it was {format_count(len(found), 'time')}; wave a wand of two markers, or where three see it"
        )
    return float(np.median(found))
