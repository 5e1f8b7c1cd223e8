"""What is shown in the 3D scene and from which viewpoint: parts of the body, cameras, floor, views, dark or light."""

from collections.abc import Callable
from functools import partial
from typing import Any

import viser

from config.settings import CAMERA_NAMES
from stream.viewer.scene.framing import View
from stream.viewer.scene.picture_plane import PICTURE
from stream.viewer.scene.scenery import APART_M, SEEN_OPACITY, SceneItem, Scenery
from stream.viewer.view import AppSnapshot, PageActions
from stream.web.widgets import on_user_input, set_values

CAMERA_LABELS = tuple(name.capitalize() for name in CAMERA_NAMES)
ROW = 3  # buttons of cameras in a row
OFF = (SceneItem.BONES, SceneItem.JOINTS, SceneItem.LABELS, SceneItem.AXES)  # at first


class ScenePanel:
    """Switches of the scene, and its views.

    Args:
        scenery: what is shown.
        actions: queue of calls for the app's thread.
        dark: whether the page is dark.
        set_dark: changes between dark and light.
        two: two takes are shown.
    """

    period_s = 1.0

    def __init__(
        self, scenery: Scenery, actions: PageActions, dark: bool, set_dark: Callable[[bool], None], two: bool = False
    ) -> None:
        self._scenery, self._actions, self._dark, self._set_dark, self._two = scenery, actions, dark, set_dark, two

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        scenery = self._scenery
        with gui.add_folder("Look from"):
            gui.add_button_group("", tuple(View)).on_click(lambda event: self._look(View(str(event.target.value))))
            starts = range(0, len(CAMERA_LABELS), ROW)
            self._cameras = [
                gui.add_button_group("" if k else "Camera", CAMERA_LABELS[k : k + ROW], visible=False) for k in starts
            ]
            for row in self._cameras:
                row.on_click(lambda event: self._look(CAMERA_LABELS.index(str(event.target.value))))
            self._seen = (
                gui.add_slider("Picture", 0.0, 1.0, 0.05, PICTURE, visible=False, hint="Of the camera, behind the body"),
                gui.add_slider("Body", 0.05, 1.0, 0.05, SEEN_OPACITY, visible=False, hint="Less: the picture shows through"),
            )
            for slider in self._seen:
                self._listen(slider, lambda _: scenery.set_seen(*(float(each.value) for each in self._seen)))
            self._listen(gui.add_checkbox("Follow the performer", True), lambda on: setattr(scenery, "follow", on))
        with gui.add_folder("Show"):
            boxes = {item: gui.add_checkbox(item, item not in OFF) for item in SceneItem}
            for item, box in boxes.items():
                self._listen(box, partial(scenery.switch, item))
            self._forces = boxes[SceneItem.FORCES]
            self._forces.visible = False
            if self._two:
                self._listen(gui.add_slider("Apart [m]", 0.0, 4.0, 0.1, APART_M), scenery.set_apart)
        self._dark_box = gui.add_checkbox("Dark page", self._dark)
        self._listen(self._dark_box, self._set_dark)

    def update(self, view: AppSnapshot) -> None:
        """Offer the views of the cameras once they are known, forces once a pose has some."""
        labels = CAMERA_LABELS[: len(view.tracks[0].camera_names)]
        for k, row in enumerate(self._cameras):
            shown = labels[ROW * k : ROW * k + ROW]
            set_values(row, options=shown or row.options, visible=bool(shown))
        if view.dark != self._dark:
            self._dark = view.dark
            set_values(self._dark_box, value=view.dark)
        if not self._forces.visible:
            poses = [track.pose_at(view.cursor_s) for track in view.tracks]
            self._forces.visible = any(pose is not None and pose.ground_forces for pose in poses)

    def _listen(self, widget: object, act: Callable[[Any], None]) -> None:
        """Have the app's thread called with what a user chooses."""
        on_user_input(widget, lambda value: self._actions.put(lambda: act(value)))

    def _look(self, view: View | int) -> None:
        """Look from one of the views, or through a camera by its number."""
        for slider in self._seen:
            slider.visible = isinstance(view, int)
        self._actions.put(lambda: self._scenery.look(view))
