"""Pieces that the parts of the page are built of."""

from collections.abc import Callable

import viser


def add_button(
    gui: viser.GuiApi, label: str, press: Callable[[], None], hint: str, icon: viser.IconName
) -> viser.GuiButtonHandle:
    """Create a button with a tooltip."""
    button = gui.add_button(label, hint=hint, icon=icon)
    button.on_click(lambda event: press())
    return button


def add_client_button(gui: viser.GuiApi, label: str, press: Callable[[viser.ClientHandle], None], hint: str) -> None:
    """Create a button that does something for the browser it is pressed in.

    Args:
        gui: interface of the page.
        label: text on the button.
        press: called when it is pressed.
        hint: shown when the mouse rests on it.
    """
    button = gui.add_button(label, hint=hint, icon=viser.Icon.DOWNLOAD)
    button.on_click(lambda event: press(event.client) if event.client is not None else None)


def set_values(handle: object, **values: object) -> None:
    """Set properties of a widget; nothing is sent if they have not changed."""
    for name, value in values.items():
        if getattr(handle, name) != value:
            setattr(handle, name, value)
