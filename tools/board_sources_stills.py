"""Pictures of a board in folders: which there are, and which of the left and right camera show one moment.

Pictures are paired by the number in their names where both cameras count alike (left01.jpg and right01.jpg), else by their order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capture.sources import IMAGE_SUFFIXES, natural_key
from config.cameras import CAMERAS
from config.errors import SourceError

MIN_SHARED = 0.5  # of the shorter folder: so many numbers must be found in both, or else numbers mean nothing
NUMBER = re.compile(r"\d+")
EXPECTED = ", ".join(sorted(IMAGE_SUFFIXES))


@dataclass(frozen=True, slots=True)
class Stills:
    """Pictures of both cameras or of one: pairs of files, None where a camera has none; words: what a user should know."""

    pairs: tuple[tuple[Path | None, Path | None], ...]
    words: tuple[str, ...]

    @property
    def is_lone(self) -> bool:
        """Tell whether there is one camera only."""
        return all(right is None for _, right in self.pairs)


def images_in(folder: Path, stem: str = "") -> list[Path]:
    """Give the pictures of a folder in natural order; stem: with which their names begin, before a number."""
    wanted = re.compile(rf"(?i){re.escape(stem)}\D*\d+\D*\.\w+") if stem else re.compile(r".*")
    files = (file for file in folder.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES and not file.name.startswith("."))
    return sorted((file for file in files if wanted.fullmatch(file.name)), key=lambda file: natural_key(file.name))


def stills_of(left: Path, right: Path | None) -> Stills:
    """List the pictures of two folders, or of one camera's; LEFT alone may hold both cameras' pictures.

    That is a folder with folders `left` and `right`, or with left01.jpg, right01.jpg and so on. Raises SourceError: no pictures,
    or no telling which belong together.
    """
    if right is not None:
        return _paired(_some(left), _some(right), (str(left), str(right)))
    folders = [left / side for side in CAMERAS]
    if all(folder.is_dir() for folder in folders):
        return stills_of(folders[0], folders[1])
    sides = [images_in(left, side) for side in CAMERAS]
    if all(sides):
        return _paired(sides[0], sides[1], tuple(f"{left}/{side}*" for side in CAMERAS))
    return Stills(tuple((file, None) for file in _some(left)), ())


def _some(folder: Path) -> list[Path]:
    """Give the pictures of a folder. Raises SourceError: none."""
    files = images_in(folder)
    if not files:
        raise SourceError(f"{folder}: no images in this folder; expected files such as 0001.png ({EXPECTED})")
    return files


def _paired(left: Sequence[Path], right: Sequence[Path], names: tuple[str, ...]) -> Stills:
    """Pair pictures by number, or else by order."""
    numbers = _numbers(left), _numbers(right)
    if all(numbers):
        one, other = (dict(zip(side or (), files, strict=True)) for side, files in zip(numbers, (left, right), strict=True))
        shared = one.keys() & other.keys()
        if len(shared) >= MIN_SHARED * min(len(one), len(other)):
            pairs = tuple((one.get(number), other.get(number)) for number in sorted(one.keys() | other.keys()))
            alone = len(pairs) - len(shared)
            counts = f"{len(left)} pictures of the left camera, {len(right)} of the right one"
            return Stills(pairs, (f"{counts}: {alone} have no partner of the same number",) if alone else ())
    if len(left) != len(right):
        raise SourceError(
            f"{names[0]} has {len(left)} pictures and {names[1]} {len(right)}, and their names share no numbers; give both "
            "pictures of one moment the same number, such as left01.png and right01.png, or remove those without a partner"
        )
    return Stills(tuple(zip(left, right, strict=True)), ())


def _numbers(files: Sequence[Path]) -> list[int] | None:
    """Give the number of each file, its name's last one; None where some have none or one occurs twice."""
    found = [NUMBER.findall(file.stem) for file in files]
    if not all(found):
        return None
    numbers = [int(digits[-1]) for digits in found]
    return numbers if len(set(numbers)) == len(numbers) else None
