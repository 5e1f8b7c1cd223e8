"""A model to pose with, as the page sees it: by its name, with the shares of its styles where it has some."""

from collections.abc import Callable
from dataclasses import dataclass

from reconstruct.posing.protocol import Poser

Progress = Callable[[int, int | None, str], None]


@dataclass(frozen=True, slots=True)
class PosingModel:
    """A model to pose with.

    Attributes:
        name: its name, as given to `--model`.
        poser: the poser that completes poses.
        styles: names of the styles that are mixed, none if the model has no styles.
        mix: function that returns the poser for shares of these styles; None if they cannot be mixed.
    """

    name: str
    poser: Poser
    styles: tuple[str, ...] = ()
    mix: Callable[[tuple[float, ...]], Poser] | None = None

    @property
    def equal_shares(self) -> tuple[float, ...]:
        """Return as much of each style; none of a model without styles."""
        return tuple(1.0 / len(self.styles) for _ in self.styles)

    def with_shares(self, shares: tuple[float, ...]) -> Poser:
        """Return the poser of some shares; its own where these are not for it, or all zero."""
        if self.mix is None or len(shares) != len(self.styles) or not sum(shares) > 0.0:
            return self.poser
        return self.mix(shares)
