"""All that `duocap doctor` looks at: the machine, its cameras, cameras of the network, then ports, keys, clocks, the stream."""

from collections.abc import Sequence

from config.settings import Settings
from tools.doctor.cameras import cameras, network_finding
from tools.doctor.finding import DoctorFinding, Examination
from tools.doctor.machine import database, folders, kernels, packages, processor
from tools.doctor.network import examine_network

MACHINE: Sequence[Examination] = (packages, processor, folders, kernels, database, cameras)


def examine(settings: Settings, urls: Sequence[str] = ()) -> list[DoctorFinding]:
    """Look at this machine and at the stream that runs on it, if one does; takes some seconds. urls: of network cameras."""
    findings = [finding for look in MACHINE for finding in look(settings)]
    findings += [network_finding(url) for url in urls]
    return findings + examine_network(settings)
