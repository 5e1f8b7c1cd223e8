"""What C libraries print on standard error, taken off the screen and into the log at debug.

Cheap cameras let the JPEG decoder complain in every frame, and OpenCV has its own words for what duocap tells in one line.
"""

import io
import logging
import os
import sys
import threading

log = logging.getLogger(__name__)

MAX_LINES = 50  # of different wording, a process
CHUNK_BYTES = 4096
_lock = threading.Lock()
_diverted = False


def divert_chatter() -> None:
    """From now on, keep Python's standard error as it is, and log what everything else writes to the file behind it.

    Once a process. Where standard error is no file, as in a windowed program, nothing is done.
    """
    global _diverted
    with _lock:
        if _diverted or not _is_file_2(sys.stderr):
            return
        _diverted = True
        sys.stderr.flush()
        kept = os.dup(2)
        sys.stderr = os.fdopen(kept, "w", encoding=sys.stderr.encoding, errors="backslashreplace", buffering=1)
        reading, writing = os.pipe()
        os.dup2(writing, 2)
        os.close(writing)
        threading.Thread(target=_listen, args=(reading,), name="chatter", daemon=True).start()


def _is_file_2(stream: object) -> bool:
    """Tell whether a stream writes to file 2 itself; a test's or a window's does not."""
    try:
        return isinstance(stream, io.TextIOBase) and stream.fileno() == 2
    except (OSError, ValueError):
        return False


def _listen(reading: int) -> None:
    """Log each line the first time that it comes."""
    said: set[str] = set()
    rest = b""
    while chunk := os.read(reading, CHUNK_BYTES):
        *lines, rest = (rest[-CHUNK_BYTES:] + chunk).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").strip()
            if text and text not in said and len(said) < MAX_LINES:
                said.add(text)
                log.debug("a library says: %s", text)
