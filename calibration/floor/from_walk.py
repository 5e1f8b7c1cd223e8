"""The floor from a walk: the plane on which markers of the feet come to rest, and above which everything else is.

Points are unlabelled. Planes through three dwells each are scored by the dwells where a marker of a standing foot would be, one
per cell, less what lies below. The best one is refined by all dwells that fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.camera import Rig
from calibration.floor.dwell import Dwells, PointFrame, find_dwells, merge_dwells
from calibration.floor.feet import FootHeights
from calibration.floor.frame import Floor, find_direction_to_cameras
from calibration.floor.plane_fit import FittedPlane, compute_planes_through, fit_plane, sample_triples
from calibration.quality.report import Finding, Grade
from calibration.world import compute_up_of_images
from config.arrays import Bools, Floats, Ints
from config.errors import CalibrationError
from config.words import format_count

MAX_LEAN_RAD = np.radians(50.0)  # of the floor's normal from what is up in the pictures
USUAL_ROLL_RAD = np.radians(15.0)  # a weak prior: a narrow walk determines roll badly
CONTACT_SIGMA_M = 0.008  # error of a marker of a standing foot: how the foot stands, the skin
GATE_SIGMAS = 3.0
BELOW_M = 0.04  # points lower than the lowest marker of a foot by more than this are below the floor
SAME_POSITION_M = 0.03  # dwells nearer together are merged
ALWAYS_SHARE = 0.6  # of the time: what stands still for longer is a lamp or a reflection, no walking foot
CELL_M = 0.08  # dwells in one cell count once
MAX_POINTS = 4000
MAX_DWELLS = 600
MAX_TRIPLES = 3000
MAX_FRAMES = 300
N_TRIED = 40  # best planes of each spacing that are scored fully
LOWEST_TOLERANCE_M = 0.04
SPACING_M = (0.0, -0.02, 0.02, 0.04)  # tried changes of the distance between lowest and highest marker of a foot
MIN_SPACING_M, MAX_SHIFT_M = 0.01, 0.05
ROUNDS = 8
MIN_DWELLS = 6
NO_FLOOR = (
    "no floor on which the markers of the feet came to rest; walk to and fro and across the view for ten seconds, feet in view "
    "of both cameras, or use --by board or --by markers"
)


@dataclass(frozen=True, slots=True)
class FloorEvidence:
    """What a floor is judged by.

    dwells: where something stood; points_m, covariance_m2: of all frames, subsampled, (N, 3) and (N, 3, 3); frames_m: points of
    some frames, (T, P, 3), valid where (T, P).
    """

    dwells: Dwells
    points_m: Floats
    covariance_m2: Floats
    frames_m: Floats
    valid: Bools


def fit_floor_to_walk(rig: Rig, frames: Sequence[PointFrame], heights: FootHeights) -> Floor:
    """Return the floor under a performer who walks on it.

    Args:
        rig: the cameras.
        frames: points that both cameras see, in order of time, in the rig's frame.
        heights: of the markers of standing feet.
    Raises: CalibrationError: too few dwells, or no plane that they lie on.
    """
    scene = _gather_dwells(frames)
    if len(scene.dwells) < MIN_DWELLS:
        raise CalibrationError(
            f"{format_count(len(scene.dwells), 'time')} a marker stood still and went on; expected {MIN_DWELLS} or more: "
            "walk for ten "
            "seconds all over the floor, markers on the feet in view of both cameras"
        )
    up, offset, spaced = _find_consensus_plane(rig, scene, heights, np.random.default_rng(0))
    plane, found, chosen, kind = _refine_plane(scene, spaced, up, offset)
    return _build_floor(rig, scene, found, plane, chosen, kind)


def _gather_dwells(frames: Sequence[PointFrame]) -> FloorEvidence:
    """Gather dwells and points, without what stands still throughout."""
    dwells = merge_dwells(find_dwells(frames), SAME_POSITION_M)
    lasting_s = frames[-1].t_s - frames[0].t_s if frames else 0.0
    walks = dwells.seconds < ALWAYS_SHARE * lasting_s
    feet = Dwells(dwells.points_m[walks], dwells.covariance_m2[walks], dwells.start_s[walks], dwells.seconds[walks])
    moving = [_remove_lamps(frame, dwells.points_m[~walks]) for frame in frames]
    points = np.concatenate([np.zeros((0, 3)), *(frame.points_m for frame in moving)])
    covariances = np.concatenate([np.zeros((0, 3, 3)), *(frame.covariance_m2 for frame in moving)])
    step = max(1, len(points) // MAX_POINTS)
    frames_m, valid = _stack_points(moving)
    return FloorEvidence(feet, points[::step], covariances[::step], frames_m, valid)


def _remove_lamps(frame: PointFrame, lamps_m: Floats) -> PointFrame:
    """Return a frame without the points at positions where something always stands."""
    apart = np.linalg.norm(frame.points_m[:, None] - lamps_m, axis=2).min(axis=1, initial=np.inf) > 2.0 * SAME_POSITION_M
    return PointFrame(frame.t_s, frame.points_m[apart], frame.covariance_m2[apart])


def _stack_points(frames: Sequence[PointFrame]) -> tuple[Floats, Bools]:
    """Return the points of some frames as one array, (T, P, 3), and which entries are valid, (T, P)."""
    full = [frame for frame in frames if len(frame.points_m)]
    some = full[:: max(1, len(full) // MAX_FRAMES)]
    most = max((len(frame.points_m) for frame in some), default=0)
    points, valid = np.zeros((len(some), most, 3)), np.zeros((len(some), most), bool)
    for t, frame in enumerate(some):
        points[t, : len(frame.points_m)] = frame.points_m
        valid[t, : len(frame.points_m)] = True
    return points, valid


def _find_consensus_plane(
    rig: Rig, scene: FloorEvidence, heights: FootHeights, rng: np.random.Generator
) -> tuple[Floats, float, FootHeights]:
    """Return the best plane through three dwells: its normal, the floor's offset along it, and the heights spaced for it."""
    x = scene.dwells.points_m
    upright = compute_up_of_images(rig)
    low = np.argsort(x @ upright)[:MAX_DWELLS]
    normals, at = compute_planes_through(x[low], sample_triples(x[low], rng, MAX_TRIPLES), upright, MAX_LEAN_RAD)
    if not len(normals):
        raise CalibrationError(NO_FLOOR)
    lowest = _find_lowest_m(scene, normals)
    best, chosen = -np.inf, None
    for spaced in _list_spacings(heights):
        for height in spaced.heights_m:
            standing = _measure_standing_share(lowest - (at - height)[:, None], spaced)
            for k in np.argsort(-standing)[:N_TRIED]:
                level = 1.0 / (1.0 + (_compute_roll_rad(rig, normals[k]) / USUAL_ROLL_RAD) ** 2)
                score = level * standing[k] ** 2 * _score_plane(scene, spaced, normals[k], at[k] - height)
                if score > best:
                    best, chosen = score, (normals[k], float(at[k] - height), spaced)
    if chosen is None:
        raise CalibrationError(NO_FLOOR)
    return chosen


def _find_lowest_m(scene: FloorEvidence, normals: Floats) -> Floats:
    """Return the height of the lowest point of every frame along each normal, (K, T) [m]."""
    result = np.empty((len(normals), len(scene.frames_m)))
    for k, up in enumerate(normals):
        result[k] = np.where(scene.valid, scene.frames_m @ up, np.inf).min(axis=1)
    return result


def _measure_standing_share(lowest_m: Floats, heights: FootHeights) -> Floats:
    """Return in which share of the frames the lowest point is where a standing foot's lowest marker is, (K,).

    A walking person always has a foot on the ground; a plane that touches some dwells by chance does not have that.
    """
    off = (lowest_m - heights.heights_m[0]) / LOWEST_TOLERANCE_M
    return np.asarray(np.maximum(1.0 - off * off, 0.0).mean(axis=1))


def _list_spacings(heights: FootHeights) -> list[FootHeights]:
    """Return heights closer together or farther apart, about one mean: toes and ankles differ from shoe to shoe."""
    h = heights.heights_m
    if len(h) < 2:
        return [heights]
    wide = h[-1] - h[0]
    middle = h[0] if heights.lowest_known else h.mean()
    shares = [(wide + change) / wide for change in SPACING_M if wide + change > MIN_SPACING_M]
    return [replace(heights, heights_m=np.maximum(middle + share * (h - middle), 0.0)) for share in shares]


def _compute_roll_rad(rig: Rig, up: Floats) -> float:
    """Return the sideways tilt of a floor with this normal in the images: cameras mostly stand level."""
    across = np.sum([camera.rotation[0] for camera in rig.cameras], axis=0)
    return float(np.arcsin(np.clip(up @ across / np.linalg.norm(across), -1.0, 1.0)))


def _score_plane(scene: FloorEvidence, heights: FootHeights, up: Floats, offset: float) -> float:
    """Return how well a plane is a floor: cells where feet stood, less a share for what lies below."""
    deviation, _, sigma = _compute_deviations(scene.dwells, heights, up, offset)
    inside = np.maximum(1.0 - (deviation / (GATE_SIGMAS * sigma)) ** 2, 0.0)
    on = inside > 0.0
    if on.sum() < 3:
        return -np.inf
    cells = np.floor(scene.dwells.points_m[on] / CELL_M).astype(np.int64)
    _, which = np.unique(cells, axis=0, return_inverse=True)
    by_cell = np.zeros(which.max() + 1)
    np.maximum.at(by_cell, which.ravel(), inside[on])
    below = _measure_share_below(scene, heights, up, offset)
    return float(by_cell.sum() * max(1.0 - 3.0 * below, 0.05))


def _measure_share_below(scene: FloorEvidence, heights: FootHeights, up: Floats, offset: float) -> float:
    """Return the share of all points below the lowest marker of a foot."""
    over = scene.points_m @ up - offset - heights.heights_m[0]
    sigma = np.sqrt(np.einsum("i,nij,j->n", up, scene.covariance_m2, up))
    return float(np.mean(over < -BELOW_M - 2.0 * sigma))


def _compute_deviations(dwells: Dwells, heights: FootHeights, up: Floats, offset: float) -> tuple[Floats, Ints, Floats]:
    """Return each dwell's distance from the nearest of the heights, which one that is, and its sigma, (D,) each."""
    over = dwells.points_m @ up - offset
    from_each = over[:, None] - heights.heights_m
    kind = np.abs(from_each).argmin(axis=1)
    sigma = np.sqrt(np.einsum("i,nij,j->n", up, dwells.covariance_m2, up) + CONTACT_SIGMA_M**2)
    return from_each[np.arange(len(over)), kind], kind, sigma


def _refine_plane(
    scene: FloorEvidence, heights: FootHeights, up: Floats, offset: float
) -> tuple[FittedPlane, FootHeights, Ints, Ints]:
    """Fit the plane to all dwells that fit it, repeatedly, with the spacing of the heights.

    Returns the plane, the heights found, the dwells used and the height that each is at.
    """
    d, found = scene.dwells, heights
    for _ in range(ROUNDS):
        deviation, kind, sigma = _compute_deviations(d, found, up, offset)
        chosen = np.flatnonzero(np.abs(deviation) < GATE_SIGMAS * sigma)
        if len(chosen) < 3:
            raise CalibrationError(NO_FLOOR)
        plane = fit_plane(d.points_m[chosen], d.covariance_m2[chosen], up, found.heights_m[kind[chosen]], CONTACT_SIGMA_M)
        up, offset = plane.up, plane.offset_m
        found = _space_heights(heights, plane.heights_m(d.points_m[chosen]), kind[chosen])
    return plane, found, chosen, kind[chosen]


def _space_heights(heights: FootHeights, over_m: Floats, kind: Ints) -> FootHeights:
    """Return heights spaced as they were measured; their mean, or the lowest if known, is kept: a walk does not determine it."""
    measured = np.array([np.median(over_m[kind == k]) if (kind == k).sum() >= 3 else np.nan for k in range(len(heights.names))])
    known = np.isfinite(measured)
    if known.sum() < 2:
        return heights
    off = measured[known] - heights.heights_m[known]
    kept = off[0] if heights.lowest_known and known[0] else off.mean()
    shift = np.clip(off - kept, -MAX_SHIFT_M, MAX_SHIFT_M)
    result = heights.heights_m.copy()
    result[known] += shift
    return replace(heights, heights_m=result)


def _build_floor(rig: Rig, scene: FloorEvidence, heights: FootHeights, plane: FittedPlane, chosen: Ints, kind: Ints) -> Floor:
    """Return the floor of the plane and what touched it."""
    contacts = scene.dwells.points_m[chosen]
    feet = contacts - heights.heights_m[kind][:, None] * plane.up
    origin = plane.nearest(np.median(contacts, axis=0))
    over = plane.heights_m(scene.points_m)
    per_kind = [int((kind == k).sum()) for k in range(len(heights.names))]
    counts = ", ".join(f"{count} of {name}" for count, name in zip(per_kind, heights.names, strict=True))
    width = _measure_width_m(feet, plane.up)
    findings = [Finding(Grade.PASS, f"{len(contacts)} stays of markers of feet: {counts}")]
    findings.append(Finding(Grade.PASS, heights.description))
    if len(contacts) < 12:
        findings.append(Finding(Grade.POOR, f"only {len(contacts)} footsteps", "walk longer"))
    if width < 0.3:
        text = f"all footsteps within {1e2 * width:.0f} cm of one line"
        findings.append(Finding(Grade.POOR, text, "walk across the view as well as to and fro"))
    return Floor(
        up=plane.up,
        origin_m=origin,
        ahead=find_direction_to_cameras(rig, origin, plane.up),
        by="walk",
        tilt_sigma_rad=plane.tilt_sigma_rad,
        height_sigma_m=float(np.hypot(plane.height_sigma_m(origin), heights.sigma_m)),
        residual_mm=1e3 * float(np.sqrt(np.mean(plane.residual_m**2))),
        touching_m=feet,
        above_m=scene.points_m,
        findings=tuple(findings),
        figures={
            "assumed_mm": 1e3 * heights.sigma_m,
            "contacts": float(len(contacts)),
            "below_percent": 100.0 * _measure_share_below(scene, heights, plane.up, plane.offset_m),
            "standing_percent": 100.0 * _measure_standing_in_reach(scene, heights, plane),
            "highest_m": float(np.quantile(over, 0.995)) if len(over) else float("nan"),
            "width_m": width,
        },
    )


def _measure_standing_in_reach(scene: FloorEvidence, heights: FootHeights, plane: FittedPlane) -> float:
    """Return the share of the frames whose lowest point is near the height of a standing foot's lowest marker."""
    over = _find_lowest_m(scene, plane.up[None])[0] - plane.offset_m - heights.heights_m[0]
    return float(np.mean(np.abs(over) < LOWEST_TOLERANCE_M))


def _measure_width_m(points_m: Floats, up: Floats) -> float:
    """Return the spread of the points across their main direction, four standard deviations [m]."""
    level = points_m - np.outer(points_m @ up, up)
    spread = np.linalg.eigvalsh(np.cov(level.T))
    return float(4.0 * np.sqrt(max(spread[1], 0.0)))
