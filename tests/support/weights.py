"""The weights of the landmark networks, where a test can use them: the folder that DUOCAP_LANDMARKS names, or the user's own."""

import importlib.util

import pytest

from capture.landmarks.weights import has_weights


def require_weights(model: str = "full") -> None:
    """Skip the test where the network or its package is not to be had."""
    if importlib.util.find_spec("ai_edge_litert") is None:
        pytest.skip("landmarks: ai-edge-litert is not installed")
    if not has_weights(model):
        pytest.skip(f"landmarks: the weights of the model {model} are not here (duocap landmarks get --model {model})")
