"""The surroundings in the scene: light, a floor with a grid in metres, axes."""

import numpy as np
import viser

from config.arrays import Floats
from stream.viewer.scene.colors import DARK, LIGHT, GroundColors

WORLD = "/world"
FLOOR_M = 12.0
SECTION_M = 1.0
AXES_M = 0.35


class WorldScenery:
    """The surroundings of all bodies and cameras, which are below the node `WORLD`; call it from one thread.

    centre_m: the point of the world in the middle of the scene, (3,), y = 0.
    """

    def __init__(self, server: viser.ViserServer, dark: bool = True) -> None:
        self._server, self._scene = server, server.scene
        self._scene.set_up_direction("+y")
        self.centre_m: Floats = np.zeros(3)
        self._world = self._scene.add_frame(WORLD, show_axes=False)
        self._axes = self._scene.add_frame(
            f"{WORLD}/axes", axes_length=AXES_M, axes_radius=0.008, origin_radius=0.016, visible=False
        )
        self._lights()
        self.dark = dark
        self._floor = self._grid(self.ground)

    @property
    def ground(self) -> GroundColors:
        """The colours of the floor."""
        return DARK if self.dark else LIGHT

    def set_dark(self, dark: bool) -> None:
        """Change between dark and light."""
        if dark != self.dark:
            self.dark = dark
            shown, self._floor = self._floor.visible, self._grid(self.ground)
            self._floor.visible = shown
            self._place_floor()

    def set_centre(self, centre_m: Floats) -> None:
        """Move a point of the world, (3,) of which x and z count, to the middle of the floor, which then has no visible end."""
        self.centre_m = np.asarray(centre_m) * [1.0, 0.0, 1.0]
        with self._server.atomic():
            self._world.position = -self.centre_m
            self._place_floor()

    def _place_floor(self) -> None:
        """Move the floor with the world, modulo a section: its lines stand still in the world."""
        self._floor.position = -(self.centre_m % SECTION_M)

    def show_axes(self, on: bool) -> None:
        """Show the world's axes or hide them."""
        self._axes.visible = on

    def show_floor(self, on: bool) -> None:
        """Show the floor or hide it."""
        self._floor.visible = on

    def _grid(self, ground: GroundColors) -> viser.GridHandle:
        """Create the floor: a cell is half a metre, a section a metre; shadows fall on it."""
        return self._scene.add_grid(
            "/floor",
            width=FLOOR_M,
            height=FLOOR_M,
            plane="xz",
            cell_size=0.5,
            section_size=SECTION_M,
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
        """Create soft light from the surroundings, and one lamp that casts shadows."""
        self._scene.configure_environment_map("studio", environment_intensity=0.35)
        self._scene.configure_default_lights(enabled=False)
        self._scene.add_light_directional(
            "/lamp", color=(255, 250, 244), intensity=1.7, cast_shadow=True, position=(1.6, 4.5, 2.4)
        )
        self._scene.add_light_directional("/rim", color=(220, 232, 255), intensity=0.7, position=(-3.0, 2.5, -2.5))
        self._scene.add_light_hemisphere("/sky", sky_color=(240, 246, 255), ground_color=(120, 116, 112), intensity=0.5)
