"""A posing session of a small style, and what it saved."""

import pytest

from reconstruct.models.style.synthesis.synthesizer import Synthesizer
from reconstruct.posing.style import StylePoser
from stream.posing.document import Document
from stream.posing.model import PosingModel
from stream.posing.session import PosingSession
from tests.support.style_posers import style_of


@pytest.fixture(scope="module")
def model() -> PosingModel:
    synthesizer = Synthesizer([style_of("wave", 3)])
    return PosingModel("style", StylePoser(synthesizer), ("wave",), lambda shares: StylePoser(synthesizer.with_shares(shares)))


@pytest.fixture
def saved() -> list[Document]:
    return []


@pytest.fixture
def session(model: PosingModel, saved: list[Document]) -> PosingSession:
    return PosingSession(model, save=saved.append)
