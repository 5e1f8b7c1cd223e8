"""Forces over time as a picture: vertical force of each foot, torques of the legs' joints, residual."""

from pathlib import Path

import numpy as np

from calibration.quality.picture import INK, LEFT, RIGHT, save_figure
from config.joints import JOINT_INDEX
from reconstruct.models.physics.dynamics import find_joint_rows
from tools.physics.forces import FEET, StretchForces

JOINTS_DRAWN = {"UpperLeg": "hip", "LowerLeg": "knee", "Foot": "ankle"}
STYLES = {"UpperLeg": "-", "LowerLeg": "--", "Foot": ":"}


def plot_forces(file: Path, found: list[StretchForces], title: str) -> None:
    """Draw forces of a motion to a picture or PDF, by the file's suffix.

    Args:
        file: PNG, SVG or PDF to write.
        found: forces of each range of frames.
        title: title of the drawing.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (top, middle, low) = pyplot.subplots(3, 1, figsize=(10, 8), sharex=True, constrained_layout=True)
    for k, each in enumerate(found):
        forces, t = each.forces, each.seconds
        feet = forces.foot_forces(each.body.contacts.foot)[..., 1] / forces.weight_n
        for foot, (side, color) in enumerate(zip(FEET, (LEFT, RIGHT), strict=True)):
            top.plot(t, feet[:, foot], color=color, label=side if k == 0 else None)
            for joint, name in JOINTS_DRAWN.items():
                torque = forces.torque[:, find_joint_rows(JOINT_INDEX[side + joint])]
                label = f"{side} {name}" if k == 0 else None
                middle.plot(t, np.linalg.norm(torque, axis=1) / each.body.total_kg, STYLES[joint], color=color, label=label)
        top.plot(t, feet.sum(axis=1), color=INK, linewidth=0.8, label="both" if k == 0 else None)
        low.plot(t, np.linalg.norm(forces.residual[:, :3], axis=1) / forces.weight_n, color=INK)
    top.axhline(1.0, color=INK, linewidth=0.4)
    top.set(title=title, ylabel="vertical force [body weights]")
    middle.set(ylabel="torque [Nm/kg]")
    low.set(ylabel="residual force\n[body weights]", xlabel="time [s]")
    for axes in (top, middle):
        axes.legend(loc="upper right", fontsize="small", ncols=3)
    save_figure(figure, file, 110)
    pyplot.close(figure)
