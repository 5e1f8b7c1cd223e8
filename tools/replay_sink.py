"""Where the poses of a replay go: the stream, if its address is free."""

import logging
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from calibration.camera import Rig
from calibration.subject import Subject
from config.settings import Settings
from stream.outputs import OutputFactory
from stream.publisher import StreamError
from stream.sink import StreamSink
from tools.live import open_sink

logger = logging.getLogger(__name__)


@contextmanager
def replay_sink(
    settings: Settings,
    subject: Subject,
    rig: Rig,
    publish: bool,
    outputs: Sequence[OutputFactory] = (),
    record: Path | None = None,
) -> Iterator[StreamSink | None]:
    """Give the stream's sink, or None when it is not wanted or another run holds the address: a replay goes on without.

    outputs: factories of what hears every message beside the subscribers; record: a file to record to, which needs the stream.
    Raises what the outputs raise, RecordingError, and StreamError if it should be recorded.
    """
    sink: StreamSink | None = None
    if publish:
        try:
            sink = open_sink(rig, subject, settings, uuid.uuid4().hex[:12], outputs, record)
        except StreamError as error:
            if record is not None:
                raise
            logger.warning("not publishing: %s", error)
    try:
        yield sink
    finally:
        if sink is not None:
            sink.close()
