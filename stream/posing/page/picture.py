"""Posing after a picture: loading it, clicking joints in it, and its camera: by hand, solved, or of a rig."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import viser

from calibration.camera import Camera, check_camera
from calibration.formats.rig_file import read_camera_file
from config.arrays import Floats
from config.errors import DuocapError
from config.words import format_count
from stream.posing.camera import (
    compute_fov_deg,
    fit_cameras_to_poses,
    guess_cameras,
    scale_camera_to_picture,
    solve_picture_camera,
)
from stream.posing.document import PictureView, PosingError
from stream.posing.near import KnownPoses, compute_standing_joints_m
from stream.posing.page.controls import PosingPage
from stream.posing.picture import decode_picture, find_picture_camera, pack_picture_file, shrink_picture, unpack_picture
from stream.posing.session import PosingSession
from stream.viewer.html import wrap_in_box
from stream.web.widgets import add_button, on_user_input, set_html, set_values

PICTURES = "image/png,image/jpeg"
RIGS = ".toml,.yml,.yaml,.xml,.json,.txt"
FOLLOWS_FROM = 6  # clicks in turn: of fewer, poses far apart meet all, and the body would leap from one to the other
MIN_FOV_DEG, MAX_FOV_DEG = 20.0, 110.0
ENDS = {"Hand": "wrist", "Foot": "ankle"}
LIMBS = {"LowerArm": "elbow", "LowerLeg": "knee", "UpperArm": "shoulder", "UpperLeg": "hip joint"}
PLACES = {  # of the joints that are clicked, one after the other
    "head": "the head's joint, between the ears",
    **{side + end: f"the {side} {place}" for end, place in ENDS.items() for side in ("left", "right")},
    "hips": "the middle of the hips",
    **{side + limb: f"the {side} {place}" for limb, place in LIMBS.items() for side in ("left", "right")},
}
IN_TURN = tuple(PLACES)
BY_HAND = "by hand"
TRIED_POSES = 400  # of the database, where camera and pose are solved together


class PicturePart:
    """The picture of the session: joints are clicked in it, and its camera is found. known: returns the poses of a database."""

    def __init__(self, page: PosingPage, known: Callable[[], KnownPoses]) -> None:
        self._page, self._known = page, known
        self._hung: PictureView | None = None
        self._in_turn, self._follows, self._keeps_lens = False, True, False
        self._rig: dict[str, Camera] = {}
        self._floor_known = False

    @property
    def clicking(self) -> bool:
        """Whether joints are clicked one after the other, and not dragged."""
        return self._in_turn and self._page.session.document.picture is not None

    def open(self, name: str, content: bytes) -> None:
        """Pose after a picture of a browser's, from the bytes of its file."""

        def change(session: PosingSession) -> None:
            shown = shrink_picture(decode_picture(content, name))
            file = pack_picture_file(content, name, shown)
            height, width = shown.shape[:2]
            if file.content is not content:
                size_mb = 1e-6 * len(content)
                self._page.say(
                    f"{name} is large", f"Of its {size_mb:.1f} MB the session keeps it as it is shown, {width}x{height} px."
                )
            session.set_picture(PictureView((width, height), file=file))
            self._turn(not session.document.image_points)

        self._page.do(change)

    def close(self) -> None:
        """Put the picture away."""
        self._page.do(lambda session: session.set_picture(None))

    def look(self) -> None:
        """Look at the body, or through the picture's camera."""
        self._page.put(lambda: self._page.scene.look(self._page.session.document.picture))

    def skip(self) -> None:
        """Go on to the next joint without a click."""
        self._page.put(lambda: self._next() if self.clicking else None)

    def solve(self) -> None:
        """Find the camera that sees joints where they are clicked: of the body as it is posed, or if it follows the clicks of a
        known pose like the one in the picture, to which it is then posed anew.
        """

        def change(session: PosingSession) -> None:
            picture = session.document.picture
            if picture is None:
                raise PosingError("there is no picture whose camera could be solved; load one first")
            (self._solve_unposed if self._follows else self._solve_posed)(session, picture)

        self._page.do(change)

    def choose(self, name: str) -> None:
        """Take a camera of the rig, or one that is set by hand."""

        def change(session: PosingSession) -> None:
            picture = session.document.picture
            if picture is None:
                raise PosingError("there is no picture that a camera is for; load one first")
            if name in self._rig:
                session.set_camera(scale_camera_to_picture(picture, self._rig[name], self._floor_known), posed=True)
                self._keeps_lens = True
            elif name == BY_HAND:
                session.set_fov(picture.fov_deg)

        self._page.do(change)

    def open_rig(self, name: str, content: bytes) -> None:
        """Read the cameras of a rig file of a browser's."""

        def read() -> None:
            with tempfile.TemporaryDirectory(prefix="duocap-pose-") as folder:
                file = Path(folder) / f"rig{Path(name).suffix.lower() or '.toml'}"
                file.write_bytes(content)
                try:
                    found = read_camera_file(file)
                    cameras = [one.read() for one in found.cameras]
                    for camera in cameras:
                        check_camera(f"camera {camera.name}", camera)
                except DuocapError as error:
                    raise PosingError(str(error).replace(str(file), name)) from error
            self._rig, self._floor_known = {camera.name: camera for camera in cameras}, found.floor_known
            place = "with their places" if found.floor_known else "their lenses only, for its floor is not known: solve the place"
            self._page.say("Cameras of the rig", f"{', '.join(self._rig)}: choose one, {place}.")

        self._page.put(read)

    def click(self, event: viser.SceneClickEvent) -> None:
        """Place the selected joint where the picture is clicked."""
        origin_m, direction = np.array(event.ray_origin, np.float64), np.array(event.ray_direction, np.float64)
        self._page.put(lambda: self._place(origin_m, direction))

    def show(self) -> None:
        """Show the picture of the document in the scene, with the clicked joints."""
        page, document = self._page, self._page.session.document
        body_m = document.pose.root_m
        if document.picture is not self._hung or page.scene.board.hides(body_m):
            moved = document.picture is not self._hung
            self._hung = document.picture
            page.scene.show_picture(None if self._hung is None else unpack_picture(self._hung), self._hung, body_m)
            if moved:
                self._in_turn = self._in_turn and self._hung is not None
                page.scene.look(self._hung)
        page.scene.board.mark(tuple(document.image_points.values()) if document.picture is not None else ())

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._text = gui.add_html("")
        load = gui.add_upload_button("Load a picture", mime_type=PICTURES, hint="PNG or JPEG", icon=viser.Icon.PHOTO)
        load.on_upload(lambda event: self.open(event.target.value.name, event.target.value.content))
        self._turns = gui.add_checkbox("Click joint by joint", False, hint="The next joint is said above; N leaves one out")
        self._switch(self._turns, self._turn)
        follows = gui.add_checkbox("Body follows", True, hint="Off: the pose stays while joints are clicked, to solve the camera")
        self._switch(follows, lambda on: setattr(self, "_follows", on))
        self._camera = gui.add_dropdown("Camera", (BY_HAND,), hint="In front of the body, solved, or of a rig")
        on_user_input(self._camera, self.choose)
        fov_hint = "Of a camera set by hand, across; a phone's is about 65"
        self._fov = gui.add_slider("Field of view [°]", MIN_FOV_DEG, MAX_FOV_DEG, 1.0, 50.0, hint=fov_hint)
        on_user_input(self._fov, lambda fov_deg: self._page.do(lambda session: session.set_fov(fov_deg)))
        solve_hint = "And the pose, from eight clicked joints or more; if the body does not follow, for the pose as it stands"
        add_button(gui, "Solve the camera", self.solve, solve_hint, icon=viser.Icon.FOCUS_2)
        self._keep = gui.add_checkbox("Keep its lens", False, hint="Solve its place only: the field of view is right")
        self._switch(self._keep, lambda on: setattr(self, "_keeps_lens", on))
        rig = gui.add_upload_button(
            "Cameras of a rig", mime_type=RIGS, hint="rig.toml, or of another program", icon=viser.Icon.UPLOAD
        )
        rig.on_upload(lambda event: self.open_rig(event.target.value.name, event.target.value.content))
        add_button(gui, "Look through its camera", self.look, "Joints lie on the picture (L)", icon=viser.Icon.CAMERA)
        self._away = add_button(gui, "Put it away", self.close, "Pose in space again", icon=viser.Icon.TRASH)

    def update(self) -> None:
        """Update the widgets to the picture."""
        picture = self._page.session.document.picture
        for widget in (self._fov, self._away, self._turns):
            set_values(widget, disabled=picture is None)
        set_values(self._turns, value=self.clicking)
        set_values(self._keep, value=self._keeps_lens)
        set_html(self._text, wrap_in_box(self._words()))
        if picture is not None:
            camera = find_picture_camera(picture)
            set_values(self._fov, value=float(np.clip(round(compute_fov_deg(camera)), MIN_FOV_DEG, MAX_FOV_DEG)))
            set_values(self._camera, options=tuple(dict.fromkeys((BY_HAND, *self._rig, camera.name))))
            set_values(self._camera, value=camera.name)

    def _solve_posed(self, session: PosingSession, picture: PictureView) -> None:
        """Find the camera for the pose as it stands. Raises PosingError."""
        solved = solve_picture_camera(picture, session.document.image_points, session.joints_m(), self._keeps_lens)
        session.set_camera(solved.camera, posed=False)
        width = "" if self._keeps_lens else f" give or take {100 * solved.focal_sigma:.0f} %"
        miss = f"joints are off by {solved.error_px:.0f} px, {solved.worst} most, by {solved.worst_px:.0f} px"
        self._page.say("The camera is solved", f"{compute_fov_deg(solved.camera):.0f}° wide{width}; {miss}.")

    def _solve_unposed(self, session: PosingSession, picture: PictureView) -> None:
        """Find camera and pose. Raises PosingError."""
        poses_m = compute_standing_joints_m(self._known(), session.skeleton, TRIED_POSES)
        clicks = session.document.image_points
        by_poses = fit_cameras_to_poses(picture, clicks, poses_m, self._keeps_lens)
        now = replace(find_picture_camera(picture), name="solved")
        session.set_best_camera([now, *by_poses, *guess_cameras(picture, clicks, self._keeps_lens)])
        self._page.say(
            "Camera and pose are solved",
            f"{compute_fov_deg(find_picture_camera(session.document.picture or picture)):.0f}° wide.",
        )

    def _switch(self, box: viser.GuiCheckboxHandle, switch: Callable[[bool], None]) -> None:
        """Have a checkbox switch something when it is pressed."""
        on_user_input(box, lambda on: self._page.put(lambda: switch(on)))

    def _words(self) -> str:
        """Return in words what to do next."""
        document, selected = self._page.session.document, self._page.selected
        picture, n = document.picture, len(document.image_points)
        if picture is None:
            return "Load a picture, then click the joints that are named here, one after the other."
        if picture.file is None:
            return "The session has no picture for its clicks: load it again."
        if self.clicking and selected:
            return f"Click <b>{escape(PLACES.get(selected, selected))}</b> ({n} of {len(IN_TURN)}). N: it cannot be seen." + (
                f" The body follows from the {FOLLOWS_FROM}th click on." if self._follows and n < FOLLOWS_FROM else ""
            )
        return f"{format_count(n, 'joint is', 'joints are')} clicked. Drag a ball in the picture, or select a joint and click."

    def _place(self, origin_m: Floats, direction: Floats) -> None:
        """Place the selected joint where a ray meets the picture, and go on to the next."""
        joint, seen = self._page.selected, self._page.scene.board.clicked_px(origin_m, direction)
        if not joint or seen is None:
            return
        n_clicked = len({*self._page.session.document.image_points, joint})
        if self._follows and (not self.clicking or n_clicked >= FOLLOWS_FROM):
            self._page.session.drag_in_picture(joint, seen)
            self._page.session.release()
        else:
            self._page.session.click(joint, seen)
        if self.clicking:
            self._next()

    def _turn(self, on: bool) -> None:
        """Begin to click joints one after the other, or end it."""
        self._in_turn = on
        if on:
            self._page.selected = ""
            self._next()

    def _next(self) -> None:
        """Select the next joint that is not clicked yet; behind the last one clicking ends."""
        clicked = self._page.session.document.image_points
        after = IN_TURN.index(self._page.selected) + 1 if self._page.selected in IN_TURN else 0
        waiting = [name for name in IN_TURN[after:] if name not in clicked]
        self._in_turn = bool(waiting)
        if waiting:
            self._page.selected = waiting[0]
