"""Labels of a file that has none: found at a few moments, then followed from the best of them to both ends of the take."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from calibration.subject.labelled import LabelledTake
from calibration.subject.model import learn_skeleton_space, make_fixed_space, skeleton_from_vectors
from calibration.subject.poses import fit_poses_to_markers
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.optical import LEAST_MARKERS
from database.store import PoseDatabase
from reconstruct.offline.forward_filter import HEAD, FilterState, TakeFilter
from reconstruct.offline.labels import NO_LABEL
from reconstruct.offline.motion import build_take_motion
from reconstruct.offline.points import RIG, make_marker_frame
from reconstruct.offline.take import TakeSolver
from reconstruct.offline.tracks import PointTracks
from reconstruct.search.index import load_search_index
from tools.progress import ProgressState
from tools.solve.acquire import Acquired, FoundLabels, adjust_together
from tools.solve.tracks import ColumnTracks, sample_tracks

N_MOMENTS = 8  # in which labels are sought
ALIKE = 2.0  # times the least cost, up to which a moment helps to find the body
UNLIKELY = 40.0  # cost by points beyond which no person was found; of people it is 3 to 15
OFFSET_SIGMA_M = 0.02  # of markers that one moment tells
MARKER_SIGMA_M, WRONG_M = 0.015, 0.12  # of a marker's expected place; farther off a track is no longer what it was
GATE2 = 25.0  # squared sigmas beyond which a track is no marker


def find_labels(take: LabelledTake, tracks: ColumnTracks, rows: Ints, database: PoseDatabase, progress: ProgressState) -> Ints:
    """Return the marker of every track, (K,), -1 for none. Raises FileFormatError: no person is found.

    Args:
        take: the points, y up.
        tracks: of the file.
        rows: frames that are followed.
        database: motions.
        progress: called with the frames followed and all.
    """
    sampled, number = sample_tracks(take.points, tracks, rows)
    space = learn_skeleton_space(database.skeletons)
    acquisition, moments = FoundLabels(take.worn, space, database), choose_moments(sampled, len(rows))
    found = _acquire(acquisition, sampled, moments, progress)
    order = sorted(found, key=lambda n: found[n].cost)
    if not order or found[order[0]].cost > UNLIKELY:
        raise FileFormatError(f"{take.points.file}: no person is found in the points; are the markers worn named by --markers?")
    best = found[order[0]]
    # The body of the likeliest moment tells the others' labels better than one of the mean size does.
    skeleton, offset_m = space.skeleton(best.adjusted.state.y), best.adjusted.state.offset_m
    own = replace(take.worn, offset_m=offset_m, sigma_m=np.full(len(offset_m), OFFSET_SIGMA_M))
    again = _acquire(FoundLabels(own, make_fixed_space(skeleton), database), sampled, order[1:], progress)
    alike = [each for each in again.values() if each.cost < ALIKE * best.cost]
    adjusted = adjust_together([best, *alike], take.worn, space)
    skeleton = skeleton_from_vectors(space.vectors(adjusted.state.y)[0], take.points.file.stem)
    nothing = np.zeros(len(take.worn.names))
    subject = Subject(take.points.file.stem, skeleton, take.worn.marker_set(), adjusted.state.offset_m.copy(), nothing)
    follower = LabelFollower(subject, database, rows / take.points.fps, sampled)
    label = follower.run(order[0], best, progress)
    result = np.full(tracks.count, NO_LABEL)
    result[number] = label
    return result


def _acquire(
    acquisition: FoundLabels, sampled: PointTracks, moments: Sequence[int], progress: ProgressState
) -> dict[int, Acquired]:
    """Return the labels of some frames, by frame."""
    found = {}
    for k, n in enumerate(moments):
        found[n] = acquisition.find(sampled.point_m[sampled.of_frame(n)])
        progress(k + 1, len(moments), "labels")
    return found


def choose_moments(sampled: PointTracks, n_frames: int) -> list[int]:
    """Return frames spread over the take, of each part that with most points. None where no frame shows enough."""
    shown = np.diff(sampled.first)
    parts = np.array_split(np.arange(n_frames), min(N_MOMENTS, n_frames))
    chosen = [int(part[shown[part].argmax()]) for part in parts]
    return [n for n in chosen if shown[n] >= LEAST_MARKERS]


class LabelFollower:
    """Labels tracks one after the other: those that begin are what the body, followed so far, has where they are."""

    def __init__(self, subject: Subject, database: PoseDatabase, seconds: Floats, tracks: PointTracks) -> None:
        self._subject, self._seconds, self._tracks = subject, seconds, tracks
        self._index = load_search_index(subject, database)
        self._filter: TakeFilter = TakeSolver(subject, self._index, RIG).filter

    def run(self, moment: int, acquired: Acquired, progress: ProgressState) -> Ints:
        """Return the label of each track, followed from a moment to both ends of the take."""
        label = np.full(self._tracks.count, NO_LABEL)
        label[self._tracks.track[self._tracks.of_frame(moment)]] = acquired.marker
        n = len(self._seconds)
        ahead, back = np.arange(moment, n), np.arange(moment, -1, -1)
        for way in (ahead, back):
            if len(way) > HEAD:
                self._follow(way, label, lambda done, total: progress(done, total, "labels"))
        return label

    def _follow(self, way: Ints, label: Ints, progress: Callable[[int, int], None]) -> None:
        """Label the tracks along some frames, forwards or backwards, in place."""
        seconds = np.abs(self._seconds[way] - self._seconds[way[0]])
        state = self._begin(way[:HEAD], seconds[:HEAD], label)
        for k in range(HEAD, len(way)):
            n, at = int(way[k]), seconds[k : k + 1]
            expected_m, covariance_m2, _ = self._advance(state, [self._frame(n, label)], at)
            here = self._tracks.of_frame(n)
            self._drop_wrong(here, label, expected_m)
            self._label_new(here, label, expected_m, covariance_m2)
            *_, state = self._advance(state, [self._frame(n, label)], at)
            progress(k, len(way))

    def _advance(self, state: FilterState, frames: Sequence[MarkerFrame], at_s: Floats) -> tuple[Floats, Floats, FilterState]:
        """Return where the markers are expected after a frame, how surely, and the state."""
        after, _ = self._filter.advance(state, frames, at_s)
        marker_m, covariance_m2 = self._filter.expected(after)
        return marker_m, covariance_m2, after

    def _begin(self, rows: Ints, seconds: Floats, label: Ints) -> FilterState:
        """Return the state after the first frames."""
        frames = [self._frame(int(n), label) for n in rows]
        point_m, valid = np.stack([f.point_m for f in frames]), np.stack([f.valid for f in frames])
        found = fit_poses_to_markers(self._subject, point_m, valid)
        return self._filter.begin(frames, build_take_motion(seconds, found.rotvec, found.root_m, self._index.examples.fps))

    def _frame(self, n: int, label: Ints) -> MarkerFrame:
        """Return a frame with the labels of its tracks."""
        count = len(self._subject.markers)
        at, valid = np.zeros((count, 3)), np.zeros(count, bool)
        here = self._tracks.of_frame(n)
        own = label[self._tracks.track[here]]
        at[own[own >= 0]], valid[own[own >= 0]] = self._tracks.point_m[here][own >= 0], True
        return make_marker_frame(at, valid, n, float(self._seconds[n]))

    def _drop_wrong(self, here: slice, label: Ints, expected_m: Floats) -> None:
        """Take the label from tracks that are far from where the body has it."""
        track = self._tracks.track[here]
        own = label[track]
        far = np.linalg.norm(self._tracks.point_m[here] - expected_m[own], axis=1) > WRONG_M
        label[track[far & (own >= 0)]] = NO_LABEL

    def _label_new(self, here: slice, label: Ints, expected_m: Floats, covariance_m2: Floats) -> None:
        """Give tracks without a label that of the marker that is expected there."""
        track = self._tracks.track[here]
        new: Bools = label[track] < 0
        if not new.any():
            return
        free = np.setdiff1d(np.arange(len(expected_m)), label[track])
        S = covariance_m2[free] + MARKER_SIGMA_M**2 * np.eye(3)
        apart = self._tracks.point_m[here][new][:, None] - expected_m[free]
        squared = np.einsum("pmi,mij,pmj->pm", apart, np.linalg.inv(S), apart)
        volume = np.linalg.slogdet(S)[1] - 6.0 * np.log(MARKER_SIGMA_M)
        cost = np.append(squared + volume, np.full((int(new.sum()), int(new.sum())), 2.0 * GATE2), axis=1)
        rows, columns = linear_sum_assignment(cost)
        near = columns < len(free)
        label[track[new][rows[near]]] = free[columns[near]]
