"""A network camera on loopback for tests and benchmarks: JPEGs as MJPEG over HTTP, at a rate, with faults to be switched on.

`MjpegServer` plays in threads of this process, `MjpegProcess` in a process of its own. Both have `url`, `faults` and `stop()`:

    with MjpegServer(jpegs, fps=60.0) as server:
        source = open_source(server.url, 0)
        server.set(stalled=True)
"""

import base64
import contextlib
import multiprocessing
import random
import socket
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

import cv2
import numpy as np

from tests.support.cameras.base import BOUNDARIES, NAME, PASSWORD, PATH, CameraServer, Faults, Play, read_request

__all__ = ["BOUNDARIES", "NAME", "PASSWORD", "CameraServer", "Faults", "MjpegProcess", "MjpegServer", "Play", "encoded"]


class MjpegServer(CameraServer):
    """A camera that streams MJPEG over HTTP."""

    def _prepare(self) -> None:
        """Make ready what is shown when something is wrong."""
        self._special = special_pictures(self.play.jpegs[0]) if self.play.jpegs else {}

    def _talk(self, client: socket.socket, chance: random.Random) -> None:
        """Answer one request."""
        answer = self._answer(read_request(client))
        if answer:
            client.sendall(answer)
        elif self.faults.reply in ("stream", "redirect"):
            client.sendall(_http("200 OK", _announced(self.faults.boundary), b"", length=False))
            for index, faults in self._pictures(chance):
                client.sendall(self._part(index, faults, chance))
        else:
            self._misbehave(client)

    def _answer(self, request: bytes) -> bytes:
        """Return a whole answer that is no stream, or nothing where the client gets a stream or worse."""
        reply, token = self.faults.reply, base64.b64encode(f"{NAME}:{PASSWORD}".encode())
        if reply == "401" or (self.faults.password and b"Basic " + token not in request):
            return _http("401 Unauthorized", "text/html", b"<h1>401</h1>", 'WWW-Authenticate: Basic realm="camera"\r\n')
        if reply == "404" or PATH.encode() not in request.split(b"\r\n")[0]:
            if reply == "redirect":
                return _http("302 Found", "text/html", b"", f"Location: {PATH}\r\n")
            return _http("404 Not Found", "text/html", b"<h1>not here</h1>")
        if reply == "html":
            return _http("200 OK", "text/html; charset=utf-8", b"<html><title>IP Camera</title><img src=/video></html>")
        return _http("200 OK", "image/jpeg", self.play.jpegs[0]) if reply == "jpeg" else b""

    def _misbehave(self, client: socket.socket) -> None:
        """Be silent, or pour out what never ends, until the client has enough."""
        reply = self.faults.reply
        if reply in ("endless_part", "garbage"):
            client.sendall(_http("200 OK", _announced("plain"), b"", length=False))
        filler = {
            "endless_header": b"HTTP/1.0 200 OK\r\n" + b"X-Filler: " + b"a" * 60000,
            "endless_part": b"--frame\r\nContent-Type: image/jpeg\r\n\r\n" + b"\xff\xd8" + b"a" * 60000,
            "garbage": bytes(random.Random(7).randrange(256) for _ in range(60000)),
        }.get(reply)
        while not self._stop.is_set() and filler is not None:
            client.sendall(filler)
            filler = filler[-60000:]
        self._stop.wait()

    def _part(self, index: int, faults: Faults, chance: random.Random) -> bytes:
        """Return one part of the stream, boundary and all."""
        jpegs = self.play.moved if faults.moved and self.play.moved else self.play.jpegs
        jpeg = jpegs[0 if faults.frozen else index % len(jpegs)]
        for name in ("black", "overexposed", "resized"):
            jpeg = self._special[name] if getattr(faults, name) else jpeg
        if chance.random() < faults.corrupt:
            half = len(jpeg) // 2
            jpeg = jpeg[:20] + bytes(chance.randrange(1, 255) for _ in range(40)) + jpeg[60:half] if index % 2 else b"\xff\xd8no"
        head = b"--frame\r\nContent-Type: image/jpeg\r\n"
        if faults.length != "absent":
            head += b"Content-Length: %d\r\n" % (len(jpeg) + (0 if faults.length == "right" else 1000 if index % 2 else -1000))
        if self.play.stamps:
            head += b"X-Timestamp: %.6f\r\n" % self._stamp_s(index, faults)
        return head + b"\r\n" + jpeg + b"\r\n"


class MjpegProcess:
    """The same server in a process of its own, whose work is not on the account of whoever measures."""

    def __init__(self, play: Play) -> None:
        self.faults = play.faults
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve_elsewhere, args=(theirs, play), name="camera server", daemon=True)
        self.process.start()
        theirs.close()
        self.url, self.url_with_password = self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def set(self, **faults: object) -> None:
        """Switch faults on or off."""
        self._pipe.send(("set", faults))
        self._pipe.recv()

    def disconnect(self) -> None:
        """End every connection there is."""
        self._pipe.send(("disconnect", {}))
        self._pipe.recv()

    def stop(self) -> None:
        """End the process."""
        self._pipe.close()
        self.process.join(2.0)
        if self.process.is_alive():
            self.process.terminate()


def _serve_elsewhere(pipe: Connection, play: Play) -> None:
    """Serve until the other end of the pipe goes."""
    with MjpegServer(play=play) as server, contextlib.suppress(EOFError, OSError):
        pipe.send((server.url, server.url_with_password))
        while True:
            what, faults = pipe.recv()
            server.set(**faults) if what == "set" else server.disconnect()
            pipe.send(server.n_sent)


def _http(status: str, content: str, body: bytes, more: str = "", length: bool = True) -> bytes:
    """Return an answer in HTTP 1.0, as small cameras give it."""
    head = f"HTTP/1.0 {status}\r\nServer: test camera\r\nCache-Control: no-cache\r\n{more}"
    return (
        head + f"Content-Type: {content}\r\n" + (f"Content-Length: {len(body)}\r\n" if length else "") + "\r\n"
    ).encode() + body


def _announced(boundary: str) -> str:
    """Announce the boundary `--frame` in one of the ways cameras do."""
    return "multipart/x-mixed-replace" + {
        "plain": ";boundary=frame",
        "quoted": '; boundary="frame"; charset=x',
        "dashed": "; boundary=--frame",
        "missing": "",
        "colon": "; Boundary = frame",
    }.get(boundary, f";boundary={boundary}")


def special_pictures(jpeg: bytes) -> dict[str, bytes]:
    """Return what a camera shows that is black, overexposed or changed its size."""
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        return {"black": jpeg, "overexposed": jpeg, "resized": jpeg}
    small = np.ascontiguousarray(image[: image.shape[0] // 2, : image.shape[1] // 2])
    return {
        "black": encoded(np.zeros_like(image)),
        "overexposed": encoded(np.full_like(image, 255)),
        "resized": encoded(small),
    }


def encoded(image: np.ndarray, quality: int = 90) -> bytes:
    """Return an image as JPEG."""
    ok, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert ok
    return data.tobytes()
