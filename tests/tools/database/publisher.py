"""A publisher of archives on this machine, which can misbehave in the ways that publishers do."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Publisher:
    """What it has, and how it answers.

    files: path -> content; cuts: after how many bytes of each answer to hang up, used up one by one; etag: of all files, empty:
    none; ranges: whether it honours Range, at all; if_range: whether it heeds If-Range; lie: added to Content-Length; status: of
    every answer, where it is no file; asked: (path, Range) of each request.
    """

    files: dict[str, bytes]
    cuts: list[int] = field(default_factory=list)
    etag: str = '"one"'
    ranges: bool = True
    if_range: bool = True
    length: bool = True
    lie: int = 0
    status: int = 200
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""


def _answer(publisher: Publisher, handler: http.server.BaseHTTPRequestHandler) -> None:
    """Answer one request."""
    wanted = handler.headers.get("Range", "")
    publisher.asked.append((handler.path, wanted))
    content = publisher.files.get(handler.path)
    if content is None or publisher.status != 200:
        handler.send_error(404 if content is None else publisher.status)
        return
    same = not publisher.if_range or handler.headers.get("If-Range", publisher.etag) == publisher.etag
    start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and publisher.ranges and same else 0
    if start and start >= len(content):
        handler.send_error(416)
        return
    handler.send_response(206 if start else 200)
    if publisher.etag:
        handler.send_header("ETag", publisher.etag)
    if start:
        handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    if publisher.length:
        handler.send_header("Content-Length", str(len(content) - start + publisher.lie))
    handler.end_headers()
    cut = publisher.cuts.pop(0) if publisher.cuts else len(content)
    handler.wfile.write(content[start : start + cut])
    handler.close_connection = True


@contextlib.contextmanager
def publishing(publisher: Publisher) -> Iterator[Publisher]:
    """Serve until the block ends; `url` is then where."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(publisher, self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    publisher.url = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        yield publisher
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
