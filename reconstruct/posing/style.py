"""Poses by styles (Grochow et al. 2004)."""

from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints
from reconstruct.models.style.synthesis.synthesizer import LIVE_STEPS, Synthesis, Synthesizer
from reconstruct.posing.protocol import FoundPose


class StylePoser:
    """Poses by a synthesizer, from its own last pose while handles are dragged."""

    def __init__(self, synthesizer: Synthesizer) -> None:
        self.synthesizer = synthesizer

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that is posed."""
        return self.synthesizer.skeleton

    def pose(self, constraints: Constraints, start: FoundPose | None = None) -> Synthesis:
        """Return the likeliest pose; from a pose of this model's within the steps of a live frame, else by annealing."""
        if isinstance(start, Synthesis):
            return self.synthesizer.synthesize(constraints, start, max_steps=LIVE_STEPS)
        return self.synthesizer.synthesize(constraints)
