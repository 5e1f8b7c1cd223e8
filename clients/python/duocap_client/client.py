"""The socket: always the newest pose, never a queue of old ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import zmq

from duocap_client.messages import MalformedMessageError, Pose, Skeleton, decode

MAX_MESSAGE_BYTES = 1 << 20
PATIENCE_S = 0.1


class Client:
    """A subscriber of one stream; not to be shared between threads.

    address: of the stream, tcp://HOST:PORT; another one is a ValueError.
    keys: for a stream with CURVE keys (`duocap keys`): the publisher's public key, our public key and our secret key, each as 40
    characters of Z85.

    After each call of `latest`: skeleton, rig, status: the last of each that came, or None; events: the last ones in words;
    n_missed: poses lost on the way, by their numbers; n_malformed: messages that could not be read.
    """

    def __init__(self, address: str = "tcp://127.0.0.1:5570", keys: tuple[str, str, str] | None = None) -> None:
        self._socket: Any = zmq.Context.instance().socket(zmq.SUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        if keys is not None:
            for option, key in zip((zmq.CURVE_SERVERKEY, zmq.CURVE_PUBLICKEY, zmq.CURVE_SECRETKEY), keys, strict=True):
                self._socket.setsockopt(option, key.encode())
        self._socket.subscribe(b"")
        try:
            self._socket.connect(address)
        except zmq.ZMQError as error:
            self._socket.close()
            raise ValueError(f"{address!r} is no address; give one like tcp://127.0.0.1:5570 ({error})") from error
        self.skeleton: Skeleton | None = None
        self.rig: dict[str, Any] | None = None
        self.status: dict[str, Any] | None = None
        self.events: list[str] = []
        self.n_missed = self.n_malformed = 0
        self._last: tuple[str, int] | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def latest(self, timeout_s: float = 1.0) -> Pose | None:
        """Return the newest pose whose skeleton is known, waiting up to timeout_s for one; None if none came."""
        deadline = time.monotonic() + timeout_s
        while True:
            pose = self._drain()
            if pose is not None:
                return pose
            left = deadline - time.monotonic()
            if left <= 0 or not self._socket.poll(max(1, int(left * 1e3))):
                return None

    def poses(self) -> Iterator[tuple[Skeleton, Pose]]:
        """Return the newest pose again and again, with its skeleton; for ever."""
        while True:
            pose = self.latest(PATIENCE_S)
            if pose is not None and self.skeleton is not None:
                yield self.skeleton, pose

    def _drain(self) -> Pose | None:
        """Read all that waits; give the last pose that fits the skeleton."""
        newest: Pose | None = None
        while self._socket.poll(0):
            try:
                topic, content = decode(self._socket.recv(zmq.NOBLOCK))
            except MalformedMessageError:
                self.n_malformed += 1
                continue
            if isinstance(content, Pose):
                self._count(content)
                newest = content
            elif isinstance(content, Skeleton):
                self.skeleton = content
            else:
                self._note(topic, content)
        known = newest is not None and self.skeleton is not None and newest.hash == self.skeleton.hash
        return newest if known else None

    def _count(self, pose: Pose) -> None:
        """Count the poses missing since the last one of the same session."""
        if self._last is not None and self._last[0] == pose.session:
            self.n_missed += max(0, pose.seq - self._last[1] - 1)
        self._last = pose.session, pose.seq

    def _note(self, topic: str, content: dict[str, Any]) -> None:
        """Keep what is neither pose nor skeleton."""
        if topic == "rig":
            self.rig = content
        elif topic == "status":
            self.status = content
        elif topic == "event":
            self.events = [*self.events[-99:], str(content.get("text", ""))]
