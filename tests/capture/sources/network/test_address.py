"""Addresses of network cameras, taken apart and told without what is secret."""

import pytest

from capture.sources.network.address import hide_secrets, is_mjpeg_url, is_rtsp_url, parse_network_address
from config.errors import SourceError


def test_an_address_by_hand() -> None:
    found = parse_network_address("HTTP://j%C3%BCrg:p%40ss%3A1@Cam.local:8080/a/video?fps=30&key=7#x")
    assert (found.scheme, found.host, found.port, found.target) == ("http", "cam.local", 8080, "/a/video?fps=30&key=7")
    assert (found.user, found.password) == ("jürg", "p@ss:1")
    assert found.shown == "http://Cam.local:8080/a/video"
    assert parse_network_address("https://h").port == 443 and parse_network_address("https://h").target == "/"
    assert parse_network_address("rtsp://[fe80::1]/live").host == "fe80::1" and parse_network_address("rtsp://h/").port == 554
    assert parse_network_address("http://h/").user is None


@pytest.mark.parametrize(
    "url", ["http://", "http://:80/", "http://u:secret@h:port/", "http://h:99999/", "rtsp://u:secret@[x/", "http://h/a b"]
)
def test_what_is_no_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SourceError, match="not an address of a camera; expected one like") as caught:
        parse_network_address(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("http://u:p@h/v?token=t", "http://h/v"),
        ("rtsp://u:p@x@h:554/s", "rtsp://h:554/s"),
        ("rtsp://h/user=a_password=b_channel=1.sdp", "rtsp://h/user=a_password=***_channel=1.sdp"),
        ("http://h/Pwd=b/video", "http://h/Pwd=***/video"),
        ("0", "0"),
        ("a/b?c", "a/b?c"),
    ],
)
def test_what_may_be_printed(spec: str, shown: str) -> None:
    assert hide_secrets(spec) == shown


def test_kinds() -> None:
    assert is_mjpeg_url("HTTPS://x") and not is_mjpeg_url("rtsp://x") and not is_mjpeg_url("0")
    assert is_rtsp_url("rtsp://x") and is_rtsp_url("RTSPS://x") and not is_rtsp_url("http.avi")
