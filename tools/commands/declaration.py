"""How a command is declared: it declares what it is asked as a frozen dataclass, whose fields typer reads.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class SimulateOptions:
        motion: Annotated[str, typer.Argument(help="...")]
        seconds: Annotated[float, typer.Option(help="...")] = 5.0

    @add_settings_options
    def simulate(settings: Settings, options: SimulateOptions) -> None:
        \"\"\"One line that shows in the help.\"\"\"

The first parameter receives the settings, loaded and checked, or, declared as CommonOptions, what they are made of. A dataclass
may hold other dataclasses: their fields are options in their place, so that several commands share a group of them. A command
of up to three options may take them as parameters.
The options that every command has (--config, --set, --verbose, --log) come last in the help; logs are started before the
command's body runs (`logging.getLogger(__name__)`; hand `config.logs.find_current_logs()` to child processes).
Errors: raise a `DuocapError`, the launcher prints it.

Where it goes: a command of its own is a function of the command's name in a module of that name, around live cameras in
tools/commands/live/, of takes in tools/commands/takes/; a group (`duocap database build`) is `app = typer.Typer()` in a module.
Name either in COMMANDS of tools/cli.py. Import heavy modules (numba, cv2, scipy) inside the function, so that --help is quick.

Every option that several modules have is declared in tools/commands/options.py, and only there. An option that a project
knows (tools/project_file.py) is declared with `InProject`: there its value is the default, and the help says so.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from config.loading import load_settings
from config.logs import LogSettings, start_logs
from config.settings import Settings
from tools.project_file import read_project_file

P = ParamSpec("P")
MARKS = "in_project"  # attribute of a command: its options that a project knows, which tools/cli.py looks up


@dataclass(frozen=True, slots=True)
class InProject:
    """Metadata of an option whose default is what the project of the folder says.

    Attributes:
        key: of `ProjectFile.list_defaults`.
        unless: other options, which say it in another way: where one of them is given, the project's value is not taken.
        beside: a file of a session; a VIEW that holds one knows better than the project.
    """

    key: str
    unless: tuple[str, ...] = ()
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Options of every command."""

    config_file: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML file of settings.")] = None
    set_values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one setting, such as solve.neighbours=200; repeatable."),
    ] = None
    verbose: Annotated[bool, typer.Option("--verbose", help="Show details, and tracebacks of internal faults.")] = False
    log_file: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Write all details to a file.")] = None


def add_settings_options(command: Callable[Concatenate[Any, P], None]) -> Callable[..., None]:
    """Return `command` as typer reads it: a parameter for each option, the common ones last; the settings are made of those."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    first, *others = signature.parameters
    kinds = {name: hints[name] for name in others}

    @functools.wraps(command)
    def run(context: typer.Context, **values: Any) -> None:
        _drop_known_better(context, values, marks)
        common: CommonOptions = _build_options(CommonOptions, values)
        start_logs(LogSettings(common.verbose, common.log_file))
        given = common if hints[first] is CommonOptions else _load_settings_here(common)
        own = {name: _build_options(kind, values) if is_dataclass(kind) else values[name] for name, kind in kinds.items()}
        bound: Callable[..., None] = command
        bound(given, **own)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, kind in kinds.items():
        default = signature.parameters[name].default
        parameters += _list_parameters(kind) if is_dataclass(kind) else [_create_parameter(name, kind, default)]
    parameters += _list_parameters(CommonOptions)
    marks = {parameter.name: mark for parameter in parameters if (mark := _find_project_mark(parameter.annotation)) is not None}
    vars(run)[MARKS] = marks
    del run.__dict__["__wrapped__"]  # or typer would look through to the signature of `command`
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    return run


def _find_project_mark(annotation: Any) -> InProject | None:
    """Return how an option is found in a project, None where it is not; the outermost mark counts."""
    metadata: Sequence[object] = getattr(annotation, "__metadata__", ())
    return next((mark for mark in reversed(metadata) if isinstance(mark, InProject)), None)


def _drop_known_better(context: typer.Context, values: dict[str, Any], marks: Mapping[str, InProject]) -> None:
    """Drop the project's values where other options, or the session that is read, say it in another way."""
    views: list[str] = values.get("views") or []
    for name, mark in marks.items():
        source = context.get_parameter_source(name)
        said = any(values.get(other) for other in mark.unless)
        beside = bool(mark.beside) and len(views) == 1 and (Path(views[0]) / mark.beside).is_file()
        if source is not None and source.name == "DEFAULT_MAP" and (said or beside):
            values[name] = None


def _load_settings_here(common: CommonOptions) -> Settings:
    """Return the settings; in a project recordings go to its takes unless told otherwise."""
    settings, project = load_settings(common.config_file, common.set_values or ()), read_project_file(Path())
    if project is None or "stream.recordings" in settings.given:
        return settings
    return replace(settings, stream=replace(settings.stream, recordings=str(Path(project.takes).absolute())))


def _list_parameters(kind: Any) -> Iterator[inspect.Parameter]:
    """Return the options that a dataclass declares, those of the dataclasses in it in their place."""
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        if is_dataclass(hints[field.name]):
            yield from _list_parameters(hints[field.name])
        else:
            yield _create_parameter(field.name, hints[field.name], field.default)


def _create_parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    """Return a keyword with its type; a default of MISSING or none: it must be given."""
    given = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=kind)


def _build_options(kind: Any, values: Mapping[str, Any]) -> Any:
    """Return an options dataclass, with those in it, of the values that typer read."""
    hints = get_type_hints(kind, include_extras=True)
    built = {
        name: _build_options(hint, values) if is_dataclass(hint) else values[name]
        for name, hint in ((field.name, hints[field.name]) for field in fields(kind))
    }
    return kind(**built)
