"""Files of OpenCV's FileStorage, YAML or XML: matrices by name, read from and written to text."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from config.text import read_text

Value = Floats | str | int | float | list[str]
READ = cv2.FileStorage_READ | cv2.FileStorage_MEMORY
WRITE = cv2.FileStorage_WRITE | cv2.FileStorage_MEMORY


class StoredValues:
    """The top-level values of one or several such files, by name: as it is written, or else in any case and without underscores.

    Raises FileFormatError: unreadable, or not such a file.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.where = " and ".join(str(path) for path in paths)
        stores = [open_storage(path) for path in paths]
        nodes = [(key, store.getNode(key)) for store in stores for key in store.root().keys()]  # noqa: SIM118, it is no mapping
        self._stores = stores  # nodes are parts of them
        self._loose = {_loosen(key): node for key, node in reversed(nodes)}
        self._nodes = dict(reversed(nodes))

    @property
    def names(self) -> list[str]:
        """The names of all values, in the order of the files."""
        return list(self._nodes)[::-1]

    def __contains__(self, name: str) -> bool:
        """Return whether a value is there."""
        return self._find([name]) is not None

    def matrix(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Floats | None:
        """Return the first matrix with one of these names, None if there is none; lists of numbers are matrices, too.

        shapes: allowed shapes; (n,) stands for a row or a column. Raises FileFormatError: not a matrix, or of another
        shape.
        """
        node = self._find(names)
        return None if node is None else self._shaped(names[0], node, shapes)

    def _find(self, names: Sequence[str]) -> cv2.FileNode | None:
        """Return the first value with one of these names, None if there is none."""
        found = next((self._nodes[name] for name in names if name in self._nodes), None)
        return found if found is not None else next((self._loose[_loosen(n)] for n in names if _loosen(n) in self._loose), None)

    def require_matrix(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Floats:
        """Return the same as `matrix`. Raises FileFormatError: it is missing."""
        found = self.matrix(names, shapes)
        if found is None:
            raise FileFormatError(f"{self.where}: lacks {' or '.join(names)}, a matrix of {format_shapes(shapes)} numbers")
        return found

    def number(self, names: Sequence[str]) -> float | None:
        """Return the first number with one of these names, None if there is none."""
        node = self._find(names)
        return float(node.real()) if node is not None and (node.isInt() or node.isReal()) else None

    def text(self, name: str) -> str:
        """Return a text, empty if there is none."""
        node = self._find([name])
        return node.string() if node is not None and node.isString() else ""

    def texts(self, name: str) -> list[str]:
        """Return a list of texts, or of whole numbers as texts; empty if there is none."""
        node = self._find([name])
        if node is None or not node.isSeq():
            return []
        items = [node.at(i) for i in range(node.size())]
        return [item.string() if item.isString() else f"{item.real():g}" for item in items]

    def _shaped(self, name: str, node: cv2.FileNode, shapes: Sequence[tuple[int, ...]]) -> Floats:
        """Return a node as finite numbers of one of the shapes."""
        array = _read_array(node)
        for shape in shapes:
            if array.shape == shape or (len(shape) == 1 and array.size == shape[0] and max(array.shape, default=0) == array.size):
                if not np.isfinite(array).all():
                    break
                return np.ascontiguousarray(array.reshape(shape))
        raise FileFormatError(f"{self.where}: {name} must be a matrix of {format_shapes(shapes)} finite numbers")


def _loosen(name: str) -> str:
    """Return a name in lower case and without underscores."""
    return name.replace("_", "").lower()


def flatten_node(node: cv2.FileNode) -> list[float]:
    """Return the numbers in nested lists, one after the other."""
    if node.isSeq():
        return [leaf for i in range(node.size()) for leaf in flatten_node(node.at(i))]
    return [float(node.real())] if node.isInt() or node.isReal() else [float("nan")]


def _read_array(node: cv2.FileNode) -> Floats:
    """Return the numbers of a matrix of OpenCV, of a mapping with rows, cols and data, or of lists in lists; NaN for others."""
    if node.isSeq():
        flat = np.array(flatten_node(node), float)
        widths = {node.at(i).size() if node.at(i).isSeq() else 0 for i in range(node.size())}
        return flat.reshape(node.size(), -1) if len(widths) == 1 and flat.size == node.size() * max(widths) else flat
    rows, cols, data = (node.getNode(key) for key in ("rows", "cols", "data")) if node.isMap() else (None, None, None)
    if data is not None and data.isSeq() and rows is not None and cols is not None and rows.isInt() and cols.isInt():
        flat = np.array(flatten_node(data), float)
        count = int(rows.real()) * int(cols.real())
        if flat.ndim == 1 and flat.size == count:
            return flat.reshape(int(rows.real()), int(cols.real()))
    return np.full((node.size() or 1,), np.nan)


def format_shapes(shapes: Sequence[tuple[int, ...]]) -> str:
    """Return shapes as text."""
    words = [" x ".join(str(n) for n in shape) for shape in shapes]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def open_storage(path: Path) -> cv2.FileStorage:
    """Open a file of stored values, or of plain YAML. Raises FileFormatError: unreadable, or neither."""
    text = read_text(path, what="the calibration")
    faults = []
    for made, more_lines in ((text, 0), _make_plain(text)):
        try:
            store = cv2.FileStorage(made, READ)
            if store.isOpened() and store.root().isMap():
                return store
        except (cv2.error, SystemError) as error:
            faults.append(_describe_fault(error, more_lines))
    where = next((fault for fault in faults if fault), ": not YAML, XML or JSON with values by name")
    raise FileFormatError(f"{path}{where}; expected a calibration as OpenCV, Kalibr or ROS write it")


def _make_plain(text: str) -> tuple[str, int]:
    """Return the text of plain YAML as OpenCV reads it, lists indented and below a first line, and how many lines were added."""
    lines = text.split("\n")
    start = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith(("%", "---"))), 0)
    return "%YAML:1.0\n---\n" + re.sub(r"^( *)- ", r"\1    - ", "\n".join(lines[start:]), flags=re.MULTILINE), 2 - start


def _describe_fault(error: Exception, more_lines: int) -> str:
    """Return where OpenCV stopped and why; empty if it does not say."""
    found = re.search(r"\((\d+)\): ([^\n]*?)'?\s*$", str(error.__cause__ or error))
    return f":{int(found[1]) - more_lines}: not a YAML or XML file as OpenCV reads it: {found[2].lower()}" if found else ""


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
