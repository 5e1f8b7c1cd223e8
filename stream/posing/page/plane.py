"""The latent plane of a style beside the body: a board with a ball; where the ball is dragged to, the style knows a pose."""

from collections.abc import Callable

import numpy as np
import viser

from config.arrays import Floats
from reconstruct.models.style.synthesis.synthesizer import Synthesis
from reconstruct.posing.style import StylePoser
from stream.posing.latent import PoseMap, build_pose_map, draw_pose_map, predict_start_pose
from stream.posing.page.inbox import DragPlace
from stream.posing.session import START, PosingSession
from stream.viewer.scene.colors import Color

CENTRE_M = np.array([1.02, 1.05, -0.2])
SIDE_M, BALL_M = 0.9, 0.032
BALL: Color = (240, 150, 30)
MIN_MOVE = 1e-4


class PlaneBoard:
    """The board; call it from one thread. drag: called, from viser's, with each point that its ball is dragged to."""

    def __init__(self, scene: viser.SceneApi, plane: PoseMap, drag: Callable[[DragPlace], None]) -> None:
        self.plane = plane
        self._at = np.zeros(2)
        facing = (0.0, 1.0, 0.0, 0.0)  # viser's pictures have y down and are seen from behind: half a turn about x
        self._image = scene.add_image(
            "/plane",
            draw_pose_map(plane),
            SIDE_M,
            SIDE_M,
            cast_shadow=False,
            receive_shadow=False,
            wxyz=facing,
            position=CENTRE_M,
        )
        self._ball = scene.add_icosphere("/plane-ball", BALL_M, BALL, subdivisions=2, position=CENTRE_M, cast_shadow=False)
        self._label = scene.add_label("/plane-label", plane.style.name, position=CENTRE_M + [0.0, 0.55, 0.0])

        async def dragged(event: viser.SceneNodeDragEvent[viser.IcosphereHandle]) -> None:
            at = (np.array(event.end_position) - CENTRE_M)[:2] / (0.5 * SIDE_M)
            if np.isfinite(at).all():
                x, y = np.clip(at, -1.0, 1.0).tolist()
                drag(DragPlace(START, (x, y, 0.0), event.phase == "end", event.client_id))

        self._ball.on_drag("left")(dragged)

    def show(self, latent: Floats) -> None:
        """Put the ball at a latent point, (Q,)."""
        at = np.clip(self.plane.at(latent), -1.0, 1.0)
        if np.abs(at - self._at).max() > MIN_MOVE:
            self._at = at
            self._ball.position = CENTRE_M + 0.5 * SIDE_M * np.array([at[0], at[1], 0.0])

    def remove(self) -> None:
        """Remove the board from the scene."""
        for node in (self._image, self._ball, self._label):
            node.remove()


class PlaneView:
    """The board of the style with the largest share, while it is wanted; call it from one thread. drag: as of the board."""

    def __init__(self, scene: viser.SceneApi, drag: Callable[[DragPlace], None]) -> None:
        self._scene, self._drag = scene, drag
        self.on = False
        self._board: PlaneBoard | None = None

    def follow(self, session: PosingSession, place: DragPlace) -> None:
        """Have the body take the pose at a place of the ball."""
        if self._board is None:
            return
        plane, at = self._board.plane, np.array(place.place_m[:2])
        session.drag_start(predict_start_pose(plane, at, session.poser, session.document, session.found))
        if place.ended:
            session.release()

    def show(self, session: PosingSession) -> None:
        """Show the board if it is wanted and there is a style, with the ball where the pose is."""
        style = None
        if self.on and isinstance(poser := session.poser, StylePoser):
            style = poser.synthesizer.styles[int(np.argmax(poser.synthesizer.shares))]
        if self._board is not None and self._board.plane.style is not style:
            self._board.remove()
            self._board = None
        if style is not None and self._board is None:
            plane = build_pose_map(session.poser)
            self._board = None if plane is None else PlaneBoard(self._scene, plane, self._drag)
        board, found = self._board, session.found
        if board is not None and isinstance(found, Synthesis) and board.plane.row < len(found.latent):
            board.show(found.latent[board.plane.row])
