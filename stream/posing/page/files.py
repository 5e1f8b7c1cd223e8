"""The session's file, export, the stream, the colours of the page."""

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path

import viser

from stream.posing.document import PosingError
from stream.posing.page.controls import PosingPage
from stream.posing.publishing import PosePublisher
from stream.posing.session_file import format_posing_session, posing_session_from_bytes
from stream.take.take import Take
from stream.viewer.html import wrap_in_box
from stream.web.widgets import on_user_input, set_html, set_values

Export = Callable[[Take, str], bytes]


class FilePart:
    """Import and export of files.

    Args:
        file: file of the session.
        take: returns the take to export.
        export: returns it as the bytes of a file of a format.
        formats: suffixes by name.
        publisher: None where nothing is published.
    """

    def __init__(
        self,
        page: PosingPage,
        file: Path,
        take: Callable[[], Take],
        export: Export | None,
        formats: Mapping[str, str],
        publisher: PosePublisher | None,
    ) -> None:
        self._page, self._file, self._take, self._export = page, file, take, export
        self._formats, self._publisher = formats, publisher

    def export(self, name: str, client: viser.ClientHandle | None) -> None:
        """Send the motion, or without keys the pose, to a browser as a file of a format."""

        def encode() -> bytes:
            if self._export is None:
                raise PosingError("nothing can be exported here")
            return self._export(self._take(), name)

        self._send(client, self._file.stem + self._formats[name], encode)

    def download_session(self, client: viser.ClientHandle | None) -> None:
        """Send the session to a browser as a file."""
        session = self._page.session
        self._send(client, self._file.name, lambda: format_posing_session(session.document, session.skeleton).encode())

    def _send(self, client: viser.ClientHandle | None, name: str, encode: Callable[[], bytes]) -> None:
        """Have a file sent to the browser that asks for it."""
        if client is not None:
            self._page.put(lambda: client.send_file_download(name, encode(), save_immediately=True))

    def open_session(self, name: str, content: bytes) -> None:
        """Go on with a session of a browser's."""
        self._page.do(lambda session: session.open(posing_session_from_bytes(content, name)))

    def publish(self, on: bool) -> None:
        """Publish the pose to the stream, or no longer."""
        publisher = self._publisher
        if publisher is not None:
            self._page.put(lambda: publisher.switch(on))

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._text = gui.add_html("")
        formats = gui.add_dropdown("Format", tuple(self._formats) or ("",), hint="Of the file to export")
        export = gui.add_button("Export", hint="The motion, or the pose", icon=viser.Icon.DOWNLOAD)
        export.on_click(lambda event: self.export(formats.value, event.client))
        download = gui.add_button("Download the session", hint="To go on with it elsewhere", icon=viser.Icon.DOWNLOAD)
        download.on_click(lambda event: self.download_session(event.client))
        load = gui.add_upload_button(
            "Open a session", mime_type=".json,application/json", hint="That was downloaded here", icon=viser.Icon.UPLOAD
        )
        load.on_upload(lambda event: self.open_session(event.target.value.name, event.target.value.content))
        hint, can_publish = "Whatever listens to the stream follows the pose", self._publisher is not None
        self._publish = gui.add_checkbox("Publish to the stream", False, hint=hint, visible=can_publish)
        on_user_input(self._publish, self.publish)

    def update(self) -> None:
        """Show where the session is saved and whether it is published."""
        address = "" if self._publisher is None else self._publisher.address
        fault = self._page.session.save_fault
        saved = escape(f"not saved: {fault}" if fault else f"saved to {self._file} with every change")
        stream = f"<div class='dim'>published at {escape(address)}</div>" if address else ""
        set_html(self._text, wrap_in_box(f"<div class='dim'>{saved}</div>{stream}"))
        set_values(self._publish, value=bool(address))
