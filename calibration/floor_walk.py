"""The floor from a walk: the plane on which markers of the feet come to rest, and above which everything else is.

Which point is which marker is not known. Planes through three stays each are laid; each is worth as many stays as lie where a
marker of a standing foot would be, one a place, less what lies below it. The best one is refined by all stays that fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from calibration.floor import Floor, to_cameras, up_of_images
from calibration.floor_dwell import Dwells, Moment, dwells_of, gathered
from calibration.floor_feet import FootHeights
from calibration.floor_plane import Plane, fit_plane, planes_through, triples
from config.errors import CalibrationError
from database.rotations import Floats

Bools = NDArray[np.bool_]
MAX_LEAN_RAD = np.radians(50.0)  # of the floor's normal from what is up in the pictures
USUAL_ROLL_RAD = np.radians(15.0)  # a bias between floors that fit alike, no more: a narrow walk says little of it
CONTACT_SIGMA_M = 0.008  # what a marker of a standing foot is off: how the foot stands, the skin
GATE_SIGMAS = 3.0
BELOW_M = 0.04  # points lower than the lowest marker of a foot by more than this are below the floor
SAME_PLACE_M = 0.03  # stays nearer together are one
ALWAYS_SHARE = 0.6  # of the time: what stands still for longer is a lamp or a reflection, no foot of somebody who walks
CELL_M = 0.08  # places nearer together count once
MOST_POINTS = 4000
MOST_STAYS = 600
MOST_TRIPLES = 3000
MOST_MOMENTS = 300
N_TRIED = 40  # planes of each spacing that are looked at closely
LOWEST_TOLERANCE_M = 0.04
SPACING_M = (0.0, -0.02, 0.02, 0.04)  # tried: what the lowest and the highest marker of a foot may differ by more than known
CLOSEST_M, MOST_APART_M = 0.01, 0.05
ROUNDS = 8
FEW_STAYS = 6
NO_FLOOR = (
    "no floor on which the markers of the feet came to rest; walk to and fro and across the view for ten seconds, feet in view "
    "of both cameras, or use --by board or --by markers"
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a floor is judged by.

    dwells: places where something stood; points_m, covariance_m2: of all moments, some of them, (N, 3) and (N, 3, 3);
    moments_m: of some moments all points, (T, P, 3), where there, (T, P).
    """

    dwells: Dwells
    points_m: Floats
    covariance_m2: Floats
    moments_m: Floats
    there: Bools


def floor_from_walk(rig: Rig, moments: Sequence[Moment], heights: FootHeights, seed: int = 0) -> Floor:
    """Give the floor under a performer who walks.

    moments: points that both cameras see, in order of time, of the rig's frame; heights: of the markers of standing feet. Raises
    CalibrationError: too few places where anything stood, or no plane that they lie on.
    """
    scene = _scene(moments)
    if len(scene.dwells) < FEW_STAYS:
        raise CalibrationError(
            f"{len(scene.dwells)} times a marker stood still and went on; expected {FEW_STAYS} or more: walk for ten "
            "seconds all over the floor, markers on the feet in view of both cameras"
        )
    up, offset, spaced = _consensus(rig, scene, heights, np.random.default_rng(seed))
    plane, found, chosen, kind = _refined(scene, spaced, up, offset)
    return _floor(rig, scene, found, plane, chosen, kind)


def _scene(moments: Sequence[Moment]) -> Scene:
    """Gather places where something stood, and points; what stands still throughout is no performer."""
    places = gathered(dwells_of(moments), SAME_PLACE_M)
    lasting_s = moments[-1].t_s - moments[0].t_s if moments else 0.0
    walks = places.seconds < ALWAYS_SHARE * lasting_s
    feet = Dwells(places.points_m[walks], places.covariance_m2[walks], places.start_s[walks], places.seconds[walks])
    moving = [_without(moment, places.points_m[~walks]) for moment in moments]
    points = np.concatenate([np.zeros((0, 3)), *(moment.points_m for moment in moving)])
    covariances = np.concatenate([np.zeros((0, 3, 3)), *(moment.covariance_m2 for moment in moving)])
    step = max(1, len(points) // MOST_POINTS)
    return Scene(feet, points[::step], covariances[::step], *_padded(moving))


def _without(moment: Moment, lamps_m: Floats) -> Moment:
    """Give a moment without the points at places where something always stands."""
    apart = np.linalg.norm(moment.points_m[:, None] - lamps_m, axis=2).min(axis=1, initial=np.inf) > 2.0 * SAME_PLACE_M
    return Moment(moment.t_s, moment.points_m[apart], moment.covariance_m2[apart])


def _padded(moments: Sequence[Moment]) -> tuple[Floats, Bools]:
    """Give the points of some moments as one array, (T, P, 3), and which of them are there, (T, P)."""
    full = [moment for moment in moments if len(moment.points_m)]
    some = full[:: max(1, len(full) // MOST_MOMENTS)]
    most = max((len(moment.points_m) for moment in some), default=0)
    points, there = np.zeros((len(some), most, 3)), np.zeros((len(some), most), bool)
    for t, moment in enumerate(some):
        points[t, : len(moment.points_m)] = moment.points_m
        there[t, : len(moment.points_m)] = True
    return points, there


def _consensus(rig: Rig, scene: Scene, heights: FootHeights, rng: np.random.Generator) -> tuple[Floats, float, FootHeights]:
    """Give the best of the planes through three stays: its normal, the floor's offset along it, and the heights spaced for it."""
    x = scene.dwells.points_m
    upright = up_of_images(rig)
    low = np.argsort(x @ upright)[:MOST_STAYS]
    normals, at = planes_through(x[low], triples(x[low], rng, MOST_TRIPLES), upright, MAX_LEAN_RAD)
    if not len(normals):
        raise CalibrationError(NO_FLOOR)
    lowest = _lowest_m(scene, normals)
    best, chosen = -np.inf, None
    for spaced in _spacings(heights):
        for height in spaced.heights_m:
            stands = _standing_share(lowest - (at - height)[:, None], spaced)
            for k in np.argsort(-stands)[:N_TRIED]:
                level = 1.0 / (1.0 + (_roll_rad(rig, normals[k]) / USUAL_ROLL_RAD) ** 2)
                worth = level * stands[k] ** 2 * _worth(scene, spaced, normals[k], at[k] - height)
                if worth > best:
                    best, chosen = worth, (normals[k], float(at[k] - height), spaced)
    if chosen is None:
        raise CalibrationError(NO_FLOOR)
    return chosen


def _lowest_m(scene: Scene, normals: Floats) -> Floats:
    """Give the height of the lowest point of every moment along each normal, (K, T) [m]."""
    result = np.empty((len(normals), len(scene.moments_m)))
    for k, up in enumerate(normals):
        result[k] = np.where(scene.there, scene.moments_m @ up, np.inf).min(axis=1)
    return result


def _standing_share(lowest_m: Floats, heights: FootHeights) -> Floats:
    """Give in which share of the moments the lowest point is where a standing foot's lowest marker is, (K,).

    Whoever walks has a foot on the ground all the time: a floor that touches some stays only by chance does not keep that.
    """
    off = (lowest_m - heights.heights_m[0]) / LOWEST_TOLERANCE_M
    return np.asarray(np.maximum(1.0 - off * off, 0.0).mean(axis=1))


def _spacings(heights: FootHeights) -> list[FootHeights]:
    """Give heights that lie nearer together or farther apart, about one mean: toes and ankles differ from shoe to shoe."""
    h = heights.heights_m
    if len(h) < 2:
        return [heights]
    wide = h[-1] - h[0]
    middle = h[0] if heights.told else h.mean()
    shares = [(wide + change) / wide for change in SPACING_M if wide + change > CLOSEST_M]
    return [replace(heights, heights_m=np.maximum(middle + share * (h - middle), 0.0)) for share in shares]


def _roll_rad(rig: Rig, up: Floats) -> float:
    """Give by how much a floor with this normal is tilted to a side in the pictures: cameras mostly stand level."""
    across = rig.left.rotation[0] + rig.right.rotation[0]
    return float(np.arcsin(np.clip(up @ across / np.linalg.norm(across), -1.0, 1.0)))


def _worth(scene: Scene, heights: FootHeights, up: Floats, offset: float) -> float:
    """Tell how well a plane is a floor: places where feet stood, less a share for what lies below."""
    deviation, _, sigma = _deviations(scene.dwells, heights, up, offset)
    inside = np.maximum(1.0 - (deviation / (GATE_SIGMAS * sigma)) ** 2, 0.0)
    on = inside > 0.0
    if on.sum() < 3:
        return -np.inf
    cells = np.floor(scene.dwells.points_m[on] / CELL_M).astype(np.int64)
    _, which = np.unique(cells, axis=0, return_inverse=True)
    places = np.zeros(which.max() + 1)
    np.maximum.at(places, which.ravel(), inside[on])
    below = _share_below(scene, heights, up, offset)
    return float(places.sum() * max(1.0 - 3.0 * below, 0.05))


def _share_below(scene: Scene, heights: FootHeights, up: Floats, offset: float) -> float:
    """Give the share of all points that lie below the lowest marker of a foot."""
    over = scene.points_m @ up - offset - heights.heights_m[0]
    sigma = np.sqrt(np.einsum("i,nij,j->n", up, scene.covariance_m2, up))
    return float(np.mean(over < -BELOW_M - 2.0 * sigma))


def _deviations(dwells: Dwells, heights: FootHeights, up: Floats, offset: float) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Give how far each stay is from the nearest of the heights, which one that is, and its standard deviation, (D,) each."""
    over = dwells.points_m @ up - offset
    from_each = over[:, None] - heights.heights_m
    kind = np.abs(from_each).argmin(axis=1)
    sigma = np.sqrt(np.einsum("i,nij,j->n", up, dwells.covariance_m2, up) + CONTACT_SIGMA_M**2)
    return from_each[np.arange(len(over)), kind], kind, sigma


def _refined(
    scene: Scene, heights: FootHeights, up: Floats, offset: float
) -> tuple[Plane, FootHeights, NDArray[np.int64], NDArray[np.int64]]:
    """Fit the plane to all stays that fit it, again and again, and how much higher one marker of a foot is than another.

    Returns the plane, the heights as they were found, the stays and the height that each is at.
    """
    d, found = scene.dwells, heights
    for _ in range(ROUNDS):
        deviation, kind, sigma = _deviations(d, found, up, offset)
        chosen = np.flatnonzero(np.abs(deviation) < GATE_SIGMAS * sigma)
        if len(chosen) < 3:
            raise CalibrationError(NO_FLOOR)
        plane = fit_plane(d.points_m[chosen], d.covariance_m2[chosen], up, found.heights_m[kind[chosen]], CONTACT_SIGMA_M)
        up, offset = plane.up, plane.offset_m
        found = _spaced(heights, plane.heights_m(d.points_m[chosen]), kind[chosen])
    return plane, found, chosen, kind[chosen]


def _spaced(heights: FootHeights, over_m: Floats, kind: NDArray[np.int64]) -> FootHeights:
    """Give heights spaced as they were seen; their mean, or the lowest where it was told, stays as it was known: no walk
    tells it.
    """
    measured = np.array([np.median(over_m[kind == k]) if (kind == k).sum() >= 3 else np.nan for k in range(len(heights.names))])
    known = np.isfinite(measured)
    if known.sum() < 2:
        return heights
    off = measured[known] - heights.heights_m[known]
    kept = off[0] if heights.told and known[0] else off.mean()
    shift = np.clip(off - kept, -MOST_APART_M, MOST_APART_M)
    result = heights.heights_m.copy()
    result[known] += shift
    return replace(heights, heights_m=result)


def _floor(
    rig: Rig, scene: Scene, heights: FootHeights, plane: Plane, chosen: NDArray[np.int64], kind: NDArray[np.int64]
) -> Floor:
    """Put together what was found."""
    contacts = scene.dwells.points_m[chosen]
    feet = contacts - heights.heights_m[kind][:, None] * plane.up
    origin = plane.nearest(np.median(contacts, axis=0))
    over = plane.heights_m(scene.points_m)
    per_kind = [int((kind == k).sum()) for k in range(len(heights.names))]
    counts = ", ".join(f"{count} of {name}" for count, name in zip(per_kind, heights.names, strict=True))
    width = _width_m(feet, plane.up)
    doubts = []
    if len(contacts) < 12:
        doubts.append(f"only {len(contacts)} footsteps: walk longer")
    if width < 0.3:
        doubts.append(f"all footsteps within {1e2 * width:.0f} cm of one line: walk across the view as well as to and fro")
    return Floor(
        up=plane.up,
        origin_m=origin,
        ahead=to_cameras(rig, origin, plane.up),
        by="walk",
        tilt_sigma_rad=plane.tilt_sigma_rad,
        height_sigma_m=float(np.hypot(plane.height_sigma_m(origin), heights.sigma_m)),
        residual_mm=1e3 * float(np.sqrt(np.mean(plane.residual_m**2))),
        touching_m=feet,
        above_m=scene.points_m,
        notes=(f"{len(contacts)} stays of markers of feet: {counts}", heights.words),
        doubts=tuple(doubts),
        figures={
            "assumed_mm": 1e3 * heights.sigma_m,
            "contacts": float(len(contacts)),
            "below_percent": 100.0 * _share_below(scene, heights, plane.up, plane.offset_m),
            "standing_percent": 100.0 * _stands(scene, heights, plane),
            "highest_m": float(np.quantile(over, 0.995)) if len(over) else float("nan"),
            "width_m": width,
        },
    )


def _stands(scene: Scene, heights: FootHeights, plane: Plane) -> float:
    """Give in which share of the moments the lowest point is within reach of where a standing foot's lowest marker is."""
    over = _lowest_m(scene, plane.up[None])[0] - plane.offset_m - heights.heights_m[0]
    return float(np.mean(np.abs(over) < LOWEST_TOLERANCE_M))


def _width_m(points_m: Floats, up: Floats) -> float:
    """Give how wide the points are spread across the direction they are spread along most, four standard deviations [m]."""
    level = points_m - np.outer(points_m @ up, up)
    spread = np.linalg.eigvalsh(np.cov(level.T))
    return float(4.0 * np.sqrt(max(spread[1], 0.0)))
