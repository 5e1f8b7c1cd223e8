"""All that `duocap doctor` looks at: the machine, its cameras, cameras of the network, then ports, keys, clocks, the stream."""

from collections.abc import Sequence

from config.settings import Settings
from tools.doctor.cameras import examine_cameras, probe_network_camera
from tools.doctor.finding import DoctorFinding, Examination
from tools.doctor.landmarks import examine_landmarks
from tools.doctor.machine import examine_database, examine_folders, examine_kernels, examine_packages, examine_processor
from tools.doctor.network import examine_network

MACHINE: Sequence[Examination] = (
    examine_packages,
    examine_processor,
    examine_folders,
    examine_kernels,
    examine_database,
    examine_landmarks,
    examine_cameras,
)


def examine_machine(settings: Settings, urls: Sequence[str] = ()) -> list[DoctorFinding]:
    """Examine this machine and the stream that runs on it, if any, in some seconds; urls: addresses of network cameras."""
    findings = [finding for look in MACHINE for finding in look(settings)]
    findings += [probe_network_camera(url) for url in urls]
    return findings + examine_network(settings)
