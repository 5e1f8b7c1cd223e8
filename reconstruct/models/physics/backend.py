"""The rigid-body library, imported when it is first used: it is an extra, and heavy."""

from functools import cache
from importlib import import_module
from typing import Any

from config.errors import DuocapError


@cache
def import_pinocchio() -> Any:
    """Return the module `pinocchio` (Carpentier et al. 2019). Raises DuocapError: it is not installed."""
    try:
        module = import_module("pinocchio")
        module.Model  # noqa: B018 - a test package of this name has none
    except (ImportError, AttributeError) as error:
        raise DuocapError(
            'physics needs pinocchio: pip install "duocap[physics]"; '
            "where pip finds no `pin` for it, as on Windows: conda install -c conda-forge pinocchio, in the same environment"
        ) from error
    return module
