"""Guidance of a performer who takes up a T-pose: which marker is missing, what the arms do, stand still, so many seconds more.

Points of one moment are laid on the marker set with level arms, or with arms that hang or slope where that fits better; what
differs from the level ones is what is to be done. A pose that was good for long enough is taken by itself.

The words that guide a performer into a T-pose, as that person sees left and right.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from calibration.guidance.advice import Advice, Requirement
from calibration.subject.constellation import ConstellationPlacement, place_constellation
from calibration.subject.tpose import ARM, AVERTED, GATE_M, SCALES, SLACK_M, build_tpose_model
from config.arrays import Floats
from config.joints import JOINTS
from config.markers import MarkerSet
from config.settings import CAMERA_NAMES
from database.geometry.skeleton import Skeleton

COME_IN = "come into the cameras' view"
NO_TPOSE = "stand in a T-pose: upright, arms level to the sides"
NO_STAND = "stand upright, every marker in view of two cameras"  # no markers on the arms
FACE = "face the cameras"
FACE_FIRST = f"face the {CAMERA_NAMES[0]} and the {CAMERA_NAMES[1]} camera"  # of more than two
HOLD = "hold still"
HELD = "taken, relax"
SIDES = ("left", "right")
MANY = 3
BOTH = "both"


def advise_few(seen: "UnlabelledPoints", n: int, small: bool) -> str:
    """Return the advice where too few markers are seen: of two cameras by one, of more by any two of them.

    Args:
        seen: what is seen.
        n: of so many markers.
        small: whether a body is so small in the pictures that nothing of it is outside, but its markers may be too small.
    """
    n_spots, move = seen.n_spots, "come nearer" if small else "step back"
    if len(n_spots) > 2:
        return f"{move} or turn: two cameras together see {len(seen.point_m)} of {n} markers"
    worst = CAMERA_NAMES[n_spots.index(min(n_spots))]
    who = f"the {worst} camera sees" if min(n_spots) < max(n_spots) else "both cameras see"
    return f"{move} or turn: {who} {min(n_spots)} of {n} markers"


def describe_count(seen: "UnlabelledPoints", n: int) -> str:
    """Return in words how many of n markers are seen."""
    spots = ", ".join(f"{name} camera {count}" for name, count in zip(CAMERA_NAMES, seen.n_spots, strict=False))
    return f"{spots} of {n} markers" if len(seen.n_spots) <= 2 else f"{len(seen.point_m)} of {n} markers by two cameras: {spots}"


def advise_arms(slopes_deg: tuple[float, float], most_deg: float) -> str:
    """Return in words which arm is to be raised or lowered; empty where both are level."""
    low = [side for side, slope in zip(SIDES, slopes_deg, strict=True) if slope < -most_deg]
    high = [side for side, slope in zip(SIDES, slopes_deg, strict=True) if slope > most_deg]
    for word, sides in (("raise", low), ("lower", high)):
        if sides:
            return f"{word} both arms" if len(sides) == 2 else f"{word} the {sides[0]} arm"
    return ""


def advise_forward(forward_deg: tuple[float, float], most_deg: float) -> str:
    """Return in words which arm is to be held farther back or forward; empty where both point sideways."""
    for side, forward in zip(SIDES, forward_deg, strict=True):
        if abs(forward) > most_deg:
            return f"{side} arm straight to the side, not {'forward' if forward > 0.0 else 'back'}"
    return ""


def describe_missing(missing: Sequence[tuple[str, str]], n_cameras: int = 2) -> str:
    """Return in words which markers are missing and who does not see them.

    missing: name of each, and why: the camera that does not see it, `both` for several, or `out of` a camera's picture.
    """
    for side in CAMERA_NAMES[:n_cameras]:
        out = [name for name, why in missing if why == f"out of {side}"]
        if out:
            return f"step back: {_list_names(out)} {'is' if len(out) == 1 else 'are'} outside of the {side} picture"
    names, blind = [name for name, _ in missing], {why for _, why in missing}
    if len(names) > MANY:
        return f"{len(names)} markers are not seen: {_list_names(names)}"
    who = blind.pop() if len(blind) == 1 else BOTH
    if who != BOTH:
        return f"the {who} camera does not see {_list_names(names)}"
    return f"not seen: {_list_names(names)}" if n_cameras <= 2 else f"not seen by two cameras: {_list_names(names)}"


def _list_names(names: Sequence[str]) -> str:
    """List names, not more than can be read at a glance."""
    if len(names) > MANY:
        return f"{', '.join(names[:MANY])} and others"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


SURE_M = 0.055  # a T-pose that fits so well needs no other explanation
FITS_M = 0.1  # of the markers that are seen
ARMS_DEG = (
    (-75.0, -75.0),
    (-75.0, 0.0),
    (0.0, -75.0),
    (-40.0, -40.0),
    (-40.0, 0.0),
    (0.0, -40.0),
    (40.0, 40.0),
    (40.0, 0.0),
    (0.0, 40.0),
)
STEP_DEG = 10.0
LEVEL_DEG, FORWARD_DEG, FACING_DEG = 14.0, 25.0, 40.0
WINDOW_NS, STILL_NS = 800_000_000, 400_000_000
STILL_M, ARMS_STILL_M = 0.015, 0.035  # between the halves of the window, median of the markers
HOLD_NS, SLIP_NS = 3_000_000_000, 300_000_000
FLICKER_NS = 1_000_000_000  # a marker that is seen so often is hidden for moments; the pose is an average, and goes on
PATIENCE_NS = 8_000_000_000  # then it goes on without a marker or two
MAX_MISSING = 3
BODY_M, SMALL = 1.9, 0.5  # a body's height and arm span, and the share of a picture below which there is room to come nearer
NEAR_M = 0.15  # from where a missing marker should be: a spot in one picture is taken for it


@dataclass(frozen=True, slots=True)
class UnlabelledPoints:
    """What the cameras saw at one moment.

    point_m: of what two cameras saw at least, (P, 3); lone_px: spots without a partner, by camera, (S, 2) [px]; n_spots: in each
    picture, with those that have a partner.
    """

    t_ns: int
    point_m: Floats
    lone_px: tuple[Floats, ...]
    n_spots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stance:
    """How somebody stands.

    placement: of the marker set; place_m: of its markers, seen or where they should be, (M, 3); slopes_deg: of the left and right
    arm, above level; forward_deg: how far before the body; turned_deg: away from the first two cameras.
    """

    placement: ConstellationPlacement
    place_m: Floats
    slopes_deg: tuple[float, float]
    forward_deg: tuple[float, float]
    turned_deg: float

    @property
    def labelled(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Which markers are seen, (M,)."""
        return np.asarray(self.placement.point_of_marker >= 0)


class SubjectGuide:
    """The way of a performer to a T-pose; call `add` for every moment, in order.

    since_ns: when the pose began that is being held, or was; None while there is none.
    """

    def __init__(self, rig: Rig, markers: MarkerSet, skeletons: Sequence[Skeleton]) -> None:
        self._rig, self._markers = rig, markers
        self._viewpoint_m = np.mean([camera.center_m for camera in rig.cameras[:2]], axis=0)
        self._models = {(0.0, 0.0): build_tpose_model(markers, skeletons)}
        self._models |= {slopes: build_tpose_model(markers, skeletons, slopes) for slopes in ARMS_DEG}
        arms = [tuple(side + part for part in ARM) for side in SIDES]
        self._arms = tuple(np.array([JOINTS[j] in arm for j in markers.joint]) for arm in arms)
        up, down = (build_tpose_model(markers, skeletons, (d, d)) for d in (STEP_DEG, -STEP_DEG))
        self._rise = (up - down)[:, 1] / (2.0 * STEP_DEG)  # of each marker, metres a degree
        self._wears_arms = bool(np.any(self._arms))
        self._past: deque[tuple[int, Floats]] = deque()
        self._complete_ns = self._good_ns = self._last_ns = 0
        self._seen_ns = np.full(len(markers), -FLICKER_NS)
        self._flickers = False
        self.since_ns: int | None = None
        self.done = False

    def add(self, seen: UnlabelledPoints) -> Advice:
        """Take what the cameras see at one moment; return what to do."""
        t_ns = seen.t_ns
        if not 0 <= t_ns - self._last_ns < WINDOW_NS:
            self._past.clear()
        self._last_ns = t_ns
        stance = self.stance(seen)
        self._flickers = False
        words = self._wrong(seen, stance)
        good = not words
        if good:
            self._good_ns = t_ns
            self.since_ns = t_ns if self.since_ns is None else self.since_ns
        elif self.since_ns is not None and t_ns - self._good_ns > SLIP_NS and not self._flickers:
            self.since_ns = None
        held_ns = 0 if self.since_ns is None else t_ns - self.since_ns
        self.done = self.done or (good and held_ns >= HOLD_NS)
        if good:
            missing = self._names(stance)
            without = f", without {' and '.join(missing)}" if missing else ""
            words = HELD if self.done else f"good{without}: hold it, {max((HOLD_NS - held_ns) * 1e-9, 0.0):.0f} s more"
        return Advice(
            words,
            good,
            self.done,
            self._needs(stance, held_ns),
            describe_count(seen, len(self._markers)),
            self.done,
        )

    def stance(self, seen: UnlabelledPoints) -> Stance | None:
        """Return how somebody stands, None where no pose with the arms aside or hanging fits."""
        if len(seen.point_m) < max(4, len(self._markers) // 2):
            return None
        best = self._placed(seen.point_m, (0.0, 0.0))
        slopes = (0.0, 0.0)
        if (best is None or best.cost_m > SURE_M) and self._wears_arms:
            for other in ARMS_DEG:
                found = self._placed(seen.point_m, other)
                if found is not None and (best is None or found.cost_m < 0.8 * best.cost_m):
                    best, slopes = found, other
        if best is None or self._rms_m(best) > FITS_M:
            return None
        return self._stance(seen.point_m, best, slopes)

    def _placed(self, points: Floats, slopes: tuple[float, float]) -> ConstellationPlacement | None:
        """Place the marker set with arms of some slope on points: the best of the placements, preferring one that faces the
        cameras.
        """
        found = place_constellation(
            points, self._models[slopes], preferred=self._markers.torso, scale_range=SCALES, slack_m=SLACK_M, gate_m=GATE_M
        )
        return min(found, key=lambda p: p.cost_m * (1.0 if self._turned_deg(p) < 90.0 else AVERTED), default=None)

    def _rms_m(self, placement: ConstellationPlacement) -> float:
        """Return how far the markers that are seen are from where they should be; infinite where most are missing."""
        n, missing = len(self._markers), int((placement.point_of_marker < 0).sum())
        if missing > n // 2:
            return float("inf")
        return float(np.sqrt(max(placement.cost_m**2 * n - missing * GATE_M**2, 0.0) / (n - missing)))

    def _turned_deg(self, placement: ConstellationPlacement) -> float:
        """Return by how much a body is turned away from the cameras, about its own upright axis."""
        x, _, z = placement.rotation.T @ (self._viewpoint_m - placement.translation)
        return float(np.degrees(np.abs(np.arctan2(x, z))))

    def _stance(self, points: Floats, placement: ConstellationPlacement, slopes: tuple[float, float]) -> Stance:
        """Return how the arms are held, measured in the body's own frame."""
        model = self._models[slopes]
        taken = placement.point_of_marker
        expected = placement.apply(model)
        place = np.where((taken >= 0)[:, None], points[np.maximum(taken, 0)], expected)
        apart = (place - expected) @ placement.rotation / placement.scale
        above, before = [], []
        for arm, slope in zip(self._arms, slopes, strict=True):
            used, rise = arm & (taken >= 0), np.abs(self._rise)
            weight = max(float((rise[used] ** 2).sum()), 1e-12)
            above.append(slope + (float(rise[used] @ apart[used, 1]) / weight if used.any() else 0.0))
            before.append(float(rise[used] @ apart[used, 2]) / weight if used.any() else 0.0)
        return Stance(placement, place, (above[0], above[1]), (before[0], before[1]), self._turned_deg(placement))

    def _wrong(self, seen: UnlabelledPoints, stance: Stance | None) -> str:
        """Return in words what is to be done, empty where the pose is good."""
        n = len(self._markers)
        if not any(seen.n_spots):
            return COME_IN
        if stance is None:
            no_pose = NO_TPOSE if self._wears_arms else NO_STAND
            n_seen = min(seen.n_spots) if len(seen.n_spots) <= 2 else len(seen.point_m)
            return advise_few(seen, n, self._is_small(seen)) if n_seen < n - MAX_MISSING else no_pose
        still = self._is_still(seen.t_ns, stance)
        if stance.turned_deg > FACING_DEG:
            return FACE if len(self._rig.cameras) <= 2 else FACE_FIRST
        arms = advise_arms(stance.slopes_deg, LEVEL_DEG) or advise_forward(stance.forward_deg, FORWARD_DEG)
        if arms and self._wears_arms:
            return arms
        missing = np.flatnonzero(~stance.labelled)
        self._seen_ns[stance.labelled] = seen.t_ns
        if not len(missing):
            self._complete_ns = seen.t_ns
        self._complete_ns = self._complete_ns or seen.t_ns
        patient = seen.t_ns - self._complete_ns < PATIENCE_NS
        if len(missing) > MAX_MISSING or (len(missing) and patient):
            self._flickers = (
                still and len(missing) <= MAX_MISSING and bool((seen.t_ns - self._seen_ns[missing] < FLICKER_NS).all())
            )
            unseen = [(self._markers.names[m], self._blind(stance.place_m[m], seen)) for m in missing]
            return describe_missing(unseen, len(self._rig.cameras))
        return "" if still else HOLD

    def _is_small(self, seen: UnlabelledPoints) -> bool:
        """Return whether a body where the points are would fill little of every picture; not where none is known."""
        if not len(seen.point_m):
            return False
        middle_m = np.median(seen.point_m, axis=0)
        cameras = self._rig.cameras
        depths_m = [max(float(camera.to_camera(middle_m)[2]), 0.1) for camera in cameras]
        shares = [BODY_M * c.focal_px / (min(c.size) * at_m) for c, at_m in zip(cameras, depths_m, strict=True)]
        return max(shares) < SMALL

    def _blind(self, place_m: Floats, seen: UnlabelledPoints) -> str:
        """Return which camera does not see a marker that should be at a place, as in `describe_missing`.

        It is out of a picture where fewer than two others have it in theirs.
        """
        out, blind = [], []
        for camera, side, lone in zip(self._rig.cameras, CAMERA_NAMES, seen.lone_px, strict=False):
            px = camera.project(place_m)
            depth_m = max(float(camera.to_camera(place_m)[2]), 0.1)
            if not (np.isfinite(px).all() and (px >= 0.0).all() and (px < np.array(camera.size)).all()):
                out.append(side)
            elif not len(lone) or np.linalg.norm(lone - px, axis=1).min() > NEAR_M * camera.focal_px / depth_m:
                blind.append(side)
        if out and len(self._rig.cameras) - len(out) < 2:
            return f"out of {out[0]}"
        return blind[0] if len(blind) == 1 and len(self._rig.cameras) == 2 else BOTH

    def _is_still(self, t_ns: int, stance: Stance) -> bool:
        """Return whether the markers stay where they are; not yet where that is unknown."""
        self._past.append((t_ns, np.where(stance.labelled[:, None], stance.place_m, np.nan)))
        while t_ns - self._past[0][0] > WINDOW_NS:
            self._past.popleft()
        late = [place for at_ns, place in self._past if t_ns - at_ns < STILL_NS]
        early = [place for at_ns, place in self._past if t_ns - at_ns >= STILL_NS]
        if len(early) < 2 or len(late) < 2:
            return False
        moved = np.linalg.norm(_average_places(late) - _average_places(early), axis=1)
        arms = moved[(self._arms[0] | self._arms[1]) & np.isfinite(moved)]
        rest = moved[np.isfinite(moved)]
        return bool(len(rest) and np.median(rest) < STILL_M and (not len(arms) or np.median(arms) < ARMS_STILL_M))

    def _names(self, stance: Stance | None) -> list[str]:
        """Return the names of the markers that are not seen."""
        return [] if stance is None else [self._markers.names[m] for m in np.flatnonzero(~stance.labelled)]

    def _needs(self, stance: Stance | None, held_ns: int) -> tuple[Requirement, ...]:
        """Return what a good T-pose is made of."""
        n = len(self._markers)
        seen = 0 if stance is None else int(stance.labelled.sum())
        worst = 90.0 if stance is None else max(abs(slope) for slope in stance.slopes_deg)
        turned = 180.0 if stance is None else stance.turned_deg
        arms = "" if stance is None else "{:+.0f} and {:+.0f} degrees".format(*(slope + 0.0 for slope in stance.slopes_deg))
        level = Requirement("arms level", 1.0 if worst <= LEVEL_DEG else 1.0 - worst / 90.0, figure=arms)
        return (
            Requirement("markers seen by two cameras", seen / n, figure=f"{seen} of {n}"),
            *([level] if self._wears_arms else []),
            Requirement(
                "facing the cameras",
                1.0 if turned <= FACING_DEG else 1.0 - turned / 180.0,
                figure="" if stance is None else f"{turned:.0f} degrees off",
            ),
            Requirement(
                "held", min(held_ns / HOLD_NS, 1.0), figure=f"{min(held_ns, HOLD_NS) * 1e-9:.1f} of {HOLD_NS * 1e-9:.0f} s"
            ),
        )


def _average_places(places: Sequence[Floats]) -> Floats:
    """Return the mean place of each marker where it was seen, (M, 3), NaN for one that never was."""
    stack = np.stack(places)
    seen = np.isfinite(stack)
    n = seen.sum(axis=0)
    return np.where(n > 0, np.where(seen, stack, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan)
