"""Which feet touch the ground, frame by frame: from the neighbours' labels, from speed, and from height where the floor is known.

Log-odds add up: what the nearest poses of the database do, how fast the point is, how high it is. A contact begins and ends at
different probabilities, so that it does not flicker. Columns are `database.contacts.CONTACT_JOINTS`: left ankle, left ball,
right ankle, right ball.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from config.settings import FeetSettings
from database.contacts import CONTACT_JOINTS
from database.rotations import Floats

Bools = NDArray[np.bool_]

N_POINTS: Final = len(CONTACT_JOINTS)
SPEED_S = 0.022  # time over which speed is measured: shorter is noise, longer is late
SPEED_FLOOR_M_S = 0.1  # markers' noise alone moves a foot about that fast
EVEN_SPEED_M_S = 0.5  # says nothing either way
SPEED_GAIN = 1.3  # log-odds for a factor of e in speed
SHARE_FLOOR = 0.02  # neighbours are never quite sure
LOW_M, HEIGHT_M = 0.05, 0.015  # a point this high over the floor is still low; one log-odd more for every so much above


@dataclass(frozen=True, slots=True)
class Track:
    """Smoothed places (4, 3) [m] and velocities (4, 3) [m/s] of ankles and balls of the feet."""

    place_m: Floats
    velocity_m_s: Floats

    @property
    def speed_m_s(self) -> Floats:
        """Give speeds, (4,)."""
        return np.asarray(np.sqrt((self.velocity_m_s**2).sum(axis=1)))


def tracked(before: Track | None, points_m: Floats, dt_s: float) -> Track:
    """Follow points with a critically damped g-h filter of time constant SPEED_S (Benedict & Bordner 1962)."""
    if before is None or dt_s <= 0.0:
        return Track(points_m.copy(), np.zeros((N_POINTS, 3)))
    theta = np.exp(-dt_s / SPEED_S)
    g, h = 1.0 - theta * theta, (1.0 - theta) ** 2
    ahead = before.place_m + dt_s * before.velocity_m_s
    surprise = points_m - ahead
    return Track(ahead + g * surprise, before.velocity_m_s + (h / dt_s) * surprise)


def label_share(labels: NDArray[np.uint8], rows: NDArray[Any], weights: Floats) -> Floats:
    """Give the weighted share of the neighbours in contact: labels (N, 4), rows (K,), weights (K,) -> (4,), NaN for no weight."""
    total = float(weights.sum())
    if len(rows) == 0 or not total > 0.0:
        return np.full(N_POINTS, np.nan)
    return np.asarray(weights @ labels[rows] / total)


def contact_probability(share: Floats, speed_m_s: Floats, over_floor_m: Floats | None = None) -> Floats:
    """Give the probability of contact of each point, (4,).

    share: of the neighbours in contact, (4,), NaN where there are none; speed_m_s: (4,); over_floor_m: height over where the
    point is when it stands, (4,) [m], None while no floor is known. Being low proves nothing, being high is a strong sign.
    """
    odds = np.log((share + SHARE_FLOOR) / (1.0 + SHARE_FLOOR - share))
    odds = np.where(np.isnan(odds), 0.0, odds)
    odds += SPEED_GAIN * np.log((EVEN_SPEED_M_S + SPEED_FLOOR_M_S) / (speed_m_s + SPEED_FLOOR_M_S))
    if over_floor_m is not None:
        odds -= np.clip((over_floor_m - LOW_M) / HEIGHT_M, 0.0, 8.0)
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def touching(before: Bools, probability: Floats, settings: FeetSettings) -> Bools:
    """Give who touches now, (4,): a contact begins at `enter` and ends below `leave`."""
    return np.asarray(np.where(before, probability > settings.leave, probability > settings.enter))


def over_floor_m(points_m: Floats, up: Floats, floor_m: float, ball_to_ankle_m: Floats) -> Floats:
    """Give the height of each point over where it is when it stands on the floor, (4,) [m].

    up: unit normal of the floor, (3,); floor_m: height of the balls of standing feet along it [m]; ball_to_ankle_m: how much
    higher the ankles then are, left and right, (2,).
    """
    stand = np.array([ball_to_ankle_m[0], 0.0, ball_to_ankle_m[1], 0.0])
    return np.asarray(points_m @ up - floor_m - stand)
