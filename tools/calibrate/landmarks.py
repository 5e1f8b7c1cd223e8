"""The T-pose of landmarks: triangulated by name and averaged over the seconds that somebody stands, in any of the poses."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibration.camera import Rig
from calibration.subject.constellation import assign_points
from calibration.subject.fit import BodyPrior, TPose, fit_body
from calibration.subject.tpose import select_marker_subset
from capture.packets import MarkerFrame, Views
from capture.stereo.marker_frames import build_marker_frame
from capture.stereo.matching import add_rig_error, match
from config.arrays import Floats
from config.errors import CalibrationError
from config.joints import JOINTS
from config.landmarks import Exchange
from config.markers import MarkerSet
from config.settings import Settings
from database.geometry.skeleton import Skeleton
from reconstruct.observations import triangulate_landmarks
from reconstruct.track.association import Sighting
from reconstruct.track.landmarks import place_landmarks

MIN_FRAMES = 5
STAND_M = 3.0  # in front of the cameras, before anything is known
HELD = 0.2  # share of the frames in which a landmark must be seen by two cameras
STATURE_M, TALL = 1.7, 0.25  # of somebody, and the share of a picture's height that the networks need of him
REACH_M = 1.5  # from the middle of a trunk to the tips of a tall person's fingers or toes, and half as much again
WORN_M = 0.15  # from where the body that the landmarks show should wear a marker


def average_landmark_tpose(
    pairs: Sequence[Views], rig: Rig, markers: MarkerSet, skeletons: Sequence[Skeleton], settings: Settings
) -> TPose:
    """Average the landmarks, and the markers that are worn near where they show the body, over one take.

    Errors of a landmark last while somebody stands still: the average is no surer than one picture. A body that turns its back
    to the cameras is taken for one whose left and right are exchanged.

    Args:
        pairs: views of the pose, by moment.
        rig: the cameras.
        markers: with landmarks.
        skeletons: of other people.
        settings: of the run.
    Raises: CalibrationError: too few landmarks in two views.
    """
    ahead_m = rig.middle_m + STAND_M * rig.ahead
    whole = _average(pairs, rig, markers, Exchange.NOTHING, ahead_m, np.inf, settings)
    # How exact a landmark is in pixels follows from the distance, which is known only now; so is what cannot be of the body.
    here_m = np.median(whole.point_m[whole.valid & markers.torso], axis=0)
    state = Exchange.NOTHING if _compute_facing(whole, markers) @ (rig.middle_m - here_m) >= 0.0 else Exchange.BODY
    whole = _average(pairs, rig, markers, state, here_m, REACH_M, settings)
    whole = replace(whole, slope_deg=_measure_slope_deg(whole, markers))
    return _add_worn(whole, pairs, rig, markers, skeletons, settings) if markers.worn.any() else whole


def _average(
    pairs: Sequence[Views], rig: Rig, markers: MarkerSet, state: Exchange, here_m: Floats, reach_m: float, settings: Settings
) -> TPose:
    """Return the T-pose of the landmarks alone. Raises CalibrationError.

    Args:
        pairs: views of the pose, by moment.
        rig: the cameras.
        markers: with landmarks.
        state: what all views have exchanged.
        here_m: about where the middle of the trunk is, (3,) [m].
        reach_m: from there a landmark may be at most [m].
        settings: of the run.
    """
    landmark, states, nothing = ~markers.worn, np.full(len(rig), state, np.int64), np.full(markers.worn.sum(), -1)
    at_m = np.tile(here_m, (len(markers), 1))
    frames = list[MarkerFrame]()
    for pair in pairs:
        empty = build_marker_frame(pair, match(pair, rig, settings.match, None), nothing)
        frame = place_landmarks(empty, Sighting(pair, rig, markers, settings.label), at_m, states)
        frames.append(triangulate_landmarks(frame, rig, landmark))
    point = np.array([frame.point_m for frame in frames]).reshape(len(frames), len(markers), 3)
    seen = np.array([frame.valid for frame in frames]).reshape(len(frames), len(markers))
    seen &= np.linalg.norm(point - here_m, axis=2) < reach_m
    held = seen.sum(axis=0) >= max(MIN_FRAMES, HELD * len(frames))
    if np.count_nonzero(held & markers.torso & landmark) < 3:
        raise CalibrationError(
            f"no body found: in {len(frames)} frames two cameras agree on {held.sum()} of {landmark.sum()} landmarks, and "
            f"shoulders and hips are needed; {_describe_size(pairs, rig, markers)}; choose seconds in which the performer faces "
            "both cameras, whole in both pictures"
        )
    point_m, scatter_m, covariance = np.zeros((len(markers), 3)), np.zeros(len(markers)), np.zeros((len(markers), 3, 3))
    for m in np.flatnonzero(held):
        points = point[seen[:, m], m]
        point_m[m] = np.median(points, axis=0)
        scatter_m[m] = 1.4826 * np.median(np.linalg.norm(points - point_m[m], axis=1))
        covariance[m] = np.median([frames[f].covariance_m2[m] for f in np.flatnonzero(seen[:, m])], axis=0)
    return TPose(point_m, held, covariance, scatter_m, len(frames))


def _describe_size(pairs: Sequence[Views], rig: Rig, markers: MarkerSet) -> str:
    """Return how tall the body is in the picture that shows it smallest, and how near it has to be to be tall enough.

    Args:
        pairs: views of the pose, by moment.
        rig: the cameras.
        markers: with landmarks.
    """
    rows, found = markers.landmark[~markers.worn], list[tuple[float, str]]()
    for c, camera in enumerate(rig.cameras):
        shown = [views.blobs[c] for views in pairs]
        tall_px = [
            float(np.ptp(blobs.landmarks.image_px[rows, 1]))
            for blobs in shown
            if blobs is not None and blobs.landmarks is not None
        ]
        if len(tall_px) < MIN_FRAMES:
            found.append((0.0, f"{camera.title} shows nobody in {len(shown) - len(tall_px)} of {len(shown)} frames"))
        else:
            share = float(np.median(tall_px)) / camera.size[1]
            found.append((share, f"in {camera.title} the body is {np.median(tall_px):.0f} of {camera.size[1]} px tall"))
    near_m = min(camera.focal_px * STATURE_M / (TALL * camera.size[1]) for camera in rig.cameras)
    share, text = min(found)
    return text if share > TALL else f"{text}: a quarter of the picture's height is needed, so come nearer than {near_m:.1f} m"


def _compute_facing(tpose: TPose, markers: MarkerSet) -> Floats:
    """Return where the body looks: across from right to left and up from hips to shoulders, turned by the right hand, (3,)."""
    torso = tpose.valid & markers.torso & ~markers.worn
    left = np.array([JOINTS[joint].startswith("left") for joint in markers.joint])
    upper = np.array([JOINTS[joint].endswith("UpperArm") for joint in markers.joint])
    across = tpose.point_m[torso & left].mean(axis=0) - tpose.point_m[torso & ~left].mean(axis=0)
    up = tpose.point_m[torso & upper].mean(axis=0) - tpose.point_m[torso & ~upper].mean(axis=0)
    return np.cross(across, up)


def _measure_slope_deg(tpose: TPose, markers: MarkerSet) -> float:
    """Return by how much both arms point above level, across the trunk, 0 where they are not seen."""
    names, slopes = [JOINTS[joint] if not worn else "" for joint, worn in zip(markers.joint, markers.worn, strict=True)], []
    ends_m = {}
    for part in ("UpperArm", "LowerArm", "UpperLeg"):
        at = [names.index(side + part) for side in ("left", "right")]
        if not tpose.valid[at].all():
            return 0.0
        ends_m[part] = tpose.point_m[at]
    trunk = (ends_m["UpperArm"] - ends_m["UpperLeg"]).mean(axis=0)
    for arm in ends_m["LowerArm"] - ends_m["UpperArm"]:
        sine = arm @ trunk / max(float(np.linalg.norm(arm) * np.linalg.norm(trunk)), 1e-9)
        slopes.append(np.degrees(np.arcsin(np.clip(sine, -1.0, 1.0))))
    return float(np.mean(slopes))


def _add_worn(
    tpose: TPose, pairs: Sequence[Views], rig: Rig, markers: MarkerSet, skeletons: Sequence[Skeleton], settings: Settings
) -> TPose:
    """Return a T-pose with the markers that are worn: the points nearest to where the body of the landmarks has them."""
    rows, worn = np.flatnonzero(~markers.worn), np.flatnonzero(markers.worn)
    by_name = {name: getattr(tpose, name)[rows] for name in ("point_m", "valid", "covariance_m2", "scatter_m")}
    G, p = fit_body("", select_marker_subset(markers, rows), [replace(tpose, **by_name)], BodyPrior(skeletons)).pose
    joint = markers.joint[worn]
    due_m = p[joint] + np.einsum("mij,mj->mi", G[joint], markers.offset_m[worn])
    found = np.full((len(pairs), len(worn), 3), np.nan)
    spread = np.zeros((len(worn), 3, 3))
    for f, pair in enumerate(pairs):
        points = match(add_rig_error(pair, settings.match.rig_sigma_px), rig, settings.match, None)
        choice = assign_points(points.point_m, due_m, WORN_M)
        found[f, choice >= 0], spread[choice >= 0] = (
            points.point_m[choice[choice >= 0]],
            points.covariance_m2[choice[choice >= 0]],
        )
    held = np.isfinite(found[:, :, 0]).sum(axis=0) >= max(MIN_FRAMES, HELD * len(pairs))
    parts = {name: getattr(tpose, name).copy() for name in by_name}
    for k in np.flatnonzero(held):
        middle = np.nanmedian(found[:, k], axis=0)
        parts["point_m"][worn[k]], parts["valid"][worn[k]], parts["covariance_m2"][worn[k]] = middle, True, spread[k]
        parts["scatter_m"][worn[k]] = np.nanmedian(np.linalg.norm(found[:, k] - middle, axis=1))
    return replace(tpose, **parts)
