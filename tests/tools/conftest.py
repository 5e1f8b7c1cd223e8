"""What tests of several rooms share."""

import pytest

from tests.tools.commands.walked import Walked, made_walk


@pytest.fixture(scope="session")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    """Return a simulated recording of a walk with its subject."""
    return made_walk(tmp_path_factory.mktemp("walked"))
