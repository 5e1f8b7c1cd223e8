"""Numbers with their nouns."""

from config.words import format_count


def test_one_of_a_thing_is_singular() -> None:
    assert [format_count(n, "frame") for n in (0, 1, 2)] == ["0 frames", "1 frame", "2 frames"]
    assert format_count(1, "body", "bodies") == "1 body" and format_count(3, "body", "bodies") == "3 bodies"
