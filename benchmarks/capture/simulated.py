"""What a simulated camera costs: processor time of a frame, and the share of a core at its rate.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.capture.simulated [--rounds 400] [--json F]

Frames of the demo's performer, 640x480 at 60 Hz, in the dark and in a lit room; the first second is not counted.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.report import build_parser, compute_percentiles, write_json
from capture.sources.simulated.camera import SimulatedCamera
from tools.demo.demo import SCENE

WARM = 60


def measure_frame_ms(look: str, rounds: int) -> list[float]:
    """Return the processor time of each frame of a look [ms]."""
    camera, taken = SimulatedCamera(replace(SCENE, look=look), 0), list[float]()
    for _ in range(WARM + rounds):
        begun_ns = time.thread_time_ns()
        if camera.read() is None:
            break
        taken.append(1e-6 * (time.thread_time_ns() - begun_ns))
    return taken[WARM:]


def main(given: Sequence[str] | None = None) -> int:
    """Print a line a look."""
    parser = build_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    options = parser.parse_args(given)
    found: dict[str, dict[str, float]] = {}
    for look in ("dark", "lit"):
        taken = measure_frame_ms(look, options.rounds)
        p50, p95 = compute_percentiles(taken, 50.0, 95.0)
        found[look] = {"mean_ms": sum(taken) / len(taken), "p50_ms": p50, "p95_ms": p95}
        share = 0.1 * found[look]["mean_ms"] * SCENE.fps
        print(f"{look:<6}{found[look]['mean_ms']:6.2f} ms a frame, p50 {p50:.2f}, p95 {p95:.2f}: {share:.1f} % of a core")
    write_json(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
