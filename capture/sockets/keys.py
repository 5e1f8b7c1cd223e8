"""CURVE keys in files, and the thread that admits clients by them.

A folder holds `publisher.key` and `client.key` (public) with their `_secret` halves (readable by their owner only),
`clients/NAME.key` for every admitted client and `servers/HOST.key` for every trusted server. The format is that of zmq.auth and
czmq (ZPL); keys are Z85 text of 40 characters.

The authenticator answers ZeroMQ's ZAP requests (RFC 27), one thread a context. It reads the folder at every handshake, so a
change counts from the next connection on. Without it nobody is admitted.
"""

import hashlib
import logging
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
import zmq
from zmq.utils import z85

from config.errors import DuocapError, describe_reason
from config.files import write_atomically

PUBLISHER, CLIENT = "publisher", "client"
CLIENTS, SERVERS = "clients", "servers"
KEY = re.compile(r'^\s*(public|secret)-key\s*=\s*"([^"]{40})"\s*$', re.MULTILINE)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_FILE_BYTES = 4096
MAX_CLIENTS = 1000


class KeyFileError(DuocapError):
    """A key is missing, invalid, or would be overwritten."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A public and a secret key as Z85 text; the secret one is never printed."""

    public: bytes
    secret: bytes

    def __repr__(self) -> str:
        """Return the public half only."""
        return f"KeyPair({self.public.decode()})"


def find_default_folder() -> Path:
    """Return the folder of this user's keys, unless `stream.keys` names another."""
    return Path(platformdirs.user_config_dir("duocap", appauthor=False)) / "keys"


def make_key_pairs(folder: Path, force: bool = False) -> dict[str, bytes]:
    """Make the pairs `publisher` and `client`; return their public keys.

    Raises KeyFileError: there are keys already, unless `force`; or the folder cannot be written.
    """
    there = [name for name in (PUBLISHER, CLIENT) if _find_secret_file(folder, name).exists()]
    if there and not force:
        raise KeyFileError(
            f"{folder}: there are keys already ({', '.join(there)}); "
            "--force makes new ones, and whoever has the old public keys must be given the new ones"
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kind in (CLIENTS, SERVERS):
            (folder / kind).mkdir(mode=0o700, exist_ok=True)
        return {name: _make_key_pair(folder, name) for name in (PUBLISHER, CLIENT)}
    except OSError as error:
        raise KeyFileError(
            f"{folder}: keys cannot be written there ({describe_reason(error)}); choose another folder with --set "
            f"stream.keys=FOLDER"
        ) from error


def _make_key_pair(folder: Path, name: str) -> bytes:
    """Make one pair and return its public key; others can never read the secret file."""
    public, secret = zmq.curve_keypair()
    file = _find_secret_file(folder, name)
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(_format_key_file(public, f"secret key of a duocap {name}: show it to nobody", secret))
    write_atomically(folder / f"{name}.key", _format_key_file(public, f"public key of a duocap {name}"))
    return public


def read_own_pair(folder: Path, name: str) -> KeyPair:
    """Read the pair `publisher` or `client`. Raises KeyFileError."""
    file = _find_secret_file(folder, name)
    found = dict(KEY.findall(_read_key_file(file, "make keys with: duocap keys make")))
    if set(found) != {"public", "secret"}:
        raise KeyFileError(f"{file}: expected a public and a secret key; make new ones with: duocap keys make --force")
    return KeyPair(_decode_key(found["public"], file), _decode_key(found["secret"], file))


def has_own_pair(folder: Path) -> bool:
    """Return whether a folder holds both pairs."""
    return _find_secret_file(folder, PUBLISHER).is_file() and _find_secret_file(folder, CLIENT).is_file()


def read_public_key(file: Path) -> bytes:
    """Read the public key of a file. Raises KeyFileError."""
    found = dict(KEY.findall(_read_key_file(file, "give a .key file of another duocap, or its 40 characters")))
    if "public" not in found:
        raise KeyFileError(f"{file}: no public key in it; give a .key file of another duocap, or its 40 characters")
    return _decode_key(found["public"], file)


def add_public_key(folder: Path, kind: str, name: str, public: bytes) -> Path:
    """Write a public key to clients/NAME.key or servers/NAME.key; return the file.

    Args:
        folder: of the keys.
        kind: `clients` or `servers`.
        name: of the peer.
        public: the key.
    Raises: KeyFileError: an invalid name or key, or the file cannot be written.
    """
    file = find_peer_file(folder, kind, name)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise KeyFileError(
            f"{file.parent}: cannot be made ({describe_reason(error)}); choose another folder with --set stream.keys=FOLDER"
        ) from error
    write_atomically(file, _format_key_file(public, f"public key of {name}"))
    return file


def remove_public_key(folder: Path, kind: str, name: str) -> Path:
    """Delete a public key; return its file.

    Args:
        folder: of the keys.
        kind: `clients` or `servers`.
        name: of the peer.
    Raises: KeyFileError: there is none of that name.
    """
    file = find_peer_file(folder, kind, name)
    if not file.is_file():
        known = ", ".join(read_public_keys(folder, kind)) or "none"
        raise KeyFileError(f"{name}: no key of that name among {kind}; there are: {known}")
    file.unlink()
    return file


def read_public_keys(folder: Path, kind: str) -> dict[str, bytes]:
    """Return the keys of clients or servers by name, without files that hold none."""
    keys: dict[str, bytes] = {}
    for file in sorted((folder / kind).glob("*.key"))[:MAX_CLIENTS]:
        try:
            keys[file.stem] = read_public_key(file)
        except KeyFileError:
            continue
    return keys


def find_peer_file(folder: Path, kind: str, name: str) -> Path:
    """Return the file of a peer's key.

    Args:
        folder: of the keys.
        kind: `clients` or `servers`.
        name: of the peer.
    Raises: KeyFileError: an invalid name.
    """
    plain = name.strip("[]").replace(":", "-").lower() if kind == SERVERS else name
    if not NAME.fullmatch(plain):
        raise KeyFileError(f"{name!r} is no name for a key; use letters, digits, dots, - and _, such as blender-laptop")
    return folder / kind / f"{plain}.key"


def read_key_text(text: str) -> bytes:
    """Return the public key given as 40 characters or as a file. Raises KeyFileError."""
    if len(text) == 40 and not Path(text).exists():
        return _decode_key(text, "the key")
    file = Path(text)
    if "secret" in dict(KEY.findall(_read_key_file(file, "give a .key file of another duocap, or its 40 characters"))):
        raise KeyFileError(f"{file}: holds a secret key, which nobody else should have; give the file without _secret")
    return read_public_key(file)


def _decode_key(text: str, where: object) -> bytes:
    """Return a key as bytes. Raises KeyFileError unless it is 32 bytes in Z85."""
    try:
        if len(z85.decode(text.encode("ascii"))) == 32:
            return text.encode("ascii")
    except (ValueError, KeyError, UnicodeEncodeError):
        pass
    raise KeyFileError(f"{where}: {text[:8]}... is no key of 40 characters (Z85); copy it again")


def _read_key_file(file: Path, todo: str) -> str:
    """Return the text of a key file. Raises KeyFileError."""
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{file}: no key can be read there ({describe_reason(error)}); {todo}") from error


def _format_key_file(public: bytes, title: str, secret: bytes | None = None) -> str:
    """Return the content of a key file."""
    secret_line = f'    secret-key = "{secret.decode()}"\n' if secret is not None else ""
    return f'# {title}\nmetadata\ncurve\n    public-key = "{public.decode()}"\n{secret_line}'


def _find_secret_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.key_secret"


log = logging.getLogger(__name__)

ADDRESS = "inproc://zeromq.zap.01"
ADMITTED, REFUSED = (b"200", b"OK"), (b"400", b"not admitted")

_folders: dict[bytes, Path] = {}
_starting = threading.Lock()


def admit_clients(context: zmq.Context[Any], folder: Path) -> bytes:
    """Admit the clients of a folder and this machine's own; return the ZAP domain for the server's socket."""
    domain = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16].encode()
    with _starting:
        _folders[domain] = folder
        socket: zmq.Socket[bytes] = context.socket(zmq.REP)
        socket.setsockopt(zmq.LINGER, 0)
        try:
            socket.bind(ADDRESS)
        except zmq.ZMQError as error:
            socket.close(0)
            if error.errno != zmq.EADDRINUSE:  # in use: this context has its authenticator
                raise
        else:
            threading.Thread(target=_answer_requests, args=(socket,), name="authenticator", daemon=True).start()
    return domain


def _answer_requests(socket: "zmq.Socket[bytes]") -> None:
    """Answer requests until the context ends."""
    try:
        while True:
            socket.send_multipart(build_zap_reply(socket.recv_multipart()))
    except zmq.ZMQError as error:  # the context ends, or is gone
        log.debug("authenticator ends: %s", error)
    finally:
        socket.close(0)


def build_zap_reply(request: list[bytes]) -> list[bytes]:
    """Return the reply to one ZAP request: version, id, status, text, user, metadata."""
    version, request_id = request[0], request[1] if len(request) > 1 else b""
    name = _find_client(request)
    if name is None:
        log.info("a client without an admitted key was turned away")
    status = ADMITTED if name is not None else REFUSED
    return [version, request_id, *status, (name or "").encode("utf-8", "replace"), b""]


def _find_client(request: list[bytes]) -> str | None:
    """Return the name of the client of a request (version, id, domain, address, identity, mechanism, key), None if unknown."""
    if len(request) != 7 or request[5] != b"CURVE" or len(request[6]) != 32:
        return None
    folder = _folders.get(request[2])
    if folder is None:
        return None
    try:
        key = z85.encode(request[6])
        if key == read_own_pair(folder, CLIENT).public:
            return "this machine"
        return next((name for name, known in read_public_keys(folder, CLIENTS).items() if known == key), None)
    except (KeyFileError, OSError) as error:
        log.warning("%s", error)
        return None
