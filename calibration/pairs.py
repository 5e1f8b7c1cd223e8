"""Which two of many cameras measure best in a volume: the error of a marker there, and how much of it both see."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from calibration.camera import Camera, Rig
from calibration.depth import VOLUME_M, choose_performer_distance_m, compute_meeting_point_m, compute_view_axes, is_in_view
from calibration.triangulate import triangulate
from calibration.world import UP, compute_up_of_images
from config.arrays import Floats, Ints

MARKER_PX = 0.2  # noise of a marker's centre, by which pairs are compared
GRID = (5, 5, 5)
LEAST_SHARE = 0.25  # of the volume that both must see


@dataclass(frozen=True, slots=True)
class Volume:
    """Where the performer moves: points_m: a grid of it, (N, 3) world [m]; center_m: (3,)."""

    center_m: Floats
    points_m: Floats


@dataclass(frozen=True, slots=True)
class CameraPair:
    """Two cameras and how well they measure in a volume.

    rig: left camera first; angle_deg: between them as seen from the middle of the volume; error_m: of a marker in its worst
    direction, root mean square over what both see; share: of the volume that both see.
    """

    rig: Rig
    angle_deg: float
    error_m: float
    share: float

    @property
    def words(self) -> str:
        """Return the pair's figures in words."""
        return (
            f"{self.rig.baseline_m:.2f} m apart, {self.angle_deg:.0f} degrees between them, both see {100 * self.share:.0f} % of "
            f"the volume, a marker there is known to {1e3 * self.error_m:.1f} mm"
        )


def find_capture_volume(cameras: Sequence[Camera], floor_known: bool, sides_m: tuple[float, float, float] = VOLUME_M) -> Volume:
    """Return the volume where the cameras look: where their axes meet, or where a performer fits into the pictures.

    With a known floor the volume stands on it, its sides along the world's axes; without one its height is along the mean
    upright of the pictures.

    Args:
        cameras: all of them.
        floor_known: the world has its floor at 0 and Y up.
        sides_m: width, height and depth [m].
    """
    center = _find_middle_m(cameras)
    up = UP if floor_known else compute_up_of_images(Rig(tuple(cameras)))
    if floor_known:
        center = np.array([center[0], 0.5 * sides_m[1], center[2]])
    ahead = np.array([0.0, 0.0, 1.0]) if floor_known else np.sum([camera.rotation[2] for camera in cameras], axis=0)
    ahead = ahead - up * (ahead @ up)
    ahead = _normalise_vector(ahead if np.linalg.norm(ahead) > 0.1 else np.cross(up, cameras[0].rotation[0]))
    axes = np.stack([np.cross(up, ahead), up, ahead])
    grid = np.stack(np.meshgrid(*(np.linspace(-0.5, 0.5, n) for n in GRID), indexing="ij"), axis=-1).reshape(-1, 3)
    return Volume(center, np.ascontiguousarray(center + (grid * sides_m) @ axes))


def rank_pairs(cameras: Sequence[Camera], volume: Volume, floor_known: bool = False) -> list[CameraPair]:
    """Return the pairs by how well they measure in a volume, the best first.

    They are ranked by the error, which counts the more the less of the volume both see.

    Args:
        cameras: all of them.
        volume: where the performer moves.
        floor_known: the world has its floor at 0 and Y up.
    """
    pairs = [pair for a, b in combinations(cameras, 2) if (pair := _make_pair(a, b, volume, floor_known)) is not None]
    return sorted(pairs, key=lambda pair: pair.error_m / pair.share)


def _make_pair(a: Camera, b: Camera, volume: Volume, floor_known: bool) -> CameraPair | None:
    """Return two cameras as a pair, None where they see too little of the volume."""
    if a.rotation[0] @ (b.center_m - a.center_m) < 0.0:
        a, b = b, a
    rig = Rig((a, b), floor_known=floor_known)
    seen = np.all([is_in_view(camera, volume.points_m) for camera in rig.cameras], axis=0)
    share = float(seen.mean())
    if share < LEAST_SHARE or rig.baseline_m < 1e-6:
        return None
    px = [camera.project(volume.points_m[seen]) for camera in rig.cameras]
    _, covariance = triangulate(rig, px[0], px[1], MARKER_PX, MARKER_PX)
    worst = np.linalg.eigvalsh(covariance)[:, -1]
    to_a, to_b = (_normalise_vector(camera.center_m - volume.center_m) for camera in rig.cameras)
    angle = float(np.degrees(np.arccos(np.clip(to_a @ to_b, -1.0, 1.0))))
    return CameraPair(rig, angle, float(np.sqrt(worst.mean())), share)


def _find_middle_m(cameras: Sequence[Camera]) -> Floats:
    """Return where all optical axes meet, (3,) [m]; of parallel ones where a performer fits into the pictures."""
    point = compute_meeting_point_m(cameras)
    if point is not None:
        return point
    rig = Rig((cameras[0], cameras[-1]))
    middle, _, _, ahead = compute_view_axes(rig)
    return np.asarray(middle + choose_performer_distance_m(rig) * ahead)


def _normalise_vector(vector: Floats) -> Floats:
    """Return a vector of length one."""
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12))


def find_spanning_tree(n_shared: Ints) -> list[tuple[int, int]]:
    """Return the pairs of cameras that hold all of them together by as much as possible, from the first camera on (Prim 1957).

    n_shared: what any two share, (C, C). Of each pair the first camera is in a pair before it, or camera 0.
    """
    linked, links = [0], list[tuple[int, int]]()
    while len(linked) < len(n_shared):
        others = [c for c in range(len(n_shared)) if c not in linked]
        links.append(max(((a, b) for a in linked for b in others), key=lambda pair: int(n_shared[pair])))
        linked.append(links[-1][1])
    return links
