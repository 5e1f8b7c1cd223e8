"""The style that posing begins with."""

from pathlib import Path

import pytest

from tests.support.style_posers import style_of
from tools.style.builtin import load_default_style


def test_the_default_style_is_learned_once_and_again_where_its_file_is_damaged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    learned: list[int] = []
    monkeypatch.setattr("tools.style.builtin.platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "cache"))
    monkeypatch.setattr("tools.style.builtin._learn_default_style", lambda: (learned.append(1), style_of("wave", 3))[1])
    for _ in range(2):
        assert load_default_style().name == "wave"
    file = next((tmp_path / "cache").glob("*.style"))
    file.write_bytes(file.read_bytes()[:500])
    assert load_default_style().name == "wave" and len(learned) == 2
    assert load_default_style().name == "wave" and len(learned) == 2
