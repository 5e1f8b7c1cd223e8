"""News that nobody is flooded with, worked out by hand."""

from capture.news import BURST, PERIOD_NS, News

S = 1_000_000_000


def test_the_same_news_a_few_times_a_minute_and_then_counted() -> None:
    news = News(burst=2)
    assert [news.say("lost", f"lost {k}", k * S) for k in range(5)] == [True, True, False, False, False]
    assert news.say("frozen", "frozen", 5 * S)  # of another kind
    assert news.fetch() == ["lost 0", "lost 1", "frozen"] and news.fetch() == []
    # A minute after the first of the last two there is room for one more.
    assert not news.say("lost", "lost", PERIOD_NS - 1)
    assert news.say("lost", "lost again", PERIOD_NS)
    assert news.fetch() == ["lost again (and 4 times more in between)"]
    assert not news.say("lost", "lost", PERIOD_NS + 1)
    assert news.say("lost", "lost", PERIOD_NS + S) and news.fetch() == ["lost (and 1 times more in between)"]


def test_memory_stays_flat_while_nobody_listens() -> None:
    news = News()
    for k in range(1000):
        news.say("lost", str(k), k * PERIOD_NS)
    assert len(news.fetch()) <= 32 and BURST >= 1
