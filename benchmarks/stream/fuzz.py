"""Malformed messages, noise and mutations of real ones, against every decoder and every listening socket.

    python -m benchmarks.stream.fuzz [--messages 100000] [--seed 1] [--only NAME]... [--json F]

For each: messages a second, numbers accepted and refused, and the memory of the process when warm (after a tenth of the
messages, or a second) and at the end. A socket that ends connections (the publisher) or takes only well-formed frames (raw TCP)
gets fewer messages than were sent. Anything but acceptance or refusal ends the run with its traceback.
"""

import gc
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic, perf_counter

import msgpack
import psutil

from benchmarks.report import Column, TablePrinter, build_parser, number_columns, run_main, write_json
from benchmarks.stream.fuzz_messages import generate_malformed_messages
from benchmarks.stream.fuzz_samples import (
    BLOBS,
    JOURNAL,
    ORDERS,
    PREVIEWS,
    REPORTS,
    SESSION,
    STREAM,
    TUNING,
    build_recording_bytes,
)
from benchmarks.stream.fuzz_sockets import SOCKETS
from capture.process.control import RecentreOrder, Report, SyncOrder, TuneOrder, decode_order, decode_report
from capture.process.preview_image import decode_preview
from capture.sockets.wire import MalformedMessageError, decode_blobs, read_message_field, unpack_map
from capture.sources.jpeg import read_jpeg_size
from config.errors import DuocapError
from config.settings import Settings
from reconstruct.process.journal import JournalEntry, read_journal
from stream.protocol.codec import decode_message
from stream.publish.tuning import REQUESTS, TuningState, carry_out_request
from stream.recording.recorder import RecordingError
from stream.recording.recording import open_recording_bytes

LAST_TURN = bytes(msgpack.packb({"t_ns": 1400, "turn": 1, "blobs": 0}))
QUIET_S = 2.0  # without messages after the sender has ended
WARM_S = 1.0


@dataclass(frozen=True, slots=True)
class FuzzFigures:
    """Of one target. per_second: messages taken; memory is resident [MB]."""

    target: str
    sent: int
    per_second: float
    accepted: int
    refused: int
    warm_mb: float
    end_mb: float


def _decode_report_payload(payload: bytes) -> Report:
    """Return the report of a message of the fuzzer's session."""
    return decode_report(payload, SESSION)


def _read_journal_payload(payload: bytes) -> list[object]:
    """Return what one entry of a journal says, its topic before it."""
    topic, _, data = payload.partition(b" ")
    entry = JournalEntry(topic.decode("latin-1"), 1300, data)
    return list(read_journal([entry, JournalEntry("turn", 1400, LAST_TURN)]))


def _read_recording_payload(data: bytes) -> None:
    """Open a recording and read all of it."""
    try:
        recording = open_recording_bytes(data, Path("fuzz.mcap"))
    except RecordingError as error:
        raise MalformedMessageError(str(error)) from error
    for pose in recording.poses:
        assert pose.hash
    assert recording.skeleton is not None and len(list(recording.payloads())) >= len(recording.poses)


def _decode_preview_payload(payload: bytes) -> None:
    """Decode a preview, and its picture as far as libjpeg says nothing on standard error."""
    read_jpeg_size(decode_preview(payload).jpeg)


def _answer_tuning_payload(payload: bytes) -> None:
    """Answer a request about the cameras; a well-formed one may still be refused with a message."""
    content = unpack_map(payload)
    request = read_message_field(content, "request", str)
    if request not in REQUESTS:
        raise MalformedMessageError("no request about cameras")
    try:
        carry_out_request(_TUNING_STATE, request, content)
    except MalformedMessageError:
        raise
    except DuocapError as error:
        assert str(error)
    assert all(isinstance(ask.order, TuneOrder | SyncOrder | RecentreOrder) for ask in _TUNING_STATE.asks())


_TUNING_STATE = TuningState(Settings(), 2)  # of cameras without names: nothing is ever saved
DECODERS: dict[str, tuple[Callable[[bytes], object], Sequence[bytes]]] = {
    "stream messages": (decode_message, STREAM),
    "blobs": (decode_blobs, BLOBS),
    "orders": (decode_order, ORDERS),
    "reports": (_decode_report_payload, REPORTS),
    "journal": (_read_journal_payload, JOURNAL),
    "recordings": (_read_recording_payload, (build_recording_bytes(),)),
    "previews": (_decode_preview_payload, PREVIEWS),
    "tuning": (_answer_tuning_payload, TUNING),
}


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--messages", type=int, default=100_000, help="to each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=[*DECODERS, *SOCKETS], help="targets, otherwise all")
    options = parser.parse_args()
    counts = number_columns(0, "sent", "per_second", "accepted", "refused")
    table = TablePrinter((Column("target"), *counts, *number_columns(1, "warm_mb", "end_mb")))
    for name in options.only or [*DECODERS, *SOCKETS]:
        fuzz = fuzz_decoder if name in DECODERS else fuzz_socket
        table.add(fuzz(name, options.messages, options.seed))
    write_json(options.json, table.rows)


def fuzz_decoder(name: str, n_messages: int, seed: int) -> FuzzFigures:
    """Return what a decoder makes of n messages.

    Args:
        name: what is measured.
        n_messages: how many messages.
        seed: of the random numbers.
    """
    decoder, real = DECODERS[name]
    messages = generate_malformed_messages(real, seed)
    n_warm = n_messages // 10
    accepted = _count_accepted(decoder, islice(messages, n_warm))
    warm_mb, begin = measure_memory_mb(), perf_counter()
    accepted += _count_accepted(decoder, islice(messages, n_messages - n_warm))
    rate = (n_messages - n_warm) / (perf_counter() - begin)
    return FuzzFigures(name, n_messages, rate, accepted, n_messages - accepted, warm_mb, measure_memory_mb())


def _count_accepted(decoder: Callable[[bytes], object], messages: Iterator[bytes]) -> int:
    """Return the number of messages that a decoder accepts. Raises anything but a refusal."""
    accepted = 0
    for message in messages:
        try:
            decoder(message)
            accepted += 1
        except MalformedMessageError:
            pass
    return accepted


def fuzz_socket(name: str, n_messages: int, seed: int) -> FuzzFigures:
    """Let another process send n messages to a socket of ours.

    Args:
        name: what is measured.
        n_messages: how many messages.
        seed: of the random numbers.
    """
    listen, send = SOCKETS[name]
    target = listen()
    sender = multiprocessing.get_context("spawn").Process(target=send, args=(target.address, n_messages, seed), daemon=True)
    sender.start()
    taken, warm_mb = (0, 0), 0.0
    first, last = 0.0, monotonic()
    while sender.is_alive() or monotonic() - last < QUIET_S:
        now_taken = target.turn()
        if now_taken != taken:
            taken, last = now_taken, monotonic()
            first = first or last
        if not warm_mb and first and (sum(taken) > n_messages // 10 or monotonic() - first > WARM_S):
            warm_mb = measure_memory_mb()
    sender.join()
    end_mb = measure_memory_mb()
    target.close()
    return FuzzFigures(name, n_messages, sum(taken) / max(last - first, 1e-3), *taken, warm_mb, end_mb)


def measure_memory_mb() -> float:
    """Return the resident memory of this process."""
    gc.collect()
    return float(psutil.Process().memory_info().rss / 1e6)


if __name__ == "__main__":
    run_main(main)
