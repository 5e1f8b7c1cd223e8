"""The canvas behind a page's windows: pictures drawn as large as the newest page shows them."""

from collections.abc import Sequence

import viser

from config.arrays import Image
from stream.web.picture import CameraPicture, draw_canvas

CANVAS_PX, MIN_PX = 1280, 320
QUALITY = 80


class Canvas:
    """The background of a server's pages."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server

    def size(self, max_px: int = CANVAS_PX) -> tuple[int, int]:
        """Return the size to draw at: the shape of the newest page's canvas, its longer side at most max_px."""
        for client in reversed(list(self._server.get_clients().values())):
            width, height = client.camera.image_width, client.camera.image_height
            if width >= MIN_PX and height >= MIN_PX:
                scale = min(max_px / max(width, height), 1.0)
                return round(width * scale), round(height * scale)
        return CANVAS_PX, CANVAS_PX * 9 // 16

    def width_px(self) -> int:
        """Return how wide the newest page's canvas is, 0 where none is open."""
        widths = [client.camera.image_width for client in self._server.get_clients().values()]
        return widths[-1] if widths and widths[-1] >= MIN_PX else 0

    def show(self, pictures: Sequence[CameraPicture], top_share: float, max_px: int = CANVAS_PX, quality: int = QUALITY) -> None:
        """Show pictures.

        Args:
            pictures: of the cameras.
            top_share: of the height, left free above them.
            max_px: of the longer side.
            quality: of the JPEG.
        """
        size = self.size(max_px)
        picture: Image = draw_canvas(pictures, size, round(top_share * size[1]))
        self._server.scene.set_background_image(picture, format="jpeg", jpeg_quality=quality)
