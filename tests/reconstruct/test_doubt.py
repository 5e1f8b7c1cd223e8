"""Doubtful frames become spans, in a list at once and as they come."""

from reconstruct.doubt import NO_DOUBT, Doubt, DoubtLog, find_doubtful_spans

MS = 1_000_000


def test_doubtful_frames_near_each_other_are_one_span_with_all_reasons() -> None:
    fit, rivals = frozenset({Doubt.FIT}), frozenset({Doubt.RIVALS})
    frames = [(0, NO_DOUBT), (100, fit), (200, NO_DOUBT), (500, rivals), (1100, fit), (1200, NO_DOUBT)]
    first, second = find_doubtful_spans((ms * MS, doubts) for ms, doubts in frames)
    assert (first.begin_ns, first.end_ns, first.frames, first.doubts) == (100 * MS, 500 * MS, 2, fit | rivals)
    assert first.seconds == 0.4 and first.duration == "for 0.40 s" and second.duration == "for a moment"
    assert first.words == "the pose is far from the markers; markers may be named otherwise, left for right perhaps"
    assert (second.begin_ns, second.end_ns, second.frames) == (1100 * MS, 1100 * MS, 1)


def test_a_span_is_told_once_it_is_over() -> None:
    log, fit = DoubtLog(), frozenset({Doubt.FIT})
    assert log.add(0, fit) is None and log.add(500 * MS, NO_DOUBT) is None
    over = log.add(501 * MS, fit)
    assert over is not None and over.end_ns == 0 and log.add(502 * MS, NO_DOUBT) is None
    last = log.close()
    assert last is not None and last.begin_ns == 501 * MS and log.close() is None
