"""The tracks in the 3D scene: a stage for each, the world around them, the cameras, and the viewpoint."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
import viser

from config.arrays import Floats, Image
from database.files.avatar import Avatar
from stream.protocol.codec import encode_message
from stream.protocol.messages import PoseMessage, RigMessage, SkeletonMessage
from stream.viewer.scene.cameras import Cameras
from stream.viewer.scene.colors import BODIES
from stream.viewer.scene.framing import (
    View,
    Viewpoint,
    compute_first_viewpoint,
    compute_viewpoint,
    set_client_viewpoint,
    set_first_viewpoint,
)
from stream.viewer.scene.picture_plane import PictureBehind
from stream.viewer.scene.stage import Stage, StageOptions
from stream.viewer.scene.world import WORLD, WorldScenery
from stream.viewer.track import ViewerTrack

APART_M = 1.2  # between two takes
FOLLOW_M = 0.35  # the performer moves freely by this much before the view follows
FOLLOW_SHARE = 0.08
FAR_M = 1.5  # beyond it the view follows at once: the slider was moved, or another take begins
MIN_STEP_M = 1e-3
SEEN_OPACITY = 0.6  # of the body before a camera's picture
TYPICAL_ASPECT = 1.3
JUMP_S = 0.3  # a larger step in one update is a jump: trails do not follow it
ViewpointOf = Callable[[float], Viewpoint]  # by the aspect of the picture


class SceneItem(StrEnum):
    """The items that can be shown and hidden, by their labels; the parts of a body are named as fields of StageOptions."""

    BODY = "Body"
    BONES = "Bones"
    JOINTS = "Joints"
    MARKERS = "Markers"
    LABELS = "Names of markers"
    TRAILS = "Trails"
    CONTACTS = "Feet that touch the ground"
    FORCES = "Forces of the ground"
    CAMERAS = "Cameras"
    FLOOR = "Floor"
    AXES = "Axes"


class Scenery:
    """The scene of one or two tracks; call it from one thread.

    follow: the view follows the performer; marker_clicked: called with the name of a marker of the first that is clicked;
    avatar: a user's own body, which moves in place of the performers'.
    """

    def __init__(self, server: viser.ViserServer, dark: bool, avatar: Avatar | None = None) -> None:
        self._server, self._avatar = server, avatar
        self._world = WorldScenery(server, dark)
        self._options = StageOptions()
        self._apart_m = APART_M
        self._tracks: Sequence[ViewerTrack] = ()
        self._stages: dict[int, Stage] = {}
        self._shown: list[PoseMessage | None] = []
        self._framed = False
        self._cursor_s = 0.0
        self._cameras: Cameras | None = None
        self._rig: RigMessage | None = None
        self._cameras_on = True
        self._pictures = False
        self._floor_on = True
        self._behind = PictureBehind(server.scene, f"{WORLD}/behind")
        self._seen_opacity = SEEN_OPACITY
        self.follow = True
        self.marker_clicked: Callable[[str], None] | None = None

    def set_tracks(self, tracks: Sequence[ViewerTrack], *, keep_view: bool = False) -> None:
        """Show other tracks; the stage of the same performer is kept. keep_view: do not aim at the performer anew."""
        self._tracks = tracks
        for n, stage in self._stages.items():
            if n >= len(tracks):
                stage.show(None)
        self._shown = [None] * len(tracks)
        self._framed = keep_view
        self._apply()

    def show(self, cursor_s: float) -> None:
        """Show a time of the tracks; items that are shown already are not sent again."""
        if not -1e-6 <= cursor_s - self._cursor_s <= JUMP_S:
            for stage in self._stages.values():
                stage.trails.clear()
        self._cursor_s = cursor_s
        self._show_cameras()
        self._show_behind()
        for n, track in enumerate(self._tracks):
            pose = track.pose_at(cursor_s)
            if pose is self._shown[n] or (pose is None and self._shown[n] is None):
                continue
            self._shown[n] = pose
            if pose is not None and track.skeleton is not None:
                self._stage(n, track.skeleton).show(pose)
                if n == 0:
                    self._settle()
            elif n in self._stages:
                self._stages[n].show(None)

    def switch(self, item: SceneItem, on: bool) -> None:
        """Show an item of the scene or hide it."""
        if item is SceneItem.CAMERAS:
            self._cameras_on = on
            self._hide_for_camera()
        elif item is SceneItem.FLOOR:
            self._floor_on = on
            self._hide_for_camera()
        elif item is SceneItem.AXES:
            self._world.show_axes(on)
        else:
            self._options = replace(self._options, **{item.name.lower(): on})  # type: ignore[arg-type]
            self._apply()

    def set_apart(self, apart_m: float) -> None:
        """Set the distance between two takes."""
        self._apart_m = apart_m
        self._apply()

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""
        self._world.set_dark(dark)
        self._fit()

    def look(self, view: View | int) -> None:
        """Have all pages look from one of the views, or through a camera by its number."""
        rig = self._tracks[0].rig if self._tracks else None
        root_m, apart_m = self._root_m(), self._width_m()
        self._behind.hide()
        if isinstance(view, int) and rig is not None and view < len(rig.cameras):
            self._behind.camera = view
        self._hide_for_camera()
        self._apply()
        self._set_viewpoint(lambda aspect: compute_viewpoint(view, root_m, rig, aspect, apart_m))

    def set_seen(self, picture: float, body: float) -> None:
        """Set how much is seen of the picture and of the body where the page looks through a camera, 0 to 1 each."""
        self._behind.share, self._seen_opacity = picture, body
        self._apply()

    def welcome(self, client: viser.ClientHandle) -> None:
        """Aim the camera of a new page at the performer."""
        if self._framed:
            set_client_viewpoint(client, self._in_scene(self._first_viewpoint(client.camera.aspect)))

    def want_pictures(self, wanted: bool) -> None:
        """Have the cameras send pictures, or no longer."""
        self._pictures = wanted
        if self._cameras is not None:
            self._cameras.want_pictures(wanted)

    def pictures(self) -> tuple[Image | None, ...]:
        """Return the cameras' newest pictures with the detections drawn in, by camera; None where there is none."""
        if self._cameras is None or not self._tracks:
            return ()
        track, pose, cameras = self._tracks[0], self._shown[0], self._cameras
        if track.videos is None:
            return tuple(cameras.picture(n, track.skeleton, pose) for n in range(len(cameras)))
        shown = track.videos.newest[: len(cameras)]
        return tuple(None if each is None else cameras.draw_on(each, n, track.skeleton, pose) for n, each in enumerate(shown))

    def _stage(self, n: int, skeleton: SkeletonMessage) -> Stage:
        """Return the stage of a track; another skeleton gets a new one."""
        stage = self._stages.get(n)
        if stage is None or (stage.skeleton.hash, stage.skeleton.mass_kg) != (skeleton.hash, skeleton.mass_kg):
            if stage is not None:
                stage.remove()
            options, atomic = self._options_of(n), self._server.atomic
            clicked = self.marker_clicked if n == 0 else None
            stage = Stage(self._server.scene, f"{WORLD}/take{n}", skeleton, options, atomic, self._avatar, clicked)
            self._stages[n] = stage
            self._fit()
        return stage

    def _fit(self) -> None:
        """Set colours of the stages by the floor."""
        for stage in self._stages.values():
            stage.set_ground(self._world.ground)

    def _options_of(self, n: int) -> StageOptions:
        """Return the options of one stage."""
        middle = 0.5 * (len(self._tracks) - 1)
        opacity = 1.0 if self._behind.camera is None else self._seen_opacity
        return replace(self._options, color=BODIES[n % len(BODIES)], opacity=opacity, offset_x_m=(n - middle) * self._apart_m)

    def _apply(self) -> None:
        """Apply the options to the stages."""
        for n, stage in self._stages.items():
            stage.options = self._options_of(n)

    def _settle(self) -> None:
        """Aim at the performer at first, and follow afterwards."""
        if not self._framed:
            self._framed = True
            self._world.set_centre(self._root_m())
            self._set_viewpoint(self._first_viewpoint)
        elif self.follow and self._behind.camera is None:
            self._follow()

    def _first_viewpoint(self, aspect: float) -> Viewpoint:
        """Return the viewpoint that a page opens with."""
        return compute_first_viewpoint(self._root_m(), self._tracks[0].rig, aspect, self._width_m())

    def _set_viewpoint(self, viewpoint_of: ViewpointOf) -> None:
        """Set the viewpoint of all pages and of those to come."""
        set_first_viewpoint(self._server, self._in_scene(viewpoint_of(TYPICAL_ASPECT)))
        for client in self._server.get_clients().values():
            set_client_viewpoint(client, self._in_scene(viewpoint_of(client.camera.aspect)))

    def _in_scene(self, seen: Viewpoint) -> Viewpoint:
        """Convert a viewpoint from the world to the scene, whose middle moves with the performer."""
        centre_m = self._world.centre_m
        return replace(seen, position=seen.position - centre_m, look_at=seen.look_at - centre_m)

    def _show_cameras(self) -> None:
        """Show the cameras of the first track with their pictures."""
        track = self._tracks[0] if self._tracks else None
        if track is None or track.rig is None:
            return
        if self._cameras is None or not _is_same_rig(self._rig, track.rig):
            if self._cameras is not None:
                self._cameras.remove()
            self._cameras = Cameras(self._server.scene, f"{WORLD}/cameras", track.rig)
            self._cameras.want_pictures(self._pictures)
            self._hide_for_camera()
        self._rig = track.rig
        if track.status is not None:
            self._cameras.update_status(track.status)
        self._cameras.update()

    def _hide_for_camera(self) -> None:
        """Hide floor and cameras, which would be before the picture, while the page looks through a camera."""
        free = self._behind.camera is None
        self._world.show_floor(self._floor_on and free)
        if self._cameras is not None:
            self._cameras.show(self._cameras_on and free)

    def _show_behind(self) -> None:
        """Show the picture of the camera that the page looks through."""
        number, cameras = self._behind.camera, self._cameras
        track, pose = (self._tracks[0], self._shown[0]) if self._tracks else (None, None)
        if track is not None and track.videos is not None and pose is not None:
            track.videos.want(pose.t_capture_ns)
        if number is None or cameras is None or track is None or number >= len(cameras):
            return
        if track.videos is None:
            image = cameras.plain_picture(number)
        else:
            recorded = track.videos.newest[number]
            image = None if recorded is None else recorded.image
        if image is not None:
            self._behind.show(image, cameras.camera(number), self._root_m(), self._world.ground.plane)

    def _follow(self) -> None:
        """Bring a performer who has left the middle back to it, smoothly, by moving the world and not the pages' cameras."""
        ahead = (self._root_m() - self._world.centre_m) * [1.0, 0.0, 1.0]
        distance_m = float(np.linalg.norm(ahead))
        if distance_m > FAR_M:
            self._world.set_centre(self._world.centre_m + ahead)
            return
        step = ahead / max(distance_m, FOLLOW_M) * (distance_m - FOLLOW_M) * FOLLOW_SHARE
        if distance_m > FOLLOW_M and np.linalg.norm(step) > MIN_STEP_M:
            self._world.set_centre(self._world.centre_m + step)

    def _root_m(self) -> Floats:
        """Return the hips of the first performer, (3,)."""
        pose = self._shown[0] if self._shown else None
        return np.array(pose.root_m if pose is not None else (0.0, 0.95, 0.0))

    def _width_m(self) -> float:
        """Return the distance between the outer performers."""
        return self._apart_m * (len(self._tracks) - 1)


def _is_same_rig(one: RigMessage | None, other: RigMessage) -> bool:
    """Return whether two messages describe the same cameras: the message is repeated."""
    return one is other or (
        one is not None and encode_message(replace(one, session="")) == encode_message(replace(other, session=""))
    )
