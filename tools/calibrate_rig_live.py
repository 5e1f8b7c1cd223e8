"""Calibrate a rig with cameras that run: somebody is guided with the board, then what was seen is solved and judged."""

from collections.abc import Callable, Sequence

from config.settings import Settings
from tools.calibrate_live import Outcome, watch_boards
from tools.calibrate_rig import RigTask, calibrate_pairs
from tools.guided_boards import Collected

Tell = Callable[[str], None]


def calibrate_live(
    settings: Settings, sources: Sequence[str], task: RigTask, fps: float | None, browser: bool, tell: Tell
) -> None:
    """Guide, then calibrate; the page shows the verdict too. Raises DuocapError: no camera, too few views, or a fail."""

    def finish(collected: Collected, progress: Callable[[str, float | None], None]) -> Outcome:
        lines: list[str] = []

        def say(line: str) -> None:
            lines.append(line)
            tell(line)

        done = calibrate_pairs(collected.pairs, collected.sizes, task, say)
        return Outcome(done.verdict, tuple(line for line in lines if line not in done.verdict.lines), task.picture, done.error)

    watch_boards(settings, sources, task.board, finish, fps=fps, browser=browser, tell=tell)
