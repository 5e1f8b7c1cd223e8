"""What pages add to viser's document: hints of buttons, the colours that a browser asks for, text that can be read."""

import gzip
import urllib.error
import urllib.request

import pytest

from stream.web.document import SETTLED_MS, PagePreference
from stream.web.html import compute_luminance, format_pill
from stream.web.server import close_server, open_server
from tests.support.kept import Kept
from tests.support.viewer.browser import Browser


def get(url: str, accept: str = "identity") -> tuple[int, bytes]:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept-Encoding": accept})) as answer:
        return answer.status, answer.read()


def test_a_page_has_the_script_packed_or_not_and_tells_what_its_browser_prefers(port: int, kept: Kept) -> None:
    preference, told = PagePreference(), list[bool]()
    server = open_server("127.0.0.1", port, "Ann's page", preference)
    kept.callback(close_server, server)
    url = f"http://127.0.0.1:{server.get_port()}"
    plain = get(url)[1]
    assert b"prefers-color-scheme" in plain and gzip.decompress(get(url, "gzip")[1]) == plain
    assert get(f"{url}/colour-scheme/light")[0] == 204 and preference.dark is False
    preference.listen(told.append)
    get(f"{url}/colour-scheme/dark")
    assert told == [False, True]
    with pytest.raises(urllib.error.HTTPError):
        get(f"{url}/nothing")


@pytest.mark.judge
def test_a_page_that_goes_blank_loads_itself_again(port: int, chromium: str, kept: Kept) -> None:
    server = open_server("127.0.0.1", port, "duocap")
    kept.callback(close_server, server)
    server.gui.add_html("all is well")
    with Browser(chromium) as browser:
        browser.open(f"http://127.0.0.1:{server.get_port()}")
        browser.wait("the page", lambda: "all is well" in browser.text())
        browser.wait("settled", lambda: bool(browser.evaluate(f"performance.now() > {SETTLED_MS}")))
        browser.evaluate("document.getElementById('root').replaceChildren()")
        browser.wait("the page again", lambda: "all is well" in browser.text())


@pytest.mark.parametrize("color", ["#12996f", "#d9480f", "#74777d", "#009e73", "#e69f00", "#000000", "#ffffff"])
def test_labels_can_be_read(color: str) -> None:
    ink = "#000000" if "color:#000" in format_pill("live", color) else "#ffffff"
    low, high = sorted((compute_luminance(color), compute_luminance(ink)))
    assert (high + 0.05) / (low + 0.05) >= 4.5
