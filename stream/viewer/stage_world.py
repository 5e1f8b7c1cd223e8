"""What stands in the scene whoever performs: light, floor with a grid in metres, axes, and the level of the world."""

import numpy as np
import viser

from database.rotations import Floats, matrix_from_rotvec
from stream.messages import RigMessage
from stream.viewer.stage_colors import DARK, LIGHT, Ground
from stream.viewer.stage_level import Level

Place = tuple[float, float, float]
WORLD = "/world"
FLOOR_M = 12.0
NEAR_M, FAR_M = 6.0, 22.0
AXES_M = 0.35
FOV_RAD = 0.72
CAMERA_M, LOOK_AT_M = (2.3, 1.55, 3.6), (0.0, 0.9, 0.0)
MIDDLE_M = 0.85  # height of the middle of a performer
EYE_M = 1.75
ASIDE_RAD = 1.0  # from the line between cameras and performer


class World:
    """The surroundings of all bodies and cameras, which stand below the node `WORLD`; call it from one thread."""

    def __init__(self, server: viser.ViserServer, dark: bool = True) -> None:
        self._server, self._scene = server, server.scene
        self._scene.set_up_direction("+y")
        self.level = Level()
        self._world = self._scene.add_frame(WORLD, show_axes=False)
        self._axes = self._scene.add_frame(
            f"{WORLD}/axes", axes_length=AXES_M, axes_radius=0.008, origin_radius=0.016, visible=True
        )
        self._lights()
        self.dark = dark
        self._floor = self._grid(self.ground)
        self._look(CAMERA_M, LOOK_AT_M)

    @property
    def ground(self) -> Ground:
        """The colours of the floor."""
        return DARK if self.dark else LIGHT

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""
        if dark != self.dark:
            self.dark = dark
            self._floor = self._grid(self.ground)

    def set_level(self, level: Level) -> None:
        """Level the view."""
        self.level = level
        with self._server.atomic():
            self._world.wxyz = level.wxyz
            self._world.position = (0.0, level.lift_m, 0.0)

    def look_with(self, rig: RigMessage) -> None:
        """Have new pages and `Reset View` begin with performer and cameras in sight."""
        self._look(*first_view(rig, self.level))

    def _look(self, eye_m: Place, target_m: Place) -> None:
        """Set where new pages look from."""
        camera = self._server.initial_camera
        camera.position, camera.look_at, camera.fov = eye_m, target_m, FOV_RAD

    @property
    def axes(self) -> bool:
        """Whether the world's axes are to be seen."""
        return bool(self._axes.visible)

    @axes.setter
    def axes(self, on: bool) -> None:
        self._axes.visible = on

    @property
    def floor(self) -> bool:
        """Whether the floor is to be seen."""
        return bool(self._floor.visible)

    @floor.setter
    def floor(self, on: bool) -> None:
        self._floor.visible = on

    def _grid(self, ground: Ground) -> viser.GridHandle:
        """Lay the floor: a cell is half a metre, a section a metre; shadows fall on it."""
        return self._scene.add_grid(
            "/floor",
            width=FLOOR_M,
            height=FLOOR_M,
            plane="xz",
            cell_size=0.5,
            section_size=1.0,
            cell_color=ground.cell,
            section_color=ground.section,
            cell_thickness=0.7,
            section_thickness=1.1,
            plane_color=ground.plane,
            plane_opacity=1.0,
            fade_distance=FLOOR_M * 0.9,
            fade_strength=1.6,
            fade_from="origin",
            shadow_opacity=0.35,
        )

    def _lights(self) -> None:
        """Light the scene softly from the surroundings, with one lamp that casts shadows."""
        self._scene.configure_environment_map("studio", environment_intensity=0.35)
        self._scene.configure_default_lights(enabled=False)
        self._scene.add_light_directional(
            "/lamp", color=(255, 250, 244), intensity=1.7, cast_shadow=True, position=(1.6, 4.5, 2.4)
        )
        self._scene.add_light_directional("/rim", color=(220, 232, 255), intensity=0.7, position=(-3.0, 2.5, -2.5))
        self._scene.add_light_hemisphere("/sky", sky_color=(240, 246, 255), ground_color=(120, 116, 112), intensity=0.5)


def first_view(rig: RigMessage, level: Level) -> tuple[Place, Place]:
    """Give an eye and a target that show the performer and the cameras, in the view's frame: from aside, on the cameras' side."""
    if not rig.cameras:
        return CAMERA_M, LOOK_AT_M
    centers, axes = _optical_axes(rig, level)
    middle_m, ahead = centers.mean(axis=0), axes.mean(axis=0) * (1.0, 0.0, 1.0)
    ahead = ahead / max(float(np.linalg.norm(ahead)), 1e-9)
    reach_m = float(np.clip(_meeting_m(centers, axes), 1.5, 8.0))
    performer_m = middle_m + reach_m * ahead
    target_m = performer_m - 0.36 * reach_m * ahead
    cos, sin = np.cos(ASIDE_RAD), np.sin(ASIDE_RAD)
    aside = np.array([cos * -ahead[0] + sin * -ahead[2], 0.0, -sin * -ahead[0] + cos * -ahead[2]])
    eye_m = target_m + (1.6 + 0.85 * reach_m) * aside
    return (float(eye_m[0]), EYE_M, float(eye_m[2])), (float(target_m[0]), MIDDLE_M, float(target_m[2]))


def _optical_axes(rig: RigMessage, level: Level) -> tuple[Floats, Floats]:
    """Give where the cameras are and where they look, (C, 3) each, in the view's frame."""
    rotations = [matrix_from_rotvec(camera.rotation) for camera in rig.cameras]
    centers = np.array([-R.T @ camera.translation for R, camera in zip(rotations, rig.cameras, strict=True)])
    return level.to_view(centers), np.array([level.rotation @ R[2] for R in rotations])


def _meeting_m(centers: Floats, axes: Floats) -> float:
    """Give how far before the cameras their axes come nearest to one another; a usual distance where they never do."""
    usual_m = 3.5
    if len(centers) < 2:
        return usual_m
    across = axes[0] - axes[1] * (axes[0] @ axes[1])
    slant = float(across @ axes[0])
    return float(across @ (centers[1] - centers[0])) / slant if slant > 1e-3 else usual_m
