"""What all pages do with viser's widgets: values that are sent only where they change, what users do, keys of the keyboard."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import viser


class WidgetCommand(NamedTuple):
    """A key of the keyboard and what it does; viser's palette lists it by its label."""

    label: str
    hotkey: Any
    act: Callable[[], None]
    modifier: Any = None


def set_values(handle: object, **values: object) -> None:
    """Set properties of a widget; nothing is sent if they have not changed."""
    for name, value in values.items():
        if getattr(handle, name) != value:
            setattr(handle, name, value)


def set_html(handle: viser.GuiHtmlHandle, content: str) -> None:
    """Set the content of a widget; nothing is sent if it has not changed."""
    set_values(handle, content=content)


def on_user_input(handle: Any, act: Callable[[Any], None]) -> None:
    """Have a function called with each value that a user gives a widget; changes of our own have no client."""

    def updated(event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            act(event.target.value)

    handle.on_update(updated)


def add_button(gui: viser.GuiApi, label: str, press: Callable[[], None], hint: str, **style: Any) -> viser.GuiButtonHandle:
    """Create a button with a tooltip.

    Args:
        gui: interface of the page.
        label: text on the button.
        press: called when it is pressed.
        hint: shown where the mouse rests.
        style: icon, color and more, as viser has them.
    """
    button = gui.add_button(label, hint=hint, **style)
    button.on_click(lambda _: press())
    return button


def add_commands(gui: viser.GuiApi, commands: Iterable[WidgetCommand]) -> None:
    """Register keys in all browsers."""
    for command in commands:
        handle = gui.add_command(command.label, hotkey=command.hotkey, modifier=command.modifier)
        handle.on_trigger(lambda _, act=command.act: act())  # type: ignore[misc]
