"""The picture of learning: how the objective fell."""

from pathlib import Path

from calibration.picture import LEFT, new_figure, save_figure, style
from reconstruct.style.model import Style


def draw_objective(learned: Style, path: Path) -> Path:
    """Draw L_GP over the steps as PNG, and as an inset its last half. Raises FileFormatError: it cannot be written."""
    import matplotlib as mpl

    with mpl.rc_context(style()):
        figure = new_figure(6.4, 3.8)
        ax = figure.add_axes((0.16, 0.14, 0.80, 0.74))
        steps = range(len(learned.objective))
        ax.plot(steps, learned.objective, color=LEFT, lw=1.6)
        ax.set_xlabel("step")
        ax.set_ylabel("objective $L_{GP}$, lower is better")
        ax.set_title(f"learning {learned.name}: {len(learned.features)} poses, {learned.n_latent} latent dimensions")
        ax.grid(True)
        half = len(learned.objective) // 2
        if half >= 3:
            close = ax.inset_axes((0.45, 0.4, 0.52, 0.52))
            close.plot(steps[half:], learned.objective[half:], color=LEFT, lw=1.4)
            close.set_title("the last half", weight="normal", size=8)
            close.tick_params(labelsize=7)
            close.grid(True)
        return save_figure(figure, path)
