"""The body in 3D with a handle on every joint: to click and to drag, and arrows or rings for the selected one, when asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import viser
from scipy.spatial.transform import Rotation

from capture.clock import now_ns
from config.arrays import Floats, Image
from config.joints import JOINT_INDEX, JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from stream.posing.document import PictureView, StoredPose, check_point
from stream.posing.page.board import PictureBoard, compute_whole_fov_rad
from stream.posing.page.certainty import HELD, Certainty, choose_handle_color
from stream.posing.page.inbox import DragPlace
from stream.posing.picture import find_picture_camera
from stream.posing.publishing import compose_posed_pose, compose_posed_skeleton
from stream.posing.session import PosingSession
from stream.protocol.joints import wxyz_from_matrix
from stream.protocol.messages import PoseMessage
from stream.viewer.scene.colors import Color
from stream.viewer.scene.framing import Viewpoint, set_client_viewpoint, set_first_viewpoint, viewpoint_from_camera
from stream.viewer.scene.stage import Stage, StageOptions
from stream.viewer.scene.world import WORLD, WorldScenery

BODY_OPACITY = 0.45  # handles inside the body are seen through it
CLICKING_OPACITY, GHOST_OPACITY, FAINT_OPACITY = 0.3, 0.35, 0.15
GHOST: Color = (200, 130, 200)
HANDLE_M, SMALL_M, BEND_M = 0.028, 0.016, 0.022
SMALL = ("spine", "chest", "neck", "upperNeck", "leftShoulder", "rightShoulder", "leftToes", "rightToes")
ARROWS, RINGS = 0.22, 0.28
BALLS, MOVE, TURN = "Balls", "Arrows", "Rings"  # what a joint is dragged by
MIN_MOVE_M = 1e-5
AT_THE_EYE = np.cos(np.radians(35.0))  # an arrow that points at the eye covers its ball, and a pixel of it are centimetres
FAR_M = 20.0
AT_THE_BODY = Viewpoint(np.array([1.3, 1.5, 3.4]), np.array([0.0, 0.85, 0.0]), np.array([0.0, 1.0, 0.0]))
Drag = Callable[[DragPlace], None]


@dataclass(frozen=True, slots=True)
class CurveBall:
    """A ball on the way of a joint: time of the motion [s] and place (3,) [m]."""

    joint: str
    time_s: float
    at_m: Floats


class PosingScene:
    """The scene of one body; call it from one thread.

    Args:
        drag: called, from viser's, with each place a handle is dragged to.
        select: called with the name of a handle that is clicked.
    """

    def __init__(
        self, server: viser.ViserServer, skeleton: Skeleton, dark: bool, drag: Drag, select: Callable[[str], None]
    ) -> None:
        self._server, self._drag, self._select = server, drag, select
        self._world = WorldScenery(server, dark)
        self._body, self._skeleton = skeleton, compose_posed_skeleton(skeleton)
        self._options = StageOptions(markers=False, trails=False, contacts=False, opacity=BODY_OPACITY)
        self._stage = Stage(server.scene, f"{WORLD}/body", self._skeleton, self._options, server.atomic)
        self._stage.set_ground(self._world.ground)
        self._position_m = np.zeros((len(JOINTS), 3))
        self._colors: dict[str, Color] = {}
        self._grab_m, self._begin_m, self.axis = np.zeros(3), np.zeros(3), ""
        self._pulled = self._clicking = False
        self._handles = {name: self._handle(name) for name in JOINTS}
        self._arrows, self._rings = self._add_arrows(), self._add_rings()
        self.tool = BALLS
        self._pose: StoredPose | None = None
        self.selected = ""
        self.board = PictureBoard(server.scene)
        self._ghost: Stage | None = None
        self._trace: list[Stage] = []
        self._bends: list[viser.IcosphereHandle] = []
        self._paths: viser.LineSegmentsHandle | None = None
        self.look()

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""
        self._world.set_dark(dark)
        self._stage.set_ground(self._world.ground)

    def show(self, session: PosingSession, certainty: Certainty, selected: str, clicking: bool) -> None:
        """Show the pose of a session.

        Args:
            session: the session.
            certainty: certainty of its pose.
            selected: name of the selected joint; empty: none.
            clicking: joints are clicked in the picture, with no ball in the way.
        """
        document, joint_m = session.document, session.joints_m()
        pose, held = document.pose, document.held
        with self._server.atomic():
            if pose is not self._pose:
                self._pose = pose
                self._stage.show(self._compose(pose))
            opacity = CLICKING_OPACITY if clicking else BODY_OPACITY
            self._stage.options = replace(self._options, color=certainty.color, opacity=opacity)
            for row, name in enumerate(JOINTS):
                color = choose_handle_color(name, name in held, selected, certainty, self._world.ground.bone)
                self._show_handle(row, name, joint_m[row], color)
            if selected and not (session.dragged and self._pulled):
                at = document.pins.get(selected, joint_m[JOINT_INDEX[selected]])
                self._place_tools(pose, selected, np.asarray(at))
            self.selected = selected
            self._arrows.visible = bool(selected) and not clicking and self.tool == MOVE
            self._rings.visible = bool(selected) and not clicking and self.tool == TURN
            if clicking != self._clicking:
                self._clicking = clicking
                for ball in self._handles.values():
                    ball.visible = not clicking

    def show_picture(self, image: Image | None, picture: PictureView | None, body_m: Floats) -> None:
        """Hang a picture, (H, W, 3) RGB, behind the body at (3,) [m], and no floor; None: no picture.

        Args:
            image: (H, W, 3) RGB.
            picture: its size and camera.
            body_m: place of the body, (3,) [m].
        """
        self._world.show_floor(picture is None)
        self.board.hang(image, picture, body_m)

    def show_ghost(self, pose: StoredPose | None) -> None:
        """Show a second, transparent body in a pose, or none."""
        self._ghost = self._ghost or self._add_ghost("ghost", GHOST_OPACITY)
        self._ghost.show(None if pose is None else self._compose(pose))

    def show_ghosts(self, poses: Sequence[StoredPose]) -> None:
        """Show transparent bodies in poses of the motion, in place of those before."""
        while len(self._trace) < len(poses):
            self._trace.append(self._add_ghost(f"trace{len(self._trace)}", FAINT_OPACITY))
        for n, stage in enumerate(self._trace):
            stage.show(self._compose(poses[n]) if n < len(poses) else None)

    def _add_ghost(self, name: str, opacity: float) -> Stage:
        """Create a transparent body."""
        options = replace(self._options, color=GHOST, opacity=opacity)
        return Stage(self._server.scene, f"{WORLD}/{name}", self._skeleton, options, self._server.atomic)

    def _compose(self, pose: StoredPose) -> PoseMessage:
        """Return a pose as stages take it."""
        return compose_posed_pose(pose, self._skeleton, 1.0, 0, now_ns())

    def show_paths(self, path_m: Floats | None, balls: Sequence[CurveBall]) -> None:
        """Draw the curves that held joints follow from key to key, (F, P, 3) [m], or none, and balls to bend them by."""
        for ball in self._bends:
            ball.remove()
        self._bends = [self._add_bend(n, ball) for n, ball in enumerate(balls)]
        if self._paths is not None:
            self._paths.remove()
            self._paths = None
        if path_m is not None and path_m.shape[1]:
            lines = np.stack([path_m[:-1], path_m[1:]], axis=2).reshape(-1, 2, 3)
            scene = self._server.scene
            self._paths = scene.add_line_segments(f"{WORLD}/paths", lines, HELD, thickness=2.0, thickness_units="screen")

    def look(self, picture: PictureView | None = None) -> None:
        """Have all pages look at the body, or through the camera of a picture."""
        set_first_viewpoint(self._server, AT_THE_BODY)
        for client in self._server.get_clients().values():
            self.aim(client, picture)

    def aim(self, client: viser.ClientHandle, picture: PictureView | None = None) -> None:
        """Set the viewpoint of one page."""
        seen = AT_THE_BODY
        if picture is not None:
            fov_rad = compute_whole_fov_rad(picture, client.camera.aspect)
            seen = replace(viewpoint_from_camera(find_picture_camera(picture)), fov_rad=fov_rad)
        set_client_viewpoint(client, seen)

    def _handle(self, name: str) -> viser.IcosphereHandle:
        """Create the ball on a joint."""
        radius_m = SMALL_M if name in SMALL else HANDLE_M
        color = self._world.ground.bone
        ball = self._server.scene.add_icosphere(
            f"{WORLD}/handles/{name}", radius_m, color, subdivisions=2, material="toon3", cast_shadow=False, receive_shadow=False
        )
        self._colors[name] = color

        async def clicked(event: object) -> None:
            self._select(name)

        async def dragged(event: viser.SceneNodeDragEvent[viser.IcosphereHandle]) -> None:
            if event.phase == "start":
                self._select(name)
                self._begin_m = self._position_m[JOINT_INDEX[name]].copy()
                self._grab_m = np.array(event.start_position) - self._begin_m
            place = self._lock(np.array(event.end_position) - self._grab_m, self._begin_m)
            self._put(name, place, event.phase == "end", event.client_id)

        ball.on_click(clicked)
        ball.on_drag("left")(dragged)
        return ball

    def _add_bend(self, number: int, curve: CurveBall) -> viser.IcosphereHandle:
        """Create a ball on a curve; who drags it poses the joint at that time, which becomes a key."""
        name = f"{WORLD}/bends/{number}"
        ball = self._server.scene.add_icosphere(name, BEND_M, HELD, subdivisions=2, position=curve.at_m, cast_shadow=False)

        async def dragged(event: viser.SceneNodeDragEvent[viser.IcosphereHandle]) -> None:
            if event.phase == "start":
                self._select(curve.joint)
                self._grab_m = np.array(event.start_position) - curve.at_m
            place_m = self._lock(np.array(event.end_position) - self._grab_m, curve.at_m)
            self._put(curve.joint, place_m, event.phase == "end", event.client_id, curve.time_s)

        ball.on_drag("left")(dragged)
        return ball

    def set_axis(self, axis: str) -> None:
        """Have drags and turns go along or about one axis of the world only, x, y or z, or all by an empty name."""
        self.axis = axis
        self._set_active_axes((True, True, True))

    def _set_active_axes(self, seen: Sequence[bool]) -> None:
        """Have rings and arrows of the axes that are not locked out; arrows of those alone that are seen from the side."""
        x, y, z = (not self.axis or name == self.axis for name in "xyz")
        shown = (x, y, z) if self.axis else (seen[0], seen[1], seen[2])
        for tool, axes in ((self._rings, (x, y, z)), (self._arrows, shown)):
            if tool.active_axes != axes:
                tool.active_axes = axes

    def _find_axes_seen(self, at_m: Floats) -> list[bool]:
        """Return which axes of the world are seen from the side at a place, (3,) [m], in the page that was opened first."""
        for client in self._server.get_clients().values():
            sight_m = at_m - np.asarray(client.camera.position)
            return [bool(abs(part) < AT_THE_EYE * np.linalg.norm(sight_m)) for part in sight_m]
        return [True, True, True]

    def _lock(self, place_m: Floats, begin_m: Floats) -> Floats:
        """Return a place that differs from where the drag began along the locked axis alone."""
        return np.where([not self.axis or name == self.axis for name in "xyz"], place_m, begin_m)

    def _add_arrows(self) -> viser.TransformControlsHandle:
        """Create the arrows of the selected joint."""
        arrows = self._server.scene.add_transform_controls(
            "/arrows", ARROWS, disable_rotations=True, depth_test=False, opacity=0.75, line_width=3.0
        )

        async def moved(event: viser.TransformControlsEvent) -> None:
            ended = event.phase == "end"
            if event.phase == "update" or self._pulled:  # arrows that are clicked and not moved drag nothing
                self._put(self.selected, np.array(event.target.position), ended, event.client_id or 0)
            self._pulled = event.phase == "update"

        arrows.on_update(moved)
        return arrows

    def _add_rings(self) -> viser.TransformControlsHandle:
        """Create the rings that turn the selected joint."""
        rings = self._server.scene.add_transform_controls(
            "/rings", RINGS, disable_axes=True, disable_sliders=True, depth_test=False, opacity=0.75, line_width=3.0
        )

        async def turned(event: viser.TransformControlsEvent) -> None:
            ended = event.phase == "end"
            if self.selected and (event.phase == "update" or self._pulled):
                rotvec = Rotation.from_quat(np.asarray(event.target.wxyz), scalar_first=True).as_rotvec()
                self._drag(DragPlace(self.selected, check_point(rotvec), ended, event.client_id or 0, True))
            self._pulled = event.phase == "update"

        rings.on_update(turned)
        return rings

    def _place_tools(self, pose: StoredPose, selected: str, at: Floats) -> None:
        """Move arrows and rings to the selected joint.

        Args:
            pose: the pose.
            selected: name of the joint.
            at: where it is, or is held, (3,) [m].
        """
        if np.abs(at - np.asarray(self._arrows.position)).max() > MIN_MOVE_M:
            self._arrows.position = self._rings.position = at
        if self.tool == TURN:
            R = compute_forward_kinematics(self._body, pose.rotvec, pose.root_m)[0]
            self._rings.wxyz = wxyz_from_matrix(R[JOINT_INDEX[selected]])
        if self.tool == MOVE:
            self._set_active_axes(self._find_axes_seen(at))

    def _put(self, name: str, place_m: Floats, ended: bool, page: int, time_s: float | None = None) -> None:
        """Report where a joint is dragged to; a place that is none is dropped, as where a page looks along the floor."""
        if name and np.isfinite(place_m).all():
            self._drag(DragPlace(name, check_point(np.clip(place_m, -FAR_M, FAR_M)), ended, page, time_s=time_s))

    def _show_handle(self, row: int, name: str, at: Floats, color: Color) -> None:
        """Move and colour one ball if that changes it."""
        ball = self._handles[name]
        if np.abs(at - self._position_m[row]).max() > MIN_MOVE_M:
            self._position_m[row] = at
            ball.position = at
        if color != self._colors[name]:
            self._colors[name] = color
            ball.color = color
