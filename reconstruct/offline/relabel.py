"""Labels of a take decided once more, by the energy of poses that are solved with past and future.

A wrong label draws the pose to itself and then seems right, but such poses are unlikely or jump. So where the energy of a take
is high, its tracks are labelled anew by hypotheses that are followed through these frames (`sweep`). And where a limb comes back
that was hidden together with that of the other side, both are exchanged, which a forward pass cannot always tell. What lowers
the energy of these frames, solved with past and future, is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibration.camera import Rig
from capture.packets import MarkerFrame, Points, Views
from capture.stereo.marker_frames import build_marker_frame
from capture.stereo.matching import match
from config.arrays import Bools, Ints
from config.settings import MatchSettings
from reconstruct.acquire.upright import find_opposite_markers
from reconstruct.offline.forward_filter import HEAD
from reconstruct.offline.labels import assign_labels, build_labelled_frame, compute_track_costs, count_live_votes
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.sweep import LabelSweep
from reconstruct.offline.take import Progress, SolvedTake, TakeSolver
from reconstruct.offline.tracks import PointTracks, join_points

HIGH, MIN_HIGH = 3.0, 3.0  # times the median of a take, and energy of a frame, from which other labels are tried
SMOOTH_S, JOIN_S = 0.15, 1.0  # over which energies are averaged; between places that are one
LEAD_S = 1.0  # that hypotheses are followed before a place and after it
MARGIN_S, CHANGE_S = 0.4, 0.8  # that is solved before and after other labels; how much of a change is
GAIN = 10.0  # energy that other labels must save
UNLABELLED = 3.0  # energy of a point without a label
MAX_EXCHANGED, APART_M = 8, 0.6  # exchanges of both sides that are tried in a take, and how far off the other marker may be


@dataclass(frozen=True, slots=True)
class TakeViews:
    """A take to label: live labels of consecutive frames, the views they were chosen from, and whether to believe them."""

    frames: Sequence[MarkerFrame]
    pairs: Sequence[Views]
    tracked: Bools


def relabel_take(
    views: TakeViews,
    live: SolvedTake,
    solver: TakeSolver,
    rig: Rig,
    settings: MatchSettings,
    progress: Progress = lambda done, total: None,
) -> tuple[list[MarkerFrame], TakeMotion]:
    """Return frames with labels that were decided with past and future, and the motion solved with them on the way.

    Args:
        views: views of all frames.
        live: the take solved with the live labels.
        solver: solver of the take.
        rig: the cameras, in the world.
        settings: settings of matching.
        progress: called with the steps done and all steps.
    """
    search = LabelSearch(views, live, solver, rig, settings)
    places = search.places()
    for k, place in enumerate(places):
        search.sweep(place)
        progress(k + 1, len(places) + 1)
    search.exchange()
    progress(len(places) + 1, len(places) + 1)
    return search.frames(search.label), search.motion


class LabelSearch:
    """Labels of the tracks of a take, improved place by place. label: of every track, (K,); motion: solved with these."""

    def __init__(self, views: TakeViews, live: SolvedTake, solver: TakeSolver, rig: Rig, settings: MatchSettings) -> None:
        self._views, self._solver, self._rig = views, solver, rig
        self.motion, self._energies = live.motion, live.energies
        self._opposite = find_opposite_markers(solver.subject)
        marker_m = solver.markers(live.motion)
        self._points: list[Points] = [
            match(pair, rig, settings, expected) for pair, expected in zip(views.pairs, marker_m, strict=True)
        ]
        self._tracks: PointTracks = join_points(self._points, live.motion.seconds, marker_m)
        self._begin, self._end = self._tracks.spans()
        votes = count_live_votes(self._tracks, views.frames, views.tracked)
        valid = np.array([frame.valid for frame in views.frames]) & views.tracked[:, None]
        self.label = assign_labels(self._tracks, compute_track_costs(self._tracks, marker_m, live.motion.seconds, valid), votes)

    def frames(self, label: Ints) -> list[MarkerFrame]:
        """Return the frames with labels of tracks, (K,)."""
        return [self._frame(n, label) for n in range(len(self._points))]

    def _frame(self, n: int, label: Ints, alone: bool = True) -> MarkerFrame:
        """Return a frame with labels of tracks, (K,); alone: with what live labels say of blobs that one camera alone sees."""
        live, views = self._views.frames[n], self._views.pairs[n]
        choice = self._tracks.choice(n, label, len(live.valid))
        if not alone:
            return build_marker_frame(views, self._points[n], choice)
        return build_labelled_frame(live, views, self._points[n], self._rig, choice)

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

    def sweep(self, place: slice) -> None:
        """Label the tracks that begin about a place anew by hypotheses, and keep these labels if they save energy."""
        about, n = self._around(place.start, place.stop, LEAD_S), len(self.motion)
        first = max(about.start, HEAD)
        sweep = LabelSweep(self._tracks, partial(self._frame, alone=False), self.motion.seconds, self._solver.filter)
        for last in dict.fromkeys((about.stop, n)):  # on to the end where the labels after the place contradict the new ones
            if last <= first:
                return
            found = sweep.run(first, last, self.motion.part(slice(first - HEAD, first)), self.label)
            label = np.where(self._begin < last, found.label, self.label)
            if all(self._agrees(label, m) for m in range(len(self._opposite))):
                break
        changed = np.flatnonzero(label != self.label)
        if len(changed):
            part = self._around(int(self._begin[changed].min()), int(self._end[changed].max()) + 1, MARGIN_S)
            self._try(label, part, self.motion.with_part(slice(first, last), found.motion()), None)

    def exchange(self) -> None:
        """Exchange both sides from where a limb comes back that was hidden together with the other, if that saves energy."""
        marker_m = self._solver.markers(self.motion)
        found = []
        for k in np.flatnonzero((self.label >= 0) & (self._begin > 0)).tolist():
            at, m = int(self._begin[k]) - 1, int(self.label[k])
            shown = self.label[(self._begin <= at) & (self._end >= at)]
            point_m = self._tracks.point_m[np.flatnonzero(self._tracks.track == k)[0]]
            for other in np.flatnonzero(self._opposite[m]).tolist():
                apart_m = float(np.linalg.norm(marker_m[at, other] - point_m))
                if apart_m < APART_M and m not in shown and other not in shown:
                    found.append((apart_m, k, m, other))
        for _, k, m, other in sorted(found)[:MAX_EXCHANGED]:
            label = self._exchanged(k, other, m)
            if self.label[k] == m and self._agrees(label, m, other):
                begin = int(self._begin[k])
                part = self._around(begin, min(begin + self._frames_of(CHANGE_S), len(self.motion)), MARGIN_S)
                self._try(label, part, self.motion, slice(begin, part.stop))

    def _around(self, first: int, last: int, margin_s: float) -> slice:
        """Return the frames from one to another and some before and after."""
        seconds = self.motion.seconds
        begin, end = np.searchsorted(seconds, [seconds[first] - margin_s, seconds[min(last, len(seconds)) - 1] + margin_s])
        return slice(int(begin), int(min(end + 1, len(seconds))))

    def _try(self, label: Ints, part: slice, motion: TakeMotion, anew: slice | None) -> None:
        """Keep other labels if some frames have less energy with them; motion: where to begin; anew: frames of doubtful poses."""
        now = self._energy(self.label, part, self.motion, None)[0]
        energy, solved = self._energy(label, part, motion, anew)
        if energy < now - GAIN:
            self.motion, self.label = motion.with_part(part, solved), label

    def _frames_of(self, seconds: float) -> int:
        """Return how many frames last so long."""
        return round(seconds * len(self.motion) / max(float(np.ptp(self.motion.seconds)), 1e-9))

    def _energy(self, label: Ints, part: slice, motion: TakeMotion, anew: slice | None) -> tuple[float, TakeMotion]:
        """Return the energy of some frames with labels of tracks, (K,), and their poses."""
        shown = {n: self._frame(n, label) for n in range(part.start, part.stop)}
        frames = [shown.get(n, frame) for n, frame in enumerate(self._views.frames)]
        solved = self._solver.solve_part(frames, motion, part, anew)
        points = self._tracks.track[self._tracks.first[part.start] : self._tracks.first[part.stop]]
        return float(solved.energies.sum()) + UNLABELLED * float((label[points] < 0).sum()), solved.motion

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
