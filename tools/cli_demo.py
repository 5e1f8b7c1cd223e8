"""`duocap demo`: see it work without a camera, and what it reaches on this machine."""

from typing import Annotated

import typer

from config.settings import Settings
from tools.options import with_settings

Seconds = Annotated[
    float | None,
    typer.Option("--seconds", min=4.0, max=3600.0, help="How long; default the whole programme.", show_default=False),
]
Headless = Annotated[bool, typer.Option("--headless", help="Without the viewer.")]


@with_settings
def demo(settings: Settings, seconds: Seconds = None, headless: Headless = False) -> None:
    """Track a simulated performer before two simulated cameras, in real time; report how well it went."""
    from database.default import default_database
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from tools.demo import run_demo
    from tools.demo_report import report_tables

    console, notes = Console(), Console(stderr=True)
    if not headless:
        notes.print("the viewer is not there yet: running as with --headless")
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn())
    with Progress(*columns, console=notes) as bars:
        database = default_database()
        task = bars.add_task("performance", total=1.0)
        report = run_demo(
            settings,
            seconds,
            database,
            lambda text: notes.print(text),
            lambda share, state: bars.update(task, completed=share, description=f"performance, {state}"),
        )
    for table in report_tables(report):
        console.print(table)
