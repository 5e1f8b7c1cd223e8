"""Notices: a few of each kind a minute."""

from capture.notices import MAX_WAITING, PERIOD_NS, NoticeLog

S = 1_000_000_000


def test_a_few_notices_of_a_kind_a_minute_and_the_others_counted() -> None:
    notices = NoticeLog()
    assert [notices.add("lost", f"lost {k}", k * S) for k in range(6)] == [True, True, True, False, False, False]
    assert notices.add("frozen", "frozen", 6 * S)  # of another kind
    assert notices.fetch() == ["lost 0", "lost 1", "lost 2", "frozen"] and notices.fetch() == []
    # A minute after the first of the last three there is room for one more.
    assert not notices.add("lost", "lost", PERIOD_NS - 1)
    assert notices.add("lost", "lost again", PERIOD_NS)
    assert notices.fetch() == ["lost again (and 4 times more in between)"]
    assert not notices.add("lost", "lost", PERIOD_NS + 1)
    assert notices.add("lost", "lost", PERIOD_NS + S) and notices.fetch() == ["lost (and 1 time more in between)"]


def test_memory_stays_flat_while_nobody_fetches() -> None:
    notices = NoticeLog()
    for k in range(1000):
        notices.add("lost", str(k), k * PERIOD_NS)
    assert len(notices.fetch()) == MAX_WAITING
