"""The web server: a free port, the page's URL, and requests of other sites refused."""

import socket
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from stream.web.server import (
    ViewerError,
    close_server,
    find_free_port,
    format_page_url,
    holds_token,
    is_own_page,
    open_server,
    serve_page,
)
from tests.support.kept import Kept


def test_a_taken_port_gives_the_next_and_a_foreign_address_is_named(port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        assert find_free_port("127.0.0.1", port) > port
    with pytest.raises(ViewerError, match=r"203\.0\.113\.1.*--host"):
        find_free_port("203.0.113.1", 8080)


def test_only_own_pages_are_answered() -> None:
    assert is_own_page(None, "127.0.0.1:8080", loopback=True), "no page at all"
    assert is_own_page("http://127.0.0.1:8080", "127.0.0.1:8080", loopback=True)
    assert is_own_page("http://localhost:8080", "localhost:8080", loopback=True)
    assert not is_own_page("http://evil.example", "127.0.0.1:8080", loopback=True)
    assert not is_own_page("http://127.0.0.1:9999", "127.0.0.1:8080", loopback=True), "another program of this machine"
    assert not is_own_page("http://evil.example:8080", "evil.example:8080", loopback=True), "a name made to point here"
    assert not is_own_page(None, None, loopback=True)
    assert is_own_page("http://192.0.2.7:8080", "192.0.2.7:8080", loopback=False)


def test_what_a_browser_opens() -> None:
    assert format_page_url("127.0.0.1", 8080) == "http://127.0.0.1:8080"
    assert format_page_url("0.0.0.0", 81) == "http://127.0.0.1:81" and format_page_url("::1", 81) == "http://[::1]:81"
    assert format_page_url("127.0.0.1", 8080, "abc") == "http://127.0.0.1:8080/?token=abc"


def test_a_token_is_in_the_address_or_in_a_cookie() -> None:
    assert holds_token("/", None, "")
    assert holds_token("/?token=abc", None, "abc") and holds_token("/assets/a.js", "other=1; token=abc", "abc")
    for path, cookies in (("/", None), ("/?token=ab", None), ("/?token=", "token="), ("/", "token=abcd"), ("/", '=;;="')):
        assert not holds_token(path, cookies, "abc")


def test_a_server_with_a_token_answers_nobody_without_it(port: int, kept: Kept) -> None:
    server = open_server("127.0.0.1", port, "duocap", token="abc")
    kept.callback(close_server, server)
    url = f"http://127.0.0.1:{server.get_port()}/"
    foreign = Request(url + "?token=abc", headers={"Origin": "http://evil.example"})
    for refused in (Request(url), Request(url, headers={"Cookie": "token=no"}), Request(url + "?token=no"), foreign):
        with pytest.raises(HTTPError, match="403") as answer:
            urlopen(refused)
        answer.value.close()
    with urlopen(url + "?token=abc") as answer:
        cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"token-{server.get_port()}=abc;") and "HttpOnly" in cookie and "SameSite=Strict" in cookie
    with urlopen(Request(url, headers={"Cookie": "token=abc"})) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(("host", "wanted"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_other_machines_need_a_token_and_this_one_none(port: int, kept: Kept, host: str, wanted: bool) -> None:
    page = serve_page(host, port, "duocap")
    kept.callback(close_server, page.server)
    assert ("?token=" in page.url) == wanted
    with urlopen(page.url) as answer:
        assert answer.status == 200
