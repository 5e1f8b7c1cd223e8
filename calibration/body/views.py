"""Landmarks of a body in several cameras at the same moments, and which of its lengths do not change."""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class BodyViews:
    """The landmarks of a body in C cameras at F moments.

    t_s: of the moments, (F,) [s]; points_px: raw, of all landmarks of a picture in their order, (C, F, N, 2); seen: which count,
    (C, F, N).
    """

    t_s: Floats
    points_px: Floats
    seen: Bools

    def __len__(self) -> int:
        return len(self.t_s)

    @property
    def n_cameras(self) -> int:
        """Count the cameras."""
        return len(self.points_px)

    def select_moments(self, which: Bools | Ints, cameras: tuple[int, ...] | None = None) -> "BodyViews":
        """Return some of the moments as some cameras see them, by default all."""
        some = list(range(self.n_cameras) if cameras is None else cameras)
        return BodyViews(self.t_s[which], self.points_px[some][:, which], self.seen[some][:, which])

    def take_landmarks(self, which: Ints) -> "BodyViews":
        """Return the views with other landmarks in the places of theirs: by number (N,), or by camera and moment, (C, F, N)."""
        if which.ndim == 1:
            return replace(self, points_px=self.points_px[:, :, which], seen=self.seen[:, :, which])
        points = np.take_along_axis(self.points_px, which[..., None], axis=2)
        return replace(self, points_px=points, seen=np.take_along_axis(self.seen, which, axis=2))
