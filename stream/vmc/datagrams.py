"""OSC datagrams with constant text and changing numbers: encoded once by python-osc, then written in place.

Encoding a pose takes python-osc 0.2 ms; writing the numbers into encoded datagrams takes a tenth of that. VMC's receivers test
types strictly: numbers are `f`, or `i` where the protocol says int, never `d` or `h`.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
from pythonosc.osc_message import OscMessage
from pythonosc.osc_message_builder import OscMessageBuilder

MAX_DATAGRAM_BYTES = 1400
BUNDLE_HEADER_BYTES = 16
SIZE_BYTES = 4


@dataclass(frozen=True, slots=True)
class MessageForm:
    """A message whose last arguments change.

    Attributes:
        text: arguments before them, sent as `s`.
        numbers: types of the changing arguments, such as "fff".
    """

    address: str
    text: tuple[str, ...]
    numbers: str

    def encoded(self) -> OscMessage:
        """Encode the message with zeros for the numbers."""
        builder = OscMessageBuilder(self.address)
        for text in self.text:
            builder.add_arg(text, "s")
        for kind in self.numbers:
            builder.add_arg(0.0 if kind == "f" else 0, kind)
        return builder.build()


class Datagrams:
    """Bundles of messages in the order of their forms, none longer than MAX_DATAGRAM_BYTES.

    buffers: what to send, valid until the next `put`.
    """

    def __init__(self, forms: Sequence[MessageForm]) -> None:
        self._slots: list[tuple[int, int, struct.Struct]] = []
        groups = _group_forms(forms)
        self.buffers = tuple(bytearray(_encode_bundle(group)) for group in groups)
        for number, group in enumerate(groups):
            end = BUNDLE_HEADER_BYTES
            for form in group:
                end += SIZE_BYTES + form.encoded().size
                numbers = struct.Struct(">" + form.numbers)
                self._slots.append((number, end - numbers.size, numbers))

    def put(self, message: int, *values: float) -> None:
        """Write the numbers of a message."""
        datagram, offset, numbers = self._slots[message]
        numbers.pack_into(self.buffers[datagram], offset, *values)


def _group_forms(forms: Sequence[MessageForm]) -> list[list[MessageForm]]:
    """Split messages, in order, into as few bundles as possible."""
    groups: list[list[MessageForm]] = []
    n_free = 0
    for form in forms:
        size = SIZE_BYTES + form.encoded().size
        assert BUNDLE_HEADER_BYTES + size <= MAX_DATAGRAM_BYTES
        if size > n_free:
            groups.append([])
            n_free = MAX_DATAGRAM_BYTES - BUNDLE_HEADER_BYTES
        groups[-1].append(form)
        n_free -= size
    return groups


def _encode_bundle(forms: Sequence[MessageForm]) -> bytes:
    """Encode messages as one bundle to be applied immediately."""
    builder = OscBundleBuilder(IMMEDIATELY)
    for form in forms:
        builder.add_content(form.encoded())
    return bytes(builder.build().dgram)
