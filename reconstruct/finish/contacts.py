"""Which feet touch the ground, frame by frame.

The log-odds of a contact are a sum of what the nearest poses of the database do, how fast the point is and, where the floor is
known, how high it is. A contact begins and ends at different probabilities, so that it does not flicker. Rows are the
`database.contacts.CONTACT_JOINTS`: left ankle, left ball, right ankle, right ball.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from config.arrays import Bools, Bytes, Floats, Ints
from config.settings import FeetSettings
from database.contacts import CONTACT_JOINTS

N_POINTS: Final = len(CONTACT_JOINTS)
SPEED_S = 0.022  # time constant of speeds: shorter is noise, longer is lag
MIN_SPEED_M_S = 0.1  # the markers' noise alone moves a foot about that fast
EVEN_SPEED_M_S = 0.5  # no evidence either way
SPEED_GAIN = 1.3  # log-odds for a factor of e in speed
MIN_SHARE = 0.02  # neighbours are never quite certain
LOW_M, HEIGHT_M = 0.05, 0.015  # a point up to LOW_M over the floor is low; above, one log-odd less for every HEIGHT_M


@dataclass(frozen=True, slots=True)
class FootMotion:
    """Smoothed positions (4, 3) [m] and velocities (4, 3) [m/s] of ankles and balls of the feet."""

    position_m: Floats
    velocity_m_s: Floats

    @property
    def speed_m_s(self) -> Floats:
        """Return speeds, (4,)."""
        return np.asarray(np.sqrt((self.velocity_m_s**2).sum(axis=1)))


def follow_points(before: FootMotion | None, points_m: Floats, dt_s: float) -> FootMotion:
    """Follow points with a critically damped g-h filter of time constant SPEED_S (Benedict & Bordner 1962).

    Args:
        before: the filter after the frame before, None at the first.
        points_m: the points, (4, 3) [m].
        dt_s: time since the frame before [s].
    """
    if before is None or dt_s <= 0.0:
        return FootMotion(points_m.copy(), np.zeros((N_POINTS, 3)))
    theta = math.exp(-dt_s / SPEED_S)
    g, h = 1.0 - theta * theta, (1.0 - theta) ** 2
    ahead = before.position_m + dt_s * before.velocity_m_s
    innovation = points_m - ahead
    return FootMotion(ahead + g * innovation, before.velocity_m_s + (h / dt_s) * innovation)


def compute_contact_share(labels: Bytes, rows: Ints, weights: Floats) -> Floats:
    """Return the weighted share of neighbours in contact, (4,), NaN for no weight.

    Args:
        labels: contacts of all poses, (N, 4).
        rows: the neighbours, (K,).
        weights: theirs, (K,).
    """
    total = float(weights.sum())
    if len(rows) == 0 or not total > 0.0:
        return np.full(N_POINTS, np.nan)
    return np.asarray(weights @ labels[rows] / total)


def compute_contact_probability(share: Floats, speed_m_s: Floats, height_m: Floats | None = None) -> Floats:
    """Return the probability of contact of each point, (4,).

    A low point proves nothing, a high one is strong evidence against a contact.

    Args:
        share: share of the neighbours in contact, (4,), NaN where unknown.
        speed_m_s: (4,).
        height_m: height above the one at which the point stands, (4,) [m]; None without a floor.
    """
    heights = [LOW_M] * N_POINTS if height_m is None else height_m.tolist()
    probability = np.empty(N_POINTS)
    for k, (of_all, speed, height) in enumerate(zip(share.tolist(), speed_m_s.tolist(), heights, strict=True)):
        odds = 0.0 if math.isnan(of_all) else math.log((of_all + MIN_SHARE) / (1.0 + MIN_SHARE - of_all))
        odds += SPEED_GAIN * math.log((EVEN_SPEED_M_S + MIN_SPEED_M_S) / (speed + MIN_SPEED_M_S))
        probability[k] = 1.0 / (1.0 + math.exp(min(max((height - LOW_M) / HEIGHT_M, 0.0), 8.0) - odds))
    return probability


def update_contacts(before: Bools, probability: Floats, settings: FeetSettings) -> Bools:
    """Return which points are in contact now, (4,): a contact begins above `enter` and ends below `leave`.

    Args:
        before: points that were in contact before, (4,).
        probability: probability of contact, (4,).
        settings: thresholds of contacts.
    """
    return np.asarray(np.where(before, probability > settings.leave, probability > settings.enter))


def compute_floor_heights_m(points_m: Floats, ball_m: float, ball_to_ankle_m: Floats) -> Floats:
    """Return the height of each point over its height when it stands on the floor, (4,) [m].

    Args:
        points_m: ankles and balls of both feet, (4, 3) [m].
        ball_m: height of the balls of standing feet [m].
        ball_to_ankle_m: height of the ankles over the balls then, left and right, (2,) [m].
    """
    standing = np.array([ball_to_ankle_m[0], 0.0, ball_to_ankle_m[1], 0.0])
    return np.asarray(points_m[:, 1] - ball_m - standing)
