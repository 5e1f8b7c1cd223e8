"""What doctor sees of this machine: packages, processor, folders, compiled kernels, the database; cameras are next door."""

import importlib
import os
import platform
import re
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from config.settings import Settings
from tools.doctor.finding import DoctorFinding, report_bad, report_good, report_note

PACKAGE_NAMES = (
    "numpy",
    "scipy",
    "numba",
    "opencv-python",
    "pyzmq",
    "msgpack",
    "viser",
    "python-osc",
    "mcap",
    "av",
    "cv2-enumerate-cameras",
)
OPENCV = ("opencv-python", "opencv-contrib-python", "opencv-python-headless", "opencv-contrib-python-headless")
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)\s*>=\s*([0-9.]+)\s*$")
MIN_CORES = 2


def examine_packages(settings: Settings) -> list[DoctorFinding]:
    """Examine Python and the packages duocap asks for."""
    findings = [report_good("packages", f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")]
    installed = {name: _find_package_version(name) for name in PACKAGE_NAMES}
    for name, least in list_requirements():
        installed[name] = version = _find_package_version(name)
        if version is None and name not in OPENCV:
            findings.append(report_bad("packages", f"{name} is not installed", f'pip install "{name}>={least}"'))
        elif version is not None and parse_version(version) < parse_version(least):
            findings.append(report_bad("packages", f"{name} {version} is older than {least}", f'pip install "{name}>={least}"'))
    words = ", ".join(f"{name} {version}" for name, version in installed.items() if version)
    return [
        *findings,
        report_good("packages", words, versions=installed),
        *examine_opencv({name: _find_package_version(name) for name in OPENCV}),
    ]


def list_requirements() -> list[tuple[str, str]]:
    """Return the requirements of the installed duocap: names and least versions; none when it is not installed."""
    try:
        found = metadata.requires("duocap") or []
    except metadata.PackageNotFoundError:
        return []
    return [(match[1], match[2]) for text in found if (match := REQUIREMENT.match(text))]


def parse_version(version: str) -> tuple[int, ...]:
    """Return a version as numbers that compare: 4.12.0.88 is (4, 12, 0, 88)."""
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0].split("rc")[0]))


def examine_opencv(
    variants: dict[str, str | None], load: Callable[[], object] = lambda: importlib.import_module("cv2")
) -> list[DoctorFinding]:
    """Examine OpenCV: packages that overwrite each other's files, and whether it can be loaded."""
    there = [f"{name} {version}" for name, version in variants.items() if version]
    if not there:
        return [report_bad("packages", "OpenCV is not installed", "pip install opencv-python")]
    findings = []
    if len(there) > 1:
        names = " ".join(name for name, version in variants.items() if version)
        fix = f"keep one: pip uninstall -y {names}, then pip install opencv-python"
        findings.append(
            report_bad("packages", f"{' and '.join(there)} are installed side by side and overwrite each other's files", fix)
        )
    try:
        load()
    except Exception as error:  # noqa: BLE001 - a broken binary fails to import in any way
        words = " ".join(str(error).split())
        fix = "pip install --force-reinstall opencv-python"
        if "libGL" in words or "libgthread" in words:
            fix = "apt install libgl1 libglib2.0-0 (Debian, Ubuntu), or have opencv-python-headless in place of opencv-python"
        findings.append(report_bad("packages", f"OpenCV cannot be loaded: {words}", fix))
    return findings


def examine_processor(settings: Settings) -> list[DoctorFinding]:
    """Examine the cores, and whether other programs use them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    text = f"{cores} cores" + (f", of which {load:.1f} were busy over the last minute" if load is not None else "")
    if cores < MIN_CORES:
        return [
            report_bad(
                "processor", text, "two cameras and the solver need two cores; put a camera on another machine: duocap node"
            )
        ]
    if load is not None and load > 0.75 * cores:
        return [report_note("processor", text, "end what else runs, or frames will be skipped", cores=cores, load=load)]
    return [report_good("processor", text, cores=cores, load=load)]


def examine_folders(settings: Settings) -> list[DoctorFinding]:
    """Examine whether caches can be written to; they only make starts quicker."""
    import platformdirs

    from reconstruct.search.index import find_cache_folder

    named = {"cache": Path(platformdirs.user_cache_dir("duocap", appauthor=False)), "cache of subjects": find_cache_folder()}
    findings = []
    for name, folder in named.items():
        if can_write_to(folder):
            findings.append(report_good("folders", f"{name}: {folder}"))
        else:
            fix = "let your user write there, or set XDG_CACHE_HOME; without it every start prepares everything anew"
            findings.append(report_note("folders", f"{name}: {folder} cannot be written to", fix))
    return findings


def can_write_to(folder: Path) -> bool:
    """Return whether a file can be made in a folder, or in the nearest one above it that exists."""
    place = next((parent for parent in (folder, *folder.parents) if parent.is_dir()), None)
    if place is None:
        return False
    try:
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError:
        return False


def examine_kernels(settings: Settings) -> list[DoctorFinding]:
    """Examine whether the compiled kernels are kept: compiling them takes most of a first start."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return [
            report_bad("kernels", "NUMBA_DISABLE_JIT is set: everything runs a hundred times slower", "unset NUMBA_DISABLE_JIT")
        ]
    from capture.detection import blobs, foreground
    from reconstruct.solve import solver as solve

    found = (value for module in (blobs, foreground, solve) for value in vars(module).values())
    places = {Path(value.stats.cache_path) for value in found if hasattr(value, "stats") and hasattr(value, "signatures")}
    n_kept = sum(1 for place in places if place.is_dir() for _ in place.glob("*.nbi"))
    if not all(can_write_to(place) for place in places):
        return [
            report_note("kernels", "compiled kernels cannot be kept", "set NUMBA_CACHE_DIR to a folder that you may write to")
        ]
    if not n_kept:
        return [report_note("kernels", "not compiled yet: the first start takes a minute or so", kept=0)]
    return [report_good("kernels", f"{n_kept} compiled kernels are kept", kept=n_kept)]


def examine_database(settings: Settings) -> list[DoctorFinding]:
    """Examine the default database: the one that was chosen, or the built-in one."""
    from config.errors import DatabaseError
    from database.default import find_default_database_path
    from database.store import open_database
    from tools.database.installed import find_chosen_database

    try:
        chosen = find_chosen_database()
        n_poses = 0 if chosen is None else open_database(chosen).n_poses
    except DatabaseError as error:
        return [report_bad("database", f"{error}", "duocap database use NAME, or builtin")]
    if chosen is not None:
        return [report_good("database", f"{chosen.stem}: {n_poses} poses ({chosen})", poses=n_poses)]
    path = find_default_database_path()
    if not path.is_file():
        return [
            report_note(
                "database", f"the built-in motions are not made yet ({path})", "the first run makes them, in half a minute"
            )
        ]
    try:
        n_poses = open_database(path).n_poses
    except DatabaseError as error:
        return [report_note("database", f"{error}", "the next run makes the built-in motions anew")]
    return [report_good("database", f"built-in motions: {n_poses} poses ({path})", poses=n_poses)]


def _find_package_version(name: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
