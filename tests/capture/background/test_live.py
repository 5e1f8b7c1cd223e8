"""The background of a live camera in a rendered room: learned, followed, scaled, and never the performer."""

import math

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from capture.background.kernels import CELL_PX, write_cell_bounds
from capture.background.live import LiveBackground, compute_gain_field, scale_planes
from capture.detection.foreground import ForegroundRuns
from capture.sources.simulated.image import render_room
from capture.sources.simulated.performer import make_scene_performer
from capture.sources.simulated.scene import SimulatedScene

W, H = 320, 240
Picture = NDArray[np.float32]
Mask = NDArray[np.bool_]


@pytest.fixture(scope="module")
def empty() -> Picture:
    scene = SimulatedScene(width_px=W, height_px=H, look="lit", motion="walk", seconds=1)
    performer = make_scene_performer(scene)
    return np.asarray(render_room(performer.camera_on_stage(performer.rig.cameras[0]), 3), np.float32)


class Studio:
    """A camera, its background and a performer as a patterned box 40 x 150 px."""

    def __init__(self, background: LiveBackground, fps: float = 30.0) -> None:
        self.background, self.fps, self.t_ns, self.told = background, fps, 0, [""]
        self._random = np.random.default_rng(1)
        self._noise = self._random.normal(0.0, 2.0, (H, W, 3)).astype(np.float32)
        self._clothes = cv2.GaussianBlur(self._random.uniform(30, 110, (150, 40, 3)), (0, 0), 3)
        self._finder = ForegroundRuns((W, H))

    def look(self, picture: Picture, x: float | None = None, gain: float | Picture = 1.0) -> Mask:
        """Let the camera see the room, with the performer at column x; gives the foreground."""
        seen = picture.copy()
        if x is not None:
            seen[self.body(x)] = self._clothes.reshape(-1, 3)
        noise = np.roll(self._noise, tuple(self._random.integers(0, 200, 2)), (0, 1))
        image = np.clip(seen * gain + noise + 0.5, 0, 255).astype(np.uint8)
        bounds, mask = self.background.bounds(), np.ones((H, W), bool)
        runs = np.zeros((0, 3), np.int32)
        if bounds is not None:
            runs = self._finder.outside(image, bounds)
            mask[:] = self._finder.flooded
            for y, first, last in runs:
                mask[y, first : last + 1] = True
        self.background.observe(image, runs, self.t_ns)
        self.t_ns += round(1e9 / self.fps)
        self.told += self.background.notices()
        return mask

    def body(self, x: float) -> Mask:
        """Return where the performer is."""
        mask = np.zeros((H, W), bool)
        mask[60:210, int(x) : int(x) + 40] = True
        return mask

    def shares(self, picture: Picture, x: float, gain: float | Picture = 1.0) -> tuple[float, float]:
        """Return how much of the performer is foreground, and how much of the rest."""
        mask, body = self.look(picture, x, gain), self.body(x)
        return float(mask[body].mean()), float(mask[~body].mean())


def learned(picture: Picture, fps: float = 30.0) -> Studio:
    """Return a studio whose camera has learned the empty room for a second."""
    studio = Studio(LiveBackground(6.0, 12.0, 1.0), fps)
    for _ in range(round(1.1 * fps) + 1):
        studio.look(picture)
    assert studio.told[-1] == "the background is learned"
    return studio


def stroll(k: float) -> float:
    """Return a column of somebody who walks to and fro."""
    return 140.0 + 100.0 * math.sin(k)


@pytest.mark.slow
def test_three_sigma_leave_as_they_should(empty: Picture) -> None:
    """Without a least difference the share out of 3 sigma is that of a normal variable, times three channels, give or take."""
    studio = Studio(LiveBackground(3.0, 0.0, 2.0))
    for _ in range(65):
        studio.look(empty)
    share = np.mean([studio.look(empty).mean() for _ in range(30)])
    assert share < 3.0 * 2.0 * 0.00135 * 2.0
    assert share > 0.0005, "or the bounds are wider than asked for"


@pytest.mark.slow
def test_sunset(empty: Picture) -> None:
    studio = learned(empty, 5.0)
    for k in range(1500):  # a third of the light in five minutes is the rate of one half in eight
        gain = 1.0 - 0.35 * k / 1500
        seen, false = studio.shares(empty, stroll(k / 15.0), gain)
        if k % 250 == 249:
            assert seen > 0.9 and false < 0.005, k


@pytest.mark.slow
def test_light_switched_off_and_on(empty: Picture) -> None:
    """Half of the room loses more light than the other."""
    studio = learned(empty)
    lamp = 0.45 * np.exp(-0.6 * np.linspace(0.0, 1.0, W, dtype=np.float32))[None, :, None]
    for k in range(60):
        studio.look(empty, stroll(k / 30.0))
    studio.look(empty, stroll(2.0), lamp)
    assert "the light changed to 3" in studio.told[-1]
    for k in range(61, 120):
        seen, false = studio.shares(empty, stroll(k / 30.0), lamp)
        assert false < 0.01, "at once"
        assert seen > 0.5, "what is left of the contrast"
    studio.look(empty, stroll(4.0))
    for k in range(121, 400):
        seen, false = studio.shares(empty, stroll(k / 30.0))
        assert seen > 0.9
    assert false < 0.2, "where the dim room told too little; more foreground than there is does no harm"


@pytest.mark.slow
def test_a_chair_that_was_moved_becomes_background(empty: Picture) -> None:
    studio = learned(empty, 5.0)
    moved = empty.copy()
    moved[150:200, 250:290] = (20.0, 60.0, 120.0)
    chair = np.zeros((H, W), bool)
    chair[150:200, 250:290] = True
    first = studio.look(moved, 40.0)
    assert first[chair].mean() > 0.95
    for k in range(1100):
        last = studio.look(moved, 60.0 + 50.0 * math.sin(k / 15.0))
    assert last[chair].mean() < 0.05
    assert "something that stays where it is was taken for background" in studio.told


@pytest.mark.slow
def test_performer_who_stands_still_for_a_minute_stays_in_view(empty: Picture) -> None:
    """Only an arm moves."""
    studio = learned(empty, 10.0)
    for k in range(600):
        arm = empty.copy()
        arm[80 + int(20 * math.sin(k / 4.0)) : 95 + int(20 * math.sin(k / 4.0)), 130:150] = 60.0
        seen, _ = studio.shares(arm, 150.0)
    assert seen > 0.99
    _, false = studio.shares(empty, 40.0)
    assert false < 0.02, "nor does anything stay behind"


@pytest.mark.slow
def test_performer_in_view_from_the_first_frame(empty: Picture) -> None:
    """All is foreground until it is known not to be the performer, who never is background."""
    studio = Studio(LiveBackground(6.0, 12.0))
    standing = np.mean([studio.look(empty, 140.0)[studio.body(140.0)].mean() for _ in range(300)])
    assert standing > 0.99
    for k in range(1200):
        seen, _ = studio.shares(empty, stroll(k / 60.0))
    assert seen > 0.99
    assert studio.background.known > 0.5


def test_learning_with_somebody_in_view_says_so(empty: Picture) -> None:
    studio = Studio(LiveBackground(6.0, 12.0, 1.0))
    for k in range(40):
        studio.look(empty, 40.0 + 4.0 * k)
    assert "of the image moved meanwhile; learn it again with nobody in view" in studio.told[-1]


def test_learning_anew_on_order(empty: Picture) -> None:
    studio = learned(empty)
    moved = empty.copy()
    moved[100:140, 20:80] = 230.0
    assert studio.look(moved).mean() > 0.02
    studio.background.relearn(0.5)
    assert studio.background.learning
    for _ in range(18):
        studio.look(moved)
    assert not studio.background.learning and studio.look(moved).mean() < 1e-3


def test_settings_count_for_what_is_known() -> None:
    live, image = LiveBackground(6.0, 12.0, 0.1), np.full((32, 48, 3), 100, np.uint8)
    assert live.bounds() is None, "before the first image"
    for k in range(2):
        live.observe(image, np.zeros((0, 3), np.int32), k * 200_000_000)
    bounds = live.bounds()
    assert bounds is not None
    assert (bounds.lo[5, 7], bounds.hi[5, 7]) == (88, 112)
    live.tune(2.0, 15.0)
    assert (bounds.lo[31, 143], bounds.hi[31, 143]) == (85, 115)


@pytest.mark.slow
def test_in_the_dark_a_planted_foot_is_never_background() -> None:
    """One spot stays for half a minute, another moves; only the dark cells become known."""
    live, random = LiveBackground(6.0, 12.0), np.random.default_rng(3)
    for k in range(300):
        image = np.clip(4.0 + random.normal(0.0, 1.5, (96, 160, 3)), 0, 255).astype(np.uint8)
        x = int(60 + 40 * math.sin(k / 6.0))
        image[20:26, x : x + 6] = image[70:76, 20:26] = 200
        runs = ForegroundRuns((160, 96)).brighter(image, 60)
        live.observe(image, runs, k * 100_000_000, dark=True)
    bounds = live.bounds()
    assert bounds is not None and bounds.hi[72, 3 * 22] < 60
    assert live.known > 0.5


def test_bounds_by_hand() -> None:
    model = np.zeros((4, CELL_PX, 3 * CELL_PX), np.float32)
    model[0], model[1] = 100.4, 2.0
    model[0, 0, :3] = 3.0, 250.0, 100.0
    model[1, 0, 2] = 10.0
    cells = np.zeros((9, 1, 1))
    out = np.ones((2, CELL_PX, 3 * CELL_PX), np.uint8)
    write_cell_bounds(model, cells, 3.0, 5.0, out, 0, 0)
    assert not out.any(), "nothing known: everything but black is foreground"
    cells[3] = 1.0
    write_cell_bounds(model, cells, 3.0, 5.0, out, 0, 0)
    # 100.4 +- 6: 94.4 up to 95, 106.4 down to 106.
    assert (out[:, 1, 0].tolist(), out[:, 0, :3].tolist()) == ([95, 106], [[0, 244, 70], [9, 255, 130]])


def test_gain_falls_off_across_the_room_and_the_performer_takes_the_neighbours() -> None:
    random = np.random.default_rng(1)
    mean = random.uniform(60.0, 150.0, (160, 240, 3))
    true = np.exp(-np.linspace(0.0, 0.5, 240))[None, :, None] * np.array([0.9, 1.0, 1.3])
    now = mean * true
    now[40:120, 80:128] = 200.0  # the performer
    free = np.ones((10, 15), bool)
    free[2:8, 4:9] = False
    field = compute_gain_field(np.round(now).astype(np.uint8).reshape(160, -1), mean.astype(np.float32).reshape(160, -1), free)
    assert field is not None
    centers = np.exp(-np.linspace(0.0, 0.5, 240))[8::16][None, :, None] * np.array([0.9, 1.0, 1.3])
    assert np.abs(np.log(field / centers)).max() < 0.12
    planes = np.stack([mean, mean]).astype(np.float32).reshape(2, 160, -1)
    scale_planes(planes, field, (240, 160))
    inside = (planes[0].reshape(160, 240, 3) / (mean * true))[60:100, 90:120]
    assert np.abs(inside - 1.0).max() < 0.1


def test_too_dark_to_tell() -> None:
    dark = np.full((64, 192), 3, np.uint8)
    assert compute_gain_field(dark, dark.astype(np.float32), np.ones((4, 4), bool)) is None
