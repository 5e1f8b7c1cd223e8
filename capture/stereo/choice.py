"""Which views of a moment are used: none that is outvoted, and where the machine has no time for all, those that tell most.

Where markers were expected is compared with the blobs of each view. A camera that was knocked, or whose time is off, shows all of
them elsewhere while the others have them where they are due: what its blobs agree with is chance, and a few of them taken for
markers pull the pose away.

A view that shows a marker tells where it is across its line of sight. The views are kept that leave the least expected squared
error of all markers together: one that shows few of them tells little, one that crosses the others' lines of sight at a right
angle, or shows what fewer than two others do, tells much.
"""

import numpy as np

from calibration.camera import Camera, Rig
from capture.packets import Blobs, Views
from config.arrays import Floats

DUE_M = 0.03  # from the line of sight of a blob to the expected marker that it is; usually a third of this
FEW, MOST = 1.0 / 3.0, 2.0 / 3.0  # shares of the blobs that are where a marker was expected: of a wrong view, and of right ones
MIN_BLOBS = 4  # of a view that is judged
HIDDEN_M = 0.05  # standard deviation of a marker that no view shows, as the rest of the body places it
IMAGE_PX = 1.0  # of a blob, with the errors of calibration and time skew
NEAR_M = 0.1  # from where a marker was to the line of sight of a blob that may be it: two frames of a fast hand


def drop_outvoted_views(views: Views, rig: Rig, expected_m: Floats) -> Views:
    """Return the moment without views that the others outvote.

    Views are only left out where two at least, and all but the outvoted, are as expected: where the prediction is wrong, no two
    views are, and all stay.

    Args:
        views: what the cameras saw at one time.
        expected_m: predicted markers, (M, 3) world.
    """
    judged = [blobs for blobs in views.present if len(blobs) >= MIN_BLOBS]
    if len(judged) < 3:
        return views
    share = {blobs.camera: _measure_expected_share(blobs, rig.cameras[blobs.camera], expected_m) for blobs in judged}
    wrong = {camera for camera, due in share.items() if due < FEW}
    right = {camera for camera, due in share.items() if due >= MOST}
    return views.without(wrong) if wrong and len(right) >= 2 and len(right) + len(wrong) == len(share) else views


def _measure_expected_share(blobs: Blobs, camera: Camera, expected_m: Floats) -> float:
    """Return the share of a view's blobs that are where a marker is expected; of more blobs than markers, the share of these."""
    n_due = np.count_nonzero(_measure_sight_distance(blobs, camera, expected_m).min(axis=0) < DUE_M)
    return float(n_due / min(len(blobs), len(expected_m)))


def _measure_sight_distance(blobs: Blobs, camera: Camera, marker_m: Floats) -> Floats:
    """Return how far markers are from the lines of sight of blobs, (M, N) [m]; infinite behind the camera."""
    image_px = np.nan_to_num(camera.project(marker_m), nan=np.inf)
    away_px = np.linalg.norm(image_px[:, None] - blobs.points_px, axis=2)
    return np.asarray(away_px * np.linalg.norm(marker_m - camera.center_m, axis=1)[:, None] / camera.focal_px)


def choose_views(views: Views, rig: Rig, marker_m: Floats, n_views: int) -> Views:
    """Return the moment with at most so many of its views, those that say most about where the markers are.

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
    information = {c: _compute_information(views[c], rig.cameras[c], marker_m) for c in kept}
    known = np.eye(3) / HIDDEN_M**2 + sum(information.values())
    while len(kept) > n_views:
        error_m2 = {c: np.trace(np.linalg.inv(known - information[c]), axis1=1, axis2=2).sum() for c in reversed(kept)}
        out = min(error_m2, key=lambda c: float(error_m2[c]))
        kept.remove(out)
        known = known - information[out]
    return views.without(set(information) - set(kept))


def _compute_information(blobs: Blobs, camera: Camera, marker_m: Floats) -> Floats:
    """Return the information of a view on each marker's place, (M, 3, 3) [1/m^2]: 0 where no blob is near its image.

    With z the distance, r the direction of the line of sight and f the focal length: (f / z sigma)^2 (I - r r').
    """
    sight_m = marker_m - camera.center_m
    z_m = np.linalg.norm(sight_m, axis=1)[:, None, None]
    across = np.eye(3) - sight_m[:, :, None] * sight_m[:, None, :] / z_m**2
    shown = _measure_sight_distance(blobs, camera, marker_m).min(axis=1, initial=np.inf) < NEAR_M
    return np.asarray(np.where(shown[:, None, None], (camera.focal_px / (z_m * IMAGE_PX)) ** 2 * across, 0.0))
