"""Forces over time as a picture: vertical force of each foot, moments of the legs' joints, residual."""

from pathlib import Path

import numpy as np

from calibration.quality.picture import INK, LEFT, RIGHT, open_figure, save_figure
from reconstruct.models.physics.field.state import STANDARD_GRAVITY
from stream.take.take import Take
from tools.physics.forces import FEET, StretchForces
from tools.physics.moments import compute_joint_moments

STYLES = {"hip_flexion": "-", "knee_flexion": "--", "ankle_dorsiflexion": ":"}


def plot_forces(file: Path, found: list[StretchForces], title: str) -> None:
    """Draw forces of a motion to a picture or PDF, by the file's suffix.

    Args:
        file: PNG, SVG or PDF to write.
        found: forces of each range of frames.
        title: title of the drawing.
    """
    with open_figure(10, 8, "constrained") as figure:
        top, middle, low = figure.subplots(3, 1, sharex=True)
        for k, each in enumerate(found):
            forces, t = each.forces, each.seconds
            moments = compute_joint_moments(each.body, forces)
            feet = forces.foot_forces(each.body.contacts.foot)[..., 1] / forces.weight_n
            for foot, (side, color) in enumerate(zip(FEET, (LEFT, RIGHT), strict=True)):
                top.plot(t, feet[:, foot], color=color, label=side if k == 0 else None)
                for name, style in STYLES.items():
                    moment = moments.find(f"{name}_{side[0]}") / each.body.total_kg
                    label = f"{side} {name.replace('_', ' ')}" if k == 0 else None
                    middle.plot(t, moment, style, color=color, label=label)
            top.plot(t, feet.sum(axis=1), color=INK, linewidth=0.8, label="both" if k == 0 else None)
            low.plot(t, np.linalg.norm(forces.residual[:, :3], axis=1) / forces.weight_n, color=INK)
        top.axhline(1.0, color=INK, linewidth=0.4)
        top.set(title=title, ylabel="vertical force [body weights]")
        middle.axhline(0.0, color=INK, linewidth=0.4)
        middle.set(ylabel="joint moment [Nm/kg]")
        low.set(ylabel="residual force\n[body weights]", xlabel="time [s]")
        for axes in (top, middle):
            axes.legend(loc="upper right", fontsize="small", ncols=3)
        save_figure(figure, file, 110)


def plot_recorded_forces(file: Path, take: Take, title: str) -> None:
    """Draw the forces that a take carries to a picture or PDF, by the file's suffix.

    Args:
        file: PNG, SVG or PDF to write.
        take: a take with forces.
        title: title of the drawing.
    """
    assert take.forces is not None
    weights = np.where(take.forces.known[:, None, None], take.forces.force_n, np.nan) / (take.forces.mass_kg * STANDARD_GRAVITY)
    with open_figure(10, 6, "constrained") as figure:
        top, low = figure.subplots(2, 1, sharex=True)
        for foot, (side, color) in enumerate(zip(FEET, (LEFT, RIGHT), strict=True)):
            top.plot(take.seconds, weights[:, foot, 1], color=color, label=side)
            low.plot(take.seconds, np.linalg.norm(weights[:, foot][:, [0, 2]], axis=1), color=color, label=side)
        top.plot(take.seconds, weights[..., 1].sum(axis=1), color=INK, linewidth=0.8, label="both")
        top.axhline(1.0, color=INK, linewidth=0.4)
        top.set(title=title, ylabel="vertical force [body weights]")
        low.set(ylabel="level force [body weights]", xlabel="time [s]")
        top.legend(loc="upper right", fontsize="small", ncols=3)
        save_figure(figure, file, 110)
