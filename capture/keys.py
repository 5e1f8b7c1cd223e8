"""Files of CURVE keys: who this machine is, whom it admits, whom it trusts.

A folder holds `publisher.key` and `client.key` (public) with their `_secret` halves (readable by their owner only),
`clients/NAME.key` for every client that is admitted and `servers/HOST.key` for every machine whose sockets are connected to.
The format is that of zmq.auth and czmq (ZPL); keys are Z85 text of 40 characters.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import zmq
from zmq.utils import z85

from config.errors import DuocapError, reason
from config.files import atomic_write

PUBLISHER, CLIENT = "publisher", "client"
CLIENTS, SERVERS = "clients", "servers"
KEY = re.compile(r'^\s*(public|secret)-key\s*=\s*"([^"]{40})"\s*$', re.MULTILINE)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_FILE_BYTES = 4096
MAX_CLIENTS = 1000


class KeyFileError(DuocapError):
    """A key is missing, no key, or would be overwritten."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Both halves, as Z85 text; the secret one never shows in a printed pair."""

    public: bytes
    secret: bytes

    def __repr__(self) -> str:
        """Give the public half only."""
        return f"KeyPair({self.public.decode()})"


def default_folder() -> Path:
    """Give where this user's keys are unless `stream.keys` says otherwise."""
    return Path(platformdirs.user_config_dir("duocap", appauthor=False)) / "keys"


def make_pairs(folder: Path, force: bool = False) -> dict[str, bytes]:
    """Make the pairs `publisher` and `client`; give their public keys. Raises KeyFileError where there are some, unless force."""
    there = [name for name in (PUBLISHER, CLIENT) if _secret_file(folder, name).exists()]
    if there and not force:
        raise KeyFileError(
            f"{folder}: there are keys already ({', '.join(there)}); "
            "--force makes new ones, and whoever has the old public keys must be given the new ones"
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kind in (CLIENTS, SERVERS):
            (folder / kind).mkdir(mode=0o700, exist_ok=True)
        return {name: _make_pair(folder, name) for name in (PUBLISHER, CLIENT)}
    except OSError as error:
        raise KeyFileError(
            f"{folder}: keys cannot be written there ({reason(error)}); choose another folder with --set stream.keys=FOLDER"
        ) from error


def _make_pair(folder: Path, name: str) -> bytes:
    """Make one pair and give its public key; the secret file never is readable to others, not even for a moment."""
    public, secret = zmq.curve_keypair()
    file = _secret_file(folder, name)
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(_text(public, f"secret key of a duocap {name}: show it to nobody", secret))
    atomic_write(_public_file(folder, name), _text(public, f"public key of a duocap {name}"))
    return public


def own_pair(folder: Path, name: str) -> KeyPair:
    """Read the pair `publisher` or `client`. Raises KeyFileError."""
    file = _secret_file(folder, name)
    found = dict(KEY.findall(_read(file, "make keys with: duocap keys make")))
    if set(found) != {"public", "secret"}:
        raise KeyFileError(f"{file}: expected a public and a secret key; make new ones with: duocap keys make --force")
    return KeyPair(_checked(found["public"], file), _checked(found["secret"], file))


def has_own_pair(folder: Path) -> bool:
    """Tell whether `duocap keys make` was here."""
    return _secret_file(folder, PUBLISHER).is_file() and _secret_file(folder, CLIENT).is_file()


def public_key(file: Path) -> bytes:
    """Read the public key of a file. Raises KeyFileError."""
    found = dict(KEY.findall(_read(file, "give a .key file of another duocap, or its 40 characters")))
    if "public" not in found:
        raise KeyFileError(f"{file}: no public key in it; give a .key file of another duocap, or its 40 characters")
    return _checked(found["public"], file)


def add_public_key(folder: Path, kind: str, name: str, public: bytes) -> Path:
    """Keep a public key as clients/NAME.key or servers/NAME.key; replaces an older one of that name."""
    file = peer_file(folder, kind, name)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise KeyFileError(
            f"{file.parent}: cannot be made ({reason(error)}); choose another folder with --set stream.keys=FOLDER"
        ) from error
    atomic_write(file, _text(public, f"public key of {name}"))
    return file


def remove_public_key(folder: Path, kind: str, name: str) -> Path:
    """Forget a public key. Raises KeyFileError when there is none of that name."""
    file = peer_file(folder, kind, name)
    if not file.is_file():
        known = ", ".join(public_keys(folder, kind)) or "none"
        raise KeyFileError(f"{name}: no key of that name among {kind}; there are: {known}")
    file.unlink()
    return file


def public_keys(folder: Path, kind: str) -> dict[str, bytes]:
    """Give the keys of clients or servers by name; files that hold none are left out."""
    keys: dict[str, bytes] = {}
    for file in sorted((folder / kind).glob("*.key"))[:MAX_CLIENTS]:
        try:
            keys[file.stem] = public_key(file)
        except KeyFileError:
            continue
    return keys


def peer_file(folder: Path, kind: str, name: str) -> Path:
    """Give the file of a peer's key; a host's colons and brackets become what every file system takes."""
    plain = name.strip("[]").replace(":", "-").lower() if kind == SERVERS else name
    if not NAME.fullmatch(plain):
        raise KeyFileError(f"{name!r} is no name for a key; use letters, digits, dots, - and _, such as blender-laptop")
    return folder / kind / f"{plain}.key"


def key_of_text(text: str) -> bytes:
    """Give the public key that a user names, by 40 characters or by a file. Raises KeyFileError."""
    if len(text) == 40 and not Path(text).exists():
        return _checked(text, "the key")
    file = Path(text)
    if "secret" in dict(KEY.findall(_read(file, "give a .key file of another duocap, or its 40 characters"))):
        raise KeyFileError(f"{file}: holds a secret key, which nobody else should have; give the file without _secret")
    return public_key(file)


def _checked(text: str, where: object) -> bytes:
    """Give a key as bytes if it is 32 bytes in Z85."""
    try:
        if len(z85.decode(text.encode("ascii"))) == 32:
            return text.encode("ascii")
    except (ValueError, KeyError, UnicodeEncodeError):
        pass
    raise KeyFileError(f"{where}: {text[:8]}... is no key of 40 characters (Z85); copy it again")


def _read(file: Path, todo: str) -> str:
    """Give the text of a key file."""
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{file}: no key can be read there ({reason(error)}); {todo}") from error


def _text(public: bytes, title: str, secret: bytes | None = None) -> str:
    """Give the content of a key file."""
    secret_line = f'    secret-key = "{secret.decode()}"\n' if secret is not None else ""
    return f'# {title}\nmetadata\ncurve\n    public-key = "{public.decode()}"\n{secret_line}'


def _secret_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.key_secret"


def _public_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.key"
