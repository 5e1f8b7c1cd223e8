"""What stands beside the scene: the pose and its model, keys and motion, the picture, files."""

import time
from collections.abc import Callable
from html import escape

import viser

from config.joints import JOINTS
from stream.posing.page.certainty import certainty_html
from stream.posing.page.controls import PosingControls, PosingSnapshot
from stream.viewer.html import box
from stream.web.html import set_html

NO_JOINT = "(none)"
MAX_SLIDER_S, STEP_S = 10.0, 0.05
HANDS_OFF_S = 0.6  # after a user moved a slider, it is not moved by the page
MIN_FOV_DEG, MAX_FOV_DEG = 20.0, 110.0
PICTURES = "image/png,image/jpeg"
Gui = viser.GuiApi


class StatusPanel:
    """What is said of the pose."""

    def build(self, gui: Gui) -> None:
        """Create the widgets."""
        self._text = gui.add_html("")

    def update(self, view: PosingSnapshot) -> None:
        """Say how the pose is."""
        n_held = len(view.document.pins) + len(view.document.image_points)
        set_html(self._text, box(certainty_html(view.certainty, n_held)))


class PosePanel:
    """The selected joint, what is held, undo and redo, the model and the shares of its styles."""

    def __init__(self, controls: PosingControls) -> None:
        self._controls = controls
        self._shares: list[viser.GuiSliderHandle[float]] = []
        self._styles: tuple[str, ...] = ()
        self._mixed: tuple[float, ...] = ()
        self._moved_s = 0.0

    def build(self, gui: Gui) -> None:
        """Create the widgets."""
        controls, self._gui = self._controls, gui
        self._joint = gui.add_dropdown(
            "Joint", (NO_JOINT, *JOINTS), initial_value=NO_JOINT, hint="With the arrows; or click a ball"
        )
        self._joint.on_update(self._select)
        self._hold = _button(gui, "Hold", controls.toggle_hold, "Hold the joint where it is, or let it go (P)", viser.Icon.PIN)
        _button(gui, "Let all go", lambda: controls.do(lambda s: s.free_all()), "Hold no joint (F)", viser.Icon.PINNED_OFF)
        undo_hint, redo_hint = "Take back the last change (Ctrl+Z)", "Do it again (Ctrl+Shift+Z)"
        self._undo = _button(gui, "Undo", lambda: controls.do(lambda s: s.undo()), undo_hint, viser.Icon.ARROW_BACK_UP)
        self._redo = _button(gui, "Redo", lambda: controls.do(lambda s: s.redo()), redo_hint, viser.Icon.ARROW_FORWARD_UP)
        mirror_hint = "Left becomes right, with all that is held (M)"
        _button(gui, "Mirror", lambda: controls.do(lambda s: s.mirror()), mirror_hint, viser.Icon.FLIP_VERTICAL)
        _button(gui, "Reset", lambda: controls.do(lambda s: s.reset()), "Stand up; can be undone", viser.Icon.REFRESH)
        keep = gui.add_checkbox("Hold what I drag", True, hint="A joint stays where it is dragged to while you drag others")
        keep.on_update(lambda event: controls.set_hold_dragged(bool(event.target.value)))
        plane = gui.add_checkbox("Latent plane", False, hint="All that the style knows, on a board: drag its ball")
        plane.on_update(lambda event: controls.show_plane(bool(event.target.value)))
        model_hint = "What the body does where no joint is held"
        names = tuple(controls.models)
        self._model = gui.add_dropdown("Model", names, initial_value=names[0], hint=model_hint, visible=len(names) > 1)
        self._model.on_update(lambda event: controls.set_model(str(event.target.value)) if event.client is not None else None)
        self._folder = gui.add_folder("Styles", visible=False)

    def update(self, view: PosingSnapshot) -> None:
        """Update the widgets to the session."""
        held = view.selected in view.document.pins or view.selected in view.document.image_points
        _set(self._hold, label="Let go" if held else "Hold", disabled=not view.selected)
        _set(self._undo, disabled=not view.can_undo)
        _set(self._redo, disabled=not view.can_redo)
        _set(self._joint, value=view.selected or NO_JOINT)
        if view.document.model in self._model.options:
            _set(self._model, value=view.document.model)
        self._update_styles(view)

    def _update_styles(self, view: PosingSnapshot) -> None:
        """Show a slider for each style where there are several."""
        styles = view.styles if len(view.styles) > 1 else ()
        if styles != self._styles:
            for slider in self._shares:
                slider.remove()
            with self._folder:
                self._shares = [self._gui.add_slider(name, 0.0, 1.0, 0.05, 0.5, hint="Share of this style") for name in styles]
            for slider in self._shares:
                slider.on_update(self._mix)
            self._styles, self._mixed = styles, ()
            self._folder.visible = bool(styles)
        hands_off = time.monotonic() - self._moved_s > HANDS_OFF_S
        if styles and hands_off and view.document.shares != self._mixed:  # of a session that was opened, or undone
            self._mixed = view.document.shares
            for slider, share in zip(self._shares, view.document.shares, strict=True):
                _set(slider, value=round(share, 2))

    def _mix(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Mix the styles as the sliders stand."""
        shares = tuple(float(slider.value) for slider in self._shares)
        if event.client is not None and sum(shares) > 0.0:
            self._moved_s = time.monotonic()
            self._mixed = mixed = tuple(share / sum(shares) for share in shares)
            self._controls.do(lambda session: session.set_shares(mixed))

    def _select(self, event: viser.GuiEvent[viser.GuiDropdownHandle[str]]) -> None:
        """Select the joint of the list."""
        if event.client is not None:
            name = str(event.target.value)
            self._controls.select("" if name == NO_JOINT else name)


class MotionPanel:
    """Keys on a timeline, and the motion between them."""

    def __init__(self, controls: PosingControls) -> None:
        self._controls = controls

    def build(self, gui: Gui) -> None:
        """Create the widgets."""
        self._strip = gui.add_html("")
        self._slider = gui.add_slider("Time [s]", 0.0, MAX_SLIDER_S, STEP_S, 0.0, hint="Of the next key; drag: along the motion")
        self._slider.on_update(self._scrub)
        self._buttons = gui.add_button_group("Keys", ("Play", "Set key", "Delete key"), hint="Space, K, Delete")
        self._buttons.on_click(self._press)
        self._move = gui.add_number("Move key to", 0.0, min=0.0, max=600.0, step=STEP_S, hint="Of the key nearest to the slider")
        self._move.on_update(self._move_key)

    def update(self, view: PosingSnapshot) -> None:
        """Update the widgets to keys and time."""
        times_s = [key.time_s for key in view.document.keys]
        end_s = max(MAX_SLIDER_S, *times_s) if times_s else MAX_SLIDER_S
        _set(self._slider, max=end_s)
        if view.playing and abs(self._slider.value - view.time_s) > 0.5 * STEP_S:
            _set(self._slider, value=round(min(view.time_s, end_s), 2))
        label = "Pause" if view.playing else "Play"
        if self._buttons.options[0] != label:
            self._buttons.options = (label, *self._buttons.options[1:])
        set_html(self._strip, box(_strip(times_s, view.time_s, end_s) + f"<div class='dim'>{escape(view.motion)}</div>"))

    def _scrub(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Go to the time of the slider where a user moved it."""
        if event.client is not None:
            self._controls.scrub(float(event.target.value))

    def _press(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Do what a button says."""
        controls = self._controls
        {"Set key": controls.set_key, "Delete key": controls.delete_key}.get(str(event.target.value), controls.play)()

    def _move_key(self, event: viser.GuiEvent[viser.GuiNumberHandle[float]]) -> None:
        """Move the key."""
        if event.client is not None:
            self._controls.move_key(float(event.target.value))


class PicturePanel:
    """The picture that is posed after, and the field of view of its camera."""

    def __init__(self, controls: PosingControls) -> None:
        self._controls = controls

    def build(self, gui: Gui) -> None:
        """Create the widgets."""
        controls = self._controls
        gui.add_html(
            box(
                "Load a picture, then drag each ball onto its joint in the picture, or select a joint and click. "
                "Four or more give a pose: hands, feet, head, hips."
            )
        )
        load = gui.add_upload_button("Load a picture", mime_type=PICTURES, hint="PNG or JPEG", icon=viser.Icon.PHOTO)
        load.on_upload(lambda event: controls.open_picture(event.target.value.name, event.target.value.content))
        self._fov = gui.add_slider(
            "Field of view [°]", MIN_FOV_DEG, MAX_FOV_DEG, 1.0, 50.0, hint="Of the camera, across; a phone's is about 65"
        )
        self._fov.on_update(self._set_fov)
        _button(gui, "Look through its camera", controls.look, "Joints lie on the picture (L)", viser.Icon.CAMERA)
        self._away = _button(gui, "Put it away", controls.close_picture, "Pose in space again", viser.Icon.TRASH)

    def update(self, view: PosingSnapshot) -> None:
        """Update the widgets to the picture."""
        picture = view.document.picture
        _set(self._fov, disabled=picture is None)
        _set(self._away, disabled=picture is None)
        if picture is not None:
            _set(self._fov, value=float(round(picture.fov_deg)))

    def _set_fov(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Set the field of view."""
        if event.client is not None:
            fov_deg = float(event.target.value)
            self._controls.do(lambda session: session.set_fov(fov_deg))


class FilePanel:
    """The session's file, export, the stream, the colours of the page."""

    def __init__(self, controls: PosingControls, dark: bool, can_publish: bool) -> None:
        self._controls, self._dark, self._can_publish = controls, dark, can_publish

    def build(self, gui: Gui) -> None:
        """Create the widgets."""
        controls = self._controls
        self._text = gui.add_html("")
        self._format = gui.add_dropdown("Format", controls.formats, hint="Of the file to export")
        _client_button(gui, "Export", lambda client: controls.export(self._format.value, client), "The motion, or the pose")
        _client_button(gui, "Download the session", controls.download_session, "To go on with it elsewhere")
        load = gui.add_upload_button("Open a session", mime_type=".json,application/json", icon=viser.Icon.UPLOAD)
        load.on_upload(lambda event: controls.open_session(event.target.value.name, event.target.value.content))
        self._publish = gui.add_checkbox(
            "Publish to the stream", False, hint="Whatever listens to the stream follows the pose", visible=self._can_publish
        )
        self._publish.on_update(lambda event: controls.publish(bool(event.target.value)) if event.client is not None else None)
        dark = gui.add_checkbox("Dark page", self._dark)
        dark.on_update(lambda event: controls.set_dark(bool(event.target.value)))

    def update(self, view: PosingSnapshot) -> None:
        """Say where the session is saved and what is published."""
        saved = escape(f"not saved: {view.fault}" if view.fault else f"saved to {view.file} with every change")
        stream = f"<div class='dim'>published at {view.publishing}</div>" if view.publishing else ""
        set_html(self._text, box(f"<div class='dim'>{saved}</div>{stream}"))
        _set(self._publish, value=bool(view.publishing))


def _button(gui: Gui, label: str, press: Callable[[], None], hint: str, icon: viser.IconName) -> viser.GuiButtonHandle:
    """Create a button with a tooltip."""
    button = gui.add_button(label, hint=hint, icon=icon)
    button.on_click(lambda event: press())
    return button


def _client_button(gui: Gui, label: str, press: Callable[[viser.ClientHandle], None], hint: str) -> None:
    """Create a button that does something for the page it is pressed on."""
    button = gui.add_button(label, hint=hint, icon=viser.Icon.DOWNLOAD)
    button.on_click(lambda event: press(event.client) if event.client is not None else None)


def _set(handle: object, **values: object) -> None:
    """Set properties of a widget; nothing is sent if they have not changed."""
    for name, value in values.items():
        if getattr(handle, name) != value:
            setattr(handle, name, value)


def _strip(times_s: list[float], cursor_s: float, end_s: float) -> str:
    """Return the keys over time as a strip, with the cursor."""
    keys = "".join(f'<path d="M{1000 * t / end_s - 9:.0f} 7 l9 -7 l9 7 l-9 7z" fill="#e69f00"/>' for t in times_s)
    x = 1000.0 * min(cursor_s / end_s, 1.0)
    return (
        '<svg viewBox="-10 0 1020 14" preserveAspectRatio="none" role="img" aria-label="keys over time" style="display:block;'
        'width:100%;height:14px;border-radius:4px;background:rgba(128,128,128,0.18);overflow:visible">'
        f'{keys}<rect x="{x - 2:.0f}" y="0" width="4" height="14" fill="currentColor"/></svg>'
    )
