"""Labels of a whole take: every track gets one label, by where the poses on both sides of it have the markers.

The likeliest labels of all tracks together are an assignment of least cost, an integer linear programme. A track's cost of a
label is its distance from that marker of the solved poses, less where live reconstruction gave it this label; no marker is on
two tracks of one moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from calibration.camera import Rig
from capture.packets import MarkerFrame, Points, Views
from capture.stereo.marker_frames import build_marker_frame
from config.arrays import Bools, Floats, Ints
from reconstruct.offline.priors import compute_seconds_to_seen
from reconstruct.offline.tracks import PointTracks

# Of a marker's place in solved poses; growing with the time to where it is seen.
SIGMA_M, UNSEEN_M_S, MAX_UNSEEN_M = 0.03, 0.2, 0.25
INDEPENDENT_S, MAX_INDEPENDENT = 0.1, 4.0  # time after which a frame of a track tells something new; how many such count
GATE2 = 25.0  # mean squared distance in sigmas beyond which no label is better
LIVE = 400.0  # by how much another label must be likelier than that of live reconstruction: poses were solved with this
SAME_M = 0.02  # a point of live labels is that of a track
NO_LABEL = -1
SAME_PX = 1e-6


@dataclass(frozen=True, slots=True)
class TrackCosts:
    """Of K tracks and M labels: squared, the mean squared distance in sigmas (K, M), and cost, -2 ln of the likelihood (K, M).

    none: cost of no label, (K,).
    """

    squared: Floats
    cost: Floats
    none: Floats


def count_live_votes(tracks: PointTracks, frames: Sequence[MarkerFrame], used: Bools) -> Floats:
    """Return the share of frames in which live reconstruction gave a track each label, (K, M).

    Args:
        tracks: the tracks of points.
        frames: the markers of each frame.
        used: frames that count, (N,).
    """
    votes = np.zeros((tracks.count, len(frames[0].valid)))
    for n in np.flatnonzero(used).tolist():
        here, valid = tracks.of_frame(n), np.flatnonzero(frames[n].valid)
        if here.stop > here.start and len(valid):
            off_m = np.linalg.norm(tracks.point_m[here][:, None] - frames[n].point_m[valid], axis=2)
            nearest = off_m.argmin(axis=0)
            same = off_m[nearest, np.arange(len(valid))] < SAME_M
            np.add.at(votes, (tracks.track[here][nearest[same]], valid[same]), 1.0)
    return np.asarray(votes / np.maximum(votes.sum(axis=1, keepdims=True), 1.0))


def compute_track_costs(
    tracks: PointTracks, marker_m: Floats, seconds: Floats, known: Bools, own_sigma_m: float = SIGMA_M
) -> TrackCosts:
    """Compute the cost of every label of a track from the markers of solved poses.

    Args:
        tracks: the tracks of points.
        marker_m: markers of the solved poses, (N, M, 3) [m].
        seconds: times of the frames, (N,) [s].
        known: markers that these were solved with, (N, M).
        own_sigma_m: standard deviation of a marker's place in them where it is seen [m].
    """
    far_s = compute_seconds_to_seen(seconds, known)
    sigma_m = own_sigma_m + np.minimum(UNSEEN_M_S * far_s, MAX_UNSEEN_M)
    expected, variance = marker_m[tracks.frame], sigma_m[tracks.frame] ** 2
    S = tracks.covariance_m2[:, None] + variance[..., None, None] * np.eye(3)
    difference = tracks.point_m[:, None] - expected
    squared = np.einsum("pmi,pmij,pmj->pm", difference, np.linalg.inv(S), difference)
    volume = np.linalg.slogdet(S)[1]
    length = np.maximum(np.bincount(tracks.track, minlength=tracks.count), 1)[:, None]
    squared, volume = (_sum_by_track(tracks, np.minimum(values, 4.0 * GATE2)) / length for values in (squared, volume))
    independent = np.minimum(1.0 + tracks.seconds(seconds) / INDEPENDENT_S, MAX_INDEPENDENT)
    cost = independent[:, None] * (squared + volume)
    return TrackCosts(squared, cost, independent * (GATE2 + volume.max(axis=1)))


def _sum_by_track(tracks: PointTracks, values: Floats) -> Floats:
    """Return the sums over the points of every track, (P, M) -> (K, M)."""
    result = np.zeros((tracks.count, values.shape[1]))
    np.add.at(result, tracks.track, values)
    return result


def assign_labels(tracks: PointTracks, costs: TrackCosts, votes: Floats) -> Ints:
    """Return the label of every track, (K,): the likeliest together, no marker on two tracks of one moment.

    Args:
        tracks: the tracks of points.
        costs: costs of every label of each track.
        votes: share of frames in which live reconstruction gave each label, (K, M).
    """
    allowed = costs.squared < GATE2
    allowed[votes > 0.0] = True
    track, label = np.nonzero(allowed)
    if not len(track):
        return np.full(tracks.count, NO_LABEL)
    gain = (costs.cost - LIVE * votes)[track, label] - costs.none[track]
    begins, ends = tracks.spans()
    groups = [np.flatnonzero(track == k) for k in np.unique(track)]
    for m in np.unique(label):
        of_marker = np.flatnonzero(label == m)
        begin, end = begins[track[of_marker]], ends[track[of_marker]]
        groups += [of_marker[(begin <= at) & (end >= at)] for at in np.unique(begin)]
    row = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    rows = csr_array((np.ones(len(row)), (row, np.concatenate(groups))), shape=(len(groups), len(track)))
    found = milp(
        gain, integrality=np.ones(len(track), np.int64), bounds=Bounds(0, 1), constraints=LinearConstraint(rows, -np.inf, 1.0)
    )
    result = np.full(tracks.count, NO_LABEL)
    if found.x is None:
        return choose_by_votes(votes)
    chosen = found.x > 0.5
    result[track[chosen]] = label[chosen]
    return result


def choose_by_votes(votes: Floats) -> Ints:
    """Return the label that most frames of a track have, NO_LABEL where there is none."""
    return np.where(votes.max(axis=1) > 0.0, votes.argmax(axis=1), NO_LABEL)


def build_labelled_frame(live: MarkerFrame, views: Views, points: Points, rig: Rig, choice: Ints) -> MarkerFrame:
    """Return a frame with the points of markers, choice (M,); markers of one camera alone stay as live if their blobs are free.

    Args:
        live: the frame as labelled live.
        views: views of the moment.
        points: points of the moment.
        rig: the cameras, in the world.
        choice: point of every marker, (M,), -1 for none.
    """
    frame = build_marker_frame(views, points, choice)
    alone = live.seen & ~live.valid & ~frame.valid
    if not alone.any():
        return frame
    seen, image, sigma = frame.seen.copy(), frame.image_px.copy(), frame.sigma_px.copy()
    for c, m in np.argwhere(alone).tolist():
        if not (np.linalg.norm(image[c, seen[c]] - live.image_px[c, m], axis=1) < SAME_PX).any():
            seen[c, m], image[c, m], sigma[c, m] = True, live.image_px[c, m], live.sigma_px[c, m]
    return replace(frame, seen=seen, image_px=image, sigma_px=sigma)
