"""`duocap evaluate poses`: noisy and incomplete poses restored by models of poses."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.evaluate.options import EvaluationWorkers, Motion, evaluation_plan
from tools.commands.options import Scheduler, add_settings_options

Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write all figures as JSON.", show_default=False)]
Tables = Annotated[str, typer.Option("--tables", metavar="N,N", help="1: all poses; 2 to 4: by subject. Default all.")]
Subjects = Annotated[str, typer.Option("--subjects", metavar="NN,NN", help="Subjects of Tables 2 to 4; default all.")]
Models = Annotated[str, typer.Option("--models", metavar="NAME,NAME", help="Models measured; default all.")]
Poses = Annotated[int, typer.Option("--poses", min=0, metavar="N", help="Test poses at most; 0 for all.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, metavar="N", help="Random halves measured.")]
Tuning = Annotated[int, typer.Option("--tuning", min=1, metavar="N", help="Training poses that choose each model's trade-off.")]


@add_settings_options
def poses(
    settings: Settings,
    motion: Motion,
    tables: Tables = "",
    subjects: Subjects = "",
    models: Models = "",
    poses: Poses = 0,
    seeds: Seeds = 3,
    tuning: Tuning = 2000,
    out: Out = None,
    workers: EvaluationWorkers = None,
    scheduler: Scheduler = "",
) -> None:
    """Noisy and incomplete poses restored by models of poses: Tables 1 to 4 of Lai, Yuen & Lee 2012."""
    from tools.evaluate.figures import write_figures
    from tools.evaluate.poses.measure import PosesOptions, measure_poses, table_numbers
    from tools.evaluate.poses.table import report

    check_folders(out)
    plan = evaluation_plan(workers, scheduler)
    options = PosesOptions(table_numbers(_words(tables)), _words(subjects), _words(models), poses, tuning, seeds, plan)
    runs = measure_poses(motion, options)
    for line in report(runs):
        print(line)
    if out is not None:
        write_figures(out, runs)


def _words(text: str) -> tuple[str, ...]:
    """Return the words between commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
