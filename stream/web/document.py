"""What every page adds to viser's document: its title, hints and names of widgets, and whether the browser asks for a dark page.

viser 1.1 shows the hints of all widgets but plain buttons, and does not tell the server which colours a browser prefers. Its
fields, sliders, icons and pictures have no names that a screen reader could say, and its labels too little contrast (4.0 and
3.3 to 1): names are taken from the label beside each, the picture's title and the icon. Its page ends in a blank one where a
skinned mesh is taken away while a busy browser still draws it (SkinnedMesh.tsx, the cleanup of its effect reads the node that is
no more): such a page loads itself again, and the server shows it how things stand.
"""

import gzip
import json
from collections.abc import Callable
from functools import lru_cache
from html import escape
from http import HTTPStatus

import viser
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

SCHEME_PATH = "/colour-scheme/"  # and dark or light
HINT = "data-hint"
HEAD = "</head>"
SETTLED_MS = 5000  # a page that goes blank sooner than this would only do so again
SCRIPT = """<style>
html:root[data-mantine-color-scheme="dark"] { --mantine-color-dimmed: #a6a9af; }
html:root[data-mantine-color-scheme="light"] { --mantine-color-dimmed: #5c6067; }
</style>
<script>
(() => {
  document.title = %TITLE%;
  const media = matchMedia("(prefers-color-scheme: dark)");
  const tell = () => fetch("%SCHEME%" + (media.matches ? "dark" : "light")).catch(() => {});
  tell();
  media.addEventListener("change", tell);
  const hint = () => {
    let buttons = [];
    for (const e of document.querySelectorAll("button, [%HINT%]")) {
      if (e.tagName === "BUTTON") { buttons.push(e); continue; }
      const own = buttons.reverse().find(b => b.innerText.trim() === e.dataset.of);
      if (own && own.title !== e.dataset.hint) own.title = e.dataset.hint;
      buttons = [];
    }
  };
  const name = () => {
    document.getElementById("root")?.setAttribute("role", "main");
    for (const e of document.querySelectorAll("input:not([type=hidden]), textarea, [role=slider]")) {
      if (e.getAttribute("aria-label") || e.labels?.length) continue;
      let row = e.parentElement;
      while (row && !row.querySelector("label")) row = row.parentElement;
      const said = row?.querySelector("label").innerText.trim();
      if (said) e.setAttribute("aria-label", said);
    }
    for (const e of document.querySelectorAll("button:not([aria-label]):not([title])")) {
      if (e.innerText.trim()) continue;
      const icon = /tabler-icon-([a-z-]+)/.exec(e.querySelector("svg")?.getAttribute("class"));
      e.setAttribute("aria-label", icon ? icon[1].replaceAll("-", " ") : "close");
    }
    for (const e of document.querySelectorAll("img:not([alt])"))
      e.alt = e.parentElement.previousElementSibling?.innerText.trim() ?? "";
  };
  let waiting = false, drawn = false;
  new MutationObserver(() => {
    const full = document.getElementById("root")?.childElementCount > 0;
    if (drawn && !full && performance.now() > %SETTLED_MS%) location.reload();
    drawn = full;
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; hint(); name(); }, 300);
  }).observe(document, {subtree: true, childList: true});
})();
</script>"""


class PagePreference:
    """Whether the browser that last opened the page asks for a dark one; `listen` is told of every answer."""

    def __init__(self) -> None:
        self.dark: bool | None = None
        self._listener: Callable[[bool], None] | None = None

    def listen(self, listener: Callable[[bool], None]) -> None:
        """Have a function called with every answer, and with one that has come already."""
        self._listener = listener
        if self.dark is not None:
            listener(self.dark)

    def take(self, dark: bool) -> None:
        """Take an answer of a browser."""
        self.dark = dark
        if self._listener is not None:
            self._listener(dark)


def answer_preference(request: Request, preference: PagePreference) -> Response | None:
    """Take a browser's answer; None for any other request."""
    if not request.path.startswith(SCHEME_PATH):
        return None
    preference.take(request.path == f"{SCHEME_PATH}dark")
    return Response(HTTPStatus.NO_CONTENT.value, HTTPStatus.NO_CONTENT.phrase, Headers())


def extend_document(response: Response, title: str) -> Response:
    """Return the document of a page with what this module adds; other responses as they are."""
    if not response.headers.get("Content-Type", "").startswith("text/html") or response.body is None:
        return response
    is_packed = response.headers.get("Content-Encoding") == "gzip"
    body = _extend_body(bytes(response.body), is_packed, title)
    headers = Headers(response.headers)
    del headers["Content-Length"]
    headers["Content-Length"] = str(len(body))
    return Response(response.status_code, response.reason_phrase, headers, body)


@lru_cache(4)
def _extend_body(body: bytes, is_packed: bool, title: str) -> bytes:
    """Return a document with the script before the end of its head."""
    text = (gzip.decompress(body) if is_packed else body).decode("utf-8")
    script = SCRIPT.replace("%TITLE%", json.dumps(title)).replace("%SCHEME%", SCHEME_PATH).replace("%HINT%", HINT)
    script = script.replace("%SETTLED_MS%", str(SETTLED_MS))
    extended = text.replace(HEAD, script + HEAD, 1).encode("utf-8")
    return gzip.compress(extended) if is_packed else extended


def format_button_hint(label: str, hint: str) -> str:
    """Return what makes the script set the hint of the button before it."""
    return f'<i hidden data-of="{escape(label)}" {HINT}="{escape(hint)}"></i>'


def show_button_hints(gui: viser.GuiApi) -> None:
    """Have the hints of plain buttons shown, which viser takes and leaves out."""
    add_button = gui.add_button

    def add_with_hint(label: str, *, hint: str | None = None, **style: object) -> viser.GuiButtonHandle:
        button = add_button(label, **style)  # type: ignore[arg-type]
        if hint:
            gui.add_html(format_button_hint(label, hint))
        return button

    gui.add_button = add_with_hint  # type: ignore[method-assign]
