"""Subscribers in their own processes: healthy, slow, stopped, and joining late."""

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import msgpack
import numpy as np
import psutil
import zmq

from capture.clock import now_ns
from stream.protocol.messages import SkeletonMessage
from stream.publish.subscriber import Subscriber

SLOW_S = 0.2
PATIENCE_S = 60.0
END = b"event "


@dataclass(frozen=True, slots=True)
class ReceptionFigures:
    """Received by n subscribers. latency_us: from publication to receipt of every pose; poses: fewest of one; missed: of all."""

    latency_us: np.ndarray[Any, np.dtype[np.float64]]
    poses: int
    missed: int


class Peers:
    """A process with subscribers."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        start = multiprocessing.get_context("spawn")
        self._line, theirs = start.Pipe()
        self._process = start.Process(target=work, args=(theirs, *arguments), daemon=True)
        self._process.start()

    @property
    def is_done(self) -> bool:
        """Return whether there is an answer; also when the process has died."""
        return self._line.poll(0) or not self._process.is_alive()

    def answer(self) -> Any:
        """Return the next thing that the process says."""
        return self._line.recv()

    def stop(self) -> None:
        """Stop the process where it is, as SIGSTOP does."""
        psutil.Process(self._process.pid).suspend()

    def close(self) -> None:
        """End the process, stopped or not."""
        if self._process.is_alive():
            psutil.Process(self._process.pid).resume()
        self._process.terminate()
        self._process.join()


def receive_poses(line: Connection, address: str, n: int, n_poses: int) -> None:
    """Receive poses with n subscribers until an event ends it.

    Args:
        line: to the process that started this one.
        address: of the socket.
        n: number of subscribers.
        n_poses: number from which on poses are not counted.
    """
    context = zmq.Context()
    poller = zmq.Poller()
    numbers: dict[zmq.Socket[bytes], list[int]] = {}
    for _ in range(n):
        socket = context.socket(zmq.SUB)
        socket.setsockopt(zmq.LINGER, 0)
        for topic in (b"pose ", END):
            socket.subscribe(topic)
        socket.connect(address)
        poller.register(socket, zmq.POLLIN)
        numbers[socket] = []
    latency_us: list[float] = []
    ended: set[zmq.Socket[bytes]] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < n and time.monotonic() < deadline:
        for socket, _ in poller.poll(100):
            payload = socket.recv()
            t_ns = now_ns()
            if payload.startswith(END):
                ended.add(socket)
                continue
            content = msgpack.unpackb(payload.partition(b" ")[2])
            if content["seq"] < n_poses:
                numbers[socket].append(content["seq"])
                latency_us.append((t_ns - content["t_publish_ns"]) * 1e-3)
    poses = min(len(seqs) for seqs in numbers.values())
    missed = sum(n_poses - len(seqs) for seqs in numbers.values())
    line.send(ReceptionFigures(np.array(latency_us), poses, missed))
    context.destroy(0)


def receive_slowly(line: Connection, address: str) -> None:
    """Receive a message now and then, for ever."""
    with zmq.Context() as context, context.socket(zmq.SUB) as socket:
        socket.setsockopt(zmq.RCVHWM, 1)
        socket.subscribe(b"")
        socket.connect(address)
        while True:
            socket.recv()
            time.sleep(SLOW_S)


def join_repeatedly(line: Connection, address: str, n: int, pause_s: float) -> None:
    """Join n times, one after the other; send how long each waited for the skeleton [ms].

    Args:
        line: to the process that started this one.
        address: of the socket.
        n: how many.
        pause_s: between two [s].
    """
    Subscriber(address).close()  # sockets are loaded
    waited_ms = []
    for _ in range(n):
        time.sleep(pause_s)
        begin = time.perf_counter()
        subscriber = Subscriber(address)
        while not any(isinstance(message, SkeletonMessage) for message in subscriber.receive(2000)):
            pass
        waited_ms.append((time.perf_counter() - begin) * 1e3)
        subscriber.close()
    line.send(waited_ms)
