"""What is shown in the 3D scene and from which viewpoint: parts of the body, cameras, floor, views, dark or light."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import viser

from config.settings import CAMERA_NAMES
from stream.viewer.scene.behind import PICTURE
from stream.viewer.scene.framing import View
from stream.viewer.scene.scenery import APART_M, SEEN_OPACITY, SceneItem
from stream.viewer.view import AppSnapshot, PageActions

LABELS = {
    SceneItem.BODY: "Body",
    SceneItem.BONES: "Bones",
    SceneItem.JOINTS: "Joints",
    SceneItem.MARKERS: "Markers",
    SceneItem.LABELS: "Names of markers",
    SceneItem.TRAILS: "Trails",
    SceneItem.CONTACTS: "Feet that touch the ground",
    SceneItem.FORCES: "Forces of the ground",
    SceneItem.CAMERAS: "Cameras",
    SceneItem.FLOOR: "Floor",
    SceneItem.AXES: "Axes",
}
CAMERA_LABELS = tuple(name.capitalize() for name in CAMERA_NAMES)
ROW = 3  # buttons of cameras in a row
OFF = (SceneItem.BONES, SceneItem.JOINTS, SceneItem.LABELS, SceneItem.AXES)  # at first


class SceneControls(Protocol):
    """Controls of the scene."""

    def switch(self, item: SceneItem, on: bool) -> None:
        """Show an item or hide it."""

    def look(self, view: View | int) -> None:
        """Look from one of the views, or through a camera by its number."""

    def follow(self, on: bool) -> None:
        """Let the view follow the performer, or stay."""

    def set_seen(self, picture: float, body: float) -> None:
        """Set how much is seen of picture and body where the page looks through a camera, 0 to 1."""

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""

    def set_apart(self, apart_m: float) -> None:
        """Set the distance between two takes."""


class ScenePanel:
    """Switches of the scene, and its views. two: two takes are shown."""

    period_s = 1.0

    def __init__(self, controls: SceneControls, actions: PageActions, dark: bool, two: bool) -> None:
        self._controls, self._actions, self._dark, self._two = controls, actions, dark, two

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        with gui.add_folder("Look from"):
            gui.add_button_group("", tuple(View)).on_click(self._look)
            starts = range(0, len(CAMERA_LABELS), ROW)
            self._cameras = [
                gui.add_button_group("" if k else "Camera", CAMERA_LABELS[k : k + ROW], visible=False) for k in starts
            ]
            for row in self._cameras:
                row.on_click(self._look)
            self._seen = (
                gui.add_slider("Picture", 0.0, 1.0, 0.05, PICTURE, visible=False, hint="Of the camera, behind the body"),
                gui.add_slider("Body", 0.05, 1.0, 0.05, SEEN_OPACITY, visible=False, hint="Less: the picture shows through"),
            )
            for slider in self._seen:
                slider.on_update(self._set_seen)
            self._checkbox(gui, "Follow the performer", True, self._controls.follow)
        with gui.add_folder("Show"):
            for item, label in LABELS.items():
                box = self._checkbox(gui, label, item not in OFF, partial(self._controls.switch, item))
                if item is SceneItem.FORCES:
                    self._forces = box
                    box.visible = False
            if self._two:
                gui.add_slider("Apart [m]", 0.0, 4.0, 0.1, APART_M).on_update(self._set_apart)
        self._dark_box = self._checkbox(gui, "Dark page", self._dark, self._controls.set_dark)

    def update(self, view: AppSnapshot) -> None:
        """Offer the views of the cameras once they are known, forces once a pose has some."""
        labels = CAMERA_LABELS[: len(view.tracks[0].camera_names)]
        for k, row in enumerate(self._cameras):
            shown = labels[ROW * k : ROW * k + ROW]
            if shown and row.options != shown:
                row.options = shown
            if row.visible != bool(shown):
                row.visible = bool(shown)
        if view.dark != self._dark:
            self._dark = view.dark
            self._dark_box.value = view.dark  # type: ignore[misc]
        if not self._forces.visible:
            poses = [track.pose_at(view.cursor_s) for track in view.tracks]
            self._forces.visible = any(pose is not None and pose.ground_forces for pose in poses)

    def _checkbox(self, gui: viser.GuiApi, label: str, on: bool, switch: Callable[[bool], None]) -> viser.GuiCheckboxHandle:
        """Create a checkbox that switches something."""

        def switched(event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
            if event.client is None:  # a change of our own
                return
            wanted = bool(event.target.value)
            self._actions.put(lambda: switch(wanted))

        box = gui.add_checkbox(label, on)
        box.on_update(switched)
        return box

    def _look(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Look from the view of a button."""
        label = str(event.target.value)
        view = CAMERA_LABELS.index(label) if label in CAMERA_LABELS else View(label)
        for slider in self._seen:
            slider.visible = isinstance(view, int)
        self._actions.put(lambda: self._controls.look(view))

    def _set_seen(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Set how much is seen of picture and body."""
        picture, body = (float(slider.value) for slider in self._seen)
        self._actions.put(lambda: self._controls.set_seen(picture, body))

    def _set_apart(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
        """Set the distance between two takes."""
        apart_m = float(event.target.value)
        self._actions.put(lambda: self._controls.set_apart(apart_m))
