"""A network of a .tflite file, run on one thread."""

import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from config.arrays import Floats, Image
from config.errors import DuocapError

EXTRA = "duocap[landmarks]"
Floats32 = NDArray[np.float32]


def sigmoid(x: ArrayLike) -> Floats:
    """Return probabilities of logits."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -80.0, 80.0))))


class LandmarksUnavailableError(DuocapError):
    """Landmarks cannot be found: a package or the weights are missing, or the weights are not those expected."""


class Network:
    """A network with one image as its input. What only outputs need that nobody reads is not computed."""

    def __init__(self, file: Path, outputs: tuple[int, ...]) -> None:
        """Load a network.

        outputs: which of its outputs are read, in ascending order. Raises LandmarksUnavailableError.
        """
        Interpreter = import_interpreter()
        try:
            content = _drop_unread_outputs(file.read_bytes(), outputs)
            self._interpreter: Any = Interpreter(model_content=content, num_threads=1)
            self._interpreter.allocate_tensors()
        except (OSError, ValueError, RuntimeError, TypeError, IndexError, struct.error) as error:  # of a broken file
            raise LandmarksUnavailableError(f"{file}: cannot be used ({error}); get it again: duocap landmarks get") from error
        entry = self._interpreter.get_input_details()[0]
        self.n = int(entry["shape"][1])
        self._input, self._outputs = entry["index"], [each["index"] for each in self._interpreter.get_output_details()]

    def run(self, image: Image, low: float = 0.0) -> list[Floats32]:
        """Return the outputs that are read, without their first dimension.

        Args:
            image: BGR, (n, n, 3) uint8.
            low: what black is to the network; white is 1.
        """
        # LiteRT wants RGB.
        values = image[None, :, :, ::-1] * np.float32((1.0 - low) / 255.0) + np.float32(low)
        self._interpreter.set_tensor(self._input, values)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(index)[0] for index in self._outputs]


def import_interpreter() -> Any:
    """Return the class that runs networks. Raises LandmarksUnavailableError: the package is not installed."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise LandmarksUnavailableError(
            f"landmarks need the package ai-edge-litert, which is not installed ({error}); pip install '{EXTRA}'"
        ) from error
    return Interpreter


@lru_cache(maxsize=4)
def _drop_unread_outputs(content: bytes, outputs: tuple[int, ...]) -> bytes:
    """Return a model without the outputs that are not read, and without the operators that only they need.

    Once in a process: a camera's opens its detector twice, first for the kernels.
    """
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model: Any = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    graph = model.subgraphs[0]
    graph.outputs = np.array([graph.outputs[k] for k in outputs], np.int32)
    needed, kept = set(graph.outputs.tolist()), []
    for operator in reversed(graph.operators):
        if needed.intersection(int(k) for k in operator.outputs):
            needed.update(int(k) for k in operator.inputs)
            kept.append(operator)
    graph.operators, model.signatureDefs = kept[::-1], None
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
