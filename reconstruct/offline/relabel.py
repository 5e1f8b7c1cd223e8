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
from reconstruct.offline.labels import NO_LABEL, assigned, labelled_frame, live_votes, track_costs
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.take import Progress, SolvedTake, TakeSolver
from reconstruct.offline.tracks import Tracks, join_points

HIGH, MIN_HIGH = 3.0, 3.0  # times the median of a take, and energy of a frame, from which other labels are tried
SMOOTH_S, MARGIN_S, AFTER_S = 0.15, 0.4, 0.6  # over which energies are averaged; what is solved before and after such frames
GAIN = 10.0  # energy that other labels must save
MAX_CHANGES = 6  # of labels in one place
REACH_M = 0.5  # a track may be a marker that is this near to it


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
        marker_m = solver.markers(live.motion)
        self._points: list[Points] = [
            match(pair, rig, settings, expected) for pair, expected in zip(views.pairs, marker_m, strict=True)
        ]
        self._tracks: Tracks = join_points(self._points, live.motion.seconds, marker_m)
        self._begin, self._end = self._tracks.spans()
        self._votes = live_votes(self._tracks, views.frames, views.tracked)
        valid = np.array([frame.valid for frame in views.frames]) & views.tracked[:, None]
        self.label = self._assigned(marker_m, valid, np.full(self._tracks.count, NO_LABEL))

    def frames(self, label: Ints) -> list[MarkerFrame]:
        """Return the frames with labels of tracks, (K,)."""
        return [self._frame(n, label) for n in range(len(self._points))]

    def _frame(self, n: int, label: Ints) -> MarkerFrame:
        """Return a frame with labels of tracks, (K,)."""
        live, pair = self._views.frames[n], self._views.pairs[n]
        return labelled_frame(live, pair, self._points[n], self._rig, self._tracks.choice(n, label, len(live.valid)))

    def _assigned(self, marker_m: Floats, known: Bools, fixed: Ints) -> Ints:
        """Return the likeliest labels by where poses have the markers; known: with which these were solved, (N, M)."""
        costs = track_costs(self._tracks, marker_m, self.motion.seconds, known)
        return assigned(self._tracks, costs, self._votes, fixed)

    def places(self) -> list[slice]:
        """Return where the energy is high, with some frames before and after, in order."""
        seconds = self.motion.seconds
        usual = max(HIGH * float(np.median(self._energies)), MIN_HIGH)
        near = np.abs(seconds[:, None] - seconds) < SMOOTH_S
        high = np.flatnonzero((near * self._energies).sum(axis=1) / near.sum(axis=1) > usual)
        result = list[slice]()
        for n in high:
            first, last = np.searchsorted(seconds, [seconds[n] - MARGIN_S, seconds[n] + AFTER_S])
            if result and first < result[-1].stop:
                result[-1] = slice(result[-1].start, int(last))
            else:
                result.append(slice(int(first), int(last)))
        return result

    def improve(self, place: slice) -> None:
        """Try other labels in one place until none saves energy."""
        tried = set[bytes]()
        energy, part = self._energy(self.label, place, None)
        self.motion = self.motion.with_part(place, part)
        for _ in range(MAX_CHANGES):
            best = energy - GAIN
            for label, anew in self._others(place):
                if label.tobytes() in tried:
                    continue
                tried.add(label.tobytes())
                found, solved = self._energy(label, place, anew)
                if found < best:
                    best, changed, part = found, label, solved
            if best == energy - GAIN:
                return
            energy, self.label = best, changed
            self.motion = self.motion.with_part(place, part)

    def _energy(self, label: Ints, place: slice, anew: slice | None) -> tuple[float, TakeMotion]:
        """Return the energy of some frames with labels of tracks, (K,), and their poses; anew: frames of doubtful poses."""
        shown = [self._frame(n, label) if place.start - 3 <= n < place.stop else f for n, f in enumerate(self._views.frames)]
        solved = self._solver.solve_part(shown, self.motion, place, anew)
        return float(solved.energies.sum()), solved.motion

    def _others(self, place: slice) -> Iterator[tuple[Ints, slice]]:
        """Return other labels of the tracks that begin in a place, with the frames they change."""
        inside = np.flatnonzero((self._begin >= place.start) & (self._begin < place.stop))
        yield self._without(inside, place), place
        marker_m = self._solver.markers(self.motion)
        for k in inside[np.argsort(self._begin[inside], kind="stable")]:
            at = int(self._begin[k])
            point_m = self._tracks.point_m[(self._tracks.track == k) & (self._tracks.frame == at)][0]
            near = np.flatnonzero(np.linalg.norm(marker_m[at] - point_m, axis=1) < REACH_M)
            for m in near:
                other = self._exchanged(int(k), int(m))
                if other is not None:
                    yield other, slice(at, place.stop)

    def _exchanged(self, k: int, marker: int) -> Ints | None:
        """Return labels in which a track and all later ones have two labels exchanged; None where that cannot be."""
        own, at = int(self.label[k]), self._begin[k]
        if own == marker or (own < 0 and (self._now(at) == marker).any()):
            return None
        later = self._begin >= at
        if ((self.label == marker) & ~later & (self._end >= at)).any() or (
            (self.label == own) & ~later & (self._end >= at)
        ).any():
            return None
        label = self.label.copy()
        if own < 0:
            label[k] = marker
            return label
        label[later & (self.label == own)] = marker
        label[later & (self.label == marker)] = own
        return label

    def _now(self, n: int) -> Ints:
        """Return the labels in use in a frame."""
        return np.asarray(self.label[(self._begin <= n) & (self._end >= n)])

    def _without(self, tracks: Ints, place: slice) -> Ints:
        """Return the labels that the motion on both sides tells of some tracks, solved without them."""
        sure = self.label.copy()
        sure[tracks] = NO_LABEL
        _, part = self._energy(sure, place, place)
        motion = self.motion.with_part(place, part)
        known = np.array([self._frame(n, sure).valid for n in range(len(self._points))])
        return self._assigned(self._solver.markers(motion), known, sure)
