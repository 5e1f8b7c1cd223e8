"""The web server: a free port, the page's URL, and requests of other sites refused."""

import socket

import pytest

from stream.web.server import ViewerError, find_free_port, format_page_url, is_own_page


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
