"""Landmarks of the body as markers of another kind: of known names, but for left and right, which a picture may exchange.

A detector takes a left leg for the right one in a view, for some tenths of a second, or the arms, or the whole body seen from
behind. So each view has one of a few `Exchange` states, a Markov chain in time:

    -ln p of a change    -ln (1 - exp(-t r)), with r how often an exchange begins in a second, or 1 / how long it lasts

once for the arms, the legs, all down to the hips and the whole body. A hypothesis has states of all views; which ones it may go
on with is told by where it expects the landmarks, and how surely; the poses solved with each decide
(`reconstruct/track/hypotheses.py`). Errors of a landmark last (`solve.landmark_lasts_s`): a frame's image points count by a
share, tanh(t / 2 tau), which over many frames is the information of correlated errors exp(-t / tau) on what stands still.

A network also says where what it hardly sees might be, with a lower score: the lower that is, the less exact a landmark is,
and the likelier only guessed (`doubt_landmarks`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from calibration.camera import Camera, Rig
from capture.packets import Landmarks, MarkerFrame, Points, Views
from capture.stereo.marker_frames import build_marker_frame
from config.arrays import Floats, Ints
from config.landmarks import ABSENT, SOURCES, Exchange
from config.markers import MarkerSet
from config.settings import LabelSettings
from reconstruct.body_state import BodyState, build_tpose
from reconstruct.observations import triangulate_landmarks
from reconstruct.solve.root import Root, fit_root_to_torso
from reconstruct.track.association import ExpectedMarkers, Sighting, compute_image_derivatives
from reconstruct.track.estimator import Estimate, Estimator

MIN_DEPTH_M = 0.3
ROBUST2 = 9.0  # squared scale of rho, as the solver's
MIN_LANDMARKS = 8  # of a view that a body is sought in
USUAL_DISTANCE_M = 3.0  # of a performer whose size in the picture nobody knows yet
MIN_UPRIGHT = 0.0  # cosine of the angle between a body's axis and the vertical: nobody begins upside down
CHANGED, DISAGREES = 3.0, 1.0  # -ln of the probability that something is exchanged, or a landmark wrong, in a first look
AVERTED = 6.0  # of a performer seen from behind
N_STARTS = 4
MOST_ASTRAY = 50.0  # ln of a ratio of densities beyond which nothing changes


# What each state has exchanged of what begins and ends by itself: arms, legs, all down to the hips, the whole body.
_PARTS = np.array([(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)], bool)
# The same in a first look, where one cause has many effects: arms, legs, all down to the hips.
_FOUND = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (0, 1, 1)], bool)


def compute_change_costs(seconds: float, s: LabelSettings) -> Floats:
    """Return -ln of the probability of every state, the columns, after every state, the rows, some time before, (E, E)."""
    begins, ends = 1.0 - math.exp(-seconds * s.exchange_rate), 1.0 - math.exp(-seconds / s.exchange_lasts_s)
    before, after = _PARTS[:, None], _PARTS[None]
    changed = np.where(before, ends, begins)
    return np.asarray(-np.log(np.where(before != after, changed, 1.0 - changed)).sum(axis=2))


@dataclass(frozen=True, slots=True)
class Exchanges:
    """States of all views, (V,). likeliness: cost with the distances of the landmarks; cost: of the changes alone."""

    states: Ints
    likeliness: float
    cost: float = 0.0


def list_landmarks(views: Views) -> Iterator[tuple[int, Landmarks]]:
    """List the views that have landmarks: their numbers, and these."""
    for c, blobs in enumerate(views.blobs):
        if blobs is not None and blobs.landmarks is not None:
            yield c, blobs.landmarks


def mark_absent(exchanged: Ints, views: Views) -> Ints:
    """Return what each view has exchanged, (V,), as ABSENT where it has no landmarks; (0,) as it is."""
    there = np.isin(np.arange(len(views)), [c for c, _ in list_landmarks(views)])
    return np.where(there, exchanged, ABSENT) if len(exchanged) else exchanged


def rank_exchanges(sighting: Sighting, expected: ExpectedMarkers, before: Ints) -> list[Exchanges]:
    """Return the likeliest states of all views, the best first: none that is hopeless beside it, at most `beam`.

    Args:
        sighting: what is seen.
        expected: markers as they are expected.
        before: states of the moment before, (V,).
    """
    s = sighting.settings
    change = compute_change_costs(expected.seconds, s)
    found = [Exchanges(before.copy(), 0.0)]
    for c, landmarks in list_landmarks(sighting.views):
        cost = _compute_state_costs(landmarks, sighting.rig.cameras[c], sighting.markers, expected, s) + change[before[c]]
        more = []
        for each in found:
            for state in range(len(cost)):
                states = each.states.copy()
                states[c] = state
                more.append(Exchanges(states, each.likeliness + float(cost[state])))
        more.sort(key=lambda each: each.likeliness)
        found = [each for each in more[: s.beam] if each.likeliness < more[0].likeliness + s.branch]
    # The solved poses decide on the distances; what changes of the states cost is all that they do not know.
    return [replace(each, cost=float(change[before, each.states].sum())) for each in found]


def _compute_state_costs(
    landmarks: Landmarks, camera: Camera, markers: MarkerSet, expected: ExpectedMarkers, s: LabelSettings
) -> Floats:
    """Return the cost of the landmarks of a view where they are, in every state, (E,)."""
    source = SOURCES[:, markers.landmark[~markers.worn]]
    d2 = _compare(landmarks, source, camera, markers, expected, s).d2
    scale2 = ROBUST2 * expected.share
    known = landmarks.score[source] >= s.landmark_score
    return np.asarray((scale2 * (np.sqrt(1.0 + d2 / scale2) - 1.0) * known).sum(axis=1))


class _Apart(NamedTuple):
    """How far landmarks are from where they are expected, and what tells that they are anywhere about there, each (..., K).

    d2: squared, in standard deviations; astray: ln of the density of landmarks that are astray over that of those that are not.
    """

    d2: Floats
    astray: Floats


def _compare(
    landmarks: Landmarks, source: Ints, camera: Camera, markers: MarkerSet, expected: ExpectedMarkers, s: LabelSettings
) -> _Apart:
    """Return how far landmarks of a picture, numbers (..., K), are from where they are expected."""
    rows = np.flatnonzero(~markers.worn)
    at_m = expected.point_m[rows]
    sigma_px = compute_sigma_px(at_m, landmarks.score[source], camera, markers, s)
    stray_px = s.landmark_stray_m * camera.focal_px / np.maximum(camera.to_camera(at_m)[:, 2], MIN_DEPTH_M)
    J = compute_image_derivatives(camera, at_m)
    S = J @ expected.covariance_m2[rows] @ np.swapaxes(J, 1, 2) + (sigma_px**2 / expected.share)[..., None, None] * np.eye(2)
    wide = S + (stray_px**2)[:, None, None] * np.eye(2)
    apart = landmarks.image_px[source] - np.nan_to_num(camera.project(at_m))
    d2, wide_d2 = (np.einsum("...i,...ij,...j->...", apart, np.linalg.inv(each), apart) for each in (S, wide))
    return _Apart(d2, 0.5 * (d2 - wide_d2 + np.log(np.linalg.det(S) / np.linalg.det(wide))))


def doubt_landmarks(frame: MarkerFrame, sighting: Sighting, expected: ExpectedMarkers, states: Ints) -> MarkerFrame:
    """Return a frame in which landmarks count by the probability that they are seen, without those that are rather guessed.

    What a network does not see it guesses: a hand behind the back is said to be where the other one is. With g the probability
    of that by the score, u that of an unforeseen motion, and q the density of what is astray over that of what is not,

        p(seen | apart) = (1 + u q) / (1 + u q + g q),    ln g = steep (even score - score), at most that of even odds

    Args:
        frame: with the landmarks placed.
        sighting: with the views they are of.
        expected: all markers as they are expected.
        states: of the views, (V,).
    """
    markers, s = sighting.markers, sighting.settings
    rows = np.flatnonzero(~markers.worn)
    seen, sigma = frame.seen.copy(), frame.sigma_px.copy()
    for c, landmarks in list_landmarks(sighting.views):
        source = SOURCES[states[c], markers.landmark[rows]]
        apart = _compare(landmarks, source, sighting.rig.cameras[c], markers, expected, s)
        astray = np.exp(np.minimum(apart.astray, MOST_ASTRAY))
        guessed = np.exp(np.minimum(s.landmark_steep * (s.landmark_score - landmarks.score[source]), 0.0))
        expectedly = 1.0 + s.landmark_jumps * astray
        right = expectedly / (expectedly + guessed * astray)
        sigma[c, rows] /= np.sqrt(right)
        seen[c, rows] &= right > 0.5
    return replace(frame, seen=seen, sigma_px=sigma, image_px=frame.image_px * seen[:, :, None])


def compute_sigma_px(at_m: Floats, score: Floats, camera: Camera, markers: MarkerSet, s: LabelSettings) -> Floats:
    """Return how exact landmarks are in a picture, (..., K) [px]: sigma f / depth exp(fade (usual score - score)).

    Args:
        at_m: about where they are, (K, 3) [m] world.
        score: of each, (..., K).
        camera: of the view.
        markers: with the landmarks.
        s: settings of labels.
    """
    depth_m = np.maximum(camera.to_camera(at_m)[:, 2], MIN_DEPTH_M)
    blur = np.exp(s.landmark_fade * (s.landmark_usual_score - score))
    return np.asarray(camera.focal_px * markers.landmark_sigma_m[~markers.worn] / depth_m * blur)


def place_landmarks(frame: MarkerFrame, sighting: Sighting, expected_m: Floats, states: Ints) -> MarkerFrame:
    """Return a frame of all markers from one of those worn, with the landmarks of the views in some states.

    Args:
        frame: markers that are worn.
        sighting: with the views.
        expected_m: about where the markers are, (M, 3) [m] world.
        states: of the views, (V,).
    """
    markers, s = sighting.markers, sighting.settings
    frame, rows = frame.spread(markers.worn), np.flatnonzero(~markers.worn)
    seen, image, sigma = frame.seen.copy(), frame.image_px.copy(), frame.sigma_px.copy()
    for c, landmarks in list_landmarks(sighting.views):
        camera, source = sighting.rig.cameras[c], SOURCES[states[c], markers.landmark[rows]]
        score = landmarks.score[source]
        image[c, rows] = landmarks.image_px[source]
        sigma[c, rows] = compute_sigma_px(expected_m[rows], score, camera, markers, s)
        seen[c, rows] = score >= s.landmark_score
    image *= seen[:, :, None]
    return replace(frame, seen=seen, image_px=image, sigma_px=sigma)


@dataclass(frozen=True, slots=True)
class FoundBody:
    """A body found by landmarks: what its views have exchanged, (V,), the pose solved from these, and its cost."""

    states: Ints
    estimate: Estimate
    cost: float


def find_body(sighting: Sighting, estimator: Estimator) -> list[FoundBody]:
    """Return the likeliest bodies that the landmarks of two views or more show, the best first; the belief is not used."""
    views, rig, markers, s = sighting.views, sighting.rig, sighting.markers, sighting.settings
    known = {c: np.count_nonzero(landmarks.score >= s.landmark_score) for c, landmarks in list_landmarks(views)}
    shown = [c for c, n in known.items() if n >= MIN_LANDMARKS]
    if len(shown) < 2:
        return []
    nothing = np.full(int(np.count_nonzero(markers.worn)), -1, np.int64)
    none = np.zeros(0, np.int64)
    points = Points(np.zeros((0, 3)), np.zeros((0, 3, 3)), none.reshape(len(views), 0), np.zeros(0), (none,) * len(views))
    frame = build_marker_frame(views, points, nothing)
    local_m = estimator.local(build_tpose())
    about_m = np.tile(rig.middle_m + USUAL_DISTANCE_M * rig.ahead, (len(markers), 1))
    starts = list[tuple[float, Ints, Root]]()
    for states in _list_states(len(views), shown):
        placed = place_landmarks(frame, sighting, about_m, states)
        lifted = triangulate_landmarks(placed, rig, ~markers.worn)
        root = fit_root_to_torso(lifted, local_m, markers.torso, None)
        if root is not None and root[0][1, 1] > MIN_UPRIGHT:
            disagreeing = np.count_nonzero(placed.shown & ~lifted.valid)
            starts.append((_judge_start(states, root, rig) + DISAGREES * disagreeing, states, root))
    starts.sort(key=lambda start: start[0])
    found = [_solve_body(sighting, estimator, frame, states, root) for _, states, root in starts[:N_STARTS]]
    return sorted((each for each in found if each is not None), key=lambda each: each.cost)[: s.beam]


def _solve_body(sighting: Sighting, estimator: Estimator, frame: MarkerFrame, states: Ints, root: Root) -> FoundBody | None:
    """Return the pose solved from the landmarks in some states, beginning with a T-pose; None where there is none."""
    state, estimate = BodyState(sighting.views.t_capture_ns, build_tpose(), root[0], root[1]), None
    for _ in range(2):  # from where the T-pose is, then from there
        placed = place_landmarks(frame, sighting, estimator.world(state), states)
        estimate = estimator.estimate(placed, state)
        if estimate is None or not np.isfinite(estimate.marker_m).all():
            return None
        state = estimate.state
    assert estimate is not None
    cost = _judge_start(states, (state.rotation, state.position_m), sighting.rig) - estimator.log_evidence(estimate)
    return FoundBody(states, estimate, cost)


def _judge_start(states: Ints, root: Root, rig: Rig) -> float:
    """Return -ln of the probability of what is exchanged, once for all views, and of a back turned to the cameras."""
    changed = _FOUND[states].any(axis=0).sum()
    return float(CHANGED * changed + AVERTED * (root[0][:, 2] @ (rig.middle_m - root[1]) < 0.0))


def is_turned(states: Ints) -> bool:
    """Return whether all views have the upper body exchanged, (V,): it may be the body that is turned the other way."""
    return bool(len(states)) and bool((states >= Exchange.UPPER).all())


def _list_states(n_views: int, shown: list[int]) -> Iterator[Ints]:
    """List states of the views to try: anything exchanged in up to two of those that show landmarks."""
    for first, second in product(range(len(_PARTS)), repeat=2):
        for a, b in combinations(shown, 2):
            states = np.zeros(n_views, np.int64)
            states[[a, b]] = first, second
            yield states
