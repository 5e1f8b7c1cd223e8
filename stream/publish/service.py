"""The service, the stream's second socket, for requests: clock, recordings, tuning of the cameras, what runs here.

A ROUTER socket with its own thread, so that answers come at once, whatever the reconstruction does. A request and its answer are
one msgpack map each, with or without an empty part before it (DEALER or REQ). Requests have `request`, and `id`, which the answer
repeats; an answer has `error`, a message for the user, if the request was refused.

    clock   t0_ns                        -> t0_ns, t_received_ns, t_sent_ns: stamps of this machine's clock
    record  on, name (nil: by the time)  -> file; for on = false sent when the file is complete
    info                                 -> session, subject, version, stream, service, recording, recordings, n_malformed
    tune    camera, values by setting    -> camera; its name, or empty for all; values as in stream/publish/tuning.py
    sync    way: flash or jump, or offset_ms and camera -> way; the result is published in events
    save_tuned                           -> file, note
    recentre                             -> nothing; the performer is the world's origin from the next pose on, facing +Z
    settings                             -> left, right...: what each camera was asked for, by setting
"""

import logging
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgpack
import zmq

from capture.clock import now_ns
from capture.sockets.endpoints import KeySettings, bind_socket
from capture.sockets.wire import MalformedMessageError, read_int_field, read_message_field, unpack_map
from config.errors import DuocapError
from stream.publish.publisher import LINGER_MS
from stream.publish.tuning import REQUESTS, TuningState, carry_out_request
from stream.recording.folders import choose_recording_file
from stream.recording.outputs import RecordingSwitch
from stream.recording.recorder import Recorder

log = logging.getLogger(__name__)

SCHEMA = 1
MAX_REQUEST_BYTES = 4096
BUFFER_MESSAGES = 64
MAX_BATCH = 32  # then a pause: a flood of requests takes only a few per cent of a core
PAUSE_S = 0.01
POLL_MS = 50
POLL_STOPPING_MS = 5

Info = Callable[[], dict[str, str]]
Envelope = list[bytes]


class ServiceError(DuocapError):
    """The service cannot be opened at an address, does not answer, or refuses."""


class Service:
    """Answer requests at one address until closed.

    Args:
        info: description of the run, as text by name.
        folder: folder of recordings.
        keys: keys for an address that other machines reach.
        tuning: tuning state of the cameras, None where there are none.
        n_answered: requests that were carried out or refused.
        n_malformed: requests that were dropped.
    Raises: EndpointError for an address that is taken, invalid or needs keys, KeyFileError for keys that cannot be read.
    """

    def __init__(
        self,
        address: str,
        switch: RecordingSwitch,
        folder: Path,
        info: Info,
        keys: KeySettings | None = None,
        tuning: TuningState | None = None,
    ) -> None:
        self._switch, self._folder, self._info, self._tuning = switch, folder, info, tuning
        self.n_malformed = self.n_answered = 0
        self._stopping: list[tuple[Envelope, dict[str, Any], Recorder]] = []
        self._ending = threading.Event()
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
        try:
            for option in (zmq.RCVHWM, zmq.SNDHWM):
                self._socket.setsockopt(option, BUFFER_MESSAGES)
            self._socket.setsockopt(zmq.LINGER, LINGER_MS)
            self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_REQUEST_BYTES)
            self.address = bind_socket(self._socket, address, keys, "stream.service")
        except DuocapError:
            self._socket.close(0)
            raise
        self._thread = threading.Thread(target=self._run, name="service", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and close the socket."""
        self._ending.set()
        self._thread.join(2.0)

    def _run(self) -> None:
        """Answer requests until closed; the body of the thread, which alone uses the socket."""
        while not self._ending.is_set():
            try:
                self._answer_batch()
            except zmq.ZMQError as error:
                log.debug("the service's socket: %s", error)
                self._ending.wait(PAUSE_S)
            except Exception as error:  # whatever a request meets, the next one is answered
                log.warning("a request could not be answered: %s: %s", type(error).__name__, error)
                log.debug("the fault", exc_info=True)
                self._ending.wait(PAUSE_S)
        self._socket.close()

    def _answer_batch(self) -> None:
        """Answer the requests that have come, up to a limit; then those that wait for a complete file."""
        n = 0
        if self._socket.poll(POLL_STOPPING_MS if self._stopping else POLL_MS):
            while n < MAX_BATCH and self._socket.poll(0):
                *envelope, request = self._socket.recv_multipart(zmq.NOBLOCK)
                self._answer(envelope, request, now_ns())
                n += 1
        waiting, self._stopping = self._stopping, []
        for envelope, reply, recorder in waiting:
            if recorder.is_done:
                self._send(envelope, reply | _compose_recording_answer(recorder))
            else:
                self._stopping.append((envelope, reply, recorder))
        if n == MAX_BATCH:
            self._ending.wait(PAUSE_S)

    def _answer(self, envelope: Envelope, request: bytes, t_received_ns: int) -> None:
        """Answer one request; a malformed one is dropped and counted."""
        try:
            if len(envelope) not in (1, 2) or any(envelope[1:]):
                raise MalformedMessageError(f"a request in {len(envelope)} parts; dropped")
            content = unpack_map(request)
            kind, number = read_message_field(content, "request", str), read_int_field(content, "id")
            reply: dict[str, Any] = {"schema": SCHEMA, "id": number, "request": kind[:20]}
            try:
                answer = self._carry_out(kind, content, t_received_ns)
            except MalformedMessageError:
                raise
            except DuocapError as error:
                answer = {"error": str(error)}
            if isinstance(answer, Recorder):
                self._stopping.append((envelope, reply, answer))
            else:
                self._send(envelope, reply | answer)
        except MalformedMessageError as error:
            self.n_malformed += 1
            log.debug("%s", error)
        else:
            self.n_answered += 1

    def _carry_out(self, kind: str, content: dict[str, Any], t_received_ns: int) -> dict[str, Any] | Recorder:
        """Return the answer to a request, or the recorder whose file it waits for.

        Args:
            kind: what is asked for.
            content: the request.
            t_received_ns: when it came [ns].
        Raises: DuocapError: it is refused; MalformedMessageError.
        """
        if kind == "clock":
            t0_ns = read_int_field(content, "t0_ns", -(2**63))
            return {"t0_ns": t0_ns, "t_received_ns": t_received_ns, "t_sent_ns": now_ns()}
        if kind == "info":
            return {
                **self._info(),
                "service": self.address,
                "recordings": str(self._folder),
                "n_malformed": self.n_malformed,
            }
        if kind == "record":
            return self._record(content)
        if kind not in REQUESTS:
            raise ServiceError(f"unknown request {kind[:20]!r}, expected {', '.join(('clock', 'record', 'info', *REQUESTS))}")
        if self._tuning is None:
            raise ServiceError("what is streamed here are no cameras that could be tuned")
        return carry_out_request(self._tuning, kind, content)

    def _record(self, content: dict[str, Any]) -> dict[str, Any] | Recorder:
        """Start recording, or stop; the answer to a stop waits for the file."""
        name = None if content.get("name") is None else read_message_field(content, "name", str)
        if read_message_field(content, "on", bool):
            return {"file": str(self._switch.start(choose_recording_file(self._folder, name, datetime.now())))}
        recorder = self._switch.stop()
        if recorder is None:
            raise ServiceError("nothing is being recorded; start first")
        return recorder

    def _send(self, envelope: Envelope, reply: dict[str, Any]) -> None:
        """Send an answer; it is dropped if the client does not read."""
        try:
            self._socket.send_multipart([*envelope, bytes(msgpack.packb(reply))], zmq.NOBLOCK)
        except zmq.Again:
            log.debug("an answer was dropped: the client does not read")


def _compose_recording_answer(recorder: Recorder) -> dict[str, Any]:
    """Return the answer on a finished recording."""
    if recorder.fault:
        return {"error": recorder.fault}
    return {"file": str(recorder.file), "recorded": recorder.n_recorded, "lost": recorder.n_lost}
