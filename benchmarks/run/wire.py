"""A wire between two network interfaces: every Ethernet frame arrives later, and some do not arrive.

    python -m benchmarks.run.wire wireA wireB --delay-ms 20 --loss 0.01 [--jitter-ms 0] [--seed 1]

Runs as root on Linux inside the namespace that has both ends. Frames keep their order; TCP repairs the loss.
"""

import argparse
import ctypes
import fcntl
import random
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Sequence

SIOCETHTOOL = 0x8946
# With these on, the kernel passes segments larger than a frame, without checksums: ethtool -K.
OFFLOADS = {"receive checksum": 0x15, "transmit checksum": 0x17, "scatter-gather": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}
ETH_P_ALL = 3
MAX_FRAME = 1 << 16
FRAMES_A_TURN = 64


def main(given: Sequence[str] | None = None) -> int:
    """Forward until told to end."""
    parser = argparse.ArgumentParser(prog="benchmarks.run.wire", description="A slow and lossy wire.")
    parser.add_argument("ends", nargs=2)
    parser.add_argument("--delay-ms", type=float, default=20.0, help="each way")
    parser.add_argument(
        "--jitter-ms", type=float, default=0.0, help="mean of more, exponential, from the first end; a quarter back"
    )
    parser.add_argument("--loss", type=float, default=0.01, help="share of frames, each way")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(given)
    rng = random.Random(arguments.seed)
    sockets = [open_interface(name) for name in arguments.ends]
    print("ready", flush=True)
    jitters_ms = (arguments.jitter_ms, arguments.jitter_ms / 4)
    directions = [Direction(arguments.delay_ms, jitter, arguments.loss, rng) for jitter in jitters_ms]
    forward_frames(sockets, directions)
    return 0


class Direction:
    """One direction: frames with the time they are due, in order."""

    def __init__(self, delay_ms: float, jitter_ms: float, loss: float, rng: random.Random) -> None:
        self._delay_s, self._jitter_s, self._loss, self._rng = delay_ms * 1e-3, jitter_ms * 1e-3, loss, rng
        self._due: deque[tuple[float, bytes]] = deque()
        self._t_last_s = 0.0
        self.n_lost = 0

    def take(self, frame: bytes, t_s: float) -> None:
        """Take a frame that arrived at one end."""
        if self._rng.random() < self._loss:
            self.n_lost += 1
            return
        jitter_s = self._rng.expovariate(1.0 / self._jitter_s) if self._jitter_s else 0.0
        self._t_last_s = max(self._t_last_s, t_s + self._delay_s + jitter_s)
        self._due.append((self._t_last_s, frame))

    def due(self, t_s: float) -> list[bytes]:
        """Return the frames that leave at the other end by now."""
        frames = []
        while self._due and self._due[0][0] <= t_s:
            frames.append(self._due.popleft()[1])
        return frames

    def wait_s(self, t_s: float) -> float:
        """Return how long nothing leaves."""
        return max(0.0, self._due[0][0] - t_s) if self._due else 1.0


def open_interface(name: str) -> socket.socket:
    """Open an interface for whole frames, with its offloads off."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    turn_offloads_off(raw, name)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    raw.bind((name, 0))
    raw.setblocking(False)
    return raw


def turn_offloads_off(any_socket: socket.socket, name: str) -> None:
    """Let every frame on this interface be what would be on a cable."""
    for command in OFFLOADS.values():
        value = ctypes.create_string_buffer(struct.pack("II", command, 0))
        request = struct.pack("16sP", name.encode(), ctypes.addressof(value))
        try:
            fcntl.ioctl(any_socket, SIOCETHTOOL, request + bytes(40 - len(request)))
        except OSError as error:
            print(f"{name}: offload {command:#x}: {error}", file=sys.stderr)


def forward_frames(sockets: list[socket.socket], directions: list[Direction]) -> None:
    """Carry frames both directions for ever."""
    while True:
        now = time.perf_counter()
        ready, _, _ = select.select(sockets, [], [], min(direction.wait_s(now) for direction in directions))
        for end in ready:
            receive_frames(end, directions[sockets.index(end)])
        now = time.perf_counter()
        for direction, other in zip(directions, reversed(sockets), strict=True):
            for frame in direction.due(now):
                try:
                    other.send(frame)
                except OSError as error:
                    print(f"a frame of {len(frame)} bytes was not sent: {error}", file=sys.stderr)


def receive_frames(end: socket.socket, direction: Direction) -> None:
    """Take the frames that wait at one end; those we sent ourselves show up too and are left out."""
    for _ in range(FRAMES_A_TURN):
        try:
            frame, address = end.recvfrom(MAX_FRAME)
        except BlockingIOError:
            return
        if address[2] != socket.PACKET_OUTGOING:
            direction.take(frame, time.perf_counter())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(0)
