"""The player's panel: strip of tracking states, slider, play, pause, steps, live edge, speed and loop."""

import time
from collections.abc import Callable

import viser

from stream.viewer.html import draw_strip_svg, format_clock, format_legend_html, format_take_square, wrap_in_box
from stream.viewer.player import MAX_SPEED, MIN_SPEED, Playhead, TimeSpan
from stream.viewer.view import AppSnapshot
from stream.web.widgets import WidgetCommand, add_commands, on_user_input, set_html, set_values

STRIP = "display:flex;align-items:center;margin-bottom:3px"
HANDS_OFF_S = 0.6  # after a user moved the slider, it is not moved by the player
STEP_S, FRAME_S = 1.0, 1 / 60
Change = Callable[[Playhead, TimeSpan], Playhead]


class TransportPanel:
    """Play, pause, scrub; for one take or two at once. change: has the app's thread change the player."""

    period_s = 0.1

    def __init__(self, change: Callable[[Change], None], live: bool) -> None:
        self._change, self._live = change, live
        self._moved_s, self._frame_s = 0.0, FRAME_S

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        change = self._change
        self._strip = gui.add_html("")
        step_s, self._digits = (0.1, 1) if self._live else (0.01, 2)
        self._slider = gui.add_slider("Time [s]", 0.0, 1.0, step_s, 0.0, hint="Drag to another moment")
        on_user_input(self._slider, self._scrub)
        buttons: dict[str, Change] = {
            "Pause": lambda player, span: player.paused(),
            "−1 s": lambda player, span: player.scrubbed(player.cursor_s - STEP_S, span),
            "+1 s": lambda player, span: player.scrubbed(player.cursor_s + STEP_S, span),
            "Live" if self._live else "Start": Playhead.at_edge if self._live else _go_to_start,
        }
        self._buttons = gui.add_button_group("Play", tuple(buttons))
        buttons["Play"] = Playhead.resumed
        self._buttons.on_click(lambda event: change(buttons[event.target.value]))
        speed = gui.add_slider("Speed", MIN_SPEED, MAX_SPEED, 0.1, 1.0, hint="Of what is not live")
        on_user_input(speed, lambda value: change(lambda player, span: player.at_speed(value)))
        if not self._live:
            on_user_input(gui.add_checkbox("Repeat", True), lambda on: change(lambda player, span: player.looping(on)))
        commands = [
            WidgetCommand("Play or pause", "space", lambda: change(_play_or_pause)),
            WidgetCommand("A frame back", "arrowleft", lambda: self._step(-self._frame_s)),
            WidgetCommand("A frame on", "arrowright", lambda: self._step(self._frame_s)),
            WidgetCommand("A second back", "arrowleft", lambda: self._step(-STEP_S), "shift"),
            WidgetCommand("A second on", "arrowright", lambda: self._step(STEP_S), "shift"),
            WidgetCommand("To the beginning", "home", lambda: change(_go_to_start)),
        ]
        add_commands(gui, commands)

    def _step(self, step_s: float) -> None:
        """Go on or back by some time; by less than a second it stands still there."""

        def change(player: Playhead, span: TimeSpan) -> Playhead:
            at = player.paused() if abs(step_s) < STEP_S else player
            return at.scrubbed(player.cursor_s + step_s, span)

        self._change(change)

    def update(self, view: AppSnapshot) -> None:
        """Update strip, slider and buttons by the player."""
        span, player = view.span, view.player
        history = view.tracks[0].history
        self._frame_s = (history.end_s - history.begin_s) / max(len(history) - 1, 1) or FRAME_S
        if time.monotonic() - self._moved_s > HANDS_OFF_S:
            self._follow(span, player)
        strips = "".join(
            f'<div style="{STRIP}">{format_take_square(view, n)}{draw_strip_svg(track.history.runs, span, view.cursor_s)}</div>'
            for n, track in enumerate(view.tracks)
        )
        position = "live" if player.live and not view.silent else f"{format_clock(view.cursor_s)} of {format_clock(span.end_s)}"
        legend = format_legend_html([run for track in view.tracks for run in track.history.runs])
        set_html(self._strip, wrap_in_box(f'{strips}<div class="row"><div class="legend">{legend}</div><b>{position}</b></div>'))
        set_values(self._buttons, options=("Pause" if player.playing else "Play", *self._buttons.options[1:]))

    def _follow(self, span: TimeSpan, player: Playhead) -> None:
        """Move the slider to the cursor; its ends only when they change, and never past its value."""
        begin_s, end_s = round(span.begin_s, self._digits), round(max(span.end_s, span.begin_s + 0.1), self._digits)
        set_values(self._slider, max=end_s, min=begin_s)
        set_values(self._slider, value=min(max(round(player.cursor_s, self._digits), begin_s), end_s))

    def _scrub(self, t_s: float) -> None:
        """Go to the time that a user moved the slider to."""
        self._moved_s = time.monotonic()
        self._change(lambda player, span: player.scrubbed(t_s, span))


def _play_or_pause(player: Playhead, span: TimeSpan) -> Playhead:
    """Pause what plays, play what stands."""
    return player.paused() if player.playing else player.resumed(span)


def _go_to_start(player: Playhead, span: TimeSpan) -> Playhead:
    """Go to the beginning."""
    return player.scrubbed(span.begin_s, span)
