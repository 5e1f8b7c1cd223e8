"""Watch during a run whether the rig still fits, and which camera was moved: pairs of cameras that no longer agree vote.

Of two cameras nobody can tell which was moved: the first one's view is used. Of more, it is the one in most of the pairs that no
longer agree, and fewest that still do.
"""

from collections.abc import Iterable
from itertools import combinations

from calibration.camera import Rig
from capture.packets import Views
from capture.stereo.check import MIN_BLOBS, StrangeCameraError, SwappedCamerasError, check_rig_fits
from capture.stereo.pair_watch import SAMPLE_NS, PairWatch, shrink_rig, take_landmarks_as_blobs
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES, LabelSettings

SETTLE_NS = 1_200_000_000  # more pairs may follow the first that no longer agrees: each is judged once a second
CHECK_VIEWS, CHECK_RESTING = 40, 12

Pair = tuple[int, int]


class RigWatch:
    """Watches the views of a run, markers and landmarks of the body; time comes from the views.

    moved: the cameras that seem to have moved since the calibration.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig, self._min_score = rig, LabelSettings().landmark_score
        self._by_body = {pair: self._watch_of(pair, of_body=True) for pair in combinations(range(len(rig)), 2)}
        self._pairs = {pair: self._watch_of(pair) for pair in combinations(range(len(rig)), 2)}
        self.moved: tuple[int, ...] = ()
        self._notices: list[str] = []
        self._disagreeing: frozenset[Pair] = frozenset()
        self._since_ns = 0
        self._start = StartCheck(rig)

    def add(self, views: Views) -> None:
        """Add the views of a moment; most are skipped."""
        for (one, other), watch in self._pairs.items():
            first, second = views.blobs[one], views.blobs[other]
            if first is not None and second is not None:
                watch.add(Views((first, second), views.measured_skew_ns))
                self._notices += watch.notices()
        for (one, other), watch in self._by_body.items():
            both = (views.blobs[one], views.blobs[other])
            seen = [None if blobs is None else take_landmarks_as_blobs(blobs, self._min_score) for blobs in both]
            if seen[0] is not None and seen[1] is not None:
                watch.add(Views((seen[0], seen[1]), views.measured_skew_ns))
        strange = self._start.strange
        self._notices += self._start.add(views, all(watch.is_resting for watch in self._pairs.values()))
        if strange is not None and strange != self._start.strange:
            self._pairs |= {pair: self._watch_of(pair) for pair in self._pairs if strange in pair}
        self._find_moved(views.t_capture_ns)

    def _watch_of(self, pair: Pair, of_body: bool = False) -> PairWatch:
        """Return the watch of two cameras at its start."""
        who = "a camera" if len(self._rig) == 2 else " or ".join(f"the {CAMERA_NAMES[camera]}" for camera in pair) + " camera"
        rig = Rig(tuple(self._rig.cameras[camera] for camera in pair))
        return PairWatch(shrink_rig(rig) if of_body else rig, who, of_body)

    def notices(self) -> list[str]:
        """Return the notices since the last call."""
        notices, self._notices = self._notices, []
        return notices

    @property
    def figures(self) -> dict[str, float]:
        """Figures for the status, of the worst pair: distance from the epipolar lines [px], share of the markers that agree."""
        results = [watch.now for watch in self._pairs.values() if watch.now is not None]
        if not results:
            return {}
        epipolar_px = max(abs(result.offset_px) + result.epipolar_px for result in results)
        return {"epipolar_px": epipolar_px, "rig_share": min(result.share for result in results)}

    def _find_moved(self, t_ns: int) -> None:
        """Find the moved cameras once no more pairs begin to disagree; tell what has changed."""
        watches = (*self._pairs.items(), *self._by_body.items())
        disagreeing = frozenset(pair for pair, watch in watches if watch.moved)
        if disagreeing != self._disagreeing:
            self._disagreeing, self._since_ns = disagreeing, t_ns
        if len(self._pairs) > 1 and 0 <= t_ns - self._since_ns < SETTLE_NS:
            return
        agreeing = [pair for pair, watch in watches if watch.now is not None and pair not in disagreeing]
        before, found, strange = self.moved, find_moved_cameras(disagreeing, agreeing), self._start.strange
        self.moved = found if strange is None else tuple(sorted({*found, strange}))
        self._notices += [self._describe(camera) for camera in self.moved if camera not in (*before, strange)]
        back = [camera for camera in before if camera not in self.moved]
        if back and len(self._pairs) == 1:
            self._notices.append("the cameras are where they were at the start again")
        elif back:
            self._notices += [f"the {CAMERA_NAMES[c]} camera is where it was at the start again" for c in back]

    def _describe(self, camera: int) -> str:
        """Return which camera was moved and how that shows."""
        watches = [
            watches[pair] for pair in sorted(self._disagreeing) if camera in pair for watches in (self._pairs, self._by_body)
        ]
        words = next(watch.words for watch in watches if watch.moved)
        if len(self._pairs) == 1:
            return f"a camera seems to have moved: {words}; calibrate again"
        return f"the {CAMERA_NAMES[camera]} camera seems to have moved: {words}; its view is left out, calibrate again"


class StartCheck:
    """Checks by the first views of a run that the rig is that of these cameras.

    strange: the camera that does not fit while the others do, None for none; it is checked again and again.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._sample: list[Views] = []
        self._due_ns = 0
        self._checked = self._in_doubt = False
        self.strange: int | None = None
        self._n_resting = 0

    def add(self, views: Views, resting: bool) -> list[str]:
        """Collect the first views, then check; return what is to be told. resting: the body does not move up or down."""
        t_ns = views.t_capture_ns
        seen = sum(len(blobs) >= MIN_BLOBS for blobs in views.present)
        if self._checked or seen < 2 or 0 <= self._due_ns - t_ns <= SAMPLE_NS:
            return []
        self._due_ns = t_ns + SAMPLE_NS
        if resting or not self._in_doubt:
            self._sample.append(views)
            self._n_resting += resting
        if len(self._sample) < (CHECK_RESTING if self._in_doubt else CHECK_VIEWS):
            return []
        sample, self._sample = self._sample, []
        before, self.strange = self.strange, None
        try:
            check_rig_fits(self._rig, [camera.size for camera in self._rig.cameras], sample, what="cameras")
            self._checked = True
        except StrangeCameraError as error:
            if before is None and not self._in_doubt and self._n_resting <= 0.7 * len(sample):
                self._in_doubt = True  # as below
                return []
            self.strange = error.camera
            return [str(error)] if error.camera != before else []
        except CalibrationError as error:
            # An unknown time offset looks the same unless the body rests; swapped cameras are certain in any case.
            self._checked = self._in_doubt or isinstance(error, SwappedCamerasError) or self._n_resting > 0.7 * len(sample)
            self._in_doubt = True
            return [str(error)] if self._checked else []
        return []


def find_moved_cameras(disagreeing: Iterable[Pair], agreeing: Iterable[Pair]) -> tuple[int, ...]:
    """Return the fewest cameras whose movement explains which pairs no longer agree, in order.

    Of several such sets it is the one in most of these pairs and in fewest that do agree.
    """
    left, well, moved = set(disagreeing), list(agreeing), list[int]()
    while left:
        cameras = {camera for pair in left for camera in pair}
        worst = max(cameras, key=lambda c: (sum(c in pair for pair in left), -sum(c in pair for pair in well), c))
        moved.append(worst)
        left = {pair for pair in left if worst not in pair}
    return tuple(sorted(moved))
