"""Labels of a take decided once more, by the energy of poses that are solved with past and future.

A wrong label draws the pose to itself and then seems right, but such poses are unlikely or jump. So where the energy of a take
is high, other labels are tried: the tracks there are left out, the frames solved without them, closing their gaps by the motion
on both sides, and labelled anew; and from where a marker comes back, its label and another's are exchanged. What lowers the
energy of these frames is kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from capture.packets import MarkerFrame, PairedBlobs, Points
from capture.stereo.matching import match
from config.arrays import Bools, Floats, Ints
from config.settings import MatchSettings
from reconstruct.labelling.labeller import opposite_markers
from reconstruct.offline.chain import BLOCKS
from reconstruct.offline.labels import NO_LABEL, assigned, labelled_frame, live_votes, track_costs
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.take import Progress, SolvedTake, TakeSolver
from reconstruct.offline.tracks import Tracks, join_points

HIGH, MIN_HIGH = 3.0, 3.0  # times the median of a take, and energy of a frame, from which other labels are tried
SMOOTH_S, JOIN_S = 0.15, 0.3  # over which energies are averaged; between places that are one
MARGIN_S, CHANGE_S = 0.4, 0.6  # that is solved before and after; how much of a change is
GAIN = 50.0  # energy that other labels must save: right ones save hundreds
FIRST = 100.0  # how much live labels count at first, when poses were solved with them
UNLABELLED = 3.0  # energy of a point without a label
MAX_TRIES = 24  # other labels in one place
REACH_M, TORSO_REACH_M = 0.9, 0.25  # a track may be a marker that was not seen before and is this near


@dataclass(frozen=True, slots=True)
class TakeViews:
    """What is to be labelled: live labels of consecutive frames, what they were chosen from, and whether to believe them."""

    frames: Sequence[MarkerFrame]
    pairs: Sequence[PairedBlobs]
    tracked: Bools


def relabelled(
    views: TakeViews,
    live: SolvedTake,
    solver: TakeSolver,
    rig: Rig,
    settings: MatchSettings,
    progress: Progress = lambda done, total: None,
) -> tuple[list[MarkerFrame], TakeMotion]:
    """Return frames with labels that were decided with past and future, and the motion solved with them on the way.

    live: the take solved with the live labels.
    """
    search = LabelSearch(views, live, solver, rig, settings)
    places = search.places()
    for k, place in enumerate(places):
        search.improve(place)
        progress(k + 1, len(places))
    return search.frames(search.label), search.motion


class LabelSearch:
    """Labels of the tracks of a take, improved place by place. label: of every track, (K,); motion: solved with these."""

    def __init__(self, views: TakeViews, live: SolvedTake, solver: TakeSolver, rig: Rig, settings: MatchSettings) -> None:
        self._views, self._solver, self._rig = views, solver, rig
        self.motion, self._energies = live.motion, live.energies
        self._opposite = opposite_markers(solver.subject)
        self._known: dict[tuple[int, int, bytes], float] = {}  # energies of frames with labels
        marker_m = solver.markers(live.motion)
        self._points: list[Points] = [
            match(pair, rig, settings, expected) for pair, expected in zip(views.pairs, marker_m, strict=True)
        ]
        self._tracks: Tracks = join_points(self._points, live.motion.seconds, marker_m)
        self._begin, self._end = self._tracks.spans()
        self._votes = live_votes(self._tracks, views.frames, views.tracked)
        valid = np.array([frame.valid for frame in views.frames]) & views.tracked[:, None]
        self.label = self._assigned(marker_m, valid, np.full(self._tracks.count, NO_LABEL), FIRST)

    def frames(self, label: Ints) -> list[MarkerFrame]:
        """Return the frames with labels of tracks, (K,)."""
        return [self._frame(n, label) for n in range(len(self._points))]

    def _frame(self, n: int, label: Ints) -> MarkerFrame:
        """Return a frame with labels of tracks, (K,)."""
        live, pair = self._views.frames[n], self._views.pairs[n]
        return labelled_frame(live, pair, self._points[n], self._rig, self._tracks.choice(n, label, len(live.valid)))

    def _assigned(self, marker_m: Floats, known: Bools, fixed: Ints, live: float = 1.0) -> Ints:
        """Return the likeliest labels by where poses have the markers.

        known: markers with which these were solved, (N, M); live: how much live labels count.
        """
        costs = track_costs(self._tracks, marker_m, self.motion.seconds, known)
        return assigned(self._tracks, costs, live * self._votes, fixed)

    def places(self) -> list[slice]:
        """Return the frames where the energy is high, in order."""
        seconds = self.motion.seconds
        usual = max(HIGH * float(np.median(self._energies)), MIN_HIGH)
        near = np.abs(seconds[:, None] - seconds) < SMOOTH_S
        high = np.flatnonzero((near * self._energies).sum(axis=1) / near.sum(axis=1) > usual)
        result = list[slice]()
        for n in high.tolist():
            if result and seconds[n] - seconds[result[-1].stop - 1] < JOIN_S:
                result[-1] = slice(result[-1].start, n + 1)
            else:
                result.append(slice(n, n + 1))
        return result

    def improve(self, place: slice) -> None:
        """Try other labels of the tracks that begin or end about a place, and keep those that save energy."""
        about = self._around(place.start, place.stop, MARGIN_S)
        near = np.flatnonzero((self._begin < about.stop) & (self._begin >= about.start))
        hottest = place.start + int(self._energies[place].argmax())
        near = near[np.argsort(np.abs(self._begin[near] - hottest), kind="stable")]
        tried, n_tried, saved = set[bytes](), 0, True
        while saved and n_tried < MAX_TRIES:
            saved = False
            for label, first, last in self._others(near, place, about):
                if label.tobytes() not in tried and n_tried < MAX_TRIES:
                    tried.add(label.tobytes())
                    n_tried += 1
                    if self._try(label, first, last):
                        saved = True
                        break

    def _around(self, first: int, last: int, margin_s: float) -> slice:
        """Return the frames from one to another and some before and after."""
        seconds = self.motion.seconds
        begin, end = np.searchsorted(seconds, [seconds[first] - margin_s, seconds[min(last, len(seconds)) - 1] + margin_s])
        return slice(int(begin), int(min(end + 1, len(seconds))))

    def _try(self, label: Ints, first: int, last: int) -> bool:
        """Keep other labels if the frames about those that they change have less energy with them; return whether they have."""
        part = self._around(first, min(last, first + self._frames_of(CHANGE_S)), MARGIN_S)
        now = (part.start, part.stop, self.label.tobytes())
        if now not in self._known:
            self._known[now], kept = self._energy(self.label, part, None)
            self.motion = self.motion.with_part(part, kept)
        energy, other = self._energy(label, part, slice(first, part.stop))
        if energy >= self._known[now] - GAIN:
            return False
        self.motion, self.label = self.motion.with_part(part, other), label
        return True

    def _frames_of(self, seconds: float) -> int:
        """Return how many frames last so long."""
        return round(seconds * len(self.motion) / max(float(np.ptp(self.motion.seconds)), 1e-9))

    def _energy(self, label: Ints, part: slice, anew: slice | None) -> tuple[float, TakeMotion]:
        """Return the energy of some frames with labels of tracks, (K,), and their poses; anew: frames of doubtful poses."""
        shown = {n: self._frame(n, label) for n in range(max(part.start - BLOCKS, 0), part.stop)}
        frames = [shown.get(n, frame) for n, frame in enumerate(self._views.frames)]
        solved = self._solver.solve_part(frames, self.motion, part, anew)
        points = self._tracks.track[self._tracks.first[part.start] : self._tracks.first[part.stop]]
        return float(solved.energies.sum()) + UNLABELLED * float((label[points] < 0).sum()), solved.motion

    def _others(self, near: Ints, place: slice, about: slice) -> Iterator[tuple[Ints, int, int]]:
        """Return other labels, each with the first and the last frame they change.

        Of all tracks together, as the motion tells them; of single ones; and of all from one on, left and right exchanged.
        """
        yield self._without(near, about), place.start, place.stop
        marker_m = self._solver.markers(self.motion)
        for k in near.tolist():
            for m in self._may_be(k, marker_m):
                if self._agrees(label := self._alone(k, m), m):
                    yield label, int(self._begin[k]), int(self._end[k]) + 1
                for other in self._known_as(k):
                    if self._opposite[m, other] and self._agrees(label := self._exchanged(k, m, other), m, other):
                        yield label, int(self._begin[k]), len(self.motion)

    def _may_be(self, k: int, marker_m: Floats) -> list[int]:
        """Return which other markers a track may be: not seen before it begins, and near to where it does."""
        at = int(self._begin[k])
        here = self._tracks.of_frame(at)
        point_m = self._tracks.point_m[here][self._tracks.track[here] == k][0]
        off_m = np.linalg.norm(marker_m[at] - point_m, axis=1)
        may = off_m < np.where(self._solver.subject.markers.torso, TORSO_REACH_M, REACH_M)
        shown = self.label[(self._begin < at) & (self._end >= at)]
        may[shown[shown >= 0]] = False
        return [int(m) for m in np.flatnonzero(may) if m != self.label[k]]

    def _known_as(self, k: int) -> list[int]:
        """Return the label of a track, or those it had live where it has none."""
        return [int(self.label[k])] if self.label[k] >= 0 else [int(m) for m in np.flatnonzero(self._votes[k])]

    def _alone(self, k: int, marker: int) -> Ints:
        """Return labels in which one track has another."""
        label = self.label.copy()
        label[k] = marker
        return label

    def _exchanged(self, k: int, marker: int, other: int) -> Ints:
        """Return labels in which a track is a marker, and two are exchanged from it on."""
        label, later = self.label.copy(), self._begin >= self._begin[k]
        label[later & (self.label == other)] = marker
        label[later & (self.label == marker)] = other
        label[k] = marker
        return label

    def _agrees(self, label: Ints, *markers: int) -> bool:
        """Return whether no two tracks of one moment have the label of the same of some markers."""
        for marker in markers:
            own = np.flatnonzero(label == marker)
            own = own[np.argsort(self._begin[own], kind="stable")]
            if (self._begin[own[1:]] <= self._end[own[:-1]]).any():
                return False
        return True

    def _without(self, tracks: Ints, part: slice) -> Ints:
        """Return the labels that the motion on both sides tells of some tracks, solved without them."""
        sure = self.label.copy()
        sure[tracks] = NO_LABEL
        motion = self.motion.with_part(part, self._energy(sure, part, part)[1])
        known = np.array([self._frame(n, sure).valid for n in range(len(self._points))])
        return self._assigned(self._solver.markers(motion), known, sure)
