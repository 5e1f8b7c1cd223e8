"""What the tracks look like in the 3D scene: a stage for each, the world around them, the cameras, and where to look from."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import viser

from database.rotations import Floats
from stream.codec import encode
from stream.messages import PoseMessage, RigMessage, SkeletonMessage
from stream.viewer.framing import Look, first_look, look_from
from stream.viewer.panel_scene import APART_M
from stream.viewer.stage import Stage, StageOptions
from stream.viewer.stage_cameras import Cameras, Image
from stream.viewer.stage_colors import BODY, SECOND_BODY
from stream.viewer.stage_level import Levelling
from stream.viewer.stage_world import WORLD, World
from stream.viewer.track import Track

FOLLOW_M = 0.35  # the performer moves freely so far before the view goes along
FOLLOW_SHARE = 0.08
FAR_M = 1.5  # from there the view goes along at once: the slider was drawn, or another take begins
LEAST_STEP_M = 1e-3
USUAL_ASPECT = 1.3
JUMP_S = 0.3  # farther than this in one turn is a jump: trails do not follow it
LookAt = Callable[[float], Look]


class Scenery:
    """The scene of one or two tracks; call it from one thread. follow: the view goes along with the performer."""

    def __init__(self, server: viser.ViserServer, dark: bool) -> None:
        self._server = server
        self._world = World(server, dark)
        self._options = StageOptions()
        self._apart_m = APART_M
        self._tracks: Sequence[Track] = ()
        self._stages: list[Stage | None] = []
        self._shown: list[PoseMessage | None] = []
        self._levelling = Levelling(None)
        self._framed = False
        self._cursor_s = 0.0
        self._cameras: Cameras | None = None
        self._rig: RigMessage | None = None
        self._cameras_on = True
        self._pictures = False
        self._world.axes = False
        self.follow = True

    def set_tracks(self, tracks: Sequence[Track]) -> None:
        """Show other tracks; the same performer's stage is kept."""
        self._tracks = tracks
        self._stages += [None] * (len(tracks) - len(self._stages))
        self._shown = [None] * len(tracks)
        self._levelling = Levelling(None)
        self._framed = False

    def show(self, cursor_s: float) -> None:
        """Bring the scene to a moment; what is shown already is not sent again."""
        if not -1e-6 <= cursor_s - self._cursor_s <= JUMP_S:
            for stage in self._stages:
                if stage is not None:
                    stage.trails.clear()
        self._cursor_s = cursor_s
        self._show_cameras()
        for n, track in enumerate(self._tracks):
            pose = track.shown(cursor_s)
            if pose is self._shown[n] or (pose is None and self._shown[n] is None):
                continue
            self._shown[n] = pose
            if pose is not None and track.skeleton is not None:
                self._stage(n, track.skeleton).show(pose)
                if n == 0:
                    self._settle(track, pose)
            elif (stage := self._stages[n]) is not None:
                stage.show(None)

    def switch(self, part: str, on: bool) -> None:
        """Show a part of the scene or hide it."""
        if part == "cameras":
            self._cameras_on = on
            if self._cameras is not None:
                self._cameras.on = on
        elif part == "floor":
            self._world.floor = on
        elif part == "axes":
            self._world.axes = on
        elif hasattr(self._options, part):
            self._options = replace(self._options, **{part: on})  # type: ignore[arg-type]
            self._apply()

    def set_apart(self, apart_m: float) -> None:
        """Put two takes so far apart."""
        self._apart_m = apart_m
        self._apply()

    def set_dark(self, dark: bool) -> None:
        """Be dark or light."""
        self._world.set_dark(dark)
        self._fit()

    def look(self, view: str) -> None:
        """Have all pages look from somewhere."""
        rig = self._tracks[0].rig if self._tracks else None
        level, root_m, apart_m = self._world.level, self._root_m(), self._width_m()
        self._turn_to(lambda aspect: look_from(view, root_m, rig, level, aspect, apart_m))

    def welcome(self, client: viser.ClientHandle) -> None:
        """Let a page that has just come look at the performer."""
        if self._framed:
            _aim(client, self._beside(self._first_look))

    def want_pictures(self, wanted: bool) -> None:
        """Have the cameras send pictures, or no longer."""
        self._pictures = wanted
        if self._cameras is not None:
            self._cameras.pictures = wanted

    def pictures(self) -> tuple[Image | None, ...]:
        """Give the cameras' newest pictures with what was found in them, left first; None where there is none."""
        if self._cameras is None or not self._tracks:
            return ()
        skeleton, pose = self._tracks[0].skeleton, self._shown[0]
        return tuple(self._cameras.picture(n, skeleton, pose) for n in (0, 1))

    def _stage(self, n: int, skeleton: SkeletonMessage) -> Stage:
        """Give the stage of a track, made anew for another skeleton."""
        stage = self._stages[n]
        if stage is None or stage.skeleton.hash != skeleton.hash:
            if stage is not None:
                stage.remove()
            stage = Stage(self._server.scene, f"{WORLD}/take{n}", skeleton, self._own(n), self._server.atomic)
            self._stages[n] = stage
            self._fit()
        return stage

    def _fit(self) -> None:
        """Fit the stages to the floor: colours that read well on it, contacts that lie on it."""
        for stage in self._stages:
            if stage is not None:
                stage.set_ground(self._world.ground)
                stage.set_level(self._world.level)

    def _own(self, n: int) -> StageOptions:
        """Give the options of one stage."""
        middle = 0.5 * (len(self._tracks) - 1)
        return replace(self._options, color=(BODY, SECOND_BODY)[n], offset_x_m=(n - middle) * self._apart_m)

    def _apply(self) -> None:
        """Give the stages their options."""
        for n, stage in enumerate(self._stages):
            if stage is not None:
                stage.options = self._own(n)

    def _settle(self, track: Track, pose: PoseMessage) -> None:
        """Level the world, and look at the performer at first; afterwards go along if so wanted."""
        assert track.skeleton is not None
        if not self._framed:
            self._levelling = Levelling(track.rig)
        if self._levelling.add(track.skeleton, pose) or not self._framed:
            self._world.set_level(self._levelling.level)
            self._fit()
        if not self._framed:
            self._framed = True
            self._world.set_centre(self._root_m())
            self._turn_to(self._first_look)
        elif self.follow:
            self._go_along()

    def _first_look(self, aspect: float) -> Look:
        """Give the look that a page opens with."""
        return first_look(self._root_m(), self._tracks[0].rig, self._world.level, aspect, self._width_m())

    def _turn_to(self, look_at: LookAt) -> None:
        """Have all pages, and those to come, look so."""
        look, camera = self._beside(look_at)(USUAL_ASPECT), self._server.initial_camera
        camera.position, camera.look_at, camera.up, camera.fov = look.position, look.look_at, look.up, look.fov_rad
        for client in self._server.get_clients().values():
            _aim(client, self._beside(look_at))

    def _beside(self, look_at: LookAt) -> LookAt:
        """Give the look in the scene, whose middle moves with the performer."""

        def look(aspect: float) -> Look:
            found, centre_m = look_at(aspect), self._world.centre_m
            return replace(found, position=found.position - centre_m, look_at=found.look_at - centre_m)

        return look

    def _show_cameras(self) -> None:
        """Keep the cameras of the first track in the scene, with their pictures."""
        track = self._tracks[0] if self._tracks else None
        if track is None or track.rig is None:
            return
        if self._cameras is None or not _same_rig(self._rig, track.rig):
            if self._cameras is not None:
                self._cameras.remove()
            self._cameras = Cameras(self._server.scene, f"{WORLD}/cameras", track.rig, self._server.atomic)
            self._cameras.on, self._cameras.pictures = self._cameras_on, self._pictures
        self._rig = track.rig
        if track.status is not None:
            self._cameras.status(track.status)
        self._cameras.turn()

    def _go_along(self) -> None:
        """Bring a performer who has left the middle back to it, gently; the world moves, so the pages' cameras are theirs."""
        ahead = (self._root_m() - self._world.centre_m) * [1.0, 0.0, 1.0]
        distance_m = float(np.linalg.norm(ahead))
        if distance_m > FAR_M:
            self._world.set_centre(self._world.centre_m + ahead)
            return
        step = ahead / max(distance_m, FOLLOW_M) * (distance_m - FOLLOW_M) * FOLLOW_SHARE
        if distance_m > FOLLOW_M and np.linalg.norm(step) > LEAST_STEP_M:
            self._world.set_centre(self._world.centre_m + step)

    def _root_m(self) -> Floats:
        """Give where the first performer's hips are in the view, between the two of them if there are two."""
        pose = self._shown[0] if self._shown else None
        return self._world.level.to_view(np.array(pose.root_m if pose is not None else (0.0, 0.95, 0.0)))

    def _width_m(self) -> float:
        """Give how wide the performers stand."""
        return self._apart_m * (len(self._tracks) - 1)


def _aim(client: viser.ClientHandle, look_at: LookAt) -> None:
    """Have one page look so, as its picture is wide and high."""
    look = look_at(client.camera.aspect)
    with client.atomic():
        client.camera.up_direction = look.up
        client.camera.position = look.position
        client.camera.look_at = look.look_at
        client.camera.fov = look.fov_rad


def _same_rig(one: RigMessage | None, other: RigMessage) -> bool:
    """Tell whether two messages describe the same cameras: it comes again and again."""
    return one is other or (one is not None and encode(replace(one, session="")) == encode(replace(other, session="")))
