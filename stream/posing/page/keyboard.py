"""What keys of the keyboard do: commands of viser, which its palette lists, too."""

import viser

from stream.posing.page.controls import PosingControls


def add_commands(gui: viser.GuiApi, controls: PosingControls) -> None:
    """Register the commands on all pages."""
    add = gui.add_command
    add("Undo", hotkey="Z", modifier="cmd/ctrl").on_trigger(lambda event: controls.do(lambda session: session.undo()))
    add("Redo", hotkey="Z", modifier="cmd/ctrl+shift").on_trigger(lambda event: controls.do(lambda session: session.redo()))
    add("Hold the joint or let it go", hotkey="P").on_trigger(lambda event: controls.toggle_hold())
    add("Let all joints go", hotkey="F").on_trigger(lambda event: controls.do(lambda session: session.free_all()))
    add("Mirror", hotkey="M").on_trigger(lambda event: controls.do(lambda session: session.mirror()))
    add("Play or pause", hotkey="space").on_trigger(lambda event: controls.play())
    add("Set a key", hotkey="K").on_trigger(lambda event: controls.set_key())
    add("Delete the key", hotkey="delete").on_trigger(lambda event: controls.delete_key())
    add("Look at the body", hotkey="L").on_trigger(lambda event: controls.look())
