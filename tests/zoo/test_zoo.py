"""Foreign data: every specimen gives the result, or the message, that a user needs."""

from pathlib import Path

import pytest

from tests.zoo.registry import GROUPS
from tests.zoo.specimen import Specimen, complaints, examine


@pytest.mark.parametrize(
    "specimen",
    [
        pytest.param(each, id=f"{group}: {each.name}", marks=[pytest.mark.slow] if each.slow else [])
        for group, specimens in GROUPS.items()
        for each in specimens
    ],
)
def test_what_comes_out_of_foreign_data(specimen: Specimen, tmp_path: Path) -> None:
    outcome = examine(specimen, tmp_path)
    assert not complaints(specimen, outcome), f"{outcome.text}: {', '.join(complaints(specimen, outcome))}"
