"""The tuning of a run: requests are checked, passed on to the processes of cameras and reconstruction, and saved."""

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capture.clock import OffsetMethod
from capture.process.control import MAX_OFFSET_MS, RecentreOrder, RequestedOrder, SyncOrder, TuneOrder
from capture.sockets.wire import MalformedMessageError, read_message_field
from config.errors import DuocapError, SettingsError
from config.per_camera import (
    TUNABLE,
    check_tuning,
    find_camera_settings,
    find_tuned_file,
    flatten_by_key,
    nest_by_section,
    remove_tuned_values,
    save_tuned_values,
)
from config.settings import CAMERA_NAMES, Settings

BACKGROUND = "background"
LEARN = "learn"
RELEARN = "relearn"  # its name in orders to a camera process
WAYS = tuple(OffsetMethod)
REQUESTS = ("tune", "sync", "save_tuned", "settings", "recentre")
MAX_WAITING = 64  # requests that were not passed on yet; a person gives a few a second


class TuningError(DuocapError):
    """A request to tune, to estimate the time offset or to save is refused."""


class TuningState:
    """The settings requested of the cameras of one run; for any thread. settings: of the run, with earlier tuning."""

    def __init__(self, settings: Settings, n_cameras: int) -> None:
        self.cameras = CAMERA_NAMES[:n_cameras]
        self._settings, self._file = settings, find_tuned_file(settings)
        untuned = remove_tuned_values(settings)
        self._names = {side: getattr(settings, side).name for side in self.cameras}
        self._base = {side: _find_tunable_values(find_camera_settings(untuned, n)) for n, side in enumerate(self.cameras)}
        self._tuned = {side: _read_earlier_tuning(settings, untuned, side) for side in self.cameras}
        self._waiting: list[RequestedOrder] = []
        self._requested: dict[str, set[str]] = {side: set() for side in self.cameras}
        self._lock = threading.Lock()

    def tune(self, camera: str, values: Mapping[str, Any]) -> None:
        """Request settings by dotted name of a camera by its name, empty for all.

        A value of None takes the tuning back; `background` = `learn` learns the background again. Raises TuningError,
        SettingsError: no such camera, unknown settings, values of the wrong type or out of bounds; then nothing is changed.
        """
        sides = self._sides(camera)
        learn = _read_background_request(values)
        changes = {key: value for key, value in values.items() if key != BACKGROUND}
        reset = [key for key, value in changes.items() if value is None]
        _check_tunable(reset)
        wanted = check_tuning({key: value for key, value in changes.items() if value is not None}, "tune")
        with self._lock:
            self._check_waiting(len(sides))
            for side in sides:
                tuned = {key: value for key, value in self._tuned[side].items() if key not in reset}
                self._tuned[side] = {**tuned, **wanted}
                details = {key: self._base[side][key] for key in reset} | wanted | ({RELEARN: 1} if learn else {})
                self._requested[side] |= changes.keys()
                self._waiting.append(RequestedOrder(side, TuneOrder(details)))

    def sync(self, way: str, offset_ms: float | None = None, camera: str = "") -> None:
        """Have the cameras' time offsets estimated, by a flash or by a jump, or set that of a camera [ms].

        Args:
            way: `flash` or `jump`; of no meaning where offset_ms is given.
            offset_ms: offset to set [ms]; None to have it estimated.
            camera: any but the first, whose clock is that of the others; empty: the second.
        Raises: TuningError.
        """
        late = self.cameras[1:]
        if offset_ms is not None and camera not in ("", *late):
            raise TuningError(f"there is no camera {camera[:20]!r} whose time can be set; expected {' or '.join(late)}")
        if offset_ms is None and way not in WAYS:
            raise TuningError(f"the time offset is found by {' or '.join(WAYS)}, not by {way[:20]!r}")
        if offset_ms is not None and not abs(offset_ms) <= MAX_OFFSET_MS:
            raise TuningError(f"a time offset of {offset_ms} ms is implausible; at most {MAX_OFFSET_MS:g} ms either way")
        index = self.cameras.index(camera) if camera else 1
        order = SyncOrder(OffsetMethod(way)) if offset_ms is None else SyncOrder(offset_ms=float(offset_ms), camera=index)
        with self._lock:
            self._check_waiting(1)
            self._waiting.append(RequestedOrder("reconstruction", order))

    def recentre(self) -> None:
        """Have the performer stand at the world's origin, looking along +Z, from the next pose on. Raises TuningError."""
        with self._lock:
            self._check_waiting(1)
            self._waiting.append(RequestedOrder("reconstruction", RecentreOrder()))

    def save(self) -> tuple[Path, str]:
        """Save the tuning for later runs with these cameras; return the file, and a note on settings without effect.

        Raises TuningError, SettingsError, FileFormatError: the cameras have no names, or the file cannot be written.
        """
        with self._lock:
            tables = {name: nest_by_section(self._tuned[side]) for side, name in self._names.items() if name}
            given = self._settings.given  # by a file or the command line
            tuned = {(side, key) for side in self.cameras for key in self._tuned[side]}
            stronger = sorted({key for side, key in tuned if {key, f"{side}.{key}"} & given})
        if not tables:
            raise TuningError("these cameras have no names by which settings could be kept; give them with --set instead")
        try:
            save_tuned_values(self._file, tables)
        except OSError as error:
            raise TuningError(f"{self._file}: cannot be written ({error}); name another file with capture.tuned") from error
        return self._file, f"given by --config or --set, which is stronger: {', '.join(stronger)}" if stronger else ""

    def learn(self, camera: str, values: Mapping[str, Any]) -> None:
        """Take the settings that a camera reports to be in force, except for those requested here.

        So the state is restored after a restart of this process while the cameras run on; and a camera whose process is restarted
        and reports its old settings first changes nothing.
        """
        with self._lock:
            if camera not in self.cameras:
                return
            known = {**self._base[camera], **self._tuned[camera]}
            requested = self._requested[camera]
            new = {key: value for key, value in values.items() if key in TUNABLE and key not in requested and known[key] != value}
            with contextlib.suppress(SettingsError):
                self._tuned[camera] |= check_tuning(new)

    def asks(self) -> list[RequestedOrder]:
        """Return the orders for other processes, once."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return waiting

    def requested(self) -> dict[str, dict[str, Any]]:
        """Return every setting that can be tuned, of each camera, by dotted name."""
        with self._lock:
            return {side: {**self._base[side], **self._tuned[side]} for side in self.cameras}

    def _sides(self, camera: str) -> tuple[str, ...]:
        """Return the names of the cameras that are meant."""
        if camera not in ("", *self.cameras):
            raise TuningError(f"there is no camera {camera[:20]!r}; expected {', '.join(self.cameras)}, or nothing for all")
        return (camera,) if camera else self.cameras

    def _check_waiting(self, n: int) -> None:
        """Raise TuningError if too many requests wait."""
        if len(self._waiting) + n > MAX_WAITING:
            raise TuningError("too many requests at once; try again in a second")


def carry_out_request(state: TuningState, request: str, content: dict[str, Any]) -> dict[str, Any]:
    """Carry out one of REQUESTS; return the content of the answer.

    Args:
        state: state that is tuned.
        request: name of the request.
        content: content of the request.
    Raises: MalformedMessageError, and what the state raises.
    """
    if request == "tune":
        camera, values = read_message_field(content, "camera", str), read_message_field(content, "values", dict)
        if not all(isinstance(key, str) for key in values):
            raise MalformedMessageError("settings are named by text; the request was dropped")
        state.tune(camera, values)
        return {"camera": camera}
    if request == "sync":
        way = read_message_field(content, "way", str)
        offset_ms = None if content.get("offset_ms") is None else read_message_field(content, "offset_ms", (int, float))
        state.sync(way, offset_ms, read_message_field(content, "camera", str) if "camera" in content else "")
        return {"way": way}
    if request == "recentre":
        state.recentre()
        return {}
    if request == "save_tuned":
        file, note = state.save()
        return {"file": str(file), "note": note}
    return dict(state.requested())


def _read_background_request(values: Mapping[str, Any]) -> bool:
    """Return whether the background is to be learned. Raises TuningError for another value."""
    if BACKGROUND in values and values[BACKGROUND] != LEARN:
        raise TuningError(f"background can be {LEARN!r}, nothing else")
    return BACKGROUND in values


def _check_tunable(keys: list[str]) -> None:
    """Raise SettingsError for a setting that cannot be tuned."""
    unknown = next((key for key in keys if key not in TUNABLE), None)
    if unknown is not None:
        raise SettingsError(f"tune: {unknown[:100]!r} cannot be tuned; known are {', '.join(TUNABLE)}")


def _find_tunable_values(settings: Settings) -> dict[str, Any]:
    """Return the settings of one camera that can be tuned."""
    sections = {name: getattr(settings, name) for name in ("detector", "camera")}
    return flatten_by_key(
        {name: {key: getattr(kind, key) for key in kind.__dataclass_fields__} for name, kind in sections.items()}
    )


def _read_earlier_tuning(settings: Settings, untuned: Settings, side: str) -> dict[str, Any]:
    """Return the earlier tuning of one camera."""
    now, own = getattr(settings, side), getattr(untuned, side)
    added = {
        section: {key: value for key, value in getattr(now, section).items() if key not in getattr(own, section)}
        for section in ("detector", "camera")
    }
    return flatten_by_key(added)
