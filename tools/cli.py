"""The command line `duocap`: one module a command or group, imported only when it is asked for.

A command whose arguments are written as people write them: `duocap export [OPTIONS] RECORDING`.
"""

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from tools.project_file import read_project_file


class Command(TyperCommand):
    """A command of typer with its arguments in capitals, those that may be left out in brackets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for parameter in self._arguments():
            parameter.metavar = parameter.metavar or (parameter.name or "").upper()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line after the command's name; newer versions of typer would put braces around them."""
        return [self.options_metavar or "", *(_format_usage(parameter) for parameter in self._arguments())]

    def _arguments(self) -> list[TyperArgument]:
        return [parameter for parameter in self.params if isinstance(parameter, TyperArgument)]


class CommandGroup(TyperGroup):
    """A group whose help has the whole line of each command, on as many lines as it takes."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands and their lines."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, (each.help or "").partition("\n")[0]) for name, each in commands if each is not None and not each.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _format_usage(argument: TyperArgument) -> str:
    """Return one argument as the usage line shows it; a metavar that says more itself stays as it is."""
    name = argument.metavar or ""
    return name if argument.required or name.startswith("[") else f"[{name}]"


VMC_OPTION = "--vmc"
VERSION_FLAG = typer.Option("--version", help="Print the version and end.")


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command or a group: its module and its line in the help."""

    module: str
    is_group: bool
    help: str


COMMANDS = {
    "start": CommandEntry(
        "tools.commands.live.start", False, "Open the start page: from cameras to a recorded take, in a browser."
    ),
    "demo": CommandEntry("tools.commands.live.demo", False, "Track a simulated performer; report how well it went."),
    "database": CommandEntry("tools.commands.database", True, "Get, build and choose motion databases."),
    "calibrate": CommandEntry("tools.commands.calibrate.group", True, "Measure cameras, floor and performer, and judge it."),
    "doctor": CommandEntry("tools.commands.live.doctor", False, "Say what hinders a run on this machine, and how to mend it."),
    "node": CommandEntry("tools.commands.live.run", False, "Be one of the cameras of a run on another machine."),
    "run": CommandEntry("tools.commands.live.run", False, "Turn cameras, two or more, into motion, live."),
    "record": CommandEntry("tools.commands.live.record", False, "Record cameras: videos, stamps, detections, poses."),
    "replay": CommandEntry("tools.commands.takes.replay", False, "Turn recorded videos or a session into full-body motion."),
    "landmarks": CommandEntry("tools.commands.live.landmarks", True, "Get the networks that find a body's landmarks."),
    "batch": CommandEntry("tools.commands.takes.batch", False, "Run many takes as one job, on all cores or a cluster."),
    "evaluate": CommandEntry("tools.commands.evaluate.group", True, "Measure errors on your own clips or published ones."),
    "solve": CommandEntry("tools.commands.takes.solve", False, "Turn optical markers (C3D, TRC) into motion, labelled or not."),
    "export": CommandEntry("tools.commands.takes.export", False, "Turn a take into BVH, GLB, FBX, C3D, TRC, CSV or VRMA."),
    "edit": CommandEntry("tools.commands.takes.edit", False, "Trim, cut, split, smooth, fill or relabel a take, as a new one."),
    "gait": CommandEntry("tools.commands.takes.gait", False, "Foot strikes, step lengths and times, and symmetry of a walk."),
    "keys": CommandEntry("tools.commands.live.keys", True, "Make keys for other machines, and say who is admitted."),
    "play": CommandEntry("tools.commands.takes.play", False, "Publish a recording as if it were live."),
    "pose": CommandEntry("tools.commands.takes.pose", False, "Pose a body on a page: drag a joint, and the body follows."),
    "relay": CommandEntry("tools.commands.live.relay", False, "Hand the stream on to pages in a browser."),
    "view": CommandEntry("tools.commands.takes.view", False, "Show the stream or recordings in the browser."),
    "style": CommandEntry("tools.commands.style", True, "Learn how somebody moves; pose bodies in that style."),
    "physics": CommandEntry("tools.commands.physics", True, "Forces of motions, and motions that obey them."),
    "sparse": CommandEntry("tools.commands.sparse", True, "Train pose dictionaries; complete and clean poses by them."),
    "sync": CommandEntry("tools.commands.takes.sync", False, "Find the time offset of two cameras in a recording."),
    "simulate": CommandEntry("tools.commands.simulate", False, "Render a motion as two videos with markers."),
}


def format_version() -> str:
    """Return the version of the installed package."""
    try:
        return metadata.version("duocap")
    except metadata.PackageNotFoundError:
        return "(not installed: run from a source folder)"


def run_root(context: typer.Context, version: Annotated[bool, VERSION_FLAG] = False) -> None:
    """Full-body motion capture in real time from two webcams, with a few markers or none."""
    if version:
        typer.echo(f"duocap {format_version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def list_project_defaults(asked_for: str | None) -> dict[str, Any]:
    """Return the defaults that the project of this folder has for a command, or for those of a group, by their names.

    Raises FileFormatError: its project.toml is not as it should be.
    """
    entry, project = COMMANDS.get(asked_for or ""), read_project_file(Path())
    if entry is None or project is None or asked_for is None:
        return {}
    module, known = importlib.import_module(entry.module), project.list_defaults()

    def look_up(command: object) -> dict[str, Any]:
        marks = getattr(command, "in_project", {})  # MARKS of tools/commands/declaration.py
        return {name: known[mark.key] for name, mark in marks.items() if mark.key in known}

    if not entry.is_group:
        return {asked_for: look_up(getattr(module, asked_for))}
    commands = [(command.name or command.callback.__name__, command.callback) for command in module.app.registered_commands]
    return {asked_for: {name: look_up(callback) for name, callback in commands}}


def build_application(asked_for: str | None) -> typer.Typer:
    """Build the command line; only the module of the command `asked_for` is imported, the others stand by name and help."""
    app = typer.Typer(cls=CommandGroup, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(run_root)
    for name, entry in COMMANDS.items():
        if name != asked_for:
            app.command(name, help=entry.help)(lambda: None)  # never called
            continue
        module = importlib.import_module(entry.module)
        if entry.is_group:
            module.app.info.no_args_is_help = True
            if module.app.registered_callback is None:
                module.app.callback()(lambda: None)  # keeps a group a group even while it has a single command
            for command in module.app.registered_commands:
                if not (command.cls and issubclass(command.cls, Command)):  # one with a class of its own keeps it
                    command.cls = Command
            app.add_typer(module.app, name=name, help=entry.help, cls=CommandGroup)
        else:
            app.command(name, cls=Command)(getattr(module, name))
    return app


def join_vmc_values(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with every `--vmc` joined to its value, which is empty where none follows.

    Option parsers know no option that may stand alone or have a value. The next word is the value if it is the name of an
    application or HOST:PORT; a file that is called so is written ./NAME.
    """
    if VMC_OPTION not in words:
        return list(words)
    from stream.vmc.sender import looks_like_target

    joined: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*joined, word, *rest]
        if word == VMC_OPTION:
            word += "=" + (rest.pop(0) if rest and looks_like_target(rest[0]) else "")
        joined.append(word)
    return joined


def run_application(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends with SystemExit, or with whatever exception the command raises."""
    words = join_vmc_values(sys.argv[1:] if arguments is None else arguments)
    asked_for = next((word for word in words if not word.startswith("-")), None)
    build_application(asked_for)(words, prog_name="duocap", default_map=list_project_defaults(asked_for))
