"""Where VMC goes and in what shape: `HOST:PORT`, the name of an application, or both as `NAME@HOST:PORT`."""

import re
from dataclasses import dataclass, replace

from config.errors import DuocapError

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 39539
ADDRESS = re.compile(r"^(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^\s:/\\@\[\]]*):(?P<port>\d{1,5})$")
HOST = re.compile(r"^(\[[0-9A-Fa-f:.%\w]+\]|[^\s:/\\@\[\]]+)$")


class VmcError(DuocapError):
    """VMC cannot be sent where the user wants it."""


@dataclass(frozen=True, slots=True)
class VmcTarget:
    """One receiver of VMC.

    host: name or address, IPv6 without brackets; upper_chest: the receiver moves a bone UpperChest, otherwise its rotation is
    given to the bones above it.
    """

    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    upper_chest: bool = True

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# Ports that the applications listen at unless told otherwise; docs/vmc.md says where that is known from.
PRESETS = {
    "vseeface": VmcTarget(),
    "evmc4u": VmcTarget(),
    "vmc4ue": VmcTarget(upper_chest=False),
    "warudo": VmcTarget(),
    "godot": VmcTarget(),
}


def vmc_target(text: str) -> VmcTarget:
    """Read the value of --vmc; an empty one is this machine's port 39539. Raises VmcError."""
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
    """Tell whether a word of a command line is the value of --vmc and not an argument that follows it."""
    return word.lower() in PRESETS or ("@" in word and not word.startswith("-")) or ADDRESS.match(word) is not None
