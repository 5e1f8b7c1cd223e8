"""What keys of the keyboard do: commands of viser, which its palette lists, too."""

import viser

from stream.posing.page.controls import PosingPage
from stream.posing.page.motion import MotionPart
from stream.posing.page.near import NearPart
from stream.posing.page.panels import PosePart
from stream.posing.page.picture import PicturePart
from stream.posing.page.scene import MOVE, TURN


def add_commands(
    gui: viser.GuiApi, page: PosingPage, pose: PosePart, near: NearPart, motion: MotionPart, picture: PicturePart
) -> None:
    """Register the commands in all browsers."""
    add = gui.add_command
    add("Undo", hotkey="Z", modifier="cmd/ctrl").on_trigger(lambda event: page.do(lambda session: session.undo()))
    add("Redo", hotkey="Z", modifier="cmd/ctrl+shift").on_trigger(lambda event: page.do(lambda session: session.redo()))
    add("Hold the joint or let it go", hotkey="P").on_trigger(lambda event: pose.toggle_hold())
    add("Arrows on the joint, or none", hotkey="G").on_trigger(lambda event: pose.toggle_tool(MOVE))
    add("Rings around the joint, or none", hotkey="R").on_trigger(lambda event: pose.toggle_tool(TURN))
    add("Only along X, or all axes", hotkey="X").on_trigger(lambda event: pose.lock_axis("x"))
    add("Only along Y, or all axes", hotkey="Y").on_trigger(lambda event: pose.lock_axis("y"))
    add("Only along Z, or all axes", hotkey="Z").on_trigger(lambda event: pose.lock_axis("z"))
    add("Let all joints go", hotkey="F").on_trigger(lambda event: page.do(lambda session: session.free_all()))
    add("Mirror", hotkey="M").on_trigger(lambda event: page.do(lambda session: session.mirror()))
    add("Find near poses", hotkey="D").on_trigger(lambda event: near.find())
    add("Play or pause", hotkey="space").on_trigger(lambda event: motion.play())
    add("Set a key", hotkey="K").on_trigger(lambda event: motion.set_key())
    add("Delete the key", hotkey="delete").on_trigger(lambda event: motion.delete_key())
    add("Next joint to click", hotkey="N").on_trigger(lambda event: picture.skip())
    add("Look at the body", hotkey="L").on_trigger(lambda event: picture.look())
