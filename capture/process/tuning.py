"""Settings of a camera that are changed while it runs: passed to its detector and its device, and reported as in force."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from capture.process.control import TUNING, Details
from capture.sources.source import Source
from config.errors import DuocapError
from config.per_camera import check_tuning
from config.settings import DetectorSettings

RELEARN = "relearn"  # the setting that has the background learned again
DETECTOR, CAMERA = "detector.", "camera."


class Tuner:
    """Settings of one camera. `take` belongs to the reading thread, `details` to any."""

    def __init__(self, source: Source, detector: object) -> None:
        self._source, self._detector = source, detector
        self._requested: Details = {}

    def take(self, settings: Mapping[str, Any]) -> list[str]:
        """Change settings by dotted name (without a section: the detector's); return what was not done, for the user."""
        named = {name if "." in name else DETECTOR + name: value for name, value in settings.items() if name != RELEARN}
        failures: list[str] = []
        try:
            values = check_tuning(named)
            if ours := {name.removeprefix(DETECTOR): value for name, value in values.items() if name.startswith(DETECTOR)}:
                failures += self._adjust_detector(ours)
            if device := {name.removeprefix(CAMERA): value for name, value in values.items() if name.startswith(CAMERA)}:
                failures += self._adjust_device(device)
            if settings.get(RELEARN):
                failures += self._relearn()
        except DuocapError as error:
            failures.append(str(error))
        return failures

    def details(self) -> Details:
        """Return the detector's settings in force and what was requested of the device, for reports."""
        settings = getattr(self._detector, "settings", None)
        details: Details = {f"{TUNING}.{name}": value for name, value in self._requested.items()}
        if isinstance(settings, DetectorSettings):
            details |= {f"{TUNING}.{DETECTOR}{name}": getattr(settings, name) for name in settings.__dataclass_fields__}
        return details

    def _adjust_detector(self, values: Mapping[str, Any]) -> list[str]:
        """Change settings of the detector."""
        settings, adjust = getattr(self._detector, "settings", None), getattr(self._detector, "adjust", None)
        if not isinstance(settings, DetectorSettings) or adjust is None:
            return ["its detector has no settings"]
        wanted = replace(settings, **values)
        if wanted != settings:
            adjust(wanted)
        return []

    def _adjust_device(self, values: Mapping[str, Any]) -> list[str]:
        """Change settings of the device. Raises SourceError: it has none."""
        adjust = getattr(self._source, "adjust", None)
        if adjust is None:
            return ["it is no camera whose settings can be changed"]
        failures = adjust(dict(values)) or []
        self._requested |= {CAMERA + name: value for name, value in values.items()}
        return list(failures)

    def _relearn(self) -> list[str]:
        """Have the background learned again."""
        relearn = getattr(self._detector, RELEARN, None)
        if relearn is None:
            return ["there is no background to be learned here"]
        relearn()
        return []
