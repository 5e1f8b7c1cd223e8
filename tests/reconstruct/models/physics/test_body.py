"""Masses of bodies: de Leva's table on any skeleton."""

from dataclasses import replace

import numpy as np
import pytest

from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS
from database.builtin.catalog import make_builtin_clip
from database.geometry.skeleton import Skeleton
from reconstruct.models.physics.anthropometry import TABLE, Anthropometry
from reconstruct.models.physics.body import Body, build_body, estimate_stature_m

SKELETON = make_builtin_clip("walk").skeleton


def whole(body: Body, joints: tuple[str, ...] = JOINTS) -> tuple[float, Floats, Floats]:
    """Return mass, centre, and inertia about it, of some joints together in the rest pose."""
    rows = [JOINT_INDEX[name] for name in joints]
    mass, at = body.mass_kg[rows], (body.skeleton.rest_positions_m() + body.center_m)[rows]
    center = mass @ at / mass.sum()
    inertia = np.zeros((3, 3))
    for m, c, own in zip(mass, at - center, body.inertia_kg_m2[rows], strict=True):
        inertia += own + m * ((c @ c) * np.eye(3) - np.outer(c, c))
    return float(mass.sum()), center, inertia


def without_chest(skeleton: Skeleton) -> Skeleton:
    """Return a skeleton as of a file without a middle of the back: chest and upper chest lie on the spine."""
    offsets = skeleton.offsets_m.copy()
    chest, upper = JOINT_INDEX["chest"], JOINT_INDEX["upperChest"]
    for name in ("neck", "leftShoulder", "rightShoulder"):
        offsets[JOINT_INDEX[name]] += offsets[chest] + offsets[upper]
    offsets[[chest, upper]] = 0.0
    return replace(skeleton, offsets_m=offsets)


@pytest.mark.parametrize("table", list(Anthropometry))
def test_every_segment_has_the_share_and_centre_of_the_table(table: Anthropometry) -> None:
    skeleton = SKELETON
    body = build_body(skeleton, 70.0, table)
    assert body.total_kg == pytest.approx(70.0)
    rest = skeleton.rest_positions_m()
    row = {Anthropometry.FEMALE: 0, Anthropometry.MALE: 1}.get(table)
    for name, joints in {"thigh": ("leftUpperLeg",), "foot": ("rightFoot", "rightToes"), "forearm": ("rightLowerArm",)}.items():
        share = np.mean(TABLE[name], axis=0)[0] if row is None else TABLE[name][row][0]
        assert whole(body, joints)[0] == pytest.approx(0.7 * share, rel=1e-3)
    knee, hip = rest[JOINT_INDEX["leftLowerLeg"]], rest[JOINT_INDEX["leftUpperLeg"]]
    center = np.mean(TABLE["thigh"], axis=0)[1] if row is None else TABLE["thigh"][row][1]
    np.testing.assert_allclose(body.center_m[JOINT_INDEX["leftUpperLeg"]], 0.01 * center * (knee - hip), atol=1e-9)


def test_joints_that_a_file_lacks_change_nothing_of_the_whole() -> None:
    full, poor = (build_body(each, 70.0) for each in (SKELETON, without_chest(SKELETON)))
    np.testing.assert_allclose(whole(poor)[1], whole(full)[1], atol=3e-3)
    np.testing.assert_allclose(whole(poor)[2], whole(full)[2], rtol=0.01, atol=0.02)
    for body in (full, poor):
        assert (body.mass_kg > 0.05).all()
        principal = np.linalg.eigvalsh(body.inertia_kg_m2)
        assert (principal > 0.0).all() and (principal[:, 0] + principal[:, 1] >= principal[:, 2] * (1 - 1e-9)).all()


def test_a_load_and_another_mass_are_where_they_should_be() -> None:
    body = build_body(SKELETON, 70.0)
    shoe = body.with_load("leftFoot", 2.5, (0.0, -0.05, 0.05))
    assert shoe.total_kg == pytest.approx(72.5)
    mass, center, _ = whole(shoe)
    at = body.skeleton.rest_positions_m()[JOINT_INDEX["leftFoot"]] + (0.0, -0.05, 0.05)
    np.testing.assert_allclose(mass * center, 70.0 * whole(body)[1] + 2.5 * at, atol=1e-9)
    assert body.with_mass("head", 8.0).mass_kg[JOINT_INDEX["head"]] == 8.0


def test_without_a_mass_the_body_has_the_usual_one_of_its_stature() -> None:
    assert build_body(SKELETON).total_kg == pytest.approx(22.3 * 1.75**2)
    assert build_body(SKELETON, None, Anthropometry.FEMALE).total_kg == pytest.approx(20.6 * 1.75**2)
    tails = SKELETON.tails_m.copy()
    tails[JOINT_INDEX["head"]] *= 0.5  # a file that ends short of the crown
    assert estimate_stature_m(replace(SKELETON, tails_m=tails)) == pytest.approx(1.75, abs=0.01)


@pytest.mark.parametrize("mass", [0.0, -70.0, np.nan, 2000.0])
def test_a_mass_that_is_nobodys_is_refused(mass: float) -> None:
    with pytest.raises(DuocapError, match="expected the mass of a person"):
        build_body(SKELETON, mass)
    if not mass > 0:
        with pytest.raises(DuocapError, match="above 0"):
            build_body(SKELETON).with_mass("leftFoot", mass)


def test_soles_lie_on_the_ground_under_the_feet() -> None:
    skeleton = SKELETON
    points = build_body(skeleton).contacts
    at = skeleton.rest_positions_m()[points.joint] + points.offset_m
    assert len(points) == 12 and np.ptp(at[:, 1]) < 1e-9
    assert at[0, 1] == pytest.approx((skeleton.rest_positions_m() + skeleton.tails_m)[:, 1].min())
    left = at[points.foot == 0]
    assert np.ptp(left[:, 2]) == pytest.approx(0.14 * skeleton.height_m, rel=0.15)  # the length of a foot
    ankle = skeleton.rest_positions_m()[JOINT_INDEX["leftFoot"]]
    assert left[:, 2].min() < ankle[2] < left[:, 2].max() and left[:, 0].min() < ankle[0] < left[:, 0].max()
