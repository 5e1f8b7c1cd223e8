"""The style of some built-in motions, which posing begins with: learned at first use and kept in the user's cache."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from config.errors import DuocapError
from tools.progress import open_progress_bar

if TYPE_CHECKING:
    from reconstruct.models.style.model import Style

DEFAULT_MOTIONS = (
    "idle",
    "walk",
    "reach",
    "wave",
    "squat",
    "sweep_arms",
    "look_around",
)  # that the default style is learned from
DEFAULT_POSES, DEFAULT_ACTIVE = 200, 60
DEFAULT_STYLE = "builtin-motions-1.style"  # another number, where it is to be learned anew


def load_default_style() -> "Style":
    """Return a style of some built-in motions, learned at first use and kept in the user's cache. Raises DuocapError."""
    from reconstruct.models.style.file import read_style, write_style
    from reconstruct.models.style.model import StyleError

    file = Path(platformdirs.user_cache_dir("duocap", appauthor=False)) / DEFAULT_STYLE
    if file.is_file():
        with contextlib.suppress(StyleError):  # damaged or of another version: it is learned again
            return read_style(file)
    style = _learn_default_style()
    with contextlib.suppress(OSError, DuocapError):  # without a cache it is learned every time
        file.parent.mkdir(parents=True, exist_ok=True)
        write_style(file, style)
    return style


def _learn_default_style() -> "Style":
    """Learn the default style, a few seconds of work."""
    from database.builtin.catalog import make_builtin_clip
    from reconstruct.models.style.features import build_training_poses, subsample_poses
    from reconstruct.models.style.learn.train import LearnOptions, fit_style

    with open_progress_bar("learning a style of built-in motions, once") as show:
        clips = [make_builtin_clip(name) for name in DEFAULT_MOTIONS]
        poses = subsample_poses(build_training_poses(clips), DEFAULT_POSES)
        return fit_style(
            poses,
            clips[0].skeleton,
            "built-in motions",
            LearnOptions(active=DEFAULT_ACTIVE),
            lambda done, total, L: show(done, total, f"L_GP {L:.0f}"),
        )
