from dataclasses import replace

import numpy as np
import pytest

from calibration.subject.coverage import judge_marker_coverage
from config.markers import MarkerSet, list_preset_names, read_marker_set


def without(markers: MarkerSet, *names: str) -> MarkerSet:
    kept = ~np.isin(markers.names, names)
    return MarkerSet(
        tuple(np.array(markers.names)[kept]),
        markers.joint[kept],
        markers.torso[kept],
        markers.offset_m[kept],
        markers.color_rgb[kept],
        markers.has_color[kept],
    )


@pytest.mark.parametrize("name", list_preset_names())
def test_presets_leave_nothing_to_chance(name: str) -> None:
    assert judge_marker_coverage(read_marker_set(name)) == []


def test_limbs_without_a_marker_are_named() -> None:
    texts = [finding.text for finding in judge_marker_coverage(without(read_marker_set("boxing"), "left_hand", "right_foot"))]
    assert len(texts) == 1
    assert texts[0].startswith("left arm and right leg have no marker")


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (("left_shoulder", "right_shoulder", "chest"), "all torso markers are on the hips"),
        (("waist_left", "waist_right"), "all torso markers are on chest and shoulders"),
    ],
)
def test_trunk_left_to_chance_is_told(gone: tuple[str, ...], said: str) -> None:
    (finding,) = judge_marker_coverage(without(read_marker_set("all_around"), *gone))
    assert finding.text.startswith(said)


@pytest.mark.parametrize(("marker", "offset_m"), [("left_hand", None), ("waist_left", (0.4, -0.3, 0.0))])
def test_markers_that_swing_are_no_torso(marker: str, offset_m: tuple[float, float, float] | None) -> None:
    markers = read_marker_set("boxing")
    which = np.array(markers.names) == marker
    offsets = markers.offset_m if offset_m is None else np.where(which[:, None], offset_m, markers.offset_m)
    (finding,) = judge_marker_coverage(replace(markers, torso=markers.torso | which, offset_m=offsets))
    assert "rests on markers that swing" in finding.text
    assert marker in finding.text
