"""Which views of a moment are read where the machine has no time for all: those that place the markers best.

A view that shows a marker tells where it is across its line of sight. The views are kept that leave the least expected squared
error of all markers together: one that shows few of them tells little, one that crosses the others' lines of sight at a right
angle, or shows what fewer than two others do, tells much.
"""

import numpy as np

from calibration.camera import Camera, Rig
from capture.packets import Blobs, Views
from config.arrays import Floats

HIDDEN_M = 0.05  # standard deviation of a marker that no view shows, as the rest of the body places it
IMAGE_PX = 1.0  # of a blob, with the errors of calibration and time skew
NEAR_M = 0.1  # from where a marker was to the line of sight of a blob that may be it: two frames of a fast hand


def choose_views(views: Views, rig: Rig, marker_m: Floats, n_views: int) -> Views:
    """Return the moment with at most so many of its views, those that tell most of where the markers are.

    One view after the other is left out, always the one without which the errors grow least; of equals the last.

    Args:
        views: of the moment.
        rig: of their cameras.
        marker_m: where the markers were a moment ago, (M, 3) [m] world.
        n_views: to be kept, one at least.
    """
    kept = [blobs.camera for blobs in views.present]
    if len(kept) <= n_views:
        return views
    information = {c: _find_information(views[c], rig.cameras[c], marker_m) for c in kept}
    known = np.eye(3) / HIDDEN_M**2 + sum(information.values())
    while len(kept) > n_views:
        error_m2 = {c: np.trace(np.linalg.inv(known - information[c]), axis1=1, axis2=2).sum() for c in reversed(kept)}
        out = min(error_m2, key=lambda c: float(error_m2[c]))
        kept.remove(out)
        known = known - information[out]
    return views.without(set(information) - set(kept))


def _find_information(blobs: Blobs, camera: Camera, marker_m: Floats) -> Floats:
    """Return the information of a view on each marker's place, (M, 3, 3) [1/m^2]: 0 where no blob is near its image.

    With z the distance, r the direction of the line of sight and f the focal length: (f / z sigma)^2 (I - r r').
    """
    away_px = np.linalg.norm(camera.project(marker_m)[:, None] - blobs.points_px, axis=2).min(axis=1, initial=np.inf)
    sight_m = marker_m - camera.center_m
    z_m = np.linalg.norm(sight_m, axis=1)[:, None, None]
    across = np.eye(3) - sight_m[:, :, None] * sight_m[:, None, :] / z_m**2
    shown = away_px[:, None, None] * z_m < camera.focal_px * NEAR_M
    return np.asarray(np.where(shown, (camera.focal_px / (z_m * IMAGE_PX)) ** 2 * across, 0.0))
