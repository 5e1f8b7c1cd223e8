"""The examples of Wei et al. 2011, table 1: each script of examples/physics, made and measured.

    python -m benchmarks.physics.examples --motions .../cmu/subjects --motions .../motion/styled --fields FOLDER [--out FOLDER]
    [--strips docs] [--films FOLDER] [--table FILE.md] [--figures FILE.json] [NAME...]

Force fields that FOLDER lacks are trained first, as examples/physics/fields.toml says, and their times printed (table 2).
Columns: frames, key poses and paths, processor seconds of initialisation and synthesis; then of the motion without and with
physics the residual of eq. 1 (force, % of weight; torque, % of weight times height), slide of feet in contact [mm a frame],
frames with a force outside of the friction cone [%], jerk of the joints [m/s^3]; of the result the peak of the vertical force [%
of weight] and the distance from the keys [mm]. --strips draws each as physics-NAME.png, --films films it, --table writes the
table as Markdown: the gallery of docs/gallery.md; --figures what the page of the paper has of it. Last come the peaks of the
recorded motions that each field was learned of, by inverse dynamics: of the least, the median and the hardest motion.
"""

import argparse
import time
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.papers.page.figures import format_figures, keep_figures
from benchmarks.report import Row
from config.arrays import Floats
from database.geometry.rotations import matrix_from_quaternion
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.file import read_field
from reconstruct.models.physics.field.state import STANDARD_GRAVITY
from reconstruct.models.physics.field.train import FPS
from tools.export import plan_export_files, write_take
from tools.physics.animate import AnimateTask, Animation, animate_script
from tools.physics.film import write_film
from tools.physics.script import read_script
from tools.physics.strip import draw_strip
from tools.physics.train import FieldTask, read_motions, train_field_file

EXAMPLES = Path(__file__).parents[2] / "examples" / "physics"
ORDER = (
    "normal_walk",
    "big_step",
    "turning",
    "running",
    "jumping",
    "heavy_foot",
    "resistance",
    "slippery",
    "moon",
    "sneaky",
    "proud",
    "long_walk",
    "run_walk_jump",
    "slope",
    "obstacle",
)


def train_missing_field(name: str, folder: Path, motions: list[Path]) -> None:
    """Train the force field of a name unless there is one."""
    out = folder / f"{name}.forces"
    if out.exists():
        return
    listed = tomllib.loads((EXAMPLES / "fields.toml").read_text("utf-8"))[name]
    task = FieldTask([next(each / file for each in motions if (each / file).exists()) for file in listed])
    began = time.process_time()
    found = read_motions(task, lambda *_: None)
    read = time.process_time()
    train_field_file(task, found, name, out, lambda *_: None)
    seconds = sum(len(motion.q) for motion in found) / FPS
    print(f"{name}: {seconds:.0f} s of motion, prepared in {read - began:.1f} s, learned in {time.process_time() - read:.1f} s")


def measure_recorded_peaks(field: ForceField) -> Floats:
    """Return the largest vertical force in each motion that a field was learned of, (C,) [of the weight]."""
    dynamics, examples = Dynamics(build_body(field.skeleton, field.mass_kg)), field.examples
    peaks = []
    for a, b in pairwise(examples.start.tolist()):
        motion = dynamics.motion(examples.q[a:b].astype(np.float64), 1.0 / examples.fps)
        up = matrix_from_quaternion(motion.q[:, 3:7])[:, 1]
        peaks.append((up * dynamics.generalized_forces(motion)[:, :3]).sum(axis=1).max())
    return np.array(peaks) / (field.mass_kg * STANDARD_GRAVITY)


def measure_row(name: str, made: Animation) -> str:
    """Return a row of the table."""
    a, b = made.figures
    n, keys = made.problem.n_frames, f"{len(made.problem.keys)}+{len(made.problem.paths)}"
    times = f"{made.seconds[0]:>6.1f}{made.seconds[1]:>6.1f}"
    pairs = "".join(
        f"{scale * getattr(a, key):>8.{digits}f}{scale * getattr(b, key):>7.{digits}f}"
        for key, scale, digits in (
            ("residual_force", 100.0, 2),
            ("residual_torque", 100.0, 2),
            ("slide_m", 1e3, 2),
            ("outside_cone", 100.0, 0),
            ("jerk", 1.0, 0),
        )
    )
    return f"{name:<14}{n:>6}{keys:>6}{times}{pairs}{100 * b.peak:>7.0f}{1e3 * b.key_m:>7.1f}"


def measure_figures(name: str, made: Animation) -> Row:
    """Return what the page of the paper has of an example."""
    result = made.figures[1]
    row = {
        "name": name,
        "seconds": made.problem.n_frames / FPS,
        "start_s": made.seconds[0],
        "solve_s": made.seconds[1],
        "key_mm": 1e3 * result.key_m,
        "unmet": 100.0 * result.residual_force,
    }
    return keep_figures(row)


COMMAND = "python -m benchmarks.physics.examples --motions DIR/cmu/subjects --motions STYLED --fields FOLDER --figures FILE"
MARKDOWN = ["| example | frames | keys | s | force | torque | slide | jerk | peak | key |", "|" + 10 * "---|"]


def format_markdown_row(line: str, name: str) -> str:
    """Return a row as the table of docs/gallery.md has it; that of friction, 0 everywhere, left out."""
    _, n, keys, *values = line.split()
    pairs = [", ".join(values[k : k + 2]) for k in (0, 2, 4, 6, 10)]
    return "| " + " | ".join([name, n, keys.removesuffix("+0"), *pairs, *values[12:]]) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--motions", type=Path, action="append", required=True)
    parser.add_argument("--fields", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--strips", type=Path, default=None)
    parser.add_argument("--films", type=Path, default=None)
    parser.add_argument("--table", type=Path, default=None)
    parser.add_argument("--figures", type=Path, default=None)
    options = parser.parse_args()
    options.fields.mkdir(parents=True, exist_ok=True)
    head = f"{'example':<14}{'frames':>6}{'keys':>6}{'init':>6}{'solve':>6}"
    print(
        head
        + "".join(f"{title:>15}" for title in ("force %", "torque %", "slide", "friction", "jerk"))
        + f"{'peak':>7}{'key':>7}"
    )
    table, rows, fields = list(MARKDOWN), list[Row](), dict[str, None]()
    for name in options.names or ORDER:
        script = read_script(EXAMPLES / f"{name}.toml")
        train_missing_field(script.field, options.fields, options.motions)
        fields[script.field] = None
        made = animate_script(AnimateTask(script, [*options.motions, options.fields]))
        print(measure_row(name, made), flush=True)
        table.append(format_markdown_row(measure_row(name, made), name.replace("_", " ")))
        rows.append(measure_figures(name.replace("_", " "), made))
        for words in made.notes:
            print(f"    {words}")
        if options.strips is not None:
            draw_strip(options.strips / f"physics-{name.replace('_', '-')}.png", made, name.replace("_", " "))
        if options.films is not None:
            options.films.mkdir(parents=True, exist_ok=True)
            write_film(options.films / f"{name}.mp4", made)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            write_take(plan_export_files(script.file, [options.out / f"{name}.bvh"], ())[0], made.take(name))
    for name in fields:
        peaks = 100.0 * measure_recorded_peaks(read_field(options.fields / f"{name}.forces"))
        print(f"{name}: recorded motions peak at {peaks.min():.0f}, {np.median(peaks):.0f}, {peaks.max():.0f} % of the weight")
    if options.figures is not None:
        options.figures.write_text(format_figures(COMMAND, 0.0, rows), "utf-8")
    if options.table is not None:
        options.table.write_text("\n".join(table) + "\n", "utf-8")


if __name__ == "__main__":
    main()
