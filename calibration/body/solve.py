"""A rig from a body: first look, then rounds of what each view has exchanged and of the adjustment, and the scale at the end.

A view that takes the left leg for the right one is found by the solution itself: of every view in turn, every exchange is tried,
the landmarks are placed anew by all views, and the cheapest is kept; an exchange has its price.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.body.adjust import BodyProblem, BodyRigState, adjust_body, compute_body_covariance
from calibration.body.lengths import BodyLengths, list_body_lengths
from calibration.body.start import (
    LEAST_LANDMARKS,
    LEAST_MOMENTS,
    chain_cameras,
    compute_sigma_px,
    place_landmarks_by_rays,
    place_landmarks_flat,
)
from calibration.body.views import BodyViews
from calibration.camera import Camera, Rig, compute_relative_pose
from config.arrays import Bools, Floats, Ints
from config.errors import CalibrationError

ROUNDS, SETTLING_STEPS = 2, 2
STATURE_UNKNOWN_M = 1.72  # of an adult whose stature nobody says, where something else tells the scale
EXCHANGE_COST = 6.0  # twice -ln of the probability that a view has something exchanged
MOST_MOMENTS = 100
STATURE_SIGMA = 0.015  # relative: of the scale by a stature, of bodies whose proportions differ
TAPE_SIGMA = 0.005  # of a distance between cameras by tape


@dataclass(frozen=True, slots=True)
class BodyScale:
    """What tells the scale: the stature, or the distance of the first two cameras [m]; relative sigma of either."""

    stature_m: float | None = None
    baseline_m: float | None = None

    @property
    def words(self) -> str:
        """What the scale rests on."""
        if self.baseline_m is not None:
            return f"the cameras' distance of {1e3 * self.baseline_m:.0f} mm"
        return f"a stature of {self.stature_m:.2f} m"

    @property
    def sigma(self) -> float:
        """Standard deviation of the scale, relative."""
        return STATURE_SIGMA if self.baseline_m is None else TAPE_SIGMA


@dataclass(frozen=True, slots=True)
class BodySolution:
    """A rig that was fitted to a body.

    rig: world = first camera; t_s: moments in use, (F,) [s]; points_m: landmarks, (F, L, 3) [m]; lengths: of the body, as fitted;
    residual_px: measured less predicted, (C, F, L, 2); seen: which took part, (C, F, L); exchanged: what each view had exchanged,
    (C, F); pose_covariance: of turn and shift of all cameras but the first, in its frame, (6 C - 6, 6 C - 6) [rad, m]; scale:
    what tells it.
    """

    rig: Rig
    t_s: Floats
    points_m: Floats
    lengths: BodyLengths
    residual_px: Floats
    seen: Bools
    exchanged: Ints
    pose_covariance: Floats
    scale: BodyScale

    @property
    def median_px(self) -> float:
        """Median distance of a landmark from where it should be [px]."""
        return float(np.median(np.linalg.norm(self.residual_px, axis=3)[self.seen]))


@dataclass(frozen=True, slots=True)
class BodyInput:
    """What is solved from.

    views: all landmarks of the pictures; cameras: their intrinsics; sources: which landmark of a picture is each of the body's,
    by what the view has exchanged, nothing first, (E, N); lasts_s: how long the errors of a landmark last [s].
    """

    views: BodyViews
    cameras: tuple[Camera, ...]
    sources: Ints
    lasts_s: float


def solve_body(given: BodyInput, scale: BodyScale, before: Rig | None = None) -> BodySolution:
    """Return the rig that a moving body tells.

    Args:
        given: landmarks, lenses, possible exchanges.
        scale: what tells it.
        before: where the cameras are thought to be, to begin there; None: nobody knows.
    Raises: CalibrationError: too little seen, cameras that the body does not link, nothing that fits.
    """
    lengths = list_body_lengths(scale.stature_m or STATURE_UNKNOWN_M)
    views = _select_moments(given.views, lengths, [camera.name for camera in given.cameras])
    given = replace(given, views=views)
    exchanged = np.zeros(views.points_px.shape[:2], np.int64)
    if before is None:
        rotation, translation = chain_cameras(views.take_landmarks(lengths.landmarks), given.cameras, lengths)
    else:
        poses = [compute_relative_pose(before.cameras[0], camera) for camera in before.cameras]
        rotation, translation = np.stack([R for R, _ in poses]), np.stack([t for _, t in poses])
    state = BodyRigState(rotation, translation, np.zeros((0, 0, 3)), np.zeros(len(lengths.usual_m)))
    problem, state = _place_body(given, lengths, state, exchanged)
    for _ in range(ROUNDS):
        state = adjust_body(problem, state).state
        exchanged, state = _find_exchanges(given, lengths, state, exchanged)
        problem = _build_problem(given, lengths, state, exchanged)
    state = adjust_body(problem, state, 60).state
    return _build_solution(given, problem, state, exchanged, scale)


def _select_moments(views: BodyViews, lengths: BodyLengths, names: Sequence[str]) -> BodyViews:
    """Return evenly chosen moments at which two cameras see most of the body. Raises CalibrationError: too few."""
    whole = views.seen[:, :, lengths.landmarks].sum(axis=2) >= LEAST_LANDMARKS
    good = np.flatnonzero(whole.sum(axis=0) >= 2)
    if len(good) < LEAST_MOMENTS:
        never = [name for name, one in zip(names, whole, strict=True) if one.sum() < LEAST_MOMENTS]
        where = f"the {never[0]} camera sees nobody" if never else "no two cameras see the person at one time"
        raise CalibrationError(
            f"{where} ({len(good)} of {len(views)} moments); expected {LEAST_MOMENTS} or more: walk about where the cameras see "
            "all of you, in good light"
        )
    return views.select_moments(good[np.round(np.linspace(0, len(good) - 1, min(MOST_MOMENTS, len(good)))).astype(np.int64)])


def _place_body(given: BodyInput, lengths: BodyLengths, state: BodyRigState, exchanged: Ints) -> tuple[BodyProblem, BodyRigState]:
    """Return the problem, and the state with the landmarks where the rays of all cameras come nearest."""
    views = _undo_exchanges(given, lengths, exchanged)
    usual = np.full(views.points_px.shape[:2], 3.0)
    flat = place_landmarks_flat(views, given.cameras, usual)
    for _ in range(2):  # the distance tells how flat, which tells the distance where rays hardly cross
        points_m = place_landmarks_by_rays(views, flat, state.rotation, state.translation)
        flat = place_landmarks_flat(views, given.cameras, _measure_depths_m(state, points_m))
    state = replace(state, points_m=points_m)
    return _build_problem(given, lengths, state, exchanged), state


def _measure_depths_m(state: BodyRigState, points_m: Floats) -> Floats:
    """Return how far the middle of the body is from each camera, (C, F) [m]."""
    middle = np.median(points_m, axis=1)
    return np.stack([np.maximum((middle @ R.T + t)[:, 2], 0.3) for R, t in zip(state.rotation, state.translation, strict=True)])


def _undo_exchanges(given: BodyInput, lengths: BodyLengths, exchanged: Ints) -> BodyViews:
    """Return the views of the landmarks in use, with what each view has exchanged put right.

    Args:
        given: what is solved from.
        lengths: of the body, with the landmarks in use.
        exchanged: what each view has exchanged.
    """
    return given.views.take_landmarks(given.sources[exchanged]).take_landmarks(lengths.landmarks)


def _build_problem(given: BodyInput, lengths: BodyLengths, state: BodyRigState, exchanged: Ints) -> BodyProblem:
    """Return the problem with some exchanges undone."""
    views, intrinsics = _undo_exchanges(given, lengths, exchanged), np.stack([camera.intrinsics for camera in given.cameras])
    sigma_px = compute_sigma_px(views, intrinsics, lengths, _measure_depths_m(state, state.points_m))
    return BodyProblem(views, intrinsics, lengths, sigma_px)


def _find_exchanges(given: BodyInput, lengths: BodyLengths, state: BodyRigState, exchanged: Ints) -> tuple[Ints, BodyRigState]:
    """Return what each view has exchanged, every view in turn, and the landmarks placed by that."""
    best, points_m = exchanged.copy(), state.points_m
    C, F = exchanged.shape
    costs = np.full(F, np.inf)
    for c in range(C):
        for kind in range(len(given.sources)):
            tried = best.copy()
            tried[c] = kind
            problem, placed = _place_body(given, lengths, state, tried)
            placed = _settle_points(problem, placed)
            cost = problem.measure_costs(placed) + EXCHANGE_COST * (tried > 0).sum(axis=0)
            better = cost < costs - 1e-9
            costs = np.where(better, cost, costs)
            best[c, better] = kind
            points_m = np.where(better[:, None, None], placed.points_m, points_m)
    return best, replace(state, points_m=points_m)


def _settle_points(problem: BodyProblem, state: BodyRigState) -> BodyRigState:
    """Return the state with its landmarks moved to where pixels and lengths agree best, the cameras kept."""
    for _ in range(SETTLING_STEPS):
        (own,) = problem.linearise(state).groups
        H = own.own + 0.1 * np.einsum("fii->fi", own.own)[..., None] * np.eye(own.own.shape[1])
        step = -np.linalg.solve(H, own.gradient[..., None])[..., 0]
        moved = replace(state, points_m=state.points_m + np.clip(step.reshape(state.points_m.shape), -0.3, 0.3))
        worse = problem.measure_costs(moved) > problem.measure_costs(state)
        state = replace(state, points_m=np.where(worse[:, None, None], state.points_m, moved.points_m))
    return state


def _build_solution(
    given: BodyInput, problem: BodyProblem, state: BodyRigState, exchanged: Ints, scale: BodyScale
) -> BodySolution:
    """Return the solution in metres."""
    C, n = len(given.cameras), 6 * (len(given.cameras) - 1)
    frame_s = float(np.median(np.diff(problem.views.t_s))) if len(problem.views) > 1 else 1.0
    share = float(np.tanh(0.5 * frame_s / given.lasts_s))
    covariance = compute_body_covariance(problem, state, share)
    ratio = 1.0 if scale.baseline_m is None else scale.baseline_m / float(np.linalg.norm(state.translation[1]))
    translation = ratio * state.translation
    poses = zip(given.cameras, state.rotation, translation, strict=True)
    rig = Rig(tuple(replace(camera, rotation=R.copy(), translation=t.copy()) for camera, R, t in poses))
    J = np.eye(n)
    for c in range(1, C):
        at = slice(6 * c - 3, 6 * c)
        J[at, at] *= ratio
        if scale.baseline_m is not None:
            along = state.translation[1] / np.linalg.norm(state.translation[1])
            J[at, 3:6] -= ratio * np.outer(state.translation[c], along) / np.linalg.norm(state.translation[1])
    shifts = np.zeros(n)
    for c in range(1, C):
        shifts[6 * c - 3 : 6 * c] = translation[c]
    covariance = J @ covariance @ J.T + scale.sigma**2 * np.outer(shifts, shifts)
    residual_px = problem.measure_pixels(state) * problem.sigma_px[..., None]
    lengths = replace(problem.lengths, usual_m=ratio * problem.lengths.usual_m * np.exp(state.log_length))
    return BodySolution(
        rig, problem.views.t_s, ratio * state.points_m, lengths, residual_px, problem.views.seen, exchanged, covariance, scale
    )
