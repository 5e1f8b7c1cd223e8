"""A motion as a strip of figures, without physics above and with it below: forces as arrows, key poses behind.

Figures move along the page as far as the motion does along its way, on a ground with a mark every metre, and at least so far that
they stand clear of each other. Every figure is seen from the side of its way, a little from the front. A long way goes on in the
next line.
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
SIDE_RAD = np.radians(25.0)  # from the side towards the front
EVERY_M, EVERY_S = 0.7, 0.6  # from figure to figure: so far along the way, or after so long where it hardly goes on
CLEAR_M = 0.55  # between figures on the page, at least
LINE_M = 13.0  # of a way, in a line of the page
MOST_LINES = 2  # of the motion without physics, which is not drawn where there are more
STEADY_HZ = 0.6  # a way is where the hips go without swaying
WEIGHT_M = 0.5  # length of an arrow of body weight, on earth
LEAST = 0.03  # of the weight: less is not drawn
WIDTH_IN, DPI = 11.0, 82
COLORS = 64  # of the picture

LEAVES = [j for j in range(len(JOINTS)) if j not in PARENTS]
BONE_COLORS = [
    LEFT if JOINTS[j].startswith("left") else RIGHT if JOINTS[j].startswith("right") else INK
    for j in (*range(1, len(JOINTS)), *LEAVES)
]
HEAD = len(JOINTS) - 1 + LEAVES.index(JOINT_INDEX["head"])


@dataclass(frozen=True, slots=True)
class Arrows:
    """Forces of one kind: from at_m (N, K, 3) [m] by force_m (N, K, 3), in metres of the picture."""

    at_m: Floats
    force_m: Floats
    color: str


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row of figures. ends_m: of every bone, (N, B, 2, 3) world."""

    title: str
    ends_m: Floats
    arrows: tuple[Arrows, ...]

    def tops_m(self) -> Floats:
        """Return the heights of all that is drawn of each frame, (N,)."""
        tips = [(each.at_m + each.force_m)[..., 1].max(axis=1) for each in self.arrows if each.at_m.shape[1]]
        return np.asarray(np.max([self.ends_m[..., 1].max(axis=(1, 2)), *tips], axis=0))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the page: frames, and where on it each stands, x_m (F,) [m]."""

    frames: list[int]
    x_m: list[float]


def lay_lines(hips_m: Floats, fps: float, keys: list[int]) -> list[Line]:
    """Return the lines of the page that a motion needs.

    Args:
        hips_m: places of the hips, (N, 3) [m].
        fps: frames a second.
        keys: frames that are shown in any case.
    """
    way = compute_way_m(hips_m, fps)
    frames, x = [0], [0.0]
    for n in range(1, len(way)):
        gone, waited = way[n] - way[frames[-1]], (n - frames[-1]) / fps
        soon = [key for key in keys if key > n and (way[key] - way[n]) < 0.6 * EVERY_M and (key - n) / fps < 0.6 * EVERY_S]
        if n in keys or n == len(way) - 1 or ((gone > EVERY_M or waited > EVERY_S) and not soon):
            frames.append(n)
            x.append(x[-1] + max(gone, CLEAR_M))
    lines: list[Line] = []
    begin, length = 0.0, x[-1] / max(1, round(x[-1] / LINE_M)) + 0.5 * EVERY_M
    for frame, at in zip(frames, x, strict=True):
        if not lines or at - begin > length:
            lines.append(Line([], []))
            begin = at
        lines[-1].frames.append(frame)
        lines[-1].x_m.append(at - begin)
    return lines


def compute_way_m(hips_m: Floats, fps: float) -> Floats:
    """Return how far a motion has gone along its way in each frame, (N,) [m]."""
    steps = np.diff(steady_places(hips_m, fps), axis=0)
    return np.asarray(np.r_[0.0, np.cumsum(np.linalg.norm(steps, axis=1))])


def compute_headings(hips_m: Floats, fps: float) -> Floats:
    """Return the direction of the way in each frame, (N,) [rad] about Y from Z; where it stands still, that of the whole."""
    places = steady_places(hips_m, fps)
    whole = places[-1] - places[0]
    ahead = np.gradient(places, axis=0) * fps + 0.2 * whole / max(float(np.linalg.norm(whole)), 0.1)
    return np.asarray(np.arctan2(ahead[:, 0], ahead[:, 1]))


def steady_places(hips_m: Floats, fps: float) -> Floats:
    """Return where the hips go in the plane without swaying, (N, 2) [m]."""
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(hips_m[:, [0, 2]], fps / (2.0 * np.pi * STEADY_HZ), axis=0, mode="nearest"))


class Strip:
    """The strip of one motion."""

    def __init__(self, made: Animation) -> None:
        self.problem = made.problem
        self.keys = {key.frame: _compute_bone_ends(self.problem, key.q[None])[0] for key in self.problem.keys}
        self.lines = lay_lines(made.q[:, :3], made.problem.fps, sorted(self.keys))
        rows = [_build_row(made, q, number) for number, q in enumerate((made.start, made.q))]
        self.rows = rows if len(self.lines) <= MOST_LINES else rows[1:]
        self.angle = compute_headings(made.q[:, :3], made.problem.fps) + SIDE_RAD
        self.length_m = max(line.x_m[-1] for line in self.lines)
        self.shown = [frame for line in self.lines for frame in line.frames]

    def extent_m(self) -> tuple[float, float]:
        """Return the lowest and highest point of a row."""
        over = [row.tops_m() - self.floor_m(row.ends_m[:, 0, 0]) for row in self.rows]
        high = max(float(heights[self.shown].max()) for heights in over)
        around = self.problem.surroundings
        lowest = 0.5 * CLEAR_M * float(np.abs(around.slope).sum()) + max((each.height_m for each in around.mounds), default=0.0)
        return -0.4 - lowest, high + 0.1

    def floor_m(self, place_m: Floats) -> Floats:
        """Return the height of the soles that stand at a place, (..., 3) [m]: a file's floor is not always at 0."""
        standing_m = float(self.problem.level_m.mean())
        return self.problem.surroundings.compute_foot_ground(place_m[..., [0, 2]])[0] + standing_m

    def draw_line(self, axis: "Axes", row: FigureRow, line: Line) -> None:
        """Draw a line of figures."""
        for frame, x_m in zip(line.frames, line.x_m, strict=True):
            self._draw_figure(axis, row, frame, x_m)
        axis.set(xlim=(-0.7, self.length_m + 0.7), ylim=self.extent_m(), aspect="equal")
        for mark in range(int(line.x_m[-1]) + 1):
            axis.plot([mark, mark], [-0.03, 0.0], color=QUIET, linewidth=0.8, zorder=0)
        axis.axis("off")

    def _draw_figure(self, axis: "Axes", row: FigureRow, frame: int, x_m: float) -> None:
        """Draw one figure: ground, key pose, bones from far to near, forces, time."""
        ends = row.ends_m[frame]
        hips = ends[0, 0]
        floor_m = float(self.floor_m(hips))
        across = np.array([np.sin(self.angle[frame]), 0.0, np.cos(self.angle[frame])])

        def seen(points_m: Floats) -> Floats:
            """Return points (..., 3) in the picture, (..., 2)."""
            return np.stack([(points_m - hips) @ across + x_m, points_m[..., 1] - floor_m], axis=-1)

        edges = hips + np.linspace(-0.5, 0.5, 25)[:, None] * EVERY_M * across
        edges[:, 1] = self.floor_m(edges)
        axis.plot(*seen(edges).T, color=QUIET, linewidth=1.0, zorder=0)
        is_key = frame in self.keys
        for bone in self.keys[frame] if is_key else ():
            axis.plot(*seen(bone).T, color=KEY, linewidth=6.0, alpha=0.55, solid_capstyle="round", zorder=1)
        for path in self.problem.paths:
            for place in path.position_m[path.frames == frame]:
                axis.plot(*seen(place), "o", color=KEY, markersize=9.0, alpha=0.7, zorder=1)
        for bone in np.argsort(ends.mean(axis=1) @ np.cross(across, (0.0, 1.0, 0.0))):
            axis.plot(*seen(ends[bone]).T, color=BONE_COLORS[bone], linewidth=2.2, solid_capstyle="round", zorder=2)
        axis.plot(*seen(ends[HEAD].mean(axis=0)), "o", color=INK, markersize=5.5, zorder=2)
        for each in row.arrows:
            for at, force in zip(each.at_m[frame], each.force_m[frame], strict=True):
                length_m = float(np.linalg.norm(force))
                if length_m > LEAST * WEIGHT_M:
                    style = {"arrowstyle": "-|>", "color": each.color, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
                    head = {"mutation_scale": min(9.0, 3.0 + 30.0 * length_m)}
                    axis.annotate("", tuple(seen(at + force)), tuple(seen(at)), arrowprops={**style, **head}, zorder=3)
        words = f"{frame / self.problem.fps:.2f} s" + "\nkey" * is_key
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
    from PIL import Image

    strip = Strip(made)
    low, high = strip.extent_m()
    height_in = WIDTH_IN / (strip.length_m + 1.4) * (high - low) + 0.22
    drawn = [(row, line) for row in strip.rows for line in strip.lines]
    figure, axes = pyplot.subplots(len(drawn), 1, figsize=(WIDTH_IN, len(drawn) * height_in), layout="constrained", squeeze=False)
    for axis, (row, line) in zip(axes[:, 0], drawn, strict=True):
        strip.draw_line(axis, row, line)
        if line is strip.lines[0]:
            axis.set_title(row.title, fontsize=9.0, loc="left", color=INK, pad=2.0)
    axes[0, 0].set_title(title, fontsize=9.0, loc="right", color=INK, pad=2.0, fontweight="bold")
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=DPI)
    pyplot.close(figure)
    small = io.BytesIO()
    Image.open(data).convert("RGB").quantize(COLORS).save(small, "png", optimize=True)
    write_atomically(file, small.getvalue())


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
