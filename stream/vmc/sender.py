"""The targets of VMC: `HOST:PORT`, the name of an application, or both as `NAME@HOST:PORT`; and the UDP socket to one.

The socket never blocks and never raises, and goes on where nobody listens.
"""

import logging
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from config.errors import DuocapError

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 39539
ADDRESS = re.compile(r"^(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^\s:/\\@\[\]]*):(?P<port>\d{1,5})$")
REOPEN_NS = 1_000_000_000
BLOCKED = (BlockingIOError, InterruptedError)
NUMERIC = re.compile(r"\d+(\.\d+){3}")
ALIKE = 0.75  # of two names, one of which is the other misspelt
HOST = re.compile(r"^(\[[0-9A-Fa-f:.%\w]+\]|[^\s:/\\@\[\]]+)$")


class VmcError(DuocapError):
    """VMC cannot be sent to a target."""


@dataclass(frozen=True, slots=True)
class VmcTarget:
    """One receiver of VMC.

    Attributes:
        host: name or address, IPv6 without brackets.
        upper_chest: the receiver has a bone UpperChest; otherwise it is folded into the next bones.
    """

    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    upper_chest: bool = True

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# The applications' default ports; docs/vmc.md names the sources.
PRESETS = {
    "vseeface": VmcTarget(),
    "evmc4u": VmcTarget(),
    "vmc4ue": VmcTarget(upper_chest=False),
    "warudo": VmcTarget(),
    "godot": VmcTarget(),
}


def parse_vmc_target(text: str) -> VmcTarget:
    """Return the target of a value of --vmc; an empty one is port 39539 of this machine. Raises VmcError."""
    name, at, address = text.rpartition("@")
    if not at and (not text or text.lower() in PRESETS):
        return PRESETS.get(text.lower(), VmcTarget())
    if at and name.lower() not in PRESETS:
        raise VmcError(f"--vmc {text}: no application called {name!r} is known here; known are {', '.join(PRESETS)}")
    preset = PRESETS.get(name.lower(), VmcTarget())
    match = ADDRESS.match(address)
    if match is not None and 0 < int(match["port"]) < 65536:
        return replace(preset, host=match["host"].strip("[]") or LOOPBACK, port=int(match["port"]))
    if at and HOST.match(address):
        return replace(preset, host=address.strip("[]"))
    raise VmcError(
        f"--vmc {text}: expected HOST:PORT such as {LOOPBACK}:{DEFAULT_PORT}, an application ({', '.join(PRESETS)}), "
        "or both as APPLICATION@HOST:PORT"
    )


def looks_like_target(word: str) -> bool:
    """Return whether a word of a command line is the value of --vmc, as opposed to the next argument.

    An application's name that is misspelt, and an address without a port, are values, too: of those --vmc says what is wrong.
    """
    if word.lower() in PRESETS or ("@" in word and not word.startswith("-")) or ADDRESS.match(word) is not None:
        return True
    misspelt = word.isalnum() and bool(get_close_matches(word.lower(), PRESETS, 1, ALIKE))
    return (misspelt or NUMERIC.fullmatch(word) is not None) and not Path(word).exists()


class Sender:
    """Send datagrams to one target, whose name is resolved once.

    Attributes:
        n_sent: number of datagrams given to the system.
        n_refused: number of refusals by a machine where nobody listens.
        n_dropped: number of datagrams that could not be sent.
    Raises: VmcError: the host cannot be found.
    """

    def __init__(self, target: VmcTarget) -> None:
        self._target = target
        self._family, self._address = resolve_target(target)
        self.n_sent = self.n_refused = self.n_dropped = 0
        self._reopen_due_ns = 0
        self._socket: socket.socket | None = self._opened()
        log.info("VMC goes to %s", target)

    def send(self, datagrams: Iterable[bytes | bytearray], t_ns: int) -> None:
        """Send datagrams at time t_ns; those that cannot be sent at once are dropped and counted."""
        if self._socket is None and t_ns >= self._reopen_due_ns:
            self._reopen_due_ns = t_ns + REOPEN_NS
            self._socket = self._opened()
        for datagram in datagrams:
            if not self._sent(datagram):
                self.n_dropped += 1

    def close(self) -> None:
        """Close the socket if it is open."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _sent(self, datagram: bytes | bytearray) -> bool:
        """Send one datagram. A refusal concerns an earlier one and is reported instead of sending: hence the second try."""
        for _ in range(2):
            if self._socket is None:
                return False
            try:
                self._socket.send(datagram)
            except BLOCKED:
                return False
            except (ConnectionRefusedError, ConnectionResetError):
                if not self.n_refused:
                    log.warning("VMC to %s: nobody listens there yet; sending goes on", self._target)
                self.n_refused += 1
            except OSError as error:  # no buffers, no network, another network: a new socket may work
                log.debug("VMC to %s: %s", self._target, error)
                self.close()
            else:
                self.n_sent += 1
                return True
        return False

    def _opened(self) -> socket.socket | None:
        """Return a socket connected to the target; None while the system refuses one."""
        opened: socket.socket | None = None
        try:
            opened = socket.socket(self._family, socket.SOCK_DGRAM)
            opened.setblocking(False)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            opened.connect(self._address)
        except OSError as error:
            log.debug("VMC to %s: %s", self._target, error)
            if opened is not None:
                opened.close()
            return None
        return opened


def resolve_target(target: VmcTarget) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    """Return family and address of a target; IPv4 is preferred, since few receivers listen on IPv6. Raises VmcError."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise VmcError(f"VMC to {target}: {target.host} cannot be found ({why}); check its name or give its address") from error
    family, _, _, _, address = min(found, key=lambda item: item[0] != socket.AF_INET)
    return family, address
