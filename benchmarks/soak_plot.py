"""The chart of `benchmarks.soak`: latency, CPU and memory over the time of the run."""

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np

matplotlib.use("Agg")

from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from benchmarks.soak import Soak

OURS = ("supervisor", "left", "right", "reconstruction")


def plot(path: Path, found: "Soak") -> None:
    """Draw three charts under each other."""
    figure, (latency, cpu, memory) = plt.subplots(3, 1, figsize=(9.0, 8.0), layout="constrained", sharex=True)
    minutes = [row["minute"] for row in found.rows]
    for k, name in enumerate(("p50", "p95", "p99")):
        latency.plot(minutes, [row["latency_ms"][k] for row in found.rows], label=name)
    latency.set(ylabel="capture to publish [ms]", ylim=(0.0, None))
    for name in OURS:
        samples = found.processes.watched[name].samples if name in found.processes.watched else []
        if len(samples) < 2:
            continue
        t, used, _, uss = np.array(samples).T
        cpu.plot(t[1:] / 60.0, 100.0 * np.diff(used) / np.diff(t), label=name, linewidth=0.8)
        memory.plot(t / 60.0, uss, label=name)
    cpu.set(ylabel="CPU [% of a core]", ylim=(0.0, None))
    memory.set(ylabel="own memory (USS) [MB]", xlabel="minutes", ylim=(0.0, None))
    for axes in (latency, cpu, memory):
        axes.legend(loc="upper right", ncols=4, fontsize="small")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)
    plt.close(figure)
