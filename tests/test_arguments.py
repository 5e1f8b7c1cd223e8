"""What commands check before they begin to work."""

from pathlib import Path

import pytest

from config.errors import DuocapError
from tools.arguments import check_sources


def test_a_source_that_is_not_there_is_told_first(tmp_path: Path) -> None:
    check_sources(str(tmp_path), None)
    with pytest.raises(DuocapError, match=r"^nothing: no such file or folder; give a video, a folder of images, or the folder"):
        check_sources(str(tmp_path), "nothing")
