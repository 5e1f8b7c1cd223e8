"""A reconstruction whose steps take a given time, in time that is only counted: how old its poses are when they are done."""

from collections.abc import Callable, Sequence

from capture.sockets.wire import SentBlobs
from reconstruct.pose import Pose
from reconstruct.process.reconstruction import Reconstruction

MS = 1_000_000
TRANSIT_NS = 4 * MS  # from capture to inbox

Send = Callable[[int, int, int], tuple[SentBlobs, int]]


def ages_ns(
    reconstruction: Reconstruction,
    poses: Sequence[Pose],
    send: Send,
    times: tuple[int, int, int],
    turns: int,
    stall_ns: Callable[[int], int] = lambda turn: 0,
) -> list[int]:
    """Return from capture to the end of its step, of every pose.

    poses: where the sink puts them; send: gives the blobs of a camera and a frame captured at a time; times: of the first frame,
    between frames, and that a step takes; stall_ns: for so long the machine does something else after a turn.
    """
    t0_ns, period_ns, step_ns = times
    t_ns, n_sent, ages = t0_ns, 0, list[int]()
    for turn in range(turns):
        n_captured = max(n_sent, (t_ns - TRANSIT_NS - t0_ns) // period_ns + 1)
        came = [send(camera, i, t0_ns + i * period_ns) for i in range(n_sent, n_captured) for camera in (0, 1)]
        n_before, n_sent = len(poses), n_captured
        reconstruction.turn(came, t_ns)
        for pose in poses[n_before:]:
            t_ns += step_ns
            ages.append(t_ns - pose.t_capture_ns)
        t_ns = max(t_ns + stall_ns(turn), t0_ns + n_sent * period_ns + TRANSIT_NS)  # waits for the next frame
    return ages
