"""Where the poses of a replay go: the stream, if its address is free."""

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from calibration.camera import Rig
from calibration.subject import Subject
from config.settings import Settings
from stream.publisher import StreamError
from stream.sink import StreamSink

logger = logging.getLogger(__name__)


@contextmanager
def replay_sink(settings: Settings, subject: Subject, rig: Rig, publish: bool) -> Iterator[StreamSink | None]:
    """Give the stream's sink, or None when it is not wanted or another run holds the address: a replay goes on without."""
    sink: StreamSink | None = None
    if publish:
        try:
            sink = StreamSink(settings.stream.address, uuid.uuid4().hex[:12], subject, rig, settings.stream.predict_ms)
        except StreamError as error:
            logger.warning("not publishing: %s", error)
    try:
        yield sink
    finally:
        if sink is not None:
            sink.close()
