"""Tracking as a state machine: what is known of the performer from frame to frame.

Two poses are remembered. The *followed* one is the last that was solved: the next frame is labelled by it. The *published* one is
the last that was plausible: it is sent out again while there is no better.

| phase     | followed          | published                    | next frame is labelled by                |
|-----------|-------------------|------------------------------|------------------------------------------|
| SEARCHING | none              | none, or longer ago          | acquisition                              |
| TRACKING  | of this frame     | of this frame                | the followed pose                        |
| COASTING  | this or earlier   | at most `coast_seconds` ago  | the followed pose, if no better is found |
| LOST      | this or earlier   | longer ago                   | the followed pose, if no better is found |

| event      | a pose was                          | leads to                                                            |
|------------|-------------------------------------|---------------------------------------------------------------------|
| `follow`   | solved                              | one of the next two, in the same frame                              |
| `publish`  | solved and plausible                | TRACKING                                                            |
| `doubt`    | of labels not to be trusted, or few | COASTING; the pose is published                                     |
| `withhold` | solved but not plausible            | COASTING, then LOST; SEARCHING from LOST on if the root went astray |
| `miss`     | not solved                          | COASTING, then LOST; SEARCHING once the followed pose is too old    |
| `reset`    | -                                   | SEARCHING, as at the start                                          |
"""

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from config.arrays import Floats
from database.geometry.rigid import RigidMotion
from reconstruct.history import BodyState
from reconstruct.pose import TrackingState

MAX_GAP_S = 0.12  # after a longer gap markers are no longer labelled by the followed pose alone: a limb has moved too far,
USUAL_GAPS, MAX_USUAL_S = 1.5, 0.21  # unless that is the usual time between frames, up to this
N_STEPS = 5  # the last times between frames, of which the median is the usual one
TORSO_GAP_S = 0.5  # without torso markers for so long, the other markers still tell where the body is
HOLDS, SCANT_S = 3, 5.0  # markers that hold a followed pose in place for any time; one or two do so for this long
POOR_FRAMES = 5  # rays may fit badly in so many frames in a row before other labels are sought


class Phase(Enum):
    """Where tracking stands."""

    SEARCHING = TrackingState.LOST, "searching"
    TRACKING = TrackingState.TRACKING, "tracking"
    COASTING = TrackingState.COASTING, "coasting"
    LOST = TrackingState.LOST, "lost"

    @property
    def published(self) -> TrackingState:
        """The state that is published with a pose."""
        return self.value[0]


@dataclass(frozen=True, slots=True)
class Followed:
    """The last solved pose: when it was, and the deviation of its markers, (M,) [m], where a pose model was joined, else None."""

    t_ns: int
    marker_sigma_m: Floats | None


@dataclass(frozen=True, slots=True)
class Published:
    """The last plausible pose, and when it was."""

    state: BodyState
    t_ns: int


class Tracker:
    """The state machine; events come in the order of the module's tables, times from the frames.

    poor_frames: frames in a row whose rays fit badly.
    """

    def __init__(self, coast_seconds: float) -> None:
        self._coast_ns = round(coast_seconds * 1e9)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.phase = Phase.SEARCHING
        self.followed: Followed | None = None
        self.published: Published | None = None
        self.poor_frames = 0
        self._began_ns: list[int] = []
        self._torso_ns: int | None = None
        self._tracked_ns: int | None = None
        self._searching_ns: int | None = None

    def begin(self, t_ns: int) -> None:
        """Note that a frame has come."""
        self._began_ns = [*self._began_ns[-N_STEPS:], t_ns]

    def follow(self, t_ns: int, marker_sigma_m: Floats | None, torso_seen: bool, poor_rays: bool) -> None:
        """Follow a pose that was solved."""
        self.followed = Followed(t_ns, marker_sigma_m)
        self.poor_frames = self.poor_frames + 1 if poor_rays else 0
        self._searching_ns = None
        if torso_seen:
            self._torso_ns = t_ns

    def publish(self, state: BodyState, t_ns: int) -> None:
        """Publish the followed pose, or the one in its place of a solver that sees less."""
        self.phase, self.published, self._tracked_ns = Phase.TRACKING, Published(state, t_ns), t_ns

    def doubt(self, state: BodyState, t_ns: int) -> None:
        """Publish the followed pose, though its labels or so few markers are not to be trusted: it is the best there is."""
        self.phase, self.published = Phase.COASTING, Published(state, t_ns)

    def withhold(self, t_ns: int, astray: bool) -> None:
        """Publish the last plausible pose again, for a followed one that is not; astray: its root went where no body can."""
        self.phase = self._aged(None if self.published is None else self.published.t_ns, t_ns)
        if self.phase is Phase.LOST and astray:
            self._give_up()

    def miss(self, t_ns: int) -> None:
        """Publish the last plausible pose again, as this frame has none."""
        self.phase = self._aged(None if self.published is None else self.published.t_ns, t_ns)
        if self._aged(None if self.followed is None else self.followed.t_ns, t_ns) is Phase.LOST:
            self._give_up()

    def move(self, motion: RigidMotion) -> None:
        """Have the published pose in a world that is moved."""
        if self.published is not None:
            self.published = Published(self.published.state.moved(motion), self.published.t_ns)

    def retry(self) -> None:
        """Note that other labels were sought for rays that fit badly: again the frame after next."""
        self.poor_frames -= 2

    @property
    def rays_are_poor(self) -> bool:
        """Whether rays have fitted badly for too long."""
        return self.poor_frames >= POOR_FRAMES

    def interrupted(self, t_ns: int) -> bool:
        """Return whether the followed pose is too old to label by alone."""
        steps_s = sorted(1e-9 * (later - earlier) for earlier, later in pairwise(self._began_ns))
        usual_s = min(steps_s[len(steps_s) // 2], MAX_USUAL_S) if steps_s else 0.0
        return self.followed is not None and (t_ns - self.followed.t_ns) * 1e-9 > max(MAX_GAP_S, USUAL_GAPS * usual_s)

    def torso_is_recent(self, t_ns: int) -> bool:
        """Return whether the torso was seen a short time ago."""
        return self._torso_ns is not None and (t_ns - self._torso_ns) * 1e-9 <= TORSO_GAP_S

    def untracked_s(self, t_ns: int) -> float:
        """Return how long ago the last pose was that was tracked [s], infinite without one."""
        return np.inf if self._tracked_ns is None else (t_ns - self._tracked_ns) * 1e-9

    def holds(self, n_markers: int, t_ns: int) -> bool:
        """Return whether so few markers still tell how the followed pose goes on."""
        return self.followed is not None and n_markers > 0 and (n_markers >= HOLDS or self.untracked_s(t_ns) <= SCANT_S)

    def searching_s(self, t_ns: int) -> float:
        """Return for how long the performer has been sought [s], from the first time this is asked."""
        if self._searching_ns is None:
            self._searching_ns = t_ns
        return (t_ns - self._searching_ns) * 1e-9

    def _aged(self, since_ns: int | None, t_ns: int) -> Phase:
        """Return the phase of a pose that was last good at a time, None: never."""
        return Phase.LOST if since_ns is None or t_ns - since_ns > self._coast_ns else Phase.COASTING

    def _give_up(self) -> None:
        """Follow no pose any more."""
        self.phase, self.followed = Phase.SEARCHING, None
