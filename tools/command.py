"""A command whose arguments are written as people write them: `duocap export [OPTIONS] RECORDING`."""

from typing import Any

from typer.core import TyperArgument, TyperCommand


class Command(TyperCommand):
    """A command of typer with its arguments in capitals, those that may be left out in brackets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for parameter in self._arguments():
            parameter.metavar = parameter.metavar or (parameter.name or "").upper()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Give the words of the usage line after the command's name; newer versions of typer would put braces around them."""
        return [self.options_metavar or "", *(_usage(parameter) for parameter in self._arguments())]

    def _arguments(self) -> list[TyperArgument]:
        return [parameter for parameter in self.params if isinstance(parameter, TyperArgument)]


def _usage(argument: TyperArgument) -> str:
    """Give one argument as the usage line shows it; a metavar that says more itself stays as it is."""
    name = argument.metavar or ""
    return name if argument.required or name.startswith("[") else f"[{name}]"
