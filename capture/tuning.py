"""What is tuned of a camera while it runs: passed to its detector and its device, and told back as it is in force."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from capture.control import TUNING, Details
from capture.sources import Source
from config.errors import DuocapError
from config.settings import DetectorSettings
from config.tunable import checked

RELEARN = "relearn"  # the detail of an order that has the background learned anew
DETECTOR, CAMERA = "detector.", "camera."


class Tuner:
    """Settings of one camera; `take` belongs to the thread that reads and detects, `details` to any."""

    def __init__(self, source: Source, detector: object) -> None:
        self._source, self._detector = source, detector
        self._asked: Details = {}

    def take(self, settings: Mapping[str, Any]) -> list[str]:
        """Change settings by dotted name; RELEARN among them has the background learned. Gives in words what was not done.

        A setting without a section is the detector's.
        """
        named = {name if "." in name else DETECTOR + name: value for name, value in settings.items() if name != RELEARN}
        words: list[str] = []
        try:
            values = checked(named)
            if ours := {name.removeprefix(DETECTOR): value for name, value in values.items() if name.startswith(DETECTOR)}:
                words += self._adjust_detector(ours)
            if device := {name.removeprefix(CAMERA): value for name, value in values.items() if name.startswith(CAMERA)}:
                words += self._adjust_device(device)
            if settings.get(RELEARN):
                words += self._relearn()
        except DuocapError as error:
            words.append(str(error))
        return words

    def details(self) -> Details:
        """Give the detector's settings in force and what the device was asked for, for reports."""
        settings = getattr(self._detector, "settings", None)
        told: Details = {f"{TUNING}.{name}": value for name, value in self._asked.items()}
        if isinstance(settings, DetectorSettings):
            told |= {f"{TUNING}.{DETECTOR}{name}": getattr(settings, name) for name in settings.__dataclass_fields__}
        return told

    def _adjust_detector(self, values: Mapping[str, Any]) -> list[str]:
        """Give the detector other settings."""
        settings, adjust = getattr(self._detector, "settings", None), getattr(self._detector, "adjust", None)
        if not isinstance(settings, DetectorSettings) or adjust is None:
            return ["its detector has no settings"]
        wanted = replace(settings, **values)
        if wanted != settings:
            adjust(wanted)
        return []

    def _adjust_device(self, values: Mapping[str, Any]) -> list[str]:
        """Give the device other settings. Raises SourceError: it has none."""
        adjust = getattr(self._source, "adjust", None)
        if adjust is None:
            return ["it is no camera whose settings can be changed"]
        words = adjust(dict(values)) or []
        self._asked |= {CAMERA + name: value for name, value in values.items()}
        return list(words)

    def _relearn(self) -> list[str]:
        """Have the background learned anew."""
        relearn = getattr(self._detector, RELEARN, None)
        if relearn is None:
            return ["there is no background to be learned here"]
        relearn()
        return []
