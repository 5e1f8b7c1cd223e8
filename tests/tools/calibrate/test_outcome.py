"""Where the picture of a verdict goes, and names that cannot be."""

from pathlib import Path

import pytest

from config.errors import DuocapError
from tools.calibrate.outcome import choose_picture_file


def test_the_picture_goes_beside_the_result() -> None:
    assert choose_picture_file(Path("a/rig.toml"), None, False) == Path("a/rig.png")
    assert choose_picture_file(Path("a/rig.toml"), Path("b.jpg"), False) == Path("b.jpg")
    assert choose_picture_file(Path("a/rig.png"), None, True) is None


@pytest.mark.parametrize(("out", "picture"), [(".", None), ("", None), ("rig.png", None), ("rig.toml", "rig.toml")])
def test_no_name_and_one_name_for_both(out: str, picture: str | None) -> None:
    """A folder's dot is no file; a picture must not be drawn over the result, nor the result written over the picture."""
    with pytest.raises(DuocapError, match="--out"):
        choose_picture_file(Path(out), None if picture is None else Path(picture), False)
