"""Key files: readable by other software, the secret ones by their owner only, never overwritten by accident; the command."""

import os
from pathlib import Path

import pytest
import zmq
import zmq.auth
from typer.testing import CliRunner

from capture.sockets.keys import (
    CLIENT,
    CLIENTS,
    PUBLISHER,
    SERVERS,
    KeyFileError,
    add_public_key,
    admit_clients,
    build_zap_reply,
    find_peer_file,
    has_own_pair,
    make_key_pairs,
    read_key_text,
    read_own_pair,
    read_public_key,
    read_public_keys,
    remove_public_key,
)
from config.errors import DuocapError
from tools.cli import build_application


def test_pairs_are_what_zeromq_reads(tmp_path: Path) -> None:
    assert not has_own_pair(tmp_path / "keys")
    public = make_key_pairs(tmp_path / "keys")
    assert has_own_pair(tmp_path / "keys") and set(public) == {PUBLISHER, CLIENT}
    for name in (PUBLISHER, CLIENT):
        pair = read_own_pair(tmp_path / "keys", name)
        assert zmq.auth.load_certificate(tmp_path / "keys" / f"{name}.key_secret") == (pair.public, pair.secret)
        assert zmq.auth.load_certificate(tmp_path / "keys" / f"{name}.key") == (pair.public, None)
        assert zmq.curve_public(pair.secret) == pair.public == public[name]
        assert pair.secret.decode() not in repr(pair) + str(pair)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes; the user's folder is private there")
def test_secret_files_are_for_their_owner(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        make_key_pairs(tmp_path / "keys")
    finally:
        os.umask(old)
    for name in (PUBLISHER, CLIENT):
        assert (tmp_path / "keys" / f"{name}.key_secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_keys_are_not_overwritten_unless_forced(tmp_path: Path) -> None:
    make_key_pairs(tmp_path)
    before = read_own_pair(tmp_path, PUBLISHER)
    with pytest.raises(KeyFileError, match="--force"):
        make_key_pairs(tmp_path)
    assert read_own_pair(tmp_path, PUBLISHER) == before
    make_key_pairs(tmp_path, force=True)
    assert read_own_pair(tmp_path, PUBLISHER).public != before.public


def test_a_secret_key_that_was_handed_on_is_refused(tmp_path: Path) -> None:
    make_key_pairs(tmp_path)
    with pytest.raises(KeyFileError, match=r"holds a secret key.*without _secret"):
        read_key_text(str(tmp_path / "client.key_secret"))
    assert read_key_text(str(tmp_path / "client.key")) == read_own_pair(tmp_path, CLIENT).public


def test_peers_are_added_listed_and_removed(tmp_path: Path) -> None:
    key, other = zmq.curve_keypair()[0], zmq.curve_keypair()[0]
    add_public_key(tmp_path, CLIENTS, "laptop", key)
    add_public_key(tmp_path, CLIENTS, "blender", other)
    (tmp_path / CLIENTS / "torn.key").write_bytes(b"\xff\xfe public-key")
    assert read_public_keys(tmp_path, CLIENTS) == {"blender": other, "laptop": key} and read_public_keys(tmp_path, SERVERS) == {}
    with pytest.raises(KeyFileError, match="there are: blender, laptop"):
        remove_public_key(tmp_path, CLIENTS, "nobody")
    remove_public_key(tmp_path, CLIENTS, "laptop")
    assert read_public_keys(tmp_path, CLIENTS) == {"blender": other}


def test_a_key_is_named_by_its_text_or_its_file(tmp_path: Path) -> None:
    key = zmq.curve_keypair()[0]
    file = add_public_key(tmp_path, SERVERS, "[fe80::1]", key)
    assert file.name == "fe80--1.key" and read_key_text(str(file)) == read_public_key(file) == read_key_text(key.decode()) == key
    for text in ("x" * 39 + '"', "é" * 40, "too short", str(tmp_path)):
        with pytest.raises(KeyFileError):
            read_key_text(text)


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "x" * 65, "c:\\x"])
def test_names_that_could_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyFileError, match="is no name for a key"):
        find_peer_file(tmp_path, CLIENTS, name)


def test_the_doorkeeper_answers_every_request(tmp_path: Path) -> None:
    make_key_pairs(tmp_path)
    public, _ = zmq.curve_keypair()
    add_public_key(tmp_path, CLIENTS, "laptop", public)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    domain = admit_clients(context, tmp_path)
    raw = zmq.utils.z85.decode(public)
    good = [b"1.0", b"7", domain, b"10.0.0.1", b"", b"CURVE", raw]
    assert build_zap_reply(good) == [b"1.0", b"7", b"200", b"OK", b"laptop", b""]
    bad = [[b"1.0"], good[:6], [*good, b""], [*good[:5], b"PLAIN", raw], [*good[:5], b"NULL"], [*good[:2], b"other", *good[3:]]]
    bad += [[*good[:6], raw[:31]], [*good[:6], bytes(32)]]
    for request in bad:
        assert build_zap_reply(request)[2] == b"400"
    read_own_pair(tmp_path, CLIENT)
    (tmp_path / "client.key_secret").unlink()
    assert build_zap_reply(good)[2] == b"400", "a folder that cannot be read admits nobody"
    context.term()


def run(folder: Path, *words: str) -> str:
    result = CliRunner().invoke(build_application("keys"), ["keys", *words, "--set", f"stream.keys='{folder.as_posix()}'"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_makes_adds_lists_and_removes_and_shows_no_secret(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    said = [run(here, "list"), run(here, "make"), run(there, "make")]
    said.append(run(here, "add", "laptop", str(there / "client.key")))
    said.append(run(there, "trust", "192.168.1.20", str(here / "publisher.key")))
    said.append(run(here, "list"))
    assert "make them with: duocap keys make" in said[0]
    assert "laptop" in said[-1] and read_own_pair(there, CLIENT).public.decode() in said[-1]
    assert "192.168.1.20" in run(there, "list")
    with pytest.raises(DuocapError, match="--force"):
        run(here, "make")
    run(here, "remove", "laptop")
    assert "laptop" not in run(here, "list")
    run(here, "make", "--force")
    for folder in (here, there):
        for name in (PUBLISHER, CLIENT):
            assert read_own_pair(folder, name).secret.decode() not in "".join(said)


def test_help_says_what_to_do_on_both_machines() -> None:
    text = " ".join(CliRunner().invoke(build_application("keys"), ["keys", "--help"]).output.split())
    for words in ("Both machines say `duocap keys make` once", "duocap keys add NAME KEY", "duocap keys trust HOST KEY"):
        assert words in text
