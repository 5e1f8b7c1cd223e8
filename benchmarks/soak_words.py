"""The soak's figures for a person, and as plain values."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.soak import Soak

WARM_S = 120.0  # memory is still finding its size until then


def row_line(row: dict[str, Any]) -> str:
    """Give a minute in one line."""
    p50, p95, p99 = row["latency_ms"]
    new = ", ".join(f"{count} {name}" for name, count in row["new_drops"].items() if count) or "none"
    ours = ("supervisor", "left", "right", "reconstruction")
    cpu = " ".join(f"{row['cpu_percent'].get(name, math.nan):.0f}" for name in ours)
    memory = " ".join(f"{row['uss_mb'].get(name, math.nan):.1f}" for name in ours)
    return (
        f"{row['minute']:4d} min  {row['poses']:5d} poses {100.0 * row['tracked']:5.1f} %  latency {p50:.1f} {p95:.1f} {p99:.1f} "
        f"ms  gap {row['longest_gap_ms']:.0f} ms  dropped {new}  CPU {cpu} %  USS {memory} MB"
    )


def summary(found: "Soak") -> str:
    """Give the figures of the whole run for a person."""
    heard, end_s = found.heard, 60.0 * found.minutes + 1.0
    warm_s = min(WARM_S, 0.25 * end_s)
    lines = [
        f"{heard.states.total()} poses in {found.minutes:g} min, {100.0 * heard.tracked:.2f} % tracked, {dict(heard.states)}"
    ]
    lines.append(f"longest time between two poses {heard.longest_gap_ms:.0f} ms; the run wrote {found.log_bytes} bytes of log")
    lines.append("dropped: " + (", ".join(f"{count} {name}" for name, count in found.drops.items()) or "nothing"))
    lines.append("time offset: " + (", ".join(f"{name} {value:.6g}" for name, value in found.offsets.items()) or "not told"))
    lines.append(f"{'capture to publish [ms]':<24}{'p50':>8}{'p95':>8}{'p99':>8}")
    lines += [f"    {stage:<20}" + "".join(f"{value:8.2f}" for value in heard.percentiles(stage)) for stage in heard.latencies_ms]
    lines.append(
        f"{'process':<24}{'CPU %':>8}{'RSS first':>11}{'last':>8}{'USS first':>11}{'last MB':>9}{'MB/h':>8}{'restarts':>9}"
    )
    for name, watched in found.processes.watched.items():
        first = next((sample for sample in watched.samples if sample[0] >= warm_s), watched.samples[0])
        last = watched.samples[-1]
        lines.append(
            f"    {name:<20}{watched.cpu_percent(0.0, end_s):8.1f}{first[2]:11.1f}{last[2]:8.1f}{first[3]:11.1f}{last[3]:9.1f}"
            f"{watched.growth_mb_h(warm_s):8.2f}{watched.n_restarts:9d}"
        )
    lines.append(f"(first: {warm_s:.0f} s after the first pose; the slope is that of USS from there on)")
    return "\n".join([*lines, "the run itself says:", *(f"    {line}" for line in found.words)])


def as_json(found: "Soak") -> dict[str, Any]:
    """Give all figures as plain values."""
    watched = found.processes.watched
    return {
        "minutes": found.minutes,
        "rows": found.rows,
        "latency_ms": {stage: found.heard.percentiles(stage) for stage in found.heard.latencies_ms},
        "states": dict(found.heard.states),
        "drops": found.drops,
        "samples": {name: one.samples for name, one in watched.items()},
        "growth_mb_h": {name: one.growth_mb_h(WARM_S) for name, one in watched.items()},
        "report": found.words,
        "log_bytes": found.log_bytes,
    }
