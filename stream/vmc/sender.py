"""The UDP socket VMC leaves by: it never waits, never raises, and goes on when nobody listens."""

import logging
import socket
from collections.abc import Iterable

from stream.vmc.target import VmcError, VmcTarget

log = logging.getLogger(__name__)

REOPEN_NS = 1_000_000_000
BLOCKED = (BlockingIOError, InterruptedError)


class Sender:
    """Send datagrams to one target, whose name is looked up once.

    n_sent: datagrams handed to the system; n_refused: the receiver's machine said that nobody listens there; n_dropped: datagrams
    that could not be sent. Raises VmcError for a host that cannot be found.
    """

    def __init__(self, target: VmcTarget) -> None:
        self._target = target
        self._family, self._address = resolved(target)
        self.n_sent = self.n_refused = self.n_dropped = 0
        self._told = False
        self._reopen_due_ns = 0
        self._socket: socket.socket | None = self._opened()
        log.info("VMC goes to %s", target)

    def send(self, datagrams: Iterable[bytes | bytearray], t_ns: int) -> None:
        """Send datagrams; what cannot be sent at once is dropped and counted. t_ns: now."""
        if self._socket is None and t_ns >= self._reopen_due_ns:
            self._reopen_due_ns = t_ns + REOPEN_NS
            self._socket = self._opened()
        for datagram in datagrams:
            if not self._sent(datagram):
                self.n_dropped += 1

    def close(self) -> None:
        """Close the socket."""
        self._shut()

    def _sent(self, datagram: bytes | bytearray) -> bool:
        """Send one datagram. A refusal is news of an earlier one, given instead of sending: hence the second try."""
        for _ in range(2):
            if self._socket is None:
                return False
            try:
                self._socket.send(datagram)
            except BLOCKED:
                return False
            except (ConnectionRefusedError, ConnectionResetError):
                self._refused()
            except OSError as error:  # no buffers, no network, another network: a new socket may find a way
                log.debug("VMC to %s: %s", self._target, error)
                self._shut()
            else:
                self.n_sent += 1
                return True
        return False

    def _refused(self) -> None:
        """Count a refusal; say so the first time."""
        self.n_refused += 1
        if not self._told:
            self._told = True
            log.warning("VMC to %s: nobody listens there yet; sending goes on", self._target)

    def _opened(self) -> socket.socket | None:
        """Give a socket that sends to the target and nowhere else; None while the system refuses one."""
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

    def _shut(self) -> None:
        """Close the socket, if it is open."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def resolved(target: VmcTarget) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    """Look a target up; IPv4 before IPv6, which few receivers listen at. Raises VmcError."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        words = getattr(error, "strerror", None) or str(error)
        raise VmcError(f"VMC to {target}: {target.host} cannot be found ({words}); check its name or give its address") from error
    family, _, _, _, address = min(found, key=lambda item: item[0] != socket.AF_INET)
    return family, address
