"""The protocol's database is built once a set of motions, and old ones do not pile up."""

import os
from pathlib import Path

import platformdirs
import pytest

from tools.evaluation import protocol


def test_it_is_built_once_and_the_last_used_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = tmp_path / "cmu" / "subjects" / "07"
    subject.mkdir(parents=True)
    (subject / "07.asf").write_text("skeleton", encoding="utf-8")
    cache, built = tmp_path / "cache", []

    def build(motion: Path, out: Path) -> None:
        built.append(out)
        out.write_bytes(b"poses")
        os.utime(out, (len(built), len(built)))

    monkeypatch.setattr(protocol, "build_protocol_database", build)
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *args, **kwargs: str(cache))
    first = protocol.protocol_database(tmp_path)
    assert protocol.protocol_database(tmp_path) == first and built == [first]
    for length in (1, 2):
        (subject / "07_01.amc").write_text("x" * length, encoding="utf-8")
        protocol.protocol_database(tmp_path)
    # The first was opened once more, the second never.
    assert len(set(built)) == 3 and set(cache.iterdir()) == {first, built[2]}
