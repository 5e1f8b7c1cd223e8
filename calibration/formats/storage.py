"""Files of OpenCV's FileStorage, YAML or XML: matrices by name, read from and written to text."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError, describe_reason

Value = Floats | str | int | float | list[str]
READ = cv2.FileStorage_READ | cv2.FileStorage_MEMORY
WRITE = cv2.FileStorage_WRITE | cv2.FileStorage_MEMORY


class StoredValues:
    """The top-level values of one or several such files, by name. Raises FileFormatError: unreadable, or not such a file."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.where = " and ".join(str(path) for path in paths)
        self._stores = [_open_storage(path) for path in paths]

    def __contains__(self, name: str) -> bool:
        """Return whether a value is there."""
        return any(not store.getNode(name).empty() for store in self._stores)

    def matrix(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Floats | None:
        """Return the first matrix with one of these names, None if there is none.

        shapes: allowed shapes; (n,) stands for a row or a column. Raises FileFormatError: not a matrix, or of another
        shape.
        """
        for store in self._stores:
            for name in names:
                node = store.getNode(name)
                if not node.empty():
                    return self._shaped(name, node, shapes)
        return None

    def require_matrix(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Floats:
        """Return the same as `matrix`. Raises FileFormatError: it is missing."""
        found = self.matrix(names, shapes)
        if found is None:
            raise FileFormatError(f"{self.where}: lacks {' or '.join(names)}, a matrix of {_format_shapes(shapes)} numbers")
        return found

    def number(self, names: Sequence[str]) -> float | None:
        """Return the first number with one of these names, None if there is none."""
        for store in self._stores:
            for name in names:
                node = store.getNode(name)
                if node.isInt() or node.isReal():
                    return float(node.real())
        return None

    def text(self, name: str) -> str:
        """Return a text, empty if there is none."""
        nodes = [store.getNode(name) for store in self._stores]
        return next((node.string() for node in nodes if node.isString()), "")

    def texts(self, name: str) -> list[str]:
        """Return a list of texts, or of whole numbers as texts; empty if there is none."""
        for store in self._stores:
            node = store.getNode(name)
            if node.isSeq():
                items = [node.at(i) for i in range(node.size())]
                return [item.string() if item.isString() else f"{item.real():g}" for item in items]
        return []

    def _shaped(self, name: str, node: cv2.FileNode, shapes: Sequence[tuple[int, ...]]) -> Floats:
        """Return a node as finite numbers of one of the shapes."""
        try:
            array = np.asarray(node.mat(), float)
        except (cv2.error, SystemError, TypeError, ValueError):
            array = np.full((node.size() or 1,), np.nan)
        for shape in shapes:
            if array.shape == shape or (len(shape) == 1 and array.size == shape[0] and max(array.shape, default=0) == array.size):
                if not np.isfinite(array).all():
                    break
                return np.ascontiguousarray(array.reshape(shape))
        raise FileFormatError(f"{self.where}: {name} must be a matrix of {_format_shapes(shapes)} finite numbers")


def _format_shapes(shapes: Sequence[tuple[int, ...]]) -> str:
    """Return shapes as text."""
    return " or ".join(" x ".join(str(n) for n in shape) for shape in shapes)


def _open_storage(path: Path) -> cv2.FileStorage:
    """Open a file of stored values."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path}: cannot read the calibration ({describe_reason(error)})") from error
    try:
        store = cv2.FileStorage(text, READ)
        if store.isOpened() and store.root().isMap():
            return store
    except (cv2.error, SystemError):
        pass
    raise FileFormatError(f"{path}: not a YAML or XML file as OpenCV writes it; a first line `%YAML:1.0` or <opencv_storage>?")


def format_storage(values: Mapping[str, Value], suffix: str) -> str:
    """Return the text of such a file; suffix: .yml, .yaml or .xml. Numbers are written with all their digits."""
    store = cv2.FileStorage(suffix, WRITE)
    for name, value in values.items():
        if isinstance(value, list):
            store.startWriteStruct(name, cv2.FileNode_SEQ)
            for item in value:
                store.write("", item)
            store.endWriteStruct()
        else:
            store.write(name, value)
    text = str(store.releaseAndGetString())
    # The older of the two spellings is read by every version.
    return text.replace("%YAML 1.2", "%YAML:1.0", 1)
