"""What became of the landmarks of a run: exchanges of left and right that were found, and landmarks that were not believed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from config.landmarks import Exchange
from config.settings import CAMERA_NAMES

PREFIX = "landmark_"  # of the names of markers that are landmarks, as in the preset `none`
NOTHING = Exchange.NOTHING.name.lower()


@dataclass
class LandmarkTally:
    """Counts over the poses of a run, moment by moment.

    Attributes:
        pictures: with landmarks, by number of the camera.
        exchanged: pictures of each camera by what they have exchanged.
        sought: landmarks that the body is followed by, in all pictures that have some.
        used: those of them that the poses go by.
    """

    pictures: Counter[int] = field(default_factory=Counter)
    exchanged: dict[int, Counter[str]] = field(default_factory=dict)
    sought: int = 0
    used: int = 0

    def add(self, told: Sequence[str | None], n_landmarks: int, n_used: Sequence[int]) -> None:
        """Count a moment.

        Args:
            told: what each camera's picture has exchanged, None where it has no landmarks.
            n_landmarks: landmarks that the body is followed by.
            n_used: those that the pose goes by, in each picture.
        """
        for camera, what in enumerate(told):
            if what is None:
                continue
            self.pictures[camera] += 1
            self.sought, self.used = self.sought + n_landmarks, self.used + n_used[camera]
            if what != NOTHING:
                self.exchanged.setdefault(camera, Counter())[what] += 1

    def as_plain(self) -> dict[str, Any] | None:
        """Return the counts by name of the camera, and the share of landmarks that was not believed; None without landmarks."""
        if not self.sought:
            return None
        return {
            "pictures": {CAMERA_NAMES[c]: n for c, n in sorted(self.pictures.items())},
            "exchanged": {CAMERA_NAMES[c]: dict(self.exchanged.get(c, {})) for c in sorted(self.pictures)},
            "refused": 1.0 - self.used / self.sought,
        }


def format_landmarks(counts: dict[str, Any] | None) -> list[str]:
    """Return a line on landmarks for a person, none without; counts: `LandmarkTally.as_plain`."""
    if counts is None:
        return []
    found = []
    for camera, n in counts["pictures"].items():
        exchanged = counts["exchanged"][camera]
        what = ", ".join(f"{name} {times}" for name, times in exchanged.items())
        found.append(f"{camera} {sum(exchanged.values())} of {n}{f' ({what})' if what else ''}")
    return [f"landmarks: pictures with left and right exchanged: {'; '.join(found)}; {100.0 * counts['refused']:.1f} % refused"]
