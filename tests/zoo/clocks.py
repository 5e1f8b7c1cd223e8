"""Videos with odd clocks, each through replay, recording, playing and every export: durations must be those of the stamps."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from config.arrays import Floats
from tests.zoo.durations import lengths_of
from tests.zoo.specimen import Outcome, Specimen
from tests.zoo.walks import both, pictures, write_avi, write_coded, write_mkv

Written = tuple[list[Path], Path | None]  # videos, and stamps where they are in a file


@dataclass(frozen=True)
class Clock:
    """A clock of a recording.

    stamps_s: when pictures were taken, of at least so many seconds, (N,) [s]; write: videos of both cameras, and the stamps;
    rate_hz: in headers, 0 for their mean; told: by the report, as a regular expression.
    """

    name: str
    stamps_s: Callable[[float], Floats]
    write: Callable[[Path, Floats], Written]
    rate_hz: float
    told: str


def _listed(announced_hz: float = 30.0, unit_s: float = 1.0, origin_s: int = 0) -> Callable[[Path, Floats], Written]:
    """Return what writes videos that know no times, and a list of them in a unit, from an origin on."""

    def write(folder: Path, stamps_s: Floats) -> Written:
        for file in both(folder, ".avi"):
            write_avi(file, pictures(file.stem, len(stamps_s)), announced_hz)
        whole = [round(t / unit_s) + round(origin_s / unit_s) if unit_s < 1.0 else f"{t + origin_s:.9g}" for t in stamps_s]
        rows = "\n".join(f"{n},{t}" for n, t in enumerate(whole))
        (folder / "stamps.csv").write_text(f"frame,seconds\n{rows}\n", encoding="utf-8")
        return both(folder, ".avi"), folder / "stamps.csv"

    return write


def _coded(rate: Fraction) -> Callable[[Path, Floats], Written]:
    """Return what writes MP4 with B-frames, as announced to be at a rate."""

    def write(folder: Path, stamps_s: Floats) -> Written:
        for file in both(folder, ".mp4"):
            write_coded(file, pictures(file.stem, len(stamps_s)), stamps_s, rate)
        return both(folder, ".mp4"), None

    return write


def _matroska(announced_hz: float) -> Callable[[Path, Floats], Written]:
    """Return what writes Matroska that announces a rate."""

    def write(folder: Path, stamps_s: Floats) -> Written:
        for file in both(folder, ".mkv"):
            write_mkv(file, pictures(file.stem, len(stamps_s)), stamps_s, announced_hz)
        return both(folder, ".mkv"), None

    return write


def _even(rate_hz: float, seconds: float) -> Floats:
    """Return even stamps."""
    return np.arange(round(seconds * rate_hz) + 1) / rate_hz


def _jittery(seconds: float) -> Floats:
    """Return stamps as they are read from a busy machine: up to 10 ms early or late."""
    even = _even(30.0, seconds)
    return np.asarray(even + np.random.default_rng(5).uniform(0.0, 0.020, len(even)))


def _gapped(seconds: float) -> Floats:
    """Return even stamps with 1.25 s missing, and two single frames."""
    even = _even(30.0, seconds)
    return np.delete(np.where(np.arange(len(even)) < len(even) // 2, even, even + 1.25), (10, 20))


def _varying(seconds: float) -> Floats:
    """Return stamps as of a phone, whose exposure grows in the dark."""
    steps = np.random.default_rng(2).choice([0.033, 0.034, 0.050, 0.067], round(seconds / 0.046))
    return np.concatenate([[0.0], np.cumsum(steps)])


def _coarse(rate_hz: float, step_s: float) -> Callable[[float], Floats]:
    """Return what makes stamps of a clock that ticks in steps."""
    return lambda seconds: np.round(np.round(_even(rate_hz, seconds) / step_s) * step_s, 6)


CLOCKS = (
    Clock("jitter of 10 ms", _jittery, _listed(), 30.0, "30.* Hz$"),
    Clock("steps of 10 ms", _coarse(29.29, 0.01), _listed(), 29.29, r"29\.[23]. Hz$"),
    Clock("repeated stamps", _coarse(60.0, 0.02), _listed(60.0), 60.0, r"(59\.[89].|60\.[01].) Hz$"),
    Clock("a gap", _gapped, _listed(), 30.0, r"30\.00 Hz; 3 gaps, the longest of 1\.28 s"),
    Clock("variable rate", _varying, _coded(Fraction(30)), 0.0, "Hz"),
    Clock("29.97", lambda s: _even(30_000 / 1001, s), _coded(Fraction(30_000, 1001)), 30_000 / 1001, r"29\.97 Hz$"),
    Clock("wrong rate in AVI", lambda s: _even(30.0, s), _listed(announced_hz=10.0), 30.0, r"30\.00 Hz$"),
    Clock("wrong rate in MKV", lambda s: np.round(_even(25.0, s), 3), _matroska(60.0), 25.0, r"25\.00 Hz$"),
    Clock("nanoseconds since 1970", _jittery, _listed(unit_s=1e-9, origin_s=1_763_917_494), 30.0, "Hz; .*taken as nanoseconds"),
)


def _durations(clock: Clock, folder: Path) -> Outcome:
    """Return what the report tells, and by how many frames the worst duration is off."""
    stamps_s = clock.stamps_s(2.0)
    found = lengths_of(folder, *clock.write(folder, stamps_s))
    own_hz = clock.rate_hz or (len(stamps_s) - 1) / float(stamps_s[-1] - stamps_s[0])
    for lengths, rate_hz, tolerance in ((found.own, own_hz, 0.01), (found.asked, 50.0, 1e-7)):
        for name, length in lengths.items():
            assert length.rate_hz is None or abs(length.rate_hz / rate_hz - 1.0) < tolerance, (name, length)
    return Outcome(found.told, found.worst_frames(stamps_s))


def _specimen(clock: Clock) -> Specimen:
    """Return a clock as a specimen."""
    return Specimen(clock.name, lambda folder: _durations(clock, folder), clock.told, 1.0, "frames", slow=True)


SPECIMENS: tuple[Specimen, ...] = tuple(_specimen(clock) for clock in CLOCKS)
