"""Train a dictionary on motions, write it, and say how it went."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from config.arrays import Singles
from reconstruct.models.sparse.model import write_dictionary
from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary
from tools.progress import open_progress_bar
from tools.style.sources import MotionSource, StyleSources, find_main_skeleton, read_motion_sources
from tools.style.train import COLUMN

CHUNK = 10_000


def train_dictionary(wanted: StyleSources, options: TrainOptions, name: str, out: Path) -> tuple[str, ...]:
    """Train and write a dictionary; return lines of text that describe it.

    Args:
        wanted: motions to learn from.
        options: options of learning.
        name: name of the dictionary.
        out: file to write.
    Raises: DuocapError.
    """
    with open_progress_bar("reading"):
        sources = read_motion_sources(wanted)
    skeleton, n_skeletons = find_main_skeleton(sources)
    with open_progress_bar("training") as show:
        model = train_pose_dictionary(
            lambda: _read_pose_chunks(sources), skeleton, name, out.with_suffix(".sparse.part"), options, show
        )
    plain = asdict(options.learning)
    described = tuple(f"{source.name}: {source.seconds:.1f} s" for source in sources)
    model = replace(model, sources=described, options=plain | {"clusters": options.clusters})
    write_dictionary(out, model)
    learned, T = model.dictionary, model.dictionary.n_nonzero
    lines = [
        f"{'poses':<{COLUMN}} {model.n_poses} of {len(sources)} motion{'s' if len(sources) > 1 else ''}",
        f"{'dictionary':<{COLUMN}} {len(learned)} atoms, {T} of them a pose; error {1e3 * model.error_m:.1f} mm of a coordinate",
        f"{'file':<{COLUMN}} {out}, {out.stat().st_size / 1e6:.1f} MB",
    ]
    if n_skeletons > 1:
        lines.insert(1, f"{'skeleton':<{COLUMN}} of {n_skeletons} bodies; the one seen longest, {skeleton.height_m:.2f} m tall")
    return tuple(lines)


def _read_pose_chunks(sources: list[MotionSource]) -> Iterator[Singles]:
    """Return the poses of all motions, some thousands at a time."""
    for source in sources:
        for clip in source.clips:
            for first in range(0, clip.n_frames, CHUNK):
                yield clip.rotvec[first : first + CHUNK].astype(np.float32)
