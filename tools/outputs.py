"""Ways out beside the stream that commands offer: the words of `--vmc`, and the outputs they ask for.

`--vmc` may stand alone or be followed by where to send. Option parsers know no such thing, so that `join_vmc_values` gives a bare
one its empty value before they see it.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream.publish.fanout import OutputFactory

VMC_OPTION = "--vmc"


def join_vmc_values(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with every `--vmc` joined to its value, which is empty where none follows.

    The next word is the value if it is the name of an application or HOST:PORT; a file that is called so is written ./NAME.
    """
    if VMC_OPTION not in words:
        return list(words)
    from stream.vmc.sender import looks_like_target

    joined: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*joined, word, *rest]
        if word == VMC_OPTION:
            word += "=" + (rest.pop(0) if rest and looks_like_target(rest[0]) else "")
        joined.append(word)
    return joined


def create_vmc_outputs(values: Sequence[str] | None) -> tuple["OutputFactory", ...]:
    """Return factories of the VMC outputs asked for, picklable. Raises VmcError: what is no target, or cannot be found."""
    if not values:
        return ()
    from stream.vmc.output import VmcOutput
    from stream.vmc.sender import parse_vmc_target, resolve_target

    targets = [parse_vmc_target(value) for value in values]
    for target in targets:
        resolve_target(target)  # rather now, in one line, than from another process after a minute of getting ready
    return tuple(partial(VmcOutput, target) for target in targets)
