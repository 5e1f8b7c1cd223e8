"""The files of the networks' weights: their names, their SHA-256, and where they are. Nothing of them comes with duocap."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from capture.landmarks.network import LandmarksUnavailableError
from config.settings import LANDMARK_MODELS

FOLDER_VARIABLE: Final = "DUOCAP_LANDMARKS"
LICENCE: Final = "BlazePose by Google, of MediaPipe: licensed under the Apache License, Version 2.0"
PERSON_FILE: Final = "pose_detection.tflite"
SHA256: Final[dict[str, str]] = {
    PERSON_FILE: "9ba9dd3d42efaaba86b4ff0122b06f29c4122e756b329d89dca1e297fd8f866c",
    "pose_landmark_lite.tflite": "f17bfbecadb61c3be1baa8b8d851cc6619c870a87167b32848ad20db306b9d61",
    "pose_landmark_full.tflite": "e9a5c5cb17f736fafd4c2ec1da3b3d331d6edbe8a0d32395855aeb2cdfd64b9f",
    "pose_landmark_heavy.tflite": "59e42d71bcd44cbdbabc419f0ff76686595fd265419566bd4009ef703ea8e1fe",
}


@dataclass(frozen=True, slots=True)
class Weights:
    """Files of the two networks: that finds a person, and that finds its landmarks."""

    person: Path
    landmarks: Path


def name_landmark_file(model: str) -> str:
    """Return the name of the file of a model's weights: lite, full or heavy. Raises LandmarksUnavailableError: another name."""
    if model not in LANDMARK_MODELS:
        raise LandmarksUnavailableError(
            f"there is no model {model!r} for landmarks; expected one of {', '.join(LANDMARK_MODELS)}"
        )
    return f"pose_landmark_{model}.tflite"


def find_weights_folder() -> Path:
    """Return the user's folder of weights, which need not exist: the one that DUOCAP_LANDMARKS names, else in the user's data."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(platformdirs.user_data_dir("duocap", appauthor=False)) / "landmarks"


def has_weights(model: str) -> bool:
    """Return whether the files of a model are there, whatever is in them."""
    folder = find_weights_folder()
    return all((folder / name).is_file() for name in (PERSON_FILE, name_landmark_file(model)))


def is_expected(name: str, content: bytes) -> bool:
    """Return whether a file's content is that which this version was tested with."""
    return hashlib.sha256(content).hexdigest() == SHA256[name]


def find_weights(model: str) -> Weights:
    """Return the checked files of a model. Raises LandmarksUnavailableError: missing, or not those that are expected."""
    folder = find_weights_folder()
    command = f"duocap landmarks get --model {model}"
    names = (PERSON_FILE, name_landmark_file(model))
    for name in names:
        file = folder / name
        try:
            content = file.read_bytes()
        except OSError as error:
            raise LandmarksUnavailableError(f"{file}: the weights for landmarks are missing; get them: {command}") from error
        if not is_expected(name, content):
            raise LandmarksUnavailableError(f"{file}: has another SHA-256 than the weights expected; get them again: {command}")
    return Weights(*(folder / name for name in names))
