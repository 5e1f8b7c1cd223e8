"""Keys on a timeline, and the motion between them: set, moved, scrubbed and played."""

import time
from collections.abc import Sequence
from html import escape
from itertools import pairwise

import viser

from config.joints import JOINT_INDEX
from stream.posing.document import SAME_TIME_S, PosingError
from stream.posing.motion import Motion, take_from_pose
from stream.posing.page.controls import PosingPage
from stream.posing.page.scene import CurveBall
from stream.posing.page.timeline import Timeline
from stream.take.take import Take
from stream.viewer.html import wrap_in_box
from stream.web.widgets import on_user_input, set_html, set_values

MAX_SLIDER_S, STEP_S = 10.0, 0.05
MAX_BENDS, MAX_GHOSTS = 12, 15  # of intervals between keys, and bodies: more is a thicket, and slow in a browser
LET_GO_S = 0.4  # after which a key that is dragged is where it should be


class MotionPart:
    """The keys of the session, the motion through them, and the time that is shown."""

    def __init__(self, page: PosingPage) -> None:
        self._page, self._timeline = page, Timeline()
        self.motion: Motion | None = None  # None while it is made, or where there are too few keys
        self._dragged_s: tuple[float, ...] | None = None  # times of the keys while one is dragged, and when it last moved
        self._dragged_at_s = 0.0
        self._with_ghosts = False

    def play(self) -> None:
        """Play, or pause."""

        def change() -> None:
            if not self._timeline.playing and len(self._page.session.document.keys) < 2:
                raise PosingError("there is nothing to play yet: set two keys or more, at different times of the slider")
            self._timeline.playing = not self._timeline.playing

        self._page.put(change)

    def scrub(self, time_s: float) -> None:
        """Have the page go to a time [s]; the motion stands there, or a key without a motion."""
        self._page.put(lambda: self.go_to(time_s))

    def go_to(self, time_s: float) -> None:
        """Go to a time [s]."""
        self._timeline.playing, self._timeline.time_s = False, time_s
        self._show_motion()

    def set_key(self) -> None:
        """Keep the pose as a key at the slider's time."""
        self._page.do(lambda session: session.set_key(round(self._timeline.time_s, 3)))

    def delete_key(self) -> None:
        """Remove the nearest key."""
        self._page.do(lambda session: session.delete_key(self._nearest_key_s()))

    def stop(self) -> None:
        """Stand still."""
        self._timeline.playing = False

    def close(self) -> None:
        """Make no more motions."""
        self._timeline.close()

    def take(self) -> Take:
        """Return the motion, or without keys the pose alone. Raises PosingError: it is still being made."""
        session = self._page.session
        if len(session.document.keys) > 1 and self.motion is None:
            raise PosingError("the motion is still being made; export it in a moment")
        return self.motion.take if self.motion is not None else take_from_pose(session.document, session.skeleton)

    def step(self, seconds: float) -> None:
        """Have the motion made and played; keys that were dragged go where they were let go."""
        if self._dragged_s is not None and time.monotonic() - self._dragged_at_s > LET_GO_S:
            times_s, self._dragged_s = self._dragged_s, None
            self._page.do(lambda session: session.move_keys(times_s))
        motion = self._timeline.update(self._page.session.document, self._page.session.poser)
        if motion is not self.motion:
            self.motion = motion
            self._show_curves()
        if self._timeline.playing and self.motion is not None:
            self._timeline.step(seconds, self.motion)
            self._show_motion()

    def _show_curves(self) -> None:
        """Show the ways of the held joints, a ball between keys to bend each, and ghosts at and between the keys."""
        motion, scene, keys = self.motion, self._page.scene, self._page.session.document.keys
        if motion is None:
            scene.show_paths(None, ())
            scene.show_ghosts(())
            return
        position_m = motion.take.positions_m()
        times_s = [0.5 * (a.time_s + b.time_s) for a, b in pairwise(keys)][:MAX_BENDS]
        bends = [
            CurveBall(name, round(time_s, 3), position_m[motion.find_frame(time_s), JOINT_INDEX[name]])
            for time_s in times_s
            for name in motion.held
        ]
        scene.show_paths(position_m[:, [JOINT_INDEX[name] for name in motion.held]], bends)
        shown_s = sorted([*(key.time_s for key in keys), *times_s])[:MAX_GHOSTS] if self._with_ghosts else []
        scene.show_ghosts([motion.pose_at(time_s) for time_s in shown_s])

    def show_ghosts(self, on: bool) -> None:
        """Show or hide ghosts of the body at the keys and between them."""

        def switch() -> None:
            self._with_ghosts = on
            self._show_curves()

        self._page.put(switch)

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets, in a window of their own."""
        self._window = gui.add_panel()
        with self._window.add_tab("Motion", viser.Icon.TIMELINE):
            self._words = gui.add_html("")
            self._slider = gui.add_slider(
                "Time [s]", 0.0, MAX_SLIDER_S, STEP_S, 0.0, hint="Of the next key; drag: along the motion"
            )
            on_user_input(self._slider, self.scrub)
            self._buttons = gui.add_button_group("Keys", ("Play", "Set key", "Delete key"), hint="Space, K, Delete")
            actions = {"Set key": self.set_key, "Delete key": self.delete_key}
            self._buttons.on_click(lambda event: actions.get(str(event.target.value), self.play)())
            ghosts = gui.add_checkbox("Ghosts", False, hint="The body at the keys and in the middle between them")
            on_user_input(ghosts, self.show_ghosts)
            hint = "Drag a key to another time"
            self._handles = gui.add_multi_slider(
                "Keys [s]", 0.0, MAX_SLIDER_S, STEP_S, (0.0,), min_range=STEP_S, hint=hint, visible=False
            )
            on_user_input(self._handles, self._drag_keys)

    def place(self, x_px: int, y_px: int, width_px: int) -> None:
        """Put the window at a place of the page."""
        self._window.float(x=x_px, y=y_px, width=width_px)

    def fold(self, on: bool) -> None:
        """Fold the window to its title, or open it."""
        (self._window.minimize if on else self._window.expand)()

    def update(self) -> None:
        """Update the widgets to keys and time."""
        timeline, document = self._timeline, self._page.session.document
        times_s = [key.time_s for key in document.keys]
        end_s = max(MAX_SLIDER_S, *times_s) if times_s else MAX_SLIDER_S
        set_values(self._slider, max=end_s)
        if timeline.playing and abs(self._slider.value - timeline.time_s) > 0.5 * STEP_S:
            set_values(self._slider, value=round(min(timeline.time_s, end_s), 2))
        set_values(self._buttons, options=("Pause" if timeline.playing else "Play", *self._buttons.options[1:]))
        if self._dragged_s is None:
            set_values(self._handles, max=end_s, visible=bool(times_s), value=tuple(times_s) or (0.0,))
        set_html(self._words, wrap_in_box(f"<div class='dim'>{escape(timeline.words(document, self.motion))}</div>"))

    def _drag_keys(self, times_s: Sequence[float]) -> None:
        """Note where the keys are dragged to; they are moved once the hand rests."""
        self._dragged_s, self._dragged_at_s = tuple(round(time_s, 3) for time_s in times_s), time.monotonic()

    def _nearest_key_s(self) -> float:
        """Return the time of the key nearest to the slider [s]. Raises PosingError: there is none."""
        times_s = [key.time_s for key in self._page.session.document.keys]
        if not times_s:
            raise PosingError("there is no key yet; set one first")
        return min(times_s, key=lambda time_s: abs(time_s - self._timeline.time_s))

    def _show_motion(self) -> None:
        """Show the motion at the slider's time, or a key that is there."""
        session, time_s, motion = self._page.session, self._timeline.time_s, self.motion
        if motion is not None and motion.begin_s <= time_s <= motion.end_s:
            pose = motion.pose_at(time_s)
            session.show(pose, motion.pins_at(pose))
            return
        for key in session.document.keys:
            if abs(key.time_s - time_s) < SAME_TIME_S:
                session.show(key.pose, dict(key.pins))
