"""After warming, no way of detection is left to be compiled."""

import os

import pytest

from capture import disc_fit, foreground
from capture.warm import warm_detection

CALLED = ((foreground, ("_outside", "_above", "_brighter")), (disc_fit, ("_brightness", "_membership", "_fit")))


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled")
def test_every_kernel_that_python_calls_is_compiled() -> None:
    warm_detection()
    assert [name for module, names in CALLED for name in names if not getattr(module, name).signatures] == []
