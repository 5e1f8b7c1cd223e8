"""Labels of optical systems: every set is known by its own labels, whoever stands before them; sides are mirror images."""

import pytest

from config.joints import JOINT_INDEX
from config.optical import find_marker_places, list_optical_sets, read_optical_set


@pytest.mark.parametrize("name", list_optical_sets())
@pytest.mark.parametrize("prefix", ["", "Bob_", "Q_"])
def test_a_set_is_known_by_its_labels_with_and_without_a_prefix(name: str, prefix: str) -> None:
    places = read_optical_set(name)
    known = find_marker_places([prefix + label for label in places])
    assert known.prefix == prefix or not prefix
    assert {label: known.places[prefix + label] for label in places} == places
    assert all(place.joint in JOINT_INDEX and 0.0 < place.sigma_m <= 0.1 for place in places.values())
    assert sum(place.torso for place in places.values()) >= 3


def test_sides_are_mirror_images_in_any_spelling() -> None:
    known = find_marker_places(["LASI", "RASI", "l.knee", "Left Heel", "RightHeel", "C7", "xyz", "*12"]).places
    left, right = known["LASI"], known["RASI"]
    assert right.offset_m == (-left.offset_m[0], *left.offset_m[1:]) and right.joint == "hips"
    assert known["l.knee"].joint == "leftUpperLeg" and known["Left Heel"].joint == "leftFoot"
    assert known["RightHeel"].joint == "rightFoot" and known["C7"].offset_m[0] == 0.0
    assert "xyz" not in known and "*12" not in known
