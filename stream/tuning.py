"""What is tuned while a run goes on: requests checked, turned into what the camera processes are asked for, and saved."""

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capture.control import MAX_OFFSET_MS, Ask, Details
from capture.wire import MalformedMessageError, field_of
from config.cameras import CAMERAS
from config.errors import DuocapError, SettingsError
from config.per_camera import save_tuned, settings_of, tuned_file, without_tuned
from config.settings import Settings
from config.tunable import TUNABLE, checked, flat, nested

BACKGROUND = "background"
LEARN = "learn"
RELEARN = "relearn"  # what a camera process calls it
WAYS = ("flash", "jump")
REQUESTS = ("tune", "sync", "save_tuned", "settings")
MAX_WAITING = 64  # requests that were not passed on yet; a person gives a few a second


class TuningError(DuocapError):
    """A request to tune, find the offset or save cannot be followed."""


class TuningBook:
    """What the cameras of one run have been asked for; for any thread.

    settings: of the run, with what was tuned before.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings, self._file = settings, tuned_file(settings)
        untuned = without_tuned(settings)
        self._names = {side: getattr(settings, side).name for side in CAMERAS}
        self._base = {side: _values(settings_of(untuned, n)) for n, side in enumerate(CAMERAS)}
        self._tuned = {side: _tuned(settings, untuned, side) for side in CAMERAS}
        self._waiting: list[Ask] = []
        self._asked: dict[str, set[str]] = {side: set() for side in CAMERAS}
        self._lock = threading.Lock()

    def tune(self, camera: str, values: Mapping[str, Any]) -> None:
        """Ask a camera, `left` or `right`, or both where it is empty, for settings by dotted name.

        None as a value: what it would be without tuning; `background` = `learn`: learn the background anew. Raises TuningError,
        SettingsError: no such camera, unknown settings, values of the wrong type or out of bounds; then nothing is changed.
        """
        sides = _sides(camera)
        learn = _wants_background(values)
        given = {key: value for key, value in values.items() if key != BACKGROUND}
        back = [key for key, value in given.items() if value is None]
        _check_known(back)
        wanted = checked({key: value for key, value in given.items() if value is not None}, "tune")
        with self._lock:
            self._check_room(len(sides))
            for side in sides:
                tuned = {key: value for key, value in self._tuned[side].items() if key not in back}
                self._tuned[side] = {**tuned, **wanted}
                details = {key: self._base[side][key] for key in back} | wanted | ({RELEARN: 1} if learn else {})
                self._asked[side] |= given.keys()
                self._waiting.append(Ask(side, "tune", details=details))

    def sync(self, way: str, offset_ms: float | None = None) -> None:
        """Have the cameras' time offset found, by a flash or by a jump, or set it [ms]. Raises TuningError."""
        if offset_ms is None and way not in WAYS:
            raise TuningError(f"the time offset is found by {' or '.join(WAYS)}, not by {way[:20]!r}")
        if offset_ms is not None and not abs(offset_ms) <= MAX_OFFSET_MS:
            raise TuningError(f"a time offset of {offset_ms} ms is implausible; at most {MAX_OFFSET_MS:g} ms either way")
        details: Details = {} if offset_ms is None else {"offset_ms": float(offset_ms)}
        with self._lock:
            self._check_room(1)
            self._waiting.append(Ask("reconstruction", "sync", "" if details else way, details))

    def save(self) -> tuple[Path, str]:
        """Keep what was tuned for the next runs with these cameras; gives the file, and in words what will not count.

        Raises TuningError, SettingsError, FileFormatError: the cameras have no names, or the file is not to be had.
        """
        with self._lock:
            tables = {name: nested(self._tuned[side]) for side, name in self._names.items() if name}
            stronger = sorted({key for side in CAMERAS for key in self._tuned[side] if self._is_given(side, key)})
        if not tables:
            raise TuningError("these cameras have no names by which settings could be kept; give them with --set instead")
        try:
            save_tuned(self._file, tables)
        except OSError as error:
            raise TuningError(f"{self._file}: cannot be written ({error}); name another file with capture.tuned") from error
        return self._file, f"given by --config or --set, which is stronger: {', '.join(stronger)}" if stronger else ""

    def told(self, camera: str, values: Mapping[str, Any]) -> None:
        """Take what a camera tells to be in force where nothing else was asked for here.

        So a book that is made anew while the cameras run on, after a fault of this process, learns what it has forgotten; and a
        camera whose process is started again, and which tells its old settings first, changes nothing.
        """
        with self._lock:
            if camera not in CAMERAS:
                return
            known = {**self._base[camera], **self._tuned[camera]}
            mine = self._asked[camera]
            other = {key: value for key, value in values.items() if key in TUNABLE and key not in mine and known[key] != value}
            with contextlib.suppress(SettingsError):
                self._tuned[camera] |= checked(other)

    def asks(self) -> list[Ask]:
        """Give what is to be passed on, once."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return waiting

    def asked(self) -> dict[str, dict[str, Any]]:
        """Give what each camera has been asked for: every setting that can be tuned, by dotted name."""
        with self._lock:
            return {side: {**self._base[side], **self._tuned[side]} for side in CAMERAS}

    def _is_given(self, side: str, key: str) -> bool:
        """Tell whether a file or the command line gives a setting of a camera."""
        return bool({key, f"{side}.{key}"} & self._settings.given)

    def _check_room(self, n: int) -> None:
        """Refuse what nobody passes on."""
        if len(self._waiting) + n > MAX_WAITING:
            raise TuningError("too many requests at once; try again in a second")


def answer(book: TuningBook, request: str, content: dict[str, Any]) -> dict[str, Any]:
    """Follow one of REQUESTS and give what the answer says. Raises MalformedMessageError, and what the book raises."""
    if request == "tune":
        camera, values = field_of(content, "camera", str), field_of(content, "values", dict)
        if not all(isinstance(key, str) for key in values):
            raise MalformedMessageError("settings are named by text; the request was dropped")
        book.tune(camera, values)
        return {"camera": camera}
    if request == "sync":
        way = field_of(content, "way", str)
        book.sync(way, None if content.get("offset_ms") is None else field_of(content, "offset_ms", (int, float)))
        return {"way": way}
    if request == "save_tuned":
        file, note = book.save()
        return {"file": str(file), "note": note}
    return dict(book.asked())


def _sides(camera: str) -> tuple[str, ...]:
    """Give the cameras that are meant."""
    if camera not in ("", *CAMERAS):
        raise TuningError(f"there is no camera {camera[:20]!r}; expected left, right, or nothing for both")
    return (camera,) if camera else CAMERAS


def _wants_background(values: Mapping[str, Any]) -> bool:
    """Tell whether the background is to be learned."""
    if BACKGROUND in values and values[BACKGROUND] != LEARN:
        raise TuningError(f"background can be {LEARN!r}, nothing else")
    return BACKGROUND in values


def _check_known(keys: list[str]) -> None:
    """Refuse to take back what cannot be tuned."""
    unknown = next((key for key in keys if key not in TUNABLE), None)
    if unknown is not None:
        raise SettingsError(f"tune: {unknown[:100]!r} cannot be tuned; known are {', '.join(TUNABLE)}")


def _values(settings: Settings) -> dict[str, Any]:
    """Give all that can be tuned of one camera."""
    sections = {name: getattr(settings, name) for name in ("detector", "camera")}
    return flat({name: {key: getattr(kind, key) for key in kind.__dataclass_fields__} for name, kind in sections.items()})


def _tuned(settings: Settings, untuned: Settings, side: str) -> dict[str, Any]:
    """Give what was tuned before of one camera."""
    now, own = getattr(settings, side), getattr(untuned, side)
    added = {
        section: {key: value for key, value in getattr(now, section).items() if key not in getattr(own, section)}
        for section in ("detector", "camera")
    }
    return flat(added)
