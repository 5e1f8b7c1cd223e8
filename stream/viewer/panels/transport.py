"""The player's panel: strip of tracking states, slider, play, pause, steps, live edge, speed and loop."""

import time
from collections.abc import Callable
from typing import Protocol

import viser

from stream.viewer.html import draw_strip_svg, format_clock, format_legend_html, format_take_square, wrap_in_box
from stream.viewer.player import MAX_SPEED, MIN_SPEED, Playhead, TimeSpan
from stream.viewer.view import AppSnapshot, PageActions
from stream.web.widgets import set_html

STRIP = "display:flex;align-items:center;margin-bottom:3px"
HANDS_OFF_S = 0.6  # after a user moved the slider, it is not moved by the player
STEP_S, FRAME_S = 1.0, 1 / 60
Change = Callable[[Playhead, TimeSpan], Playhead]


class PlaybackControls(Protocol):
    """Controls of playback."""

    def play(self, change: Change) -> None:
        """Change the player."""


class TransportPanel:
    """Play, pause, scrub; for one take or two at once."""

    period_s = 0.1

    def __init__(self, controls: PlaybackControls, actions: PageActions, live: bool) -> None:
        self._controls, self._actions, self._live = controls, actions, live
        self._moved_s, self._frame_s = 0.0, FRAME_S

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._strip = gui.add_html("")
        step_s = 0.1 if self._live else 0.01
        self._slider = gui.add_slider("Time [s]", 0.0, 1.0, step_s, 0.0, hint="Drag to another moment")
        self._digits = 1 if self._live else 2
        self._buttons = gui.add_button_group("Play", ("Pause", "−1 s", "+1 s", "Live" if self._live else "Start"))
        self._speed = gui.add_slider("Speed", MIN_SPEED, MAX_SPEED, 0.1, 1.0, hint="Of what is not live")
        if not self._live:
            self._loop = gui.add_checkbox("Repeat", True)
            self._loop.on_update(lambda event: self._change(lambda player, span: player.looping(event.target.value)))
        self._slider.on_update(self._scrub)
        self._buttons.on_click(self._press)
        self._commands(gui)
        self._speed.on_update(lambda event: self._change(lambda player, span: player.at_speed(float(event.target.value))))

    def _commands(self, gui: viser.GuiApi) -> None:
        """Register the keys."""
        add = gui.add_command
        add("Play or pause", hotkey="space").on_trigger(
            lambda _: self._change(lambda player, span: player.paused() if player.playing else player.resumed(span))
        )
        add("A frame back", hotkey="arrowleft").on_trigger(lambda _: self._step(-self._frame_s))
        add("A frame on", hotkey="arrowright").on_trigger(lambda _: self._step(self._frame_s))
        add("A second back", hotkey="arrowleft", modifier="shift").on_trigger(lambda _: self._step(-STEP_S))
        add("A second on", hotkey="arrowright", modifier="shift").on_trigger(lambda _: self._step(STEP_S))
        add("To the beginning", hotkey="home").on_trigger(
            lambda _: self._change(lambda player, span: player.scrubbed(span.begin_s, span))
        )

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
        label = "Pause" if player.playing else "Play"
        if self._buttons.options[0] != label:
            self._buttons.options = (label, *self._buttons.options[1:])

    def _follow(self, span: TimeSpan, player: Playhead) -> None:
        """Move the slider to the cursor; its ends only when they change, and never past its value."""
        begin_s, end_s = round(span.begin_s, self._digits), round(max(span.end_s, span.begin_s + 0.1), self._digits)
        if self._slider.max != end_s:
            self._slider.max = end_s
        if self._slider.min != begin_s:
            self._slider.min = begin_s
        self._slider.value = min(max(round(player.cursor_s, self._digits), begin_s), end_s)  # type: ignore[misc]

    def _scrub(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Go to the time that a user moved the slider to; changes of our own have no client."""
        if event.client is not None:
            self._moved_s = time.monotonic()
            t_s = float(event.target.value)
            self._change(lambda player, span: player.scrubbed(t_s, span))

    def _press(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Do what a button says, by its label."""
        changes: dict[str, Change] = {
            "Pause": lambda player, span: player.paused(),
            "Play": lambda player, span: player.resumed(span),
            "−1 s": lambda player, span: player.scrubbed(player.cursor_s - STEP_S, span),
            "+1 s": lambda player, span: player.scrubbed(player.cursor_s + STEP_S, span),
            "Live": lambda player, span: player.at_edge(span),
            "Start": lambda player, span: player.scrubbed(span.begin_s, span),
        }
        self._change(changes[event.target.value])

    def _change(self, change: Change) -> None:
        """Have the player changed."""
        self._actions.put(lambda: self._controls.play(change))
