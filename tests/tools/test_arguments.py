"""What commands check before they begin to work."""

from dataclasses import replace
from pathlib import Path

import pytest
import typer

from config.errors import DuocapError, SettingsError
from config.settings import Settings
from tools.arguments import check_sources, set_model, set_styles


def test_a_source_that_is_not_there_is_told_first(tmp_path: Path) -> None:
    check_sources(str(tmp_path), None)
    with pytest.raises(DuocapError, match=r"^nothing: no such file or folder; give a video, a folder of images, or the folder"):
        check_sources(str(tmp_path), "nothing")


@pytest.mark.parametrize("camera", ["0", "/dev/video7", "rtsp://127.0.0.1:9/a", "http://user:geheim@127.0.0.1:9/video"])
def test_cameras_are_recorded_first_where_recordings_are_asked_for(camera: str, tmp_path: Path) -> None:
    """Whoever names a camera that runs is told to record, and no password is printed."""
    with pytest.raises(DuocapError, match=r"a camera that runs.*`duocap record`") as told:
        check_sources(str(tmp_path), camera)
    assert "geheim" not in str(told.value)


def test_files_of_styles_are_looked_at_first_and_make_no_sense_where_styles_are_off(tmp_path: Path) -> None:
    settings = Settings()
    assert set_styles(settings, None, tmp_path / "kept.style", False) is settings
    off = set_styles(settings, None, None, True)
    assert not off.fill.style and "fill.style" in off.given
    for option, files in {"--style": (tmp_path, None), "--save-style": (None, tmp_path / "kept.style")}.items():
        with pytest.raises(typer.BadParameter, match="styles are turned off") as told:
            set_styles(settings, *files, True)
        assert told.value.param_hint == option
    for model in ("local", "sparse"):
        other = replace(settings, fill=replace(settings.fill, model=model))
        with pytest.raises(typer.BadParameter, match=r"fill\.model=local or sparse"):
            set_styles(other, tmp_path / "none.style", None, False)
    with pytest.raises(DuocapError, match="there is no dictionary"):
        set_styles(other, None, None, False)
    with pytest.raises(DuocapError, match=r"none\.sparse"):
        set_styles(replace(settings, fill=replace(settings.fill, dictionary=str(tmp_path / "none.sparse"))), None, None, False)
    with pytest.raises(DuocapError, match=r"none\.style"):
        set_styles(settings, tmp_path / "none.style", None, False)
    with pytest.raises(DuocapError, match="cannot be written"):
        set_styles(settings, None, tmp_path / "no folder" / "kept.style", False)


def test_the_local_model_that_is_asked_for_is_stronger_than_the_settings() -> None:
    paper = replace(Settings(), solve=replace(Settings().solve, model="paper"))
    assert set_model(paper, None) is paper and set_model(paper, "gaussian").solve.model == "gaussian"
    assert set_model(Settings(), "paper") == paper
    with pytest.raises(SettingsError, match="papper"):
        set_model(Settings(), "papper")
