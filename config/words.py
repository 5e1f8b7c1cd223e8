"""Words of messages that depend on numbers."""


def format_count(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as `1 frame` and `2 frames`.

    Args:
        n: the number.
        noun: of one.
        plural: of others, where it is not the noun with an s.
    """
    return f"{n} {noun if n == 1 else plural or f'{noun}s'}"
