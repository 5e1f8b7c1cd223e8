"""A motion as a strip of figures, without physics above and with it below: forces as arrows, key poses behind.

Every figure stands in a place of its own and is seen from its side, a little from the front: what it is about is height, lean and
forces, not where on the floor it was.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibration.quality.picture import ACCENT, INK, LEFT, MEASURED, QUIET, RIGHT
from config.arrays import Floats
from config.files import write_atomically
from config.joints import JOINT_INDEX, JOINTS, PARENTS
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.models.physics.dynamics import poses_from_configurations
from reconstruct.models.physics.field.state import STANDARD_GRAVITY
from reconstruct.models.physics.synthesis.problem import MotionProblem
from tools.physics.animate import Animation
from tools.physics.ground import MotionForces, evaluate_motion_forces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUND, EXTERNAL, LACKING, KEY = ACCENT, MEASURED, "#C1121F", "#F0C800"
FEW, MANY = 8, 13  # figures; more where there are many keys
MANY_KEYS = 4
SIDE_RAD = np.radians(25.0)  # from the side towards the front
WIDE_M, NARROW_M = 1.25, 0.95  # places of figures
WEIGHT_M = 0.5  # length of an arrow of body weight, on earth
LEAST = 0.03  # of the weight: less is not drawn
WIDTH_IN, DPI = 11.0, 82

LEAVES = [j for j in range(len(JOINTS)) if j not in PARENTS]
BONES = [JOINTS[j] for j in (*range(1, len(JOINTS)), *LEAVES)]  # names that tell their sides
HEAD = len(JOINTS) - 1 + LEAVES.index(JOINT_INDEX["head"])


@dataclass(frozen=True, slots=True)
class Arrows:
    """Forces of one kind: from at_m (N, K, 3) [m] by force_m (N, K, 3), in metres of the picture."""

    at_m: Floats
    force_m: Floats
    color: str


@dataclass(frozen=True, slots=True)
class FigureRow:
    """What a row shows. ends_m: of every bone, (N, B, 2, 3) world."""

    title: str
    ends_m: Floats
    arrows: tuple[Arrows, ...]

    def tops_m(self) -> Floats:
        """Return the heights of all that is drawn of each frame, (N,)."""
        tips = [(each.at_m + each.force_m)[..., 1].max(axis=1) for each in self.arrows if each.at_m.shape[1]]
        return np.asarray(np.max([self.ends_m[..., 1].max(axis=(1, 2)), *tips], axis=0))


class Strip:
    """The strip of one motion. frames: that are drawn; keys: key poses by their frames."""

    def __init__(self, made: Animation) -> None:
        self.problem = made.problem
        self.rows = [_build_row(made, q, number) for number, q in enumerate((made.start, made.q))]
        self.keys = {key.frame: _compute_bone_ends(self.problem, key.q[None])[0] for key in self.problem.keys}
        self.frames = select_shown_frames(len(made.q), list(self.keys))
        self.place_m = WIDE_M if len(self.frames) <= FEW else NARROW_M
        way = made.q[-1, :3] - made.q[0, :3]
        angle = np.arctan2(way[0], way[2]) + SIDE_RAD
        self.across = np.array([np.sin(angle), 0.0, np.cos(angle)])

    def extent_m(self) -> tuple[float, float]:
        """Return the lowest and highest point of a row."""
        over = [row.tops_m() - self._floor_m(row.ends_m[:, 0, 0]) for row in self.rows]
        high = max(float(heights[self.frames].max()) for heights in over)
        return -0.28 - 0.5 * self.place_m * float(np.abs(self.problem.surroundings.slope).sum()), high + 0.1

    def _floor_m(self, place_m: Floats) -> Floats:
        """Return the height of the soles that stand at a place, (..., 3) [m]: a file's floor is not always at 0."""
        standing_m = float(self.problem.level_m.mean())
        return self.problem.surroundings.height_m(place_m[..., 0], place_m[..., 2]) + standing_m

    def draw_row(self, axis: "Axes", row: FigureRow) -> None:
        """Draw a row of figures."""
        for slot, frame in enumerate(self.frames):
            self._draw_figure(axis, row, frame, slot * self.place_m)
        axis.set(xlim=(-0.5 * self.place_m, (len(self.frames) - 0.5) * self.place_m), ylim=self.extent_m(), aspect="equal")
        axis.set_title(row.title, fontsize=9.0, loc="left", color=INK, pad=2.0)
        axis.axis("off")

    def _draw_figure(self, axis: "Axes", row: FigureRow, frame: int, x_m: float) -> None:
        """Draw one figure: ground, key pose, bones from far to near, forces, time."""
        ends = row.ends_m[frame]
        hips = ends[0, 0]
        floor_m = float(self._floor_m(hips))

        def seen(points_m: Floats) -> Floats:
            """Return points (..., 3) in the picture, (..., 2)."""
            return np.stack([(points_m - hips) @ self.across + x_m, points_m[..., 1] - floor_m], axis=-1)

        edges = hips + np.array([[-0.5], [0.5]]) * self.place_m * self.across
        edges[:, 1] = self._floor_m(edges)
        axis.plot(*seen(edges).T, color=QUIET, linewidth=1.0, zorder=0)
        is_key = frame in self.keys
        for bone in self.keys[frame] if is_key else ():
            axis.plot(*seen(bone).T, color=KEY, linewidth=6.0, alpha=0.55, solid_capstyle="round", zorder=1)
        for path in self.problem.paths:
            for place in path.position_m[path.frames == frame]:
                axis.plot(*seen(place), "o", color=KEY, markersize=9.0, alpha=0.7, zorder=1)
        for bone in np.argsort(ends.mean(axis=1) @ np.cross(self.across, (0.0, 1.0, 0.0))):
            color = LEFT if BONES[bone].startswith("left") else RIGHT if BONES[bone].startswith("right") else INK
            axis.plot(*seen(ends[bone]).T, color=color, linewidth=2.2, solid_capstyle="round", zorder=2)
        axis.plot(*seen(ends[HEAD].mean(axis=0)), "o", color=INK, markersize=5.5, zorder=2)
        for each in row.arrows:
            for at, force in zip(each.at_m[frame], each.force_m[frame], strict=True):
                length_m = float(np.linalg.norm(force))
                if length_m > LEAST * WEIGHT_M:
                    style = {"arrowstyle": "-|>", "color": each.color, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
                    head = {"mutation_scale": min(9.0, 3.0 + 30.0 * length_m)}
                    axis.annotate("", tuple(seen(at + force)), tuple(seen(at)), arrowprops={**style, **head}, zorder=3)
        words = f"{frame / self.problem.fps:.2f} s" + " key" * is_key
        weight = "bold" if is_key else "normal"
        axis.text(x_m, -0.08, words, ha="center", va="top", fontsize=7.5, color=INK, fontweight=weight)


def draw_strip(file: Path, made: Animation, title: str) -> None:
    """Draw an animation as a strip of figures and write it as a PNG.

    Args:
        file: PNG file to write.
        made: the animation of a script.
        title: title of the drawing.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    strip = Strip(made)
    low, high = strip.extent_m()
    height_in = WIDTH_IN / (strip.place_m * len(strip.frames)) * (high - low) + 0.22
    figure, axes = pyplot.subplots(2, 1, figsize=(WIDTH_IN, 2.0 * height_in), layout="constrained")
    for axis, row in zip(axes, strip.rows, strict=True):
        strip.draw_row(axis, row)
    axes[0].set_title(title, fontsize=9.0, loc="right", color=INK, pad=2.0, fontweight="bold")
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=DPI, pil_kwargs={"optimize": True})
    pyplot.close(figure)
    write_atomically(file, data.getvalue())


def select_shown_frames(n: int, keys: list[int]) -> list[int]:
    """Return the frames of a strip: evenly over the motion, each moved to a key next to it."""
    frames = np.rint(np.linspace(0, n - 1, MANY if len(keys) > MANY_KEYS else FEW)).astype(int)
    for key in keys:
        frames[np.argmin(np.abs(frames - key))] = key
    return sorted(set(frames.tolist()))


def _build_row(made: Animation, q: Floats, number: int) -> FigureRow:
    """Return a motion as a row."""
    share = 100.0 * made.figures[number].residual_force
    title = f"{('without', 'with')[number]} physics: residual force {share:.2g}% of the weight"
    ends_m = _compute_bone_ends(made.problem, q)
    return FigureRow(title, ends_m, _build_arrows(made.problem, evaluate_motion_forces(made.problem, q), ends_m[:, :1, 0]))


def _build_arrows(problem: MotionProblem, forces: MotionForces, hips_m: Floats) -> tuple[Arrows, ...]:
    """Return the forces of a motion as they are drawn."""
    unit = WEIGHT_M / (problem.body.total_kg * STANDARD_GRAVITY)
    ground = Arrows(forces.ground.center_m, unit * forces.ground.force_n, GROUND)
    external = Arrows(forces.external_m, unit * forces.external_n, EXTERNAL)
    return ground, external, Arrows(hips_m, unit * forces.residual_n[:, None], LACKING)


def _compute_bone_ends(problem: MotionProblem, q: Floats) -> Floats:
    """Return both ends of every bone of configurations (N, 95), (N, B, 2, 3); the first begins at the hips."""
    skeleton = problem.body.skeleton
    rotvec, root_m = poses_from_configurations(q)
    G, p = compute_forward_kinematics(skeleton, rotvec, root_m)
    pairs = [np.stack([p[:, PARENTS[j]], p[:, j]], axis=1) for j in range(1, len(JOINTS))]
    pairs += [np.stack([p[:, j], p[:, j] + G[:, j] @ skeleton.tails_m[j]], axis=1) for j in LEAVES]
    return np.stack(pairs, axis=1)
