"""Marker frames: points and blobs that have got their labels."""

from typing import NamedTuple

import numpy as np

from capture.packets import MarkerFrame, Points, Views
from capture.stereo.matching import list_untaken
from config.arrays import Bools, Floats, Ints, make_read_only
from config.jit import kernel


def frame_from_view(views: Views, camera_index: int, blob_of_marker: Ints) -> MarkerFrame:
    """Return the marker frame of one view, without triangulation.

    Args:
        views: what the cameras saw at one time.
        camera_index: number of the view's camera.
        blob_of_marker: (M,), -1 for none.
    """
    n = len(blob_of_marker)
    blob = np.full((len(views), n), -1)
    blob[camera_index] = blob_of_marker
    return _frame_from_labels(views, _make_unlabelled(n, blob), np.zeros((0, 3)))


class LabelledPoints(NamedTuple):
    """The points of markers; fields as in `MarkerFrame`, and blob, (V, M): -1 for none."""

    valid: Bools
    point_m: Floats
    covariance_m2: Floats
    epipolar_px: Floats
    blob: Ints


def build_marker_frame(views: Views, points: Points, choice: Ints) -> MarkerFrame:
    """Return the marker frame of labelled points.

    Args:
        views: what the cameras saw at one time.
        points: of the views.
        choice: point of each marker, (M,), -1 for none.
    """
    taken = _make_unlabelled(len(choice), np.full((len(views), len(choice)), -1))
    _take_points(points.point_m, points.covariance_m2, points.epipolar_px, make_read_only(points.blob), choice, taken)
    return _frame_from_labels(views, taken, points.point_m[list_untaken(len(points.point_m), choice[taken.valid])])


def _make_unlabelled(n: int, blob: Ints) -> LabelledPoints:
    """Return the points of n markers of which none has one."""
    return LabelledPoints(np.zeros(n, bool), np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros(n), blob)


def _frame_from_labels(views: Views, taken: LabelledPoints, extra_m: Floats) -> MarkerFrame:
    """Return the marker frame of labelled points and blobs.

    Args:
        taken: points and blobs of the markers.
        extra_m: points of no marker, (U, 3).
    """
    n = len(taken.valid)
    image, sigma = np.zeros((len(views), n, 2)), np.zeros((len(views), n))
    for c, blobs in enumerate(views.blobs):
        if blobs is not None:
            _take_blobs(make_read_only(blobs.points_px), make_read_only(blobs.sigma_px), taken.blob[c], image[c], sigma[c])
    return MarkerFrame(
        index=views.first.index,
        t_capture_ns=views.t_capture_ns,
        skew_ns=views.skew_ns,
        valid=taken.valid,
        point_m=taken.point_m,
        covariance_m2=taken.covariance_m2,
        seen=taken.blob >= 0,
        image_px=image,
        sigma_px=sigma,
        epipolar_px=taken.epipolar_px,
        extra_m=extra_m,
    )


@kernel
def _take_points(
    point_m: Floats, covariance_m2: Floats, epipolar_px: Floats, blob: Ints, choice: Ints, taken: LabelledPoints
) -> None:
    """Write the points that markers have, of choice (M,), -1 for none; the first four: of `Points`."""
    for m in range(choice.shape[0]):
        k = choice[m]
        if k >= 0:
            taken.valid[m], taken.epipolar_px[m] = True, epipolar_px[k]
            taken.point_m[m], taken.covariance_m2[m] = point_m[k], covariance_m2[k]
            taken.blob[:, m] = blob[:, k]


@kernel
def _take_blobs(points_px: Floats, sigma_px: Floats, blob: Ints, image: Floats, sigma: Floats) -> None:
    """Write image points (M, 2) and standard deviations (M,) of the markers that have a blob, of blob (M,), -1 for none."""
    for m in range(blob.shape[0]):
        if blob[m] >= 0:
            image[m, 0], image[m, 1], sigma[m] = points_px[blob[m], 0], points_px[blob[m], 1], sigma_px[blob[m]]
